"""Which K-grams several shards have: by their words, level by level, so that no two are ever taken for one.

A K-gram that two shards have begins with one that both have. So the shared single words are those that two shards name;
a longer K-gram is named by the number of its first words among the shared and by its last word, one whole number of 64
bits, and only K-grams with a shared beginning are named at all. No digests, so no collisions.

Shared K-grams are numbered by length, then by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cflengine.text.kgrams import KGramIndex


class SharedGrams:
    """The K-grams of one shard that others have too; grows by a length at a time.

    number: int64 (G,), of each K-gram of the shard's index among the shared ones, -1 for none.
    """

    def __init__(self, index: KGramIndex) -> None:
        self.index = index
        self.number = np.full(index.n_grams, -1, dtype=np.int64)
        self._named = np.zeros(0, dtype=np.int64)  # the K-grams whose names were given last

    def names(self, length: int) -> np.ndarray:
        """uint64: names of the K-grams of this length that may be shared, none twice."""
        index = self.index
        grams = np.arange(index.len_ptr[length - 1], index.len_ptr[length], dtype=np.int64)
        first = index.first_positions(grams)
        words = index.tokens[first + length - 1].astype(np.uint64)
        if length == 1:
            self._named = grams
            return words
        before = self.number[index.gram_of[length - 2, first]]
        known = before >= 0
        self._named = grams[known]
        return (before[known].astype(np.uint64) << np.uint64(32)) | words[known]

    def learn(self, numbers: np.ndarray) -> None:
        """The numbers of the K-grams that were named last: int64, -1 for those that no other shard has."""
        self.number[self._named] = numbers

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(K-grams int32 (H,), their numbers among the shared int32 (H,), ascending)."""
        grams = np.flatnonzero(self.number >= 0)
        numbers = self.number[grams]
        order = np.argsort(numbers)
        return grams[order].astype(np.int32), numbers[order].astype(np.int32)


def number_shared(names: Sequence[np.ndarray], offset: int) -> tuple[list[np.ndarray], int]:
    """For the names of one length, by shard: the numbers of those that two shards have, from ``offset`` on, -1 for the
    others; and how many there are."""
    distinct, counts = np.unique(np.concatenate(names), return_counts=True)
    shared = distinct[counts > 1]
    numbers = []
    for own in names:
        place = np.minimum(np.searchsorted(shared, own), max(len(shared) - 1, 0))
        known = shared[place] == own if len(shared) else np.zeros(len(own), dtype=bool)
        numbers.append(np.where(known, offset + place, -1).astype(np.int64))
    return numbers, len(shared)
