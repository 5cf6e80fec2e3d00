"""The continuous iterate of one shard: steps at divided costs, levels, bounds (budgets.py says what is divided)."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.best_bound import MultiplierAverage
from cflengine.compression.solvers.guided.annealing import UNDECIDED
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule, length_steps
from cflengine.engine.progress import Progress
from cflengine.text.kgrams import KGramIndex


class Steps(NamedTuple):
    """After some steps. levels: float32 (H,), ‖w_J(s)‖∞ of the shared K-grams; value: of w at the divided costs;
    support, undecided, positive: K-grams with w ≠ 0, and of the private ones those with a level between 0.02 and 0.98,
    and above 0.02."""

    levels: np.ndarray
    value: float
    support: int
    undecided: int
    positive: int


class ShardIterate:
    """Linearised ADMM on one shard.

    ``cost``: float64 (G,), what the prox charges, and what the bound's prices may be in excess of: c(s) of the K-grams
    that only this shard has, c_k(s) of the ``shared`` (int (H,)). ``private``: bool (G,), those that no other has.
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, shared: np.ndarray, rho: float, over: float) -> None:
        self.index, self.costs, self.shared = index, costs, shared
        self.private = np.ones(index.n_grams, dtype=bool)
        self.private[shared] = False
        self.cost = costs.dictionary.copy()
        self.admm = LinearisedAdmm(index, costs, RhoRule(1.0, 1.0, 1, math.inf), sigma=length_steps(index.max_gram))
        self.admm.retarget(costs, rho, over)
        self.admm.bound.costs = StorageCosts(costs.pointer_by_length, costs.pointer_extra, self.cost)
        self.admm.group_cost = self.cost
        self.average = MultiplierAverage(index.n_tokens)
        self.saved: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.tried_y = np.zeros(0, dtype=np.float32)
        self.top = np.zeros(0, dtype=np.float32)

    def steps(self, share: np.ndarray, n: int, averaging: bool, progress: Progress) -> Steps | None:
        """So many steps with the shared K-grams charged ``share`` (float32 (H,)); None where it was stopped."""
        admm = self.admm
        self.cost[self.shared] = share
        top = self.top if len(self.top) else np.zeros(self.index.n_grams, dtype=np.float32)
        for i in range(n):
            admm.levels = top if i == n - 1 else np.zeros(0, dtype=np.float32)
            if not admm.step(0.0, progress):
                return None
            if averaging:
                self.average.add(admm.y)
        return self._summary(top)

    def _summary(self, top: np.ndarray) -> Steps:
        own = top[self.private]
        positive = own > UNDECIDED[0]
        return Steps(
            top[self.shared],
            self.admm.relaxation,
            self.admm.support,
            int(np.count_nonzero(positive & (own < UNDECIDED[1]))),
            int(np.count_nonzero(positive)),
        )

    def excesses(self, last: bool) -> np.ndarray:
        """float32 (H,): what the prices that are to be tried ask for of shared K-grams (budgets.py); last: the best
        prices so far, not those of the last steps."""
        if last:
            self.tried_y = self.admm.bound.best_y.copy()
        else:
            with self.average.proposal(self.admm.y) as y:
                self.tried_y = y.copy()
            self.average.tried()
        return self.admm.bound.excesses(self.tried_y)[self.shared]

    def bound(self, share: np.ndarray) -> float:
        """The bound that these prices prove where shared K-grams may be charged ``share`` at most."""
        self.cost[self.shared] = share
        return self.admm.bound.dual(self.tried_y)

    def begin_with(self, alpha: np.ndarray) -> None:
        """Prices, float (n,), that are known: those of the best bound so far, and where steps begin."""
        self.admm.bound.best_y[:] = -alpha
        self.admm.y[:] = -alpha

    def best_prices(self) -> np.ndarray:
        """float32 (n,): those behind the best bound."""
        return np.maximum(-self.admm.bound.best_y, np.float32(0.0))

    def keep_bound(self) -> None:
        """The prices tried last are the best so far."""
        self.admm.bound.best_y[:] = self.tried_y

    def prices(self, share: np.ndarray) -> np.ndarray:
        """float64 (n,): the dual feasible prices behind :meth:`bound`."""
        alpha = np.zeros(self.index.n_tokens)
        self.cost[self.shared] = share
        self.admm.bound.dual(self.tried_y, alpha)
        return alpha

    def save(self) -> None:
        """Keep the relaxation's iterate, for what comes after the search."""
        admm = self.admm
        if self.saved is None:
            self.saved = (admm.q.copy(), admm.y.copy(), admm.z.copy())
        else:
            for kept, now in zip(self.saved, (admm.q, admm.y, admm.z), strict=True):
                kept[:] = now

    def restore(self) -> None:
        """The iterate that was saved."""
        assert self.saved is not None
        for kept, now in zip(self.saved, (self.admm.q, self.admm.y, self.admm.z), strict=True):
            now[:] = kept
        self.end_annealing()

    def begin_annealing(self, held: np.ndarray) -> None:
        """From now on :meth:`reweigh` sets costs from levels. held: float32 (G,), the level that a K-gram is priced by,
        NaN for its own."""
        self.top = np.zeros(self.index.n_grams, dtype=np.float32)
        self.held = held

    def reweigh(self, epsilon: float) -> None:
        """The concave cost of the K-grams that only this shard has, from their levels."""
        np.minimum(self.top, 1.0, out=self.top)
        if len(self.held):
            np.copyto(self.top, self.held, where=~np.isnan(self.held))
        factor = 1.0 / ((self.top[self.private] + epsilon) * math.log1p(1.0 / epsilon))
        self.cost[self.private] = self.costs.dictionary[self.private] * factor

    def end_annealing(self) -> None:
        """Costs as they are."""
        self.top = np.zeros(0, dtype=np.float32)
        self.held = np.zeros(0, dtype=np.float32)
        self.cost[self.private] = self.costs.dictionary[self.private]

    def uses(self, taking: bool) -> np.ndarray:
        """float32 (G,): the sum of w over each J(s); taking: w may take the place of q, so that no step can follow."""
        admm = self.admm
        uses = np.zeros(self.index.n_grams, dtype=np.float32)
        with nullcontext(admm.take_w()) if taking else admm.lent_w() as w:
            admm.groups.apply(kernels_prox.SUM, w, self.costs.dictionary, levels=uses)
        return uses
