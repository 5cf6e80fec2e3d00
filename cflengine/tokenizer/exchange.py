"""The search at a fixed size: pieces are added or dropped until there are as many as wanted, then exchanged."""

from __future__ import annotations

import numpy as np

from cflengine.engine.progress import Poll
from cflengine.tokenizer import exchange_kernels as kernels
from cflengine.tokenizer.problem import PieceIndex

_RUNS = 8  # of words that are evaluated at once
_FIRST = 0.02  # of the size: how many pieces are exchanged at once, at first


class Exchange:
    """A vocabulary among candidates and what every candidate is worth.

    present: uint8 (G,), the pieces of two units or more; tokens: what the corpus takes; worth: int64 (G,), what a
    piece that is absent would save and one that is present costs to do without, taken by itself: an estimate only
    where it stands several times in a word. fixed: bool (G,), pieces that are not dropped.
    """

    def __init__(self, pieces: PieceIndex, present: np.ndarray, fixed: np.ndarray | None = None) -> None:
        self.pieces = pieces
        lengths = pieces.index.lengths()
        self.many = lengths > 1
        self.fixed = np.zeros(len(lengths), dtype=bool) if fixed is None else fixed & self.many
        sizes = pieces.table.ptr
        cuts = np.searchsorted(sizes, np.linspace(0, sizes[-1], _RUNS + 1)[1:-1])
        self._cuts = np.concatenate([[0], cuts, [pieces.table.n_words]]).astype(np.int64)
        self._evaluate(((present > 0) & self.many) | self.fixed)

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return int(np.count_nonzero(self.present))

    def _evaluate(self, present: np.ndarray) -> None:
        self.present = present.astype(np.uint8)
        totals = np.zeros(_RUNS, dtype=np.int64)
        worth = np.zeros((_RUNS, len(present)), dtype=np.int64)
        index, table = self.pieces.index, self.pieces.table
        kernels.worth_of_pieces(index.gram_of, self.present, table.ptr, table.counts, self._cuts, totals, worth)
        self.tokens, self.worth = int(totals.sum()), worth.sum(axis=0)

    def _best_absent(self, most: int) -> np.ndarray:
        """Of pieces that would save anything, those that would save most."""
        absent = np.flatnonzero((self.present == 0) & self.many & (self.worth > 0))
        return absent[np.argsort(-self.worth[absent], kind="stable")[:most]]

    def _worst_present(self, most: int) -> np.ndarray:
        """Those that are easiest to do without."""
        present = np.flatnonzero((self.present > 0) & ~self.fixed)
        return present[np.argsort(self.worth[present], kind="stable")[:most]]

    def resize(self, size: int, poll: Poll) -> None:
        """Add the best or drop the worst, half of those that are missing or too many at a time, since what pieces are
        worth changes as others come and go. Fewer are left where no other would save anything."""
        while self.size != size and poll():
            step = -(-abs(size - self.size) // 2)
            chosen = self._best_absent(step) if size > self.size else self._worst_present(step)
            if not len(chosen):
                return
            present = self.present > 0
            present[chosen] = size > self.size
            self._evaluate(present)

    def improve(self, poll: Poll) -> None:
        """Exchange the worst for the best as long as fewer tokens are left, fewer at a time where they are not."""
        step = max(int(_FIRST * self.size), 1)
        while step and poll():
            before, tokens, worth, size = self.present, self.tokens, self.worth, self.size
            coming = self._best_absent(step)
            present = self.present > 0
            present[coming] = True
            self._evaluate(present)
            self.resize(size, poll)
            if self.tokens >= tokens or self.size != size:
                self.present, self.tokens, self.worth = before, tokens, worth
                step //= 4
