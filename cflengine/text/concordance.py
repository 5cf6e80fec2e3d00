"""Where words stand: key word in context, over tokens, so that ten million of them take a fraction of a second.

A query is words with blanks between; ``*`` in a word stands for any letters, alone for any word. A regular expression
is looked for in the texts themselves instead. Places are sorted by the words around them: L1 is the word before the
match, R1 the word behind it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import regex

from cflengine.engine.checks import InputError
from cflengine.text.token_table import TokenTable, compiled, plain_tokens

ORDERS = ("L1", "L2", "L3", "R1", "R2", "R3")
MOST_PATTERN = 300  # characters


@dataclass(frozen=True)
class Places:
    """M matches, in the order of the text.

    Parameters
    ----------
    first : ndarray
        int64 (M,), their first token.
    last : ndarray
        int64 (M,), their last token.
    limited : bool, default: False
        Whether the search was cut short.
    """

    first: np.ndarray
    last: np.ndarray
    limited: bool = False

    def __len__(self) -> int:
        return len(self.first)

    def documents(self, table: TokenTable) -> np.ndarray:
        """int64 (M,): the document of each."""
        return np.searchsorted(table.doc_ptr, self.first, side="right") - 1

    def take(self, chosen: np.ndarray) -> Places:
        """Some of them, in this order."""
        return Places(self.first[chosen], self.last[chosen], self.limited)


def find_words(
    table: TokenTable,
    query: str,
    *,
    pattern: str,
    lowercase: bool = True,
) -> Places:
    """Where a query stands, inside documents.

    Parameters
    ----------
    table : TokenTable
        Tokens of the texts.
    query : str
        Words; * stands for any letters.
    pattern : str
        As the table was cut.
    lowercase : bool
        As the table was cut.

    Returns
    -------
    Places
        First and last token of each.

    Raises
    ------
    InputError
        For a query without a word.
    """
    words = _words(query, pattern, lowercase)
    if not words:
        raise InputError("the query has no word to look for.")
    if len(words) > table.n_tokens:
        return Places(np.empty(0, np.int64), np.empty(0, np.int64))
    found = _stands(table, words[0])
    for k, word in enumerate(words[1:], start=1):
        found = found[found + k < table.n_tokens]
        found = found[_wanted(table, word)[table.tokens[found + k]]]
    last = found + len(words) - 1
    same = np.searchsorted(table.doc_ptr, found, side="right") == np.searchsorted(table.doc_ptr, last, side="right")
    return Places(found[same], last[same])


def find_pattern(table: TokenTable, texts: Sequence[str], pattern: str, *, seconds: float = 5.0) -> Places:
    """Where a regular expression matches in the texts, any case; a match is taken with all tokens it touches.

    Parameters
    ----------
    table : TokenTable
        Tokens of the texts.
    texts : sequence of str
        The documents.
    pattern : str
        The regular expression.
    seconds : float
        After which nothing more is looked for.

    Returns
    -------
    Places
        First and last token of each, and whether there may be more.

    Raises
    ------
    InputError
        For one that does not compile.
    """
    expression = compiled_pattern(pattern)
    first, last, end, limited = [], [], time.perf_counter() + seconds, False
    for d, text in enumerate(texts):
        try:
            left_s = max(end - time.perf_counter(), 1e-6)
            spans = [m.span() for m in expression.finditer(text, timeout=left_s) if m.end() > m.start()]
        except TimeoutError:
            limited = True
            break
        if not spans:
            continue
        a, e = int(table.doc_ptr[d]), int(table.doc_ptr[d + 1])
        begins, ends = np.array(spans).T
        left = a + np.searchsorted(table.end[a:e], begins, side="right")
        right = a + np.searchsorted(table.start[a:e], ends, side="left") - 1
        inside = left <= right
        first.append(left[inside])
        last.append(right[inside])
    empty = np.empty(0, dtype=np.int64)
    return Places(np.concatenate([*first, empty]), np.concatenate([*last, empty]), limited)


@lru_cache(64)
def compiled_pattern(pattern: str) -> regex.Pattern[str]:
    """A regular expression of a user's. Raises InputError."""
    if not pattern or len(pattern) > MOST_PATTERN:
        raise InputError(f"a regular expression has 1 to {MOST_PATTERN} characters.")
    return compiled(pattern, "the expression", regex.IGNORECASE | regex.MULTILINE)


def _words(query: str, pattern: str, lowercase: bool) -> list[str]:
    """The query in words, cut like the text: a wildcard is cut as a letter would be in its place, or a digit where
    letters are no tokens."""
    found: list[str] = []
    for piece in query.split():
        words, whole = _cut(piece, "x", pattern, lowercase)
        if not whole:
            others, whole = _cut(piece, "0", pattern, lowercase)
            words = others if whole else words
        found += words
    return found


def _cut(piece: str, letter: str, pattern: str, lowercase: bool) -> tuple[list[str], bool]:
    """The words of a piece without blanks, and whether every wildcard is in one; letter: cut in their place. A wildcard
    that is cut off a letter beside it, as from Japanese, belongs to its word."""
    table = plain_tokens([piece.replace("*", letter)], pattern, lowercase=lowercase)
    words: list[str] = []
    held, reached = 0, -1
    for word, a, e in zip(table.words(0), table.start.tolist(), table.end.tolist(), strict=True):
        n_stars = piece[a:e].count("*")
        if len(word) == e - a:
            word = "".join("*" if piece[a + k] == "*" else one for k, one in enumerate(word))
        if words and a == reached and n_stars == e - a and piece[a - 1].isalnum():
            words[-1] += word
        else:
            words.append(word)
        held, reached = held + n_stars, e
    return words, held == piece.count("*")


def _wanted(table: TokenTable, word: str) -> np.ndarray:
    """bool (vocabulary,): which forms a word of the query stands for."""
    if "*" not in word:
        return np.array([form == word for form in table.vocabulary], dtype=bool)
    fits = re.compile(".*".join(map(re.escape, word.split("*"))), re.DOTALL).fullmatch
    return np.array([fits(form) is not None for form in table.vocabulary], dtype=bool)


def _stands(table: TokenTable, word: str) -> np.ndarray:
    return np.flatnonzero(_wanted(table, word)[table.tokens])


def sort_places(table: TokenTable, places: Places, orders: Sequence[str]) -> Places:
    """Places sorted by the words around them; what is beyond a document's border comes first.

    Parameters
    ----------
    table : TokenTable
        Tokens of the texts.
    places : Places
        To sort.
    orders : sequence of str
        Of ORDERS, the first first; none: as they stand in the text.

    Returns
    -------
    Places
        The same, sorted.

    Raises
    ------
    InputError
        For an order that is none.
    """
    unknown = [order for order in orders if order not in ORDERS]
    if unknown:
        raise InputError(f"places are sorted by {', '.join(ORDERS)}, not by {unknown[0]!r}.")
    if not orders or not len(places):
        return places
    rank = np.empty(len(table.vocabulary) + 1, dtype=np.int64)
    rank[np.argsort(np.array(table.vocabulary, dtype=object), kind="stable")] = np.arange(len(table.vocabulary))
    rank[-1] = -1
    keys = [rank[_around(table, places, order)] for order in orders]
    return places.take(np.lexsort(keys[::-1]))


def _around(table: TokenTable, places: Places, order: str) -> np.ndarray:
    """int64: the form at L1 .. R3 of each place, −1 beyond the document."""
    far = int(order[1])
    at = places.first - far if order[0] == "L" else places.last + far
    document = places.documents(table)
    inside = (at >= table.doc_ptr[document]) & (at < table.doc_ptr[document + 1])
    return np.where(inside, table.tokens[np.where(inside, at, 0)], -1)


def context_frame(
    table: TokenTable, texts: Sequence[str], places: Places, *, around: int = 60, show: Callable[[str], str] = str
) -> pd.DataFrame:
    """Places with what stands around them, on one line.

    Parameters
    ----------
    table : TokenTable
        Tokens of the texts.
    texts : sequence of str
        The documents.
    places : Places
        To show.
    around : int
        Characters on either side.
    show : callable
        What is done with each text; by default nothing.

    Returns
    -------
    pandas.DataFrame
        Columns document, before, match, after; a row a place.
    """
    document = places.documents(table)
    spans = zip(document.tolist(), table.start[places.first].tolist(), table.end[places.last].tolist(), strict=True)
    rows = [(d, *in_context(texts[d], a, e, around)) for d, a, e in spans]
    frame = pd.DataFrame(rows, columns=["document", "before", "match", "after"])
    for name in ("before", "match", "after"):
        frame[name] = frame[name].map(show)
    return frame


def in_context(text: str, start: int, end: int, around: int) -> tuple[str, str, str]:
    """A match and what stands around it, each on one line.

    Parameters
    ----------
    text : str
        The document.
    start : int
        First character of the match.
    end : int
        The one behind its last.
    around : int
        Characters on either side at most.

    Returns
    -------
    tuple of three str
        Before, match, after.
    """
    before, match, after = text[max(0, start - around) : start], text[start:end], text[end : end + around]
    return " ".join(before.split()), " ".join(match.split()), " ".join(after.split())
