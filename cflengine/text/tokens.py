"""Documents to tokens with character offsets.

The default pattern, ``\\w+|[^\\w\\s]`` (words and single punctuation marks), runs as a numba scanner over code points
with the very spans of :mod:`re`; any other runs text by text (:func:`cflengine.text.token_table.find_tokens`). A
token's *form* is its text, lower-cased by ``str.lower`` if asked; its offsets always point into the original text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np

from cflengine.engine.mapped import GrowingArray
from cflengine.engine.progress import Watch
from cflengine.text import token_kernels as kernels
from cflengine.text.token_table import (
    DEFAULT_TOKEN_PATTERN,
    TokenTable,
    check_pattern,
    find_tokens,
    lowercased,
    printable,
    with_sentence_borders,
)

__all__ = ["DEFAULT_TOKEN_PATTERN", "TokenTable", "Tokenizer", "check_pattern", "printable"]

_BATCH_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Tokenizer:
    """Cuts texts into tokens.

    Parameters
    ----------
    pattern : str, default: '\\w+|[^\\w\\s]'
        A regular expression, each match of which (group 0) is a token; or "dictionary" (or "dictionary words", without
        punctuation) for words by ICU.
    lowercase : bool, default: True
        Whether forms are lower-cased.
    sentence_borders : bool, default: False
        Whether the table has the borders of sentences, which K-grams then do not cross.

    Raises
    ------
    ValueError for a pattern that does not compile, is out of bounds or matches the empty string, and where ICU is not
    installed.
    """

    pattern: str = DEFAULT_TOKEN_PATTERN
    lowercase: bool = True
    sentence_borders: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.pattern)

    def __call__(self, texts: Sequence[str], watch: Watch | None = None) -> TokenTable:
        """Tokenise ``texts``; Θ(characters) time. watch: told of the documents that are done. Raises TypeError if one
        of them is not a str, Stopped where ``watch`` says so."""
        watch = watch or Watch()
        watch.begin("counting words", "documents", len(texts))
        find = _scan if self.pattern == DEFAULT_TOKEN_PATTERN else partial(find_tokens, pattern=self.pattern)
        raw = find(_checked(texts), watch=watch)
        table = lowercased(raw) if self.lowercase else raw
        return with_sentence_borders(table, texts) if self.sentence_borders else table


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"document {i} is a {type(text).__name__}, not a string.")
        yield text


@lru_cache(maxsize=1)
def _character_classes() -> np.ndarray:
    """uint8 (0x110000,): what ``re`` takes each code point for, asked of ``re`` itself so that both agree."""
    classes = np.full(sys.maxunicode + 1, kernels.MARK, dtype=np.uint8)
    everything = np.arange(len(classes), dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for kind, pattern in ((kernels.WORD, r"\w+"), (kernels.SEPARATOR, r"\s+")):
        for match in re.finditer(pattern, everything):
            classes[match.start() : match.end()] = kind
    return classes


def _batches(texts: Iterable[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Code points (uint32) of consecutive documents, about a million at a time, with document borders."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > _BATCH_CHARACTERS:
            yield _code_points(batch)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield _code_points(batch)


def _code_points(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    # surrogatepass: a lone surrogate is bad text, but it is the user's text and must survive
    data = "".join(texts).encode("utf-32-le", "surrogatepass")
    borders = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=borders[1:])
    return np.frombuffer(data, dtype=np.uint32), borders


class _Interner:
    """Distinct spans seen so far, in arrays that grow by doubling."""

    def __init__(self) -> None:
        self.n_types = 0
        self.types = kernels.Types(
            np.zeros(1 << 16, dtype=np.int32), np.zeros(1 << 15, dtype=np.int64), np.empty(1 << 18, dtype=np.uint32)
        )

    def add(self, chars: np.ndarray, doc_ptr: np.ndarray, spans: kernels.Spans) -> np.ndarray:
        """int32: the identity of every span."""
        n_tokens = len(spans.start)
        self._reserve(n_tokens, len(chars))
        ids = np.empty(n_tokens, dtype=np.int32)
        self.n_types = kernels.intern_spans(chars, doc_ptr, spans, self.types, self.n_types, ids)
        return ids

    def _reserve(self, n_tokens: int, n_chars: int) -> None:
        table, ptr, chars = self.types
        most = self.n_types + n_tokens  # were every token of the batch new
        if most + 1 > len(ptr):
            ptr = np.resize(ptr, max(most + 1, 2 * len(ptr)))
        used = int(ptr[self.n_types])
        if used + n_chars > len(chars):
            chars = np.resize(chars, max(used + n_chars, 2 * len(chars)))
        full = 2 * most > len(table)
        if full:
            table = np.zeros(1 << (2 * most - 1).bit_length(), dtype=np.int32)
        self.types = kernels.Types(table, ptr, chars)
        if full:
            kernels.rebuild_table(self.types, self.n_types)

    def forms(self) -> list[str]:
        size = int(self.types.ptr[self.n_types])
        text = self.types.chars[:size].tobytes().decode("utf-32-le", "surrogatepass")
        borders = self.types.ptr[: self.n_types + 1].tolist()
        return [text[a:b] for a, b in pairwise(borders)]


def _scan(texts: Iterable[str], watch: Watch) -> TokenTable:
    """The default pattern, in compiled code: 40 million tokens a second and core against 4 of ``re``."""
    classes = _character_classes()
    interner, done = _Interner(), 0
    ids, starts, ends = (GrowingArray(np.int32) for _ in range(3))
    counts = [np.zeros(1, dtype=np.int64)]
    for chars, borders in _batches(texts):
        start = np.empty(len(chars), dtype=np.int32)
        end = np.empty(len(chars), dtype=np.int32)
        n_tokens_of = np.zeros(len(borders) - 1, dtype=np.int64)
        n_tokens = kernels.scan_spans(chars, borders, classes, start, end, n_tokens_of)
        ids.append(interner.add(chars, borders, kernels.Spans(n_tokens_of, start[:n_tokens], end[:n_tokens])))
        starts.append(start[:n_tokens])
        ends.append(end[:n_tokens])
        counts.append(n_tokens_of)
        done += len(n_tokens_of)
        watch.at(done)
    doc_ptr = np.cumsum(np.concatenate(counts))
    return TokenTable(ids.whole(), doc_ptr, starts.whole(), ends.whole(), interner.forms())
