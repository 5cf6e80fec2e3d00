"""Tokens of documents as arrays, and the plain way to them: :mod:`re`, without compiled code.

A token's *form* is its text, lower-cased by ``str.lower`` if asked; its offsets always point into the original text.
What checks a result without this package's kernels cuts texts by :func:`plain_tokens`.

Patterns of :mod:`cflengine.text.token_presets` run through :mod:`re`; anybody else's through ``regex``, which knows
``\\X`` and ``\\p{...}`` and can be stopped: a pattern may come with a stranger's model.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import regex

from cflengine.engine.checks import InputError
from cflengine.engine.mapped import GrowingArray
from cflengine.engine.progress import Watch
from cflengine.engine.words import numbered
from cflengine.text.sentences import sentence_spans
from cflengine.text.token_presets import (
    DICTIONARY,
    KNOWN_PATTERNS,
    PRESETS,
    check_dictionary,
    dictionary_spans,
    is_dictionary,
    preset_of,
)

DEFAULT_TOKEN_PATTERN = PRESETS["words"].pattern
WORD_PATTERN = PRESETS["words"].words  # of classifiers: punctuation is no feature

LONGEST_PATTERN = 1000  # characters
MOST_REPEATS = 100_000  # characters times all {n}: ``regex`` writes repetitions out, so that some would need gigabytes
_DOCUMENTS_AT_ONCE = 256
_TOKENS_AT_ONCE = 1 << 20
SLOWEST_TEXT_S, SLOWEST_S = 10.0, 120.0  # for one document, for all

_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")

_SHOWN = str.maketrans({" ": "␣", "\t": "␉", "\n": "␊", "\r": "␍"})
_HIDDEN = re.compile("[\ud800-\udfff\\s]")


def printable(form: str) -> str:
    """A token's form as it can be printed on one line.

    Parameters
    ----------
    form : str
        Of a token.

    Returns
    -------
    str
        White space in it made visible, lone surrogates replaced.
    """
    if form.isalnum() or _HIDDEN.search(form) is None:
        return form
    return _HIDDEN.sub(lambda match: "␣" if match[0].isspace() else "\ufffd", form.translate(_SHOWN))


@dataclass(frozen=True)
class TokenTable:
    """The tokens of N documents, n in all.

    12 bytes a token, in files from some millions of tokens on (engine/mapped.py), and the vocabulary.

    Parameters
    ----------
    tokens : ndarray
        int32 (n,), index into ``vocabulary``.
    doc_ptr : ndarray
        int64 (N+1,), document d is tokens ``doc_ptr[d]:doc_ptr[d+1]``.
    start : ndarray
        int32 (n,), where a token begins in the document's text, in code points.
    end : ndarray
        int32 (n,), where it ends.
    vocabulary : list[str]
        The distinct forms, in order of first occurrence.
    sentence_ptr : ndarray or None, default: None
        int64 (S+1,), rising, where K-grams are not to cross the ends of sentences: the first token of each, and n; the
        documents' borders are among them.
    """

    tokens: np.ndarray
    doc_ptr: np.ndarray
    start: np.ndarray
    end: np.ndarray
    vocabulary: list[str]
    sentence_ptr: np.ndarray | None = None

    @property
    def segment_ptr(self) -> np.ndarray:
        """int64: borders of what K-grams lie in: sentences, if they are known, else documents."""
        return self.doc_ptr if self.sentence_ptr is None else self.sentence_ptr

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def n_documents(self) -> int:
        return len(self.doc_ptr) - 1

    def words(self, document: int) -> list[str]:
        """The forms of one document, in order."""
        span = slice(self.doc_ptr[document], self.doc_ptr[document + 1])
        return [self.vocabulary[t] for t in self.tokens[span]]

    def digest(self, max_gram: int) -> str:
        """First 16 hexadecimal digits of a SHA-256 over words, tokens, borders and the longest K-gram."""
        digest = hashlib.sha256(f"{max_gram} {len(self.vocabulary)}".encode())
        for word in self.vocabulary:
            form = word.encode("utf-8", "surrogatepass")
            digest.update(len(form).to_bytes(4, "little") + form)
        digest.update(np.ascontiguousarray(self.tokens).data)
        digest.update(np.ascontiguousarray(self.doc_ptr).data)
        if self.sentence_ptr is not None:
            digest.update(b"sentences" + np.ascontiguousarray(self.sentence_ptr).data)
        return digest.hexdigest()[:16]


def gram_names(grams: Iterable[Sequence[str]]) -> list[str]:
    """Words joined by blanks, as :func:`printable`; a name that would stand twice gets a number."""
    return numbered(" ".join(map(printable, gram)) for gram in grams)


def check_pattern(pattern: str) -> str:
    """A token pattern, or the name of a dictionary, as it is.

    Parameters
    ----------
    pattern : str
        A regular expression.

    Returns
    -------
    str
        The same.

    Raises
    ------
    InputError
        For one that does not compile, that is out of bounds, or that matches the empty string.
    """
    if not isinstance(pattern, str):
        raise InputError(f"token_pattern must be a string, not {pattern!r}.")
    if is_dictionary(pattern):
        check_dictionary()
    elif compiled(pattern).match("") is not None:
        raise InputError(f"token_pattern {pattern!r} matches the empty string, so tokens would be empty.")
    return pattern


@lru_cache(maxsize=8)
def compiled(pattern: str, name: str = "token_pattern", flags: int = 0) -> regex.Pattern[str]:
    """A user's pattern, by ``regex``; name: what messages call it. Raises InputError for what cannot be compiled, or
    not within bounds."""
    shown = pattern if len(pattern) <= 80 else pattern[:77] + "..."
    if len(pattern) > LONGEST_PATTERN and pattern not in KNOWN_PATTERNS:
        raise InputError(f"{name} {shown!r} has more than {LONGEST_PATTERN} characters.")
    counts = [max(int(number or 1) for number in found) for found in _COUNTED.findall(pattern)]
    if math.prod(max(count, 1) for count in counts) * len(pattern) > MOST_REPEATS:
        raise InputError(f"{name} {shown!r} repeats too much too often: give smaller numbers in braces.")
    try:
        return regex.compile(pattern, regex.VERSION0 | flags)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InputError(f"{name} {shown!r} is not a usable regular expression: {error}.") from error


def plain_tokens(
    texts: Sequence[str],
    pattern: str = DEFAULT_TOKEN_PATTERN,
    *,
    lowercase: bool = True,
    sentence_borders: bool = False,
    watch: Watch | None = None,
) -> TokenTable:
    """What :class:`~cflengine.text.tokens.Tokenizer` finds, in plain Python.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    pattern : str
        What a token is.
    lowercase : bool
        Whether letters are made small.
    sentence_borders : bool
        Whether the table knows where sentences begin.
    watch : Watch, optional
        Told of the documents that are done.

    Returns
    -------
    TokenTable
        Tokens, vocabulary, and where they stand.
    """
    table = find_tokens(texts, pattern, watch)
    table = lowercased(table) if lowercase else table
    return with_sentence_borders(table, texts) if sentence_borders else table


def with_sentence_borders(table: TokenTable, texts: Sequence[str]) -> TokenTable:
    """The table with ``sentence_ptr``: a sentence begins with the first token from its first character on."""
    starts = [table.doc_ptr]
    for d, text in enumerate(texts):
        a, e = int(table.doc_ptr[d]), int(table.doc_ptr[d + 1])
        starts.append(a + np.searchsorted(table.start[a:e], sentence_spans(text)[:, 0]))
    return replace(table, sentence_ptr=np.unique(np.concatenate(starts)))


def lowercased(table: TokenTable) -> TokenTable:
    """Merge forms that are equal once lower-cased (on the distinct forms, so ``str.lower`` runs few times). Its tokens
    take the place of the table's."""
    merged: dict[str, int] = {}
    new_id = np.fromiter((merged.setdefault(form.lower(), len(merged)) for form in table.vocabulary), np.int32)
    for first in range(0, table.n_tokens, _TOKENS_AT_ONCE):
        part = table.tokens[first : first + _TOKENS_AT_ONCE]
        part[:] = new_id[part]
    return replace(table, vocabulary=list(merged))


@lru_cache(maxsize=32)
def span_finder(pattern: str) -> Callable[[str], Iterable[tuple[int, int]]]:
    """A function from a text to where its tokens begin and end, in code points, none of them empty. It raises
    InputError where a user's pattern takes longer than SLOWEST_TEXT_S for one text."""
    if is_dictionary(pattern):
        check_dictionary()
        punctuation = pattern == DICTIONARY
        return lambda text: dictionary_spans(text, punctuation=punctuation)
    if pattern in KNOWN_PATTERNS:
        find = re.compile(pattern).finditer
        return lambda text: [match.span() for match in find(text)]
    expression = compiled(pattern)

    if preset_of(pattern) is not None:  # linear in the text, however long that is
        return lambda text: [match.span() for match in expression.finditer(text)]

    def bounded(text: str) -> list[tuple[int, int]]:
        try:
            matches = expression.finditer(text, timeout=SLOWEST_TEXT_S)
            return [match.span() for match in matches if match.end() > match.start()]
        except TimeoutError:
            raise InputError(
                f"token_pattern {pattern!r} takes more than {SLOWEST_TEXT_S:g} s for one document of {len(text):,} "
                "characters: write it with fewer nested repetitions."
            ) from None

    return bounded


def find_tokens(texts: Iterable[str], pattern: str, watch: Watch | None = None) -> TokenTable:
    """The general path: text by text. watch: told of the documents that are done."""
    watch, find = watch or Watch(), span_finder(pattern)
    vocabulary: dict[str, int] = {}
    ids, starts, ends = (GrowingArray(np.int32) for _ in range(3))
    counts = [0]
    ends_s = math.inf if preset_of(pattern) is not None else time.monotonic() + SLOWEST_S
    for done, text in enumerate(texts):
        if done % _DOCUMENTS_AT_ONCE == 0:
            watch.at(done)
        if time.monotonic() > ends_s:
            raise InputError(f"token_pattern {pattern!r} takes more than {SLOWEST_S:g} s: write a simpler one.")
        spans = list(find(text))
        ids.append(np.fromiter((vocabulary.setdefault(text[a:b], len(vocabulary)) for a, b in spans), np.int32))
        borders = np.array(spans, dtype=np.int32).reshape(-1, 2)
        starts.append(borders[:, 0])
        ends.append(borders[:, 1])
        counts.append(len(spans))
    return TokenTable(ids.whole(), np.cumsum(counts, dtype=np.int64), starts.whole(), ends.whole(), list(vocabulary))
