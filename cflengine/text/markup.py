"""HTML in texts, as reviews and posts from the web have it: ``A <b>good</b> one.<br />Salt &amp; pepper`` becomes
``A good one.\\nSalt & pepper``.

Tags of known names alone are taken out, so that ``<unk>``, ``<3``, ``a < b`` and ``<jane@example.org>`` stay as they
are. Time is linear in the text's length, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from html.entities import html5

#: whose tags begin or end a line
_BLOCKS = (
    "address|article|aside|blockquote|body|br|caption|center|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|"
    "form|h[1-6]|head|header|hr|html|li|main|nav|ol|option|p|pre|section|select|summary|table|tbody|td|tfoot|th|thead|"
    "title|tr|ul"
)
#: that stand within a line in the place of something
_PICTURES = "audio|button|canvas|embed|iframe|img|input|object|picture|svg|textarea|video"
#: that only say how the text between them looks, or what it is
_INLINE = (
    "abbr|acronym|a|base|bdi|bdo|big|b|cite|code|data|del|dfn|em|font|ins|i|kbd|label|link|mark|meta|noscript|param|q|"
    "rp|rt|ruby|samp|small|source|span|strike|strong|style|script|sub|sup|s|time|track|tt|u|var|wbr"
)
# attributes: one with a value and whatever follows, or one name alone
_ATTRIBUTES = r"(?:\s+[^<>=\s]{1,60}\s*=[^<>]*|\s+[A-Za-z-]{1,20})?"
_TAG = re.compile(
    rf"</?(?:(?P<block>{_BLOCKS})|(?P<picture>{_PICTURES})|{_INLINE}){_ATTRIBUTES}\s*/?>"
    r"|<!DOCTYPE\b[^<>]*>|<\?xml\b[^<>]*>|<!\[(?:CDATA\[|end)|\]\]>",
    re.IGNORECASE,
)
#: what begins and ends that which is no text at all
_HIDDEN = (
    (re.compile("<!--"), re.compile("-->")),
    (re.compile(r"<script\b[^<>]*>", re.IGNORECASE), re.compile(r"</script\s*>", re.IGNORECASE)),
    (re.compile(r"<style\b[^<>]*>", re.IGNORECASE), re.compile(r"</style\s*>", re.IGNORECASE)),
)
_SHOWN = 40  # characters
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


def without_html(text: str) -> str:
    """A text without HTML.

    Tags go, those of lines, paragraphs and the like for a line break, and comments, scripts and styles with what they
    hold; character references such as ``&amp;`` and ``&#233;`` become the characters they stand for.

    Parameters
    ----------
    text : str
        Any.

    Returns
    -------
    str
        The text itself where there is no HTML in it.
    """
    if "<" in text:
        for begin, end in _HIDDEN:
            text = _without_hidden(text, begin, end)
        text = _TAG.sub(_in_its_place, text)
    return _REFERENCE.sub(_character, text) if "&" in text else text


def html_in(texts: Sequence[str]) -> tuple[list[int], str]:
    """Which texts hold HTML: a tag, or a character reference.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    tuple of list of int and str
        Their numbers, and how the first tag or reference in the first of them begins; "" where there is none.
    """
    found = [(d, first) for d, text in enumerate(texts) if (first := _first_html(text))]
    return [d for d, _ in found], found[0][1][:_SHOWN] if found else ""


def _first_html(text: str) -> str:
    tag = _TAG.search(text) if "<" in text else None
    references = _REFERENCE.finditer(text) if "&" in text else iter(())
    reference = next((match for match in references if _character(match) != match.group()), None)
    found = min(
        (match for match in (tag, reference) if match is not None), key=lambda match: match.start(), default=None
    )
    return "" if found is None else found.group()


def _without_hidden(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str:
    kept, at = [], 0
    while (first := begin.search(text, at)) and (last := end.search(text, first.end())):
        kept += [text[at : first.start()], " "]
        at = last.end()
    return "".join([*kept, text[at:]]) if kept else text


def _in_its_place(tag: re.Match[str]) -> str:
    return "\n" if tag["block"] else " " if tag["picture"] else ""


def _character(reference: re.Match[str]) -> str:
    whole = reference.group()
    return unescape(whole) if whole[1] == "#" or whole[1:] in html5 else whole
