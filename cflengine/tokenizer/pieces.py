"""A vocabulary of pieces, and the encoding of words by as few of them as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cflengine.tokenizer import trie_kernels as kernels
from cflengine.tokenizer.words import WordTable


class Pieces:
    """Pieces as sequences of units, int32 each, found by a trie."""

    def __init__(self, pieces: Sequence[np.ndarray]) -> None:
        self.pieces = [np.ascontiguousarray(piece, dtype=np.int32) for piece in pieces]
        sizes = np.array([len(piece) for piece in self.pieces], dtype=np.int64)
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        units = np.concatenate([np.zeros(0, dtype=np.int32), *self.pieces])
        slots = 1 << max(int(2 * len(units)).bit_length(), 4)
        self.trie = kernels.Trie(
            np.zeros(slots, dtype=np.uint64),
            np.zeros(slots, dtype=np.int32),
            np.full(len(units) + 1, -1, dtype=np.int32),
        )
        kernels.add_pieces(self.trie, units, ptr, 1)

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(pieces int32, where each begins int32): as few as make up the word, −1 for a unit that is no piece."""
        n = len(units)
        best, came, last = self._work(n)
        kernels.fewest_pieces(self.trie, units, best, came, last)
        found, begins = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        count = kernels.trace_pieces(came, last, n, found, begins)
        return found[:count], begins[:count]

    def count(self, table: WordTable) -> tuple[int, np.ndarray]:
        """(tokens that a corpus takes, int64 (pieces,) how often each is used)."""
        uses = np.zeros(len(self.pieces), dtype=np.int64)
        work = self._work(int(np.diff(table.ptr).max(initial=0)))
        total = kernels.count_pieces(self.trie, table.units, table.ptr, table.counts, *work, uses)
        return int(total), uses

    @staticmethod
    def _work(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        best, came, last = (np.empty(n + 1, dtype=np.int32) for _ in range(3))
        return best, came, last
