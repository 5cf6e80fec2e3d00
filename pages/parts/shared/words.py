"""Numbers and strangers' text in the app's own sentences."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cflengine.engine import many as many

if TYPE_CHECKING:
    from cflengine.compression import CompressionResult

_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^@&=])")
# what Streamlit replaces after Markdown is parsed, where a backslash no longer helps: arrows, icons, addresses
_LATER = re.compile(r"(?<=[-<>=~])(?=[-<>=~])|(?<=:)(?=\w)|(?<=www)(?=\.)|(?<=\w)(?=@)|(?<=:)(?=//)")
_WORD_JOINER = "\u2060"  # as wide as nothing
_IN_SIGHT = 300  # characters


def plain(text: str) -> str:
    """``text`` such that Streamlit's Markdown shows it as it is: file names, column names, K-grams, errors."""
    return _MARKUP.sub(r"\\\1", _LATER.sub(_WORD_JOINER, " ".join(str(text).split())))


def brief(text: str, most: int = 30) -> str:
    """As it is, or its beginning and an ellipsis: at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def in_tags(
    text: str, spans: Iterable[tuple[int, int, str]], tag: str, most: int | None = None, *, begin: int = 0
) -> str:
    """Escaped HTML of a text with a tag around each span: (start, end, note), in order of their starts; a note stands
    at its span's end, lowered, and one that begins before the last has ended is left out. most: characters shown, from
    ``begin`` on."""
    whole, text, parts, at = len(text), text if most is None else text[: begin + most], ["… "] if begin else [], begin
    for start, end, note in spans:
        if start < at or start >= len(text):
            continue
        at, between = min(end, len(text)), html.escape(text[at:start])
        lowered = f"<sub>\u00a0{html.escape(note)}</sub>" if note else ""  # on one line with the span's last word
        parts += [between, f"<{tag}>{html.escape(text[start:at])}{lowered}</{tag}>"]
    return "".join(parts) + html.escape(text[at:]) + (" …" if whole > len(text) else "")


def shortly_before(text: str, at: int) -> int:
    """Where to begin to read, so that the character ``at`` is in sight: at a word, or 0 where that is near."""
    if at <= _IN_SIGHT:
        return 0
    blank = text.find(" ", at - _IN_SIGHT, at)
    return blank + 1 if blank >= 0 else at - _IN_SIGHT


def said(error: object) -> str:
    """An error of the engine as a sentence of its own, shown as it is."""
    text = str(error)
    return plain(text[:1].upper() + text[1:])


def number(value: float, digits: int = 0) -> str:
    """``1234.5 -> '1,235'``; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def at_least(value: float, digits: int = 0) -> str:
    """A proved bound from below, rounded down: no more is proved."""
    if value is None or not math.isfinite(value):
        return number(value)
    scaled = value * 10.0**digits
    whole = math.floor(scaled + 1e-12 * max(abs(scaled), 1.0))  # a number of so many digits stays as it is
    return number(whole / 10.0**digits, digits)


def percent(value: float, digits: int = 2) -> str:
    """``0.00734 -> '0.73 %'``; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.{digits}f} %"


def gap_text(gap: float) -> str:
    """A gap in per cent, rounded up: no more is proved; of a tiny one what it is under."""
    if gap == 0:
        return "0 %"
    return gap_words(gap) if gap >= 1e-5 or not math.isfinite(gap) else "under 0.001 %"


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def proved_sentence(result: CompressionResult, max_gram: int, documents: int, one: str) -> list[tuple[str, bool]]:
    """How few pieces were found, and how much better it could be, in parts that are bold or not. one: what a document
    is called."""
    pieces = result.dictionary_size
    longest = "single words" if max_gram == 1 else f"phrases up to {_NUMBERS[max_gram]} words"
    proved = [("; how much better another dictionary could do is not proved yet", False)]
    if math.isfinite(result.gap):
        better = "any better" if result.optimal else f"more than {gap_words(result.gap)} better"
        proved = [(f"; no dictionary of {longest} can do ", False), (better, True), (" (proved)", False)]
    verb = "is" if documents == 1 else "are"
    return [(f"{many(documents, one)} {verb} built from ", False), (many(pieces, "piece"), True), *proved, (".", False)]


def duration(seconds: float) -> str:
    """About how long: "3 s", "2 min", "1.5 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def gap_words(gap: float) -> str:
    """A proved gap for a sentence: "0.06 %"; where it is tiny, what it is under."""
    if not math.isfinite(gap):
        return "–"
    step = 1e5 if gap < 1e-3 else 1e4
    return percent(math.ceil(max(gap, 1e-5) * step - 1e-9) / step, 3 if gap < 1e-3 else 2)
