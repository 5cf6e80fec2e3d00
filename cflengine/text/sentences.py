"""Sentences, and larger and smaller parts, with character offsets; sentences by sentencex (MIT; no download at run
time, about 300 languages).

Blank lines always end a sentence, whatever the language's rules say: in reviews, posts and letters they
separate thoughts. Abbreviations are sentencex's business.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from cflengine.engine.checks import InputError

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
# a comma, semicolon or colon before white space, whatever closes behind it; those of East Asia; a dash
_CLAUSE_END = re.compile("[,;:][\"'”’»)\\]]*\\s+|[，；：、]|\\s[-–—]+\\s+|—")

#: What a text can be cut into.
UNITS = ("sentence", "clause", "paragraph", "document")


def sentence_spans(text: str, *, language: str = "en") -> np.ndarray:
    """Where the sentences of a text are.

    Sentences are in order, do not overlap, and together hold every character of the text that is not white space.

    Parameters
    ----------
    text : str
        A document.
    language : str
        An ISO 639-1 code; sentencex falls back to a related language for rare ones.

    Returns
    -------
    int32 ndarray (S, 2)
        Offsets in code points, white space trimmed.
    """
    from sentencex import get_sentence_boundaries

    check_language(language)
    spans: list[tuple[int, int]] = []
    text = _SURROGATE.sub("\ufffd", text)  # same length; sentencex is Rust and takes no lone surrogates
    for a, b in _paragraphs(text):
        found = get_sentence_boundaries(language, text[a:b])
        spans += [(a + boundary["start_index"], a + boundary["end_index"]) for boundary in found]
    return _trimmed(text, spans)


def check_language(language: str) -> None:
    """InputError for what is no code of a language; which of them sentencex knows, it does not say."""
    if not (isinstance(language, str) and _LANGUAGE.fullmatch(language)):
        raise InputError(f"language must be a code such as 'en' or 'de', not {language!r}.")


def unit_spans(text: str, unit: str = "sentence", *, language: str = "en") -> np.ndarray:
    """Where the parts of a text are.

    Parameters
    ----------
    text : str
        A document.
    unit : str
        One of :data:`UNITS`: sentences; clauses, which are sentences cut after commas, semicolons, colons and at
        dashes; paragraphs, between blank lines; or the document, one span unless it is blank.
    language : str
        An ISO 639-1 code, for sentences and clauses.

    Returns
    -------
    int32 ndarray (S, 2)
        Offsets in code points, white space trimmed.
    """
    if unit == "sentence":
        return sentence_spans(text, language=language)
    if unit == "document":
        return _trimmed(text, [(0, len(text))])
    if unit == "paragraph":
        return _trimmed(text, _paragraphs(text))
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text, language=language).tolist():
        borders = [start, *(match.end() for match in _CLAUSE_END.finditer(text, start, end)), end]
        spans += itertools.pairwise(borders)
    return _trimmed(text, spans)


def _trimmed(text: str, spans: list[tuple[int, int]]) -> np.ndarray:
    """Without the white space around each, and without those that are nothing else."""
    found = []
    for start, end in spans:
        part = text[start:end]
        left, right = len(part) - len(part.lstrip()), len(part) - len(part.rstrip())
        if left < len(part):
            found.append((start + left, end - right))
    return np.array(found, dtype=np.int32).reshape(-1, 2)


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Spans between blank lines."""
    borders = [0]
    for match in _PARAGRAPH_BREAK.finditer(text):
        borders += [match.start(), match.end()]
    borders.append(len(text))
    return [(a, b) for a, b in zip(borders[::2], borders[1::2], strict=True) if a < b]
