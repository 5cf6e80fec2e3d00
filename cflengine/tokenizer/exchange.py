"""The search at a fixed size: pieces are added or dropped until there are as many as wanted, then exchanged."""

from __future__ import annotations

import numpy as np

from cflengine.engine.progress import Poll
from cflengine.tokenizer import exchange_kernels as kernels
from cflengine.tokenizer.candidates import Candidates

_RUNS = 8  # of words that are evaluated at once
_FIRST = 0.02  # of the size: how many pieces are exchanged at once, at first


class Exchange:
    """A vocabulary among candidates and what every candidate is worth.

    present: uint8 (G,), the pieces of two units or more; tokens: what the corpus takes; worth: int64 (G,), what a
    piece that is absent would save and one that is present costs to do without, taken by itself: an estimate only
    where it stands several times in a word. Required pieces are always present.
    """

    def __init__(self, pieces: Candidates, present: np.ndarray | None = None) -> None:
        self.pieces = pieces
        borders = pieces.table.ptr
        cuts = np.searchsorted(borders, np.linspace(0, borders[-1], _RUNS + 1)[1:-1])
        self._cuts = np.concatenate([[0], cuts, [pieces.table.n_words]]).astype(np.int64)
        self.evaluate(np.zeros(len(pieces.weight), dtype=bool) if present is None else present > 0)

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return int(np.count_nonzero(self.present))

    def evaluate(self, present: np.ndarray) -> None:
        """Go on with these pieces, bool (G,)."""
        self.present = ((present & self.pieces.many) | self.pieces.required).astype(np.uint8)
        totals = np.zeros(_RUNS, dtype=np.int64)
        worth = np.zeros((_RUNS, len(present)), dtype=np.int64)
        index, table = self.pieces.index, self.pieces.table
        kernels.worth_of_pieces(index.gram_of, self.present, table.ptr, table.counts, self._cuts, totals, worth)
        self.tokens, self.worth = int(totals.sum()), worth.sum(axis=0)

    def price(self) -> float:
        """Where what a piece is worth that is present and one that is absent meet, a few on either side left out: the
        price of a piece at which the best vocabulary has about as many."""
        at = self.size // 50
        best = np.sort(self.worth[(self.present == 0) & self.pieces.many])[::-1][at : at + 1]
        worst = np.sort(self.worth[(self.present > 0) & ~self.pieces.required])[at : at + 1]
        both = np.concatenate([best, worst])
        return float(both.mean()) if len(both) else 0.0

    def cover(self, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """The words by the fewest of these pieces, unsigned (n,), and prices of units, float64 (n,), under which each
        piece pays for its pointer and its share of ``mu``."""
        index, table = self.pieces.index, self.pieces.table
        cover, uses = index.no_cover(), np.zeros(index.n_grams, dtype=np.int64)
        kernels.cover_words(index.gram_of, self.present, table.ptr, table.counts, cover, uses)
        places = np.flatnonzero(cover)
        lengths = np.log2(cover[places]).astype(np.int64) + 1
        grams = index.gram_of[lengths - 1, places]
        counts = self.pieces.unit_counts[places]
        paid = counts + self.pieces.group_cost(mu)[grams] * counts / uses[grams]
        return cover, np.repeat(paid / lengths, lengths)

    def _best_absent(self, most: int) -> np.ndarray:
        """Those that would save most, the more frequent first where it is as much."""
        absent = np.flatnonzero((self.present == 0) & self.pieces.many)
        order = np.lexsort((-self.pieces.weight[absent], -self.worth[absent]))
        return absent[order[:most]]

    def _worst_present(self, most: int) -> np.ndarray:
        """Those that are easiest to do without."""
        present = np.flatnonzero((self.present > 0) & ~self.pieces.required)
        return present[np.argsort(self.worth[present], kind="stable")[:most]]

    def resize(self, size: int, poll: Poll = lambda: True, *, at_once: bool = False) -> None:
        """Add the best or drop the worst, half of those that are missing or too many at a time, since what pieces are
        worth changes as others come and go. Fewer are left where there are no others."""
        while self.size != size and poll():
            step = abs(size - self.size)
            step = step if at_once else -(-step // 2)
            chosen = self._best_absent(step) if size > self.size else self._worst_present(step)
            if not len(chosen):
                return
            present = self.present > 0
            present[chosen] = size > self.size
            self.evaluate(present)

    def improve(self, poll: Poll, least: float = 0.0) -> None:
        """Exchange the worst for the best as long as fewer tokens are left, fewer at a time where they are not; least:
        share of the tokens that an exchange has to save."""
        step = max(int(_FIRST * self.size), 1)
        while step and poll():
            before, tokens, worth, size = self.present, self.tokens, self.worth, self.size
            coming = self._best_absent(step)
            present = self.present > 0
            present[coming] = True
            self.evaluate(present)
            self.resize(size, poll)
            if self.tokens >= (1.0 - least) * tokens or self.size != size:
                self.present, self.tokens, self.worth = before, tokens, worth
                step //= 4
