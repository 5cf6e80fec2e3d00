"""Binary solutions of one shard: the part of rounding, local search and recombination that it does by itself.

A solution is one of the whole corpus: whether a shared K-gram is stored, what it is worth and what its uses cost is
asked of all shards, and every method here takes or returns just that, vectors over the shared K-grams (H,). Covers have
names: "best", "rounded" (by prices or recombination), "searched"; "parent" is the best one when the search began.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.compression.passes.binary import LEAST_USES, count_uses
from cflengine.compression.search.crossover import Differences, apply_segments
from cflengine.compression.search.moves import DictionarySearch
from cflengine.compression.search.refine import SHARE, open_to_change
from cflengine.compression.shards.iterate import ShardIterate
from cflengine.engine.progress import Progress

BEST, PARENT, ROUNDED, SEARCHED = "best", "parent", "rounded", "searched"


class Encoded(NamedTuple):
    """A cover. value: its pointers and the K-grams that only this shard has; used: uint8 (H,), the shared K-grams of
    its pointers; uses: float32 (H,), how many pointers each has."""

    value: float
    used: np.ndarray
    uses: np.ndarray


class Searched(NamedTuple):
    """The cover with a dictionary. value, used: as in Encoded; worth: float32 (H,), of the shared K-grams here."""

    value: float
    used: np.ndarray
    worth: np.ndarray


class Proposed(NamedTuple):
    """Moves. moved: how many of K-grams that only this shard has; votes: float32 (H,), for an addition what the shared
    K-gram is worth in text that better moves leave it, for a removal 1 if it may go, else 0."""

    moved: int
    votes: np.ndarray


class Compared(NamedTuple):
    """Where two covers differ. delta: float64, by segment; segment: int64, gram: int64, pairs;
    a K-gram is its number among the shared, or −1 − its own. grams: int64, each that occurs; cost: float64, in_first:
    bool, by ``grams``."""

    delta: np.ndarray
    segment: np.ndarray
    gram: np.ndarray
    grams: np.ndarray
    cost: np.ndarray
    in_first: np.ndarray


class ShardSolutions:
    """iterate: whose encoder, groups and work space are used; numbers: int32 (H,), of its shared K-grams among all
    that are shared."""

    def __init__(self, iterate: ShardIterate, numbers: np.ndarray, seed: int) -> None:
        admm, costs = iterate.admm, iterate.costs
        self.costs, self.numbers = costs, numbers
        self.shared, self.private = iterate.shared, iterate.private
        self.index, self.coder = admm.index, admm.coder
        self.search = DictionarySearch(admm.coder, admm.groups, costs, admm.workspace)
        self.best = self.coder.single_words()
        self.rounded = self.best.copy()
        self.parent = self.best.copy()
        self.plan = np.zeros(self.index.n_grams, dtype=np.uint8)  # the dictionary that is evaluated next
        self.noted = self.plan.copy()  # that of the best rounding, where the search begins
        self.uses = np.zeros(0, dtype=np.float32)
        self.differences: Differences | None = None
        self.protected = np.zeros(0, dtype=np.int64)
        self.random = np.random.default_rng(seed)

    def cover(self, name: str) -> np.ndarray:
        """uint8 (n,): one of the covers."""
        covers = {BEST: self.best, PARENT: self.parent, ROUNDED: self.rounded, SEARCHED: self.search.cover}
        return covers[name]

    def begin_with(self, cover: np.ndarray) -> None:
        """A cover, uint8 (n,), that is known, is the best one now."""
        self.best[:] = cover

    def keep(self, name: str) -> None:
        """This cover is the best one now."""
        self.best[:] = self.cover(name)

    def evaluate(self, name: str) -> Encoded:
        """A cover as it stands; its uses are those that :meth:`price` begins with."""
        cover = self.cover(name)
        value, used = self._value(cover)
        self.uses = count_uses(self.index, cover, np.float32)
        return Encoded(value, used[self.shared], self.uses[self.shared])

    def _value(self, cover: np.ndarray) -> tuple[float, np.ndarray]:
        """What a cover's pointers cost, and the K-grams of it that only this shard has; uint8 (G,), all it uses."""
        pointers, _, used = self.coder.pointers(cover)
        return pointers + float(self.costs.dictionary[self.private & (used > 0)].sum()), used

    def price(self, uses: np.ndarray) -> np.ndarray:
        """uint8 (H,), used: the cover at prices d + c(s)/u_s is "rounded" now. uses: float (H,), over all shards."""
        own = self.uses
        own[self.shared] = uses
        self.rounded[:] = self.coder.encode(self.costs.dictionary / np.maximum(own, LEAST_USES))
        self.plan = self.coder.pointers(self.rounded)[2]
        return self.plan[self.shared]

    def begin_uses(self, uses: np.ndarray) -> np.ndarray:
        """float (H,): of uses (float32 (G,)), which :meth:`price` begins with, those of the shared K-grams."""
        self.uses = uses
        return uses[self.shared]

    def encode(self, used: np.ndarray) -> Encoded:
        """The cheapest cover with the dictionary of ``plan`` and of the shared K-grams flagged in ``used`` (uint8 (H,))
        is "rounded" now."""
        self.plan[self.shared] = used
        self.rounded[:] = self.coder.encode_with(self.plan)
        return self.evaluate(ROUNDED)

    def note(self) -> None:
        """The dictionary of the "rounded" cover is where the next search begins."""
        self.noted = self.coder.pointers(self.rounded)[2]

    def begin_search(self, noted: bool) -> np.ndarray:
        """uint8 (H,), used here: the dictionary that was noted, or that of the best cover, is evaluated next; the best
        cover is the "parent" now."""
        self.parent[:] = self.best
        self.search.forget()
        self.plan = self.noted.copy() if noted else self.coder.pointers(self.best)[2]
        return self.plan[self.shared]

    def searched(self, present: np.ndarray, progress: Progress) -> Searched | None:
        """Evaluate the dictionary of ``plan`` and of the shared K-grams flagged in ``present``; None if stopped."""
        self.plan[self.shared] = present
        search = self.search
        if not search.evaluate(self.plan, progress):
            return None
        value, used = self._value(search.cover)
        return Searched(value, used[self.shared], search.worth[self.shared])

    def propose(self, adding: bool, used: np.ndarray, worth: np.ndarray, protecting: bool) -> Proposed:
        """Moves of one kind that pay and stand apart; what only this shard has is in ``plan`` now.

        used: uint8 (H,), of any shard's cover; worth: float32 (H,), over all shards.
        """
        search, cost = self.search, self.costs.dictionary
        here = search.worth[self.shared].astype(np.float64)
        search.used[self.shared], search.worth[self.shared] = used, worth
        grams, gain = search.gains(adding=adding)
        if protecting:
            free = ~np.isin(grams, self.protected)
            grams, gain = grams[free], gain[free]
        asked = cost.copy()
        if adding:
            asked[self.shared] *= _portion(here, worth)
        chosen, free_worth = search.choose(grams, gain, asked[grams], adding=adding)
        votes = np.full(self.index.n_grams, 0.0 if adding else 1.0, dtype=np.float32)
        votes[grams] = free_worth if adding else chosen
        self.plan = search.used.copy()
        if protecting:
            self.plan[self.protected] |= search.present[self.protected]
        own = chosen.astype(bool) & self.private[grams]
        self.plan[grams[own]] = adding
        return Proposed(int(own.sum()), votes[self.shared])

    def perturb(self, adding: bool, drawn: np.ndarray) -> None:
        """Add K-grams that nearly pay to ``plan``, or drop those that hardly do, at random; they are protected now.

        drawn: bool (H,), of the shared K-grams, drawn for all shards.
        """
        search = self.search
        candidates = open_to_change(search.present, search.worth, self.costs.dictionary, adding=adding)
        grams = np.flatnonzero(candidates & self.private)
        grams = grams[self.random.random(len(grams)) < SHARE]
        self.plan = search.present.copy()
        self.plan[grams] = adding
        self.protected = np.concatenate([grams, self.shared[drawn]])

    def hold(self, drawn: np.ndarray, used: np.ndarray) -> np.ndarray:
        """float32 (G,): for an annealing, the level of half of the K-grams by whether the best solution has them, NaN
        for the others; drawn: bool (H,), used: uint8 (H,), of the shared ones."""
        best = self.coder.pointers(self.best)[2]
        held = self.random.random(len(best)) < 0.5
        held[self.shared], best[self.shared] = drawn, used
        return np.where(held, best, np.nan).astype(np.float32)

    def compare(self, used_parent: np.ndarray, used_searched: np.ndarray) -> Compared:
        """Where "parent" and "searched" differ; uint8 (H,), the shared K-grams that any shard's cover uses."""
        index, pointers = self.index, self.coder.pointers
        first, second = pointers(self.parent)[2], pointers(self.search.cover)[2]
        first[self.shared], second[self.shared] = used_parent, used_searched
        only_one = (first != second).astype(np.uint8)
        found = Differences.of(index, self.costs, self.parent, self.search.cover, only_one)
        code = -1 - np.arange(index.n_grams, dtype=np.int64)
        code[self.shared] = self.numbers
        grams = np.unique(found.gram)
        self.differences = found
        return Compared(
            found.delta,
            found.segment.astype(np.int64),
            code[found.gram],
            code[grams],
            self.costs.dictionary[grams],
            first[grams] > 0,
        )

    def combine(self, take: np.ndarray) -> np.ndarray:
        """uint8 (H,), used: "parent" with these segments (bool) of "searched" is "rounded" now."""
        assert self.differences is not None
        self.rounded[:] = self.parent
        apply_segments(self.differences, take, self.search.cover, self.rounded)
        self.differences = None
        self.plan = self.coder.pointers(self.rounded)[2]
        return self.plan[self.shared]


def _portion(here: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """What share of a K-gram's worth this shard has to bring; all of it where it cannot do without."""
    known = np.isfinite(here) & (everywhere > 0)
    return np.divide(here, everywhere, out=np.ones(len(here)), where=known)
