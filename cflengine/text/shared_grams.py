"""A corpus in parts, each with K-grams of its own: which K-grams several parts have, in plain numpy.

By their words, level by level, so that no two are ever taken for one. A K-gram that two parts have begins with one that
both have. So the shared single words are those that two parts name; a longer K-gram is named by the number of its first
words among the shared and by its last word, one whole number of 64 bits, and only K-grams with a shared beginning are
named at all. No digests, so no collisions.

Shared K-grams are numbered by length, then by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cut_into_parts(doc_ptr: np.ndarray, n_parts: int) -> np.ndarray:
    """int64 (parts + 1,): the first document of each, so that all have about as many tokens and none is empty.

    doc_ptr: int64 (N+1,). Fewer parts than asked for where there are fewer documents with tokens.
    """
    wanted = int(doc_ptr[-1]) * np.arange(1, n_parts) / n_parts
    cuts = np.unique(np.concatenate([[0], np.searchsorted(doc_ptr, wanted), [len(doc_ptr) - 1]]))
    filled = np.diff(doc_ptr[cuts]) > 0
    if not filled.any():
        return np.array([0, len(doc_ptr) - 1])
    begins = cuts[:-1][filled]
    begins[0] = 0  # documents without a token before it
    return np.append(begins, len(doc_ptr) - 1)


class SharedGrams:
    """The K-grams of one part that others have too; grows by a length at a time.

    tokens: int32 (n,); gram_of: int32 (K, n), the part's K-grams, numbered by length first; len_ptr: int (K+1,), those
    of length k are len_ptr[k-1] .. len_ptr[k]-1; first: int64 (G,), where each occurs first. number: int32 (G,), of
    each among the shared ones, -1 for none.
    """

    def __init__(self, tokens: np.ndarray, gram_of: np.ndarray, len_ptr: np.ndarray, first: np.ndarray) -> None:
        self.tokens, self.gram_of, self.len_ptr, self.first = tokens, gram_of, len_ptr, first
        self.number = np.full(len(first), -1, dtype=np.int32)
        self._named = np.zeros(0, dtype=np.int64)  # the K-grams whose names were given last

    def names(self, length: int) -> np.ndarray:
        """uint64: names of the K-grams of this length that may be shared, none twice."""
        grams = np.arange(self.len_ptr[length - 1], self.len_ptr[length], dtype=np.int64)
        first = self.first[grams]
        words = self.tokens[first + length - 1].astype(np.uint64)
        if length == 1:
            self._named = grams
            return words
        before = self.number[self.gram_of[length - 2, first]]
        known = before >= 0
        self._named = grams[known]
        return (before[known].astype(np.uint64) << np.uint64(32)) | words[known]

    def learn(self, numbers: np.ndarray) -> None:
        """The numbers of the K-grams that were named last: int, -1 for those that no other part has."""
        self.number[self._named] = numbers

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(K-grams int32 (H,), their numbers among the shared int32 (H,), ascending)."""
        grams = np.flatnonzero(self.number >= 0)
        numbers = self.number[grams]
        order = np.argsort(numbers)
        return grams[order].astype(np.int32), numbers[order]


def number_shared(names: Sequence[np.ndarray], offset: int) -> tuple[list[np.ndarray], int]:
    """For the names of one length, by part: the numbers of those that two parts have, from ``offset`` on, -1 for the
    others; and how many there are."""
    distinct, counts = np.unique(np.concatenate(names), return_counts=True)
    shared = distinct[counts > 1]
    numbers = []
    for own in names:
        place = np.minimum(np.searchsorted(shared, own), max(len(shared) - 1, 0))
        known = shared[place] == own if len(shared) else np.zeros(len(own), dtype=bool)
        numbers.append(np.where(known, offset + place, -1).astype(np.int32))
    return numbers, len(shared)
