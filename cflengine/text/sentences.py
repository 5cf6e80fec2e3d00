"""Sentences with character offsets, by sentencex (MIT; no download at run time, about 300 languages).

Blank lines always end a sentence, whatever the language's rules say: in reviews, posts and letters they
separate thoughts. Abbreviations are sentencex's business.
"""

from __future__ import annotations

import re

import numpy as np

_SURROGATE = re.compile("[\ud800-\udfff]")
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")


def sentence_spans(text: str, *, language: str = "en") -> np.ndarray:
    """Spans of the sentences of ``text``: int32 (S, 2), offsets in code points, white space trimmed.

    Sentences are in order, do not overlap, and together hold every character of the text that is not white
    space. ``language`` is an ISO 639-1 code; sentencex falls back to a related language for rare ones.
    """
    from sentencex import get_sentence_boundaries

    spans: list[tuple[int, int]] = []
    text = _SURROGATE.sub("\ufffd", text)  # same length; sentencex is Rust and takes no lone surrogates
    for a, b in _paragraphs(text):
        paragraph = text[a:b]
        for boundary in get_sentence_boundaries(language, paragraph):
            start, end = boundary["start_index"], boundary["end_index"]
            sentence = paragraph[start:end]
            start += len(sentence) - len(sentence.lstrip())
            end -= len(sentence) - len(sentence.rstrip())
            if start < end:
                spans.append((a + start, a + end))
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Spans between blank lines."""
    borders = [0]
    for match in _PARAGRAPH_BREAK.finditer(text):
        borders += [match.start(), match.end()]
    borders.append(len(text))
    return [(a, b) for a, b in zip(borders[::2], borders[1::2], strict=True) if a < b]
