"""The outer loop of a sharded solve: what the guided solver does, with every sum over documents taken over shards.

Rounds of a few steps on every shard, then levels are exchanged and the shared dictionary costs divided anew
(budgets.py). Bounds, covers and moves are those of the whole: an exchange of a number for each shared K-gram and shard
makes them so. State of the whole: the division, the best objective and bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from cflengine.compression.shards.budgets import Budgets
from cflengine.compression.shards.executors import Executor
from cflengine.compression.shards.iterate import Steps
from cflengine.compression.shards.refine import ShardedRefinement
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.shards.solutions import BEST, Encoded
from cflengine.compression.solvers.guided.annealing import FEW
from cflengine.compression.solvers.guided.phases import ANNEALING, RELAXATION, GuidedPhases
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.engine.run import Run

FIRST_STEPS, STEPS = 20, 5  # between exchanges of levels
ETA = 0.5  # of the division's supergradient steps, in the unit of costs


class ShardedRun(GuidedPhases, Run):
    """One solve over the shards of an executor."""

    solver = "sharded"
    first_look = FIRST_STEPS

    def __init__(
        self,
        executor: Executor,
        budgets: Budgets,
        settings: ShardedSettings,
        listeners: Iterable[Listener],
        lam: float,
        *,
        unit: float,
    ) -> None:
        """budgets: of the shared K-grams, costs in ``unit``."""
        super().__init__(settings, listeners, lam=lam, unit=unit)
        self.executor, self.budgets, self.guided = executor, budgets, settings.unsharded
        self.cost = budgets.cost
        self.levels = np.zeros(len(self.budgets.entry), dtype=np.float32)
        self.saved_share = self.budgets.share
        self._refinement = ShardedRefinement(self)
        self.random = np.random.default_rng(settings.random_state)
        self.relaxation = NAN
        self.support = 0
        self.undecided = (0, 0)
        self.started = False

    @property
    def refinement(self) -> ShardedRefinement:
        return self._refinement

    @property
    def value(self) -> float:
        return self.relaxation

    @property
    def lower_bound(self) -> float:
        return self._bound

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """See :class:`~cflengine.compression.shards.executors.Executor`."""
        return self.executor.each(method, *arguments)

    def same(self, value: Any) -> list[Any]:
        """One argument for all shards."""
        return [value] * self.executor.n_shards

    def warm_start(self, covers: list[np.ndarray], prices: list[np.ndarray] | None) -> None:
        """Begin with a solution, and try its prices (in the user's unit) as a bound, which any prices are."""
        self.each("solutions.begin_with", covers)
        self.started = True
        if prices is not None:
            self.each("iterate.begin_with", [alpha / self.unit for alpha in prices])
            self.update_bound(last=True)

    def known(self) -> bool:
        """Whether there was a warm start."""
        return self.started

    def incumbent(self) -> tuple[np.ndarray, np.ndarray]:
        """The best solution, uint8 (n,), and the prices behind the best bound, float32 (n,), in the user's unit."""
        covers = self.each("solutions.cover", self.same(BEST))
        prices = self.each("iterate.best_prices")
        return np.concatenate(covers), np.float32(self.unit) * np.concatenate(prices)

    def go(self) -> None:
        """All phases; the best cover is re-encoded in the end."""
        self.refinement.start()
        going = self.report(RELAXATION) and self.solve_relaxation()
        if not going:
            self.look_at_last()
        self.save_relaxation()
        if going and self.guided.relaxation_only:
            self.refinement.round(self.refinement.uses(taking=True))
        elif going and not self.refinement.done and self._first_search():
            self.cycles()
        self.refinement.re_encode_best()

    def total(self, encoded: list[Encoded]) -> float:
        """The objective of a cover, from what the shards say of it."""
        used = self.budgets.any(np.concatenate([one.used for one in encoded]))
        return sum(one.value for one in encoded) + float(self.cost[used > 0].sum())

    def _first_search(self) -> bool:
        """From the solution that is known, or from the rounded relaxation; False if stopped."""
        # what is annealed is better, and takes several times as long; a solution that is known is better than both
        if self.guided.annealings and self.started:
            return self.refinement.descend(noted=False)
        return self.search_relaxed()

    def round(self, stage: str, n: int, *, averaging: bool) -> bool:
        """So many steps on every shard, then the division anew; False if stopped."""
        done: list[Steps | None] = self.each(
            "iterate.steps", self.budgets.by_shard(self.budgets.share), self.same(n), self.same(averaging)
        )
        if any(one is None for one in done):
            return False
        steps = [one for one in done if one is not None]
        self.levels = np.concatenate([one.levels for one in steps])
        budgets = self.budgets
        value = sum(one.value for one in steps)
        if stage == RELAXATION:
            self.relaxation = value
        if not math.isfinite(value):
            self.progress.reason = TerminationReason.NUMERICAL_ERROR
            return False
        self.support = sum(one.support for one in steps)
        self.undecided = sum(one.undecided for one in steps), sum(one.positive for one in steps)
        budgets.divide(self.levels, ETA)
        self.iteration += n
        self.work += n
        extra = {} if stage == ANNEALING else {"relaxation": self.unit * self.relaxation, "zeta": 0.0}
        executor = self.executor
        exchanged = {"exchanged_bytes": float(executor.exchanged), "handed_out_bytes": float(executor.handed_out)}
        self.progress.show(self)
        return self.report(stage, support=self.support, extra=extra | exchanged)

    def update_bound(self, *, last: bool = False) -> list[np.ndarray]:
        """Prove a bound from the shards' prices, averaged over steps (last: from the best so far); the division of
        costs behind it, by shard."""
        excess = np.concatenate(self.each("iterate.excesses", self.same(last)))
        share = self.budgets.by_shard(self.budgets.asked_for(excess))
        bound = sum(self.each("iterate.bound", share))
        if math.isfinite(bound) and self.raise_bound(bound):
            self.each("iterate.keep_bound")
        return share

    def advance(self, most: int) -> int:
        """Some steps, and an exchange of levels."""
        n = min(STEPS if self.steps_done else FIRST_STEPS, most)
        if not self.round(RELAXATION, n, averaging=True):
            return 0
        self.steps_done += n
        return n

    def prove(self) -> None:
        """The means of the shards' multipliers as a bound."""
        self.update_bound()

    def look(self) -> None:
        """Round the relaxation as it stands."""
        self.refinement.round(self.refinement.uses(taking=False), rounds=2)

    def search_relaxed(self) -> bool:
        """Round and search, and leave the relaxation as it was saved; False if stopped."""
        refinement = self.refinement
        refinement.round(refinement.uses(taking=True))
        going = refinement.descend()
        self.return_to_relaxation()
        return going

    def save_relaxation(self) -> None:
        """Keep iterates and division."""
        self.saved_share = self.budgets.share
        self.each("iterate.save")

    def return_to_relaxation(self) -> None:
        """The iterates and the division that were saved last."""
        self.budgets.cost, self.budgets.share = self.cost, self.saved_share
        self.each("iterate.restore")

    def anneal(self, i: int) -> bool:
        """The i-th annealing, then rounding and search; as guided/annealing.py does it. False if stopped."""
        settings = self.guided
        self.return_to_relaxation()
        held, level = self._hold(nothing=i == 0)
        going = self.round(RELAXATION, 1, averaging=False)
        epsilon, shorter = settings.epsilon / 2 ** (max(i - 1, 0) % 3), 2 if i else 1
        for _ in range(-(-settings.anneal_rounds // shorter)):
            top = np.where(held, level, np.minimum(self.budgets.highest(self.levels), 1.0))
            self.budgets.rescale(self.cost / ((top + epsilon) * math.log1p(1.0 / epsilon)))
            self.each("iterate.reweigh", self.same(epsilon))
            steps = -(-settings.anneal_steps // shorter)
            for first in range(0, steps, STEPS):
                going = going and self.round(ANNEALING, min(STEPS, steps - first), averaging=False)
            undecided, positive = self.undecided
            if not going or undecided <= FEW * positive:
                break
        uses = self.refinement.uses(taking=True) if going else None
        self.each("iterate.end_annealing")
        self.budgets.cost, self.budgets.share = self.cost, self.saved_share
        if uses is None:
            return False
        self.refinement.round(uses)
        return self.refinement.descend()

    def _hold(self, *, nothing: bool) -> tuple[np.ndarray, np.ndarray]:
        """Half of the shared K-grams, bool (S,), and whether the best solution has them, float64 (S,); the shards hold
        half of their own. Or ``nothing``."""
        used, drawn = np.zeros(len(self.cost), dtype=np.uint8), np.zeros(len(self.cost), dtype=bool)
        if not nothing:
            encoded = self.each("solutions.evaluate", self.same(BEST))
            used = self.budgets.any(np.concatenate([one.used for one in encoded]))
            drawn = self.random.random(len(used)) < 0.5
        shares = self.budgets.spread(drawn), self.budgets.spread(used)
        self.each("begin_annealing", self.same(not nothing), *shares)
        return drawn, used.astype(np.float64)
