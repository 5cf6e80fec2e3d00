"""A vocabulary of pieces, and the encoding of words by as few of them as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cflengine.tokenizer import trie_kernels as kernels


class Pieces:
    """Pieces as sequences of units, int32 each, found by a trie."""

    def __init__(self, pieces: Sequence[np.ndarray]) -> None:
        ptr = np.cumsum([0, *map(len, pieces)])
        units = np.concatenate([np.zeros(0, dtype=np.int32), *pieces]).astype(np.int32)
        slots = 1 << max(int(2 * len(units)).bit_length(), 4)
        self.trie = kernels.Trie(
            np.zeros(slots, dtype=np.uint64),
            np.zeros(slots, dtype=np.int32),
            np.full(len(units) + 1, -1, dtype=np.int32),
        )
        kernels.add_pieces(self.trie, units, ptr, 1)

    def encode(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(pieces int32, where each begins int32): as few as make up the word, −1 for a unit that is no piece."""
        n = len(units)
        best, came, last = (np.empty(n + 1, dtype=np.int32) for _ in range(3))
        kernels.fewest_pieces(self.trie, units, best, came, last)
        found, begins = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        count = kernels.trace_pieces(came, last, n, found, begins)
        return found[:count], begins[:count]
