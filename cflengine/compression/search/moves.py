"""Local search on the dictionary: add and remove K-grams, many at a time, as long as the objective falls.

One evaluation re-encodes the corpus with a dictionary and tells, for every absent K-gram, what it would save and, for
every present one, what doing without it would cost (kernels/moves.py). Of the moves that pay, those that do not
touch the same text are made together (kernels/choose.py), additions and removals in turn. Only blocks of documents in
which a changed K-gram occurs are evaluated anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cflengine.compression.kernels import choose as kernels_choose
from cflengine.compression.kernels import moves as kernels_moves
from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.kernels.arrays import DictionaryPrices, Moves, Places, Pointers
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.pieces import carry_of, settle
from cflengine.engine.progress import Progress

TOLERANCE = 1e-6  # of a cost: what a move has to gain


class DictionarySearch:
    """A dictionary, the cheapest cover with it, and what each K-gram is worth.

    present: uint8 (G,), the dictionary; cover: uint8 (n,), the cover; used: uint8 (G,), the K-grams of its pointers;
    objective: of the cover, float; worth: float32 (G,), what an absent K-gram would save in pointers and what a present
    one does save, dictionary costs not counted. ``data`` is work space, float32 (m,), in the layout's places: the
    solver's w, which is not needed at the same time.
    """

    def __init__(self, coder: Coder, groups: Groups, costs: StorageCosts, data: np.ndarray) -> None:
        index = coder.index
        self.coder, self.groups, self.costs, self.data = coder, groups, costs, data
        self.lengths = index.lengths()
        self.pointers = Pointers(groups.layout.slot, index.gram_of)
        self.present = np.zeros(index.n_grams, dtype=np.uint8)
        self.used = np.zeros(0, dtype=np.uint8)
        self.cover = index.no_cover()
        self.worth = np.zeros(index.n_grams, dtype=np.float32)
        self.objective = np.inf
        self._carry = carry_of(coder.blocks, index.max_gram)
        self._fresh = False

    def forget(self) -> None:
        """Evaluate everything next time: other work has used ``data`` meanwhile."""
        self._fresh = False

    def evaluate(self, present: np.ndarray, progress: Progress | None = None) -> bool:
        """Take ``present`` as the dictionary and work out the rest; False when ``progress`` stopped it half-way."""
        coder, index, costs = self.coder, self.coder.index, self.costs
        touched = np.ones(coder.n_blocks, dtype=np.uint8)
        if self._fresh:
            changed = (present != self.present).astype(np.uint8)
            kernels_choose.touched_blocks(index.gram_of, coder.blocks, changed, touched, (0, len(touched)))
        self.present = present.copy()
        self._fresh = False
        self.objective = np.inf
        prices = DictionaryPrices(costs.dictionary, present)
        poll = progress.poll if progress is not None else lambda: True
        if not self._encode_pieces(touched, prices, poll):
            return False
        for chunk in coder.chunks():
            kernels_moves.worth_blocks(
                self.pointers, coder.blocks, chunk, touched, costs.pointer, prices, self.cover, self.data
            )
            if not poll():
                return False
        self._fresh = True
        self.groups.apply(kernels_prox.SUM, self.data, costs.dictionary, levels=self.worth)
        self.objective, _, self.used = coder.evaluate(self.cover)
        return True

    def _encode_pieces(self, touched: np.ndarray, prices: DictionaryPrices, poll: Callable[[], bool]) -> bool:
        """The covers of documents that are cut, into ``cover``; False if stopped."""
        coder, carry = self.coder, self._carry
        pieces = coder.blocks.piece
        carry.given[pieces[(touched > 0) & (pieces >= 0)]] = 0
        always = np.ones_like(touched)

        def encode(chunk: tuple[int, int], which: np.ndarray = always) -> None:
            kernels_moves.encode_pieces(
                coder.index.gram_of, coder.blocks, chunk, which, self.costs.pointer, prices, carry
            )

        for chunk in coder.chunks() if len(carry.gain) else ():
            encode(chunk, touched)
            if not poll():
                return False
        return settle(coder.blocks, carry, encode, self.cover, poll)

    def gains(self, *, adding: bool) -> tuple[np.ndarray, np.ndarray]:
        """(K-grams int64, gain float64): every single move of one kind that pays, taken by itself."""
        cost = self.costs.dictionary
        # comparisons first: differences of all K-grams would be the peak of the solver's memory
        pays = (self.worth > cost) if adding else (self.worth < cost)
        pays &= (self.present == 0) if adding else (self.present > 0)
        grams = np.flatnonzero(pays)
        gain = np.abs(self.worth[grams] - cost[grams])
        enough = gain > TOLERANCE * np.maximum(cost[grams], 1.0)
        return grams[enough], gain[enough]

    def apart(self, grams: np.ndarray, gain: np.ndarray, *, adding: bool) -> np.ndarray:
        """Of these moves, best first, those that do not touch the same text; the K-grams, int64."""
        chosen, _ = self.choose(grams, gain, self.costs.dictionary[grams], adding=adding)
        return grams[chosen > 0]

    def choose(
        self, grams: np.ndarray, gain: np.ndarray, cost: np.ndarray, *, adding: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of these moves, best first, do not touch the same text: uint8; float64, what each is worth in the text
        that better ones leave it. cost: float64, what an addition has to be worth there."""
        chosen, free = np.zeros(len(grams), dtype=np.uint8), np.zeros(len(grams))
        if len(grams) == 0:
            return chosen, free
        index = self.coder.index
        candidate = np.full(index.n_grams, -1, dtype=np.int32)
        candidate[grams] = np.arange(len(grams), dtype=np.int32)
        found = self._places(candidate, adding)
        by_candidate = np.argsort(found.number, kind="stable")
        ptr = np.zeros(len(grams) + 1, dtype=np.int64)
        np.cumsum(np.bincount(found.number, minlength=len(grams)), out=ptr[1:])
        moves = Moves(
            ptr,
            found.position[by_candidate],
            found.worth[by_candidate],
            self.lengths[grams].astype(np.int64),
            cost * (1.0 + TOLERANCE),
        )
        lock, best_first = np.zeros(index.n_tokens, dtype=np.uint8), np.argsort(-gain, kind="stable")
        kernels_choose.choose_apart(best_first, moves, adding, index.max_gram, lock, chosen, free)
        return chosen, free

    def _places(self, candidate: np.ndarray, adding: bool) -> Places:
        """The places of the candidates' moves; candidate: int32 (G,), number or -1."""
        what = (self.pointers, self.coder.blocks, candidate, (self.cover, self.data, adding))
        chunk = (0, self.coder.n_blocks)
        counts = np.zeros(self.coder.n_blocks, dtype=np.int64)
        kernels_choose.count_places(*what, counts, chunk)
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        found = Places(np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.float32))
        kernels_choose.list_places(*what, ends - counts, found, chunk)
        return found

    def improve(self, *, adding: bool, progress: Progress | None = None, protect: np.ndarray | None = None) -> int:
        """Make the moves of one kind that pay and stand apart, and evaluate; how many were made (−1: stopped).

        K-grams in ``protect`` (int64) are not moved. What the cover no longer uses leaves the dictionary.
        """
        grams, gain = self.gains(adding=adding)
        if protect is not None:
            free = ~np.isin(grams, protect)
            grams, gain = grams[free], gain[free]
        moved = self.apart(grams, gain, adding=adding)
        present = self.used.copy() if protect is None else self.used | self._flags(protect) & self.present
        present[moved] = adding
        return len(moved) if self.evaluate(present, progress) else -1

    def _flags(self, grams: np.ndarray) -> np.ndarray:
        flags = np.zeros(len(self.present), dtype=np.uint8)
        flags[grams] = 1
        return flags

    def descend(
        self, rounds: int, progress: Progress | None = None, *, each: Callable[[], object] | None = None
    ) -> bool:
        """Additions and removals in turn until neither makes a move, or ``rounds`` are over; False if stopped.

        each: called after every round, when the cover is whole; rounds may also raise its cost.
        """

        def improve(adding: bool) -> tuple[int, float]:
            moved = self.improve(adding=adding, progress=progress)
            if moved >= 0 and each is not None:
                each()
            return moved, self.objective

        return alternate(rounds, improve, self.objective)


def alternate(rounds: int, improve: Callable[[bool], tuple[int, float]], objective: float) -> bool:
    """Additions and removals in turn until neither makes a move, or ``rounds`` are over; False if stopped.

    improve: makes the moves of one kind; how many (−1: stopped), and what the cover costs then. objective: at first.
    """
    quiet = 0
    for i in range(rounds):
        before = objective
        moved, objective = improve(i % 2 == 0)
        if moved < 0:
            return False
        # moves that the locks kept apart can still compete at a distance: a round that does not help is a pause
        quiet = 0 if moved and objective < before else quiet + 1
        if quiet == 2:
            break
    return True
