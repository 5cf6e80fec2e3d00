"""K-grams that can be looked up: hash tables of one length each, one a beginning longer than the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cflengine.text import gram_table_kernels as kernels


@dataclass(frozen=True)
class GramTable:
    """K-grams of one length, numbered by first occurrence: a hash table that can be asked later.

    table: int32, open addressing, number + 1 or 0; keys: uint64, (number of the K-gram one shorter, last token).
    """

    table: np.ndarray
    keys: np.ndarray
    n_grams: int

    def find(self, tokens: np.ndarray, doc_ptr: np.ndarray, length: int, parent: np.ndarray) -> np.ndarray:
        """int32 (n,): the number of the K-gram of ``length`` at each token of other documents, -1 if not here.

        parent: int32 (n,), the same for one word less (zeros at length 1); tokens may hold -1 for unknown words.
        """
        found = np.empty(len(tokens), dtype=np.int32)
        kernels.find_grams(tokens, doc_ptr, length, parent, self.table, self.keys, found)
        return found


def number_grams(
    tokens: np.ndarray, doc_ptr: np.ndarray, length: int, parent: np.ndarray, offset: int, gram_of: np.ndarray
) -> GramTable:
    """Fill ``gram_of`` (int32 (n,)) with offset + number for one length; the table doubles as K-grams turn up."""
    longest = int(np.diff(doc_ptr).max(initial=0))
    table, keys = _empty_table(max(1 << 10, 4 * longest))
    document = n_grams = 0
    level = kernels.Level(length, offset, parent, gram_of)
    while True:
        document, n_grams = kernels.extend_grams(tokens, doc_ptr, document, level, table, keys, n_grams)
        if document == len(doc_ptr) - 1:
            return GramTable(table, keys, n_grams)
        table, new_keys = _empty_table(2 * len(table))
        new_keys[:n_grams] = keys[:n_grams]
        keys = new_keys
        kernels.rehash_grams(table, keys, n_grams)


def _empty_table(at_least: int) -> tuple[np.ndarray, np.ndarray]:
    slots = 1 << (at_least - 1).bit_length()
    return np.zeros(slots, dtype=np.int32), np.empty(slots // 2 + 1, dtype=np.uint64)
