"""One shard: some of a corpus's documents, with an index, an iterate and solutions of their own.

What is done to a shard is a method of one of its parts that takes and returns scalars and vectors over the K-grams
that it shares with others, (H,): the coordinator (run.py) needs nothing else, and knows no token. So a shard can lie in
memory, on disk or on another machine (executors.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cflengine.compression.model.parts import PartFacts, part_facts
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.shards.iterate import ShardIterate
from cflengine.compression.shards.solutions import ShardSolutions
from cflengine.compression.solvers.guided.run import usual_rho
from cflengine.compression.solvers.run import Problem
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.text.shared_grams import SharedGrams

Pricing = Callable[[KGramIndex], StorageCosts]


@dataclass
class ShardFacts:
    """What the coordinator knows of a shard: sizes, the unit and ρ it would choose, and its shared K-grams: their
    numbers, how often they occur in it, what storing them costs."""

    n_tokens: int
    n_grams: int
    n_pointers: int
    unit: float
    rho: float
    numbers: np.ndarray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    cost: np.ndarray = field(repr=False)


class Shard:
    """tokens: int32 (n,), doc_ptr: int64 (N+1,) of its documents; price: what its K-grams cost, from its
    index.

    Life: :meth:`name` and :meth:`learn` for each length, :meth:`facts`, :meth:`begin`; then ``iterate`` and
    ``solutions`` work.
    """

    def __init__(self, tokens: np.ndarray, doc_ptr: np.ndarray, max_gram: int, price: Pricing) -> None:
        self.index = index_kgrams(tokens, doc_ptr, max_gram)
        self.given = price(self.index)
        index = self.index
        first = index.first_positions(np.arange(index.n_grams))
        self.sharing: SharedGrams | None = SharedGrams(index.tokens, index.gram_of, index.len_ptr, first)
        self.unit, self.alpha = 1.0, np.zeros(0)
        self.shared = self.numbers = np.zeros(0, dtype=np.int64)
        self.iterate: ShardIterate
        self.solutions: ShardSolutions

    def name(self, length: int) -> np.ndarray:
        """See :class:`~cflengine.text.shared_grams.SharedGrams`."""
        assert self.sharing is not None
        return self.sharing.names(length)

    def learn(self, numbers: np.ndarray) -> None:
        """See :class:`~cflengine.text.shared_grams.SharedGrams`."""
        assert self.sharing is not None
        self.sharing.learn(numbers)

    def facts(self) -> ShardFacts:
        """After the last length was learnt."""
        assert self.sharing is not None
        self.shared, self.numbers = self.sharing.pairs()
        self.sharing = None
        index, problem = self.index, Problem(self.index, self.given)
        return ShardFacts(
            index.n_tokens,
            index.n_grams,
            index.n_pointers,
            problem.unit,
            usual_rho(problem.costs, index),
            self.numbers,
            index.counts()[self.shared],
            self.given.dictionary[self.shared],
        )

    def begin(self, unit: float, rho: float, over: float, seed: int) -> None:
        """Be ready for steps and solutions, with costs in ``unit``."""
        costs = self.given.in_unit(unit)
        self.iterate = ShardIterate(self.index, costs, self.shared, rho, over)
        self.solutions = ShardSolutions(self.iterate, self.numbers, seed)
        self.unit = unit

    def uses(self, taking: bool) -> np.ndarray:
        """float32 (H,): the sums of w over the pointers of shared K-grams, where rounding begins. taking: w may take
        the place of the iterate, so that no step can follow."""
        return self.solutions.begin_uses(self.iterate.uses(taking))

    def begin_annealing(self, holding: bool, drawn: np.ndarray, used: np.ndarray) -> None:
        """Levels are noted from now on. holding: half of the K-grams are priced by whether the best solution uses them;
        of the shared ones those ``drawn`` (bool (H,)), by ``used`` (uint8 (H,))."""
        held = self.solutions.hold(drawn, used) if holding else np.zeros(0, np.float32)
        self.iterate.begin_annealing(held)

    def certify(self, share: np.ndarray) -> PartFacts:
        """What the best cover and the dual prices, feasible where shared K-grams may be charged ``share`` at most, come
        to; both are kept for :meth:`solution`."""
        self.alpha = self.iterate.prices(share)
        self.alpha *= self.unit
        return part_facts(self.solutions.best, self.alpha, self.index.gram_of, self.given, self.shared)

    def solution(self, shrink: float) -> tuple[np.ndarray, np.ndarray]:
        """(cover uint8 (n,), dual prices float64 (n,)); shrink: what the certificate multiplies prices by."""
        self.alpha *= shrink
        return self.solutions.best, self.alpha
