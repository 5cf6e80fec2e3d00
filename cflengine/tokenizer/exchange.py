"""The search at a fixed size: pieces are added or dropped until there are as many as wanted, then exchanged.

Examples
--------
The words "ab" and "abc", each once, in characters: five tokens without a piece, three with "ab".

>>> from cflengine.tokenizer.words import Cutting, WordTable
>>> pieces = Candidates.of(WordTable.of({"ab": 1, "abc": 1}, Cutting("character", None)), 3)
>>> search = Exchange(pieces)
>>> search.size, search.tokens, int(search.worth[pieces.many].max())
(0, 5, 2)
>>> search.resize(1)
>>> search.size, search.tokens
(1, 3)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from cflengine.engine.progress import Poll
from cflengine.tokenizer import exchange_kernels as kernels
from cflengine.tokenizer import move_kernels as moving
from cflengine.tokenizer.candidates import Candidates

_RUNS = 8  # of words that are evaluated at once
_LISTED = 0.02  # of the size: how many pieces are listed at a time; what they are worth changes as others come and go
_TRIED = 256  # at least, before exchanges are given up
_AWAY = (0.1, -0.1, 0.3, -0.3, 0.05, -0.05)  # of the size: more pieces, or fewer
_EXACT = 512  # units of a word at most, in which pieces that stand several times are taken out of all places at once
_EFFORT = 2_000_000  # units of words that are cut anew before others are heard: about a fifth of a second
_MOST = 40.0  # times all units, cut anew to come to a size, or for a round of exchanges: what takes more is done for
# many pieces at once, as where words are whole texts, which have most pieces


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
        words = (index.gram_of, self.present, table.ptr, table.counts)
        kernels.worth_of_pieces(*words, self._cuts, totals, worth, (0, _RUNS))
        self.tokens, self.worth = int(totals.sum()), worth.sum(axis=0)

    def worth_of_repeated(self) -> np.ndarray:
        """int64 (G,): ``worth``, exact for pieces that stand several times in words of up to 512 units, too."""
        index, table, worth = self.pieces.index, self.pieces.table, self.worth.copy()
        places = np.zeros(len(worth), dtype=np.int32)
        kernels.worth_of_repeated(index.gram_of, self.present, table.ptr, table.counts, _EXACT, places, worth)
        return worth

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

    def shortest_prices(self) -> np.ndarray:
        """float64 (n,): prices of units that add up to the tokens of the words by the fewest of these pieces, none of
        which they exceed."""
        index, table = self.pieces.index, self.pieces.table
        alpha = np.zeros(len(table.units))
        kernels.shortest_prices(index.gram_of, self.present, table.ptr, table.counts, alpha)
        return alpha

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
        """Add the best or drop the worst, one by one where that is little work, or at once by what they are worth now.
        Fewer are left where there are no others."""
        left = _MOST
        while self.size != size and poll():
            missing, batch = abs(size - self.size), max(int(_LISTED * size), 16)
            moves = missing if at_once else min(batch, missing)
            listed = missing if at_once else 2 * batch
            some = self._best_absent(listed) if size > self.size else self._worst_present(listed)
            if not len(some):
                return
            left -= self._work_for(some[:moves])
            if at_once or left < 0:
                present = self.present > 0
                present[some[:moves]] = size > self.size
                self.evaluate(present)
            else:
                more, _ = moving.resize(self._words, self.present, self.worth, some, moves, _EFFORT, self._work)
                self.tokens += int(more)

    def improve(self, poll: Poll, least: float = 0.0) -> None:
        """Exchange pieces one for one, the best of those that are absent in turn, as long as fewer tokens are left;
        least: share of the tokens that a round has to save. Without, the last rounds try more pieces."""
        batch = max(int(_LISTED * self.size), _TRIED)
        while True:
            before = self.tokens
            coming, going, tried = self._best_absent(batch), self._worst_present(batch), 0
            if 2.0 * self._work_for(coming) > _MOST:
                self._improve_broadly(poll, least)
                return
            while tried < len(coming):
                if not poll():
                    return
                more, some = moving.exchange(
                    self._words, self.present, self.worth, coming[tried:], going, _EFFORT, self._work
                )
                self.tokens += int(more)
                tried += some
            if before - self.tokens > least * before:
                continue
            if least or batch >= self.size:
                return
            batch *= 4

    def _improve_broadly(self, poll: Poll, least: float) -> None:
        """Exchange many pieces at once, fewer where that leaves no fewer tokens."""
        step = max(int(_LISTED * self.size), 1)
        while step and poll():
            present, tokens, worth, size = self.present, self.tokens, self.worth, self.size
            wanted = present > 0
            wanted[self._best_absent(step)] = True
            self.evaluate(wanted)
            self.resize(size, poll)
            if self.tokens >= (1.0 - least) * tokens or self.size != size:
                self.present, self.tokens, self.worth = present, tokens, worth
                step //= 4

    def _work_for(self, some: np.ndarray) -> float:
        """Units that are cut anew to add or drop these pieces, as a multiple of all."""
        return 2.0 * float(self._words.effort[some].sum()) / self.pieces.index.n_tokens

    def oscillate(self, poll: Poll, least: float) -> None:
        """Away from the size by some pieces, back, and exchanges, as long as a round of that saves ``least`` tokens."""
        size, before = self.size, math.inf
        while before - self.tokens > least:
            before = self.tokens
            for share in _AWAY:
                present, tokens, worth = self.present.copy(), self.tokens, self.worth.copy()
                self.resize(round((1.0 + share) * size), poll)
                self.resize(size, poll)
                self.improve(poll)
                if self.size != size or self.tokens > tokens:
                    self.present, self.tokens, self.worth = present, tokens, worth
                if not poll():
                    return

    @cached_property
    def _words(self) -> moving.Words:
        """Which words have each piece."""
        index, table = self.pieces.index, self.pieces.table
        ptr = np.zeros(index.n_grams + 1, dtype=np.int64)
        moving.words_with(index.gram_of, table.ptr, ptr, np.zeros(0, dtype=np.int32), False)
        ptr = np.concatenate([[0], np.cumsum(ptr[:-1])])
        have = np.empty(ptr[-1], dtype=np.int32)
        moving.words_with(index.gram_of, table.ptr, ptr.copy(), have, True)
        reached = np.concatenate([[0], np.cumsum(np.diff(table.ptr)[have])])
        effort = reached[ptr[1:]] - reached[ptr[:-1]]
        return moving.Words(index.gram_of, table.ptr, table.counts, self.pieces.required, ptr, have, effort)

    @cached_property
    def _work(self) -> np.ndarray:
        return np.empty((2, int(np.diff(self.pieces.table.ptr).max()) + 1), dtype=np.int32)
