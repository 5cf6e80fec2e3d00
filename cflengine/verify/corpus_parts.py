"""A corpus cut into parts that are checked one after the other, so that memory goes with the largest of them.

The K-grams of a part are found by sorting, in plain numpy, and wait on disk; which of them several parts have is found
by their words (:mod:`cflengine.text.shared_grams`). A corpus of one part shares nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.mapped import mapped_array
from cflengine.text.plain_grams import first_places, number_grams
from cflengine.text.shared_grams import SharedGrams, cut_into_parts, number_shared
from cflengine.text.token_table import TokenTable
from cflengine.verify.findings import with_progress

PART_TOKENS = 8_000_000  # some 100 bytes each while they are sorted


@dataclass(eq=False)
class CorpusPart:
    """Documents documents.start .. documents.stop - 1 and their tokens, ``span`` of all.

    gram_of: int32 (K, n); lengths: int8 (G,), of its K-grams, numbered by length first; shared, numbers: int32 (H,),
    its K-grams that other parts have too, and their numbers among all such.
    """

    table: TokenTable
    documents: slice
    span: slice
    gram_of: np.ndarray
    lengths: np.ndarray
    shared: np.ndarray
    numbers: np.ndarray

    @property
    def tokens(self) -> np.ndarray:
        """int32 (n,)."""
        return self.table.tokens[self.span]

    @cached_property
    def doc_ptr(self) -> np.ndarray:
        """int64: the borders of its documents, from 0 on."""
        return self.table.doc_ptr[self.documents.start : self.documents.stop + 1] - self.span.start

    @property
    def n_grams(self) -> int:
        """G."""
        return len(self.lengths)

    def first(self) -> np.ndarray:
        """int64 (G,): where each K-gram occurs first."""
        return first_places(np.arange(self.n_grams), self.gram_of, self.n_grams)

    def words_of(self, grams: np.ndarray) -> np.ndarray:
        """int32 (len(grams), K): the tokens of K-grams, -1 behind their ends."""
        place, lengths = self.first()[grams], self.lengths[grams]
        words = np.full((len(grams), len(self.gram_of)), -1, dtype=np.int32)
        for k in range(words.shape[1]):
            longer = lengths > k
            words[longer, k] = self.tokens[place[longer] + k]
        return words

    def find(self, words: np.ndarray) -> np.ndarray:
        """int64: the K-grams with these words (as :meth:`words_of` gives them), -1 where the part has none."""
        first, size = self.first(), len(self.table.vocabulary)
        by_word = np.full(size, -1, dtype=np.int64)
        single = np.flatnonzero(self.lengths == 1)
        by_word[self.tokens[first[single]]] = single
        found = by_word[words[:, 0]]
        for k in range(1, words.shape[1]):
            grams = np.flatnonzero(self.lengths == k + 1)
            place = first[grams]
            keys = self.gram_of[k - 1, place].astype(np.int64) * size + self.tokens[place + k]
            order = np.argsort(keys)
            longer = np.flatnonzero((words[:, k] >= 0) & (found >= 0))
            if not len(keys):
                found[longer] = -1
                continue
            wanted = found[longer] * size + words[longer, k]
            at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
            found[longer] = np.where(keys[at] == wanted, grams[at], -1)
        return found


def cut_corpus(table: TokenTable, max_gram: int, *, whole: bool = False) -> list[CorpusPart]:
    """The parts of a corpus, of about PART_TOKENS tokens each, their shared K-grams known; whole: one part."""
    cuts = cut_into_parts(table.doc_ptr, 1 if whole else max(1, -(-table.n_tokens // PART_TOKENS)))
    spans = [*pairwise(cuts.tolist())]
    parts = [_part(table, a, e, max_gram) for a, e in with_progress(spans, "finding K-grams", "parts")]
    if len(parts) > 1:
        sharing = [_sharing(part) for part in parts]
        offset = 0
        for length in range(1, max_gram + 1):
            numbers, found = number_shared([one.names(length) for one in sharing], offset)
            for one, own in zip(sharing, numbers, strict=True):
                one.learn(own)
            offset += found
        for part, one in zip(parts, sharing, strict=True):
            part.shared, part.numbers = one.pairs()
    return parts


def _part(table: TokenTable, first: int, last: int, max_gram: int) -> CorpusPart:
    a, e = int(table.doc_ptr[first]), int(table.doc_ptr[last])
    borders = table.segment_ptr[(table.segment_ptr >= a) & (table.segment_ptr <= e)] - a
    gram_of, lengths = number_grams(table.tokens[a:e], borders, max_gram)
    none = np.zeros(0, dtype=np.int32)
    if e - a < table.n_tokens:
        waiting = mapped_array(gram_of.shape, gram_of.dtype)
        waiting[:] = gram_of
        gram_of = waiting
    return CorpusPart(table, slice(first, last), slice(a, e), gram_of, lengths, none, none)


def _sharing(part: CorpusPart) -> SharedGrams:
    len_ptr = np.searchsorted(part.lengths, np.arange(1, len(part.gram_of) + 2))
    return SharedGrams(part.tokens, part.gram_of, len_ptr, part.first())


def distinct_grams(parts: list[CorpusPart]) -> int:
    """How many K-grams the corpus has."""
    repeated = sum(len(part.numbers) for part in parts)
    kinds = 1 + max(int(part.numbers.max(initial=-1)) for part in parts)
    return sum(part.n_grams for part in parts) - repeated + kinds


def shared_costs(parts: list[CorpusPart], costs: list[StorageCosts]) -> np.ndarray:
    """float64 (S,): c(s) of the K-grams that several parts have."""
    cost = np.zeros(1 + max(int(part.numbers.max(initial=-1)) for part in parts))
    for part, own in zip(parts, costs, strict=True):
        cost[part.numbers] = own.dictionary[part.shared]
    return cost
