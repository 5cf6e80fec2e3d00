"""Iterative reweighting (Paskov, West, Mitchell, Hastie, "Compressive Feature Learning", NIPS 2013).

A sequence of weighted linear relaxations, each warm from the one before:

    minimise   d̃ᵀw + Σ_s c(s) ‖D_J(s) w_J(s)‖∞   subject to   Xw ≥ 1,  w ≥ 0                       (supplement, 1)

with a diagonal D of weights, d̃ = Dd: all 1 in the first round, which is the relaxation itself, then large where the
last round's solution was small, so that w is driven to be binary.

    each step:   w by the weighted prox (kernels/reweighting.py), z = w projected on Xz ≥ 1, y (kernels/projection.py);
                 z is rounded, every non-zero indicator to 1; the z that costs least so is the round's best projection
    each round:  ADMM until its residuals are small; then D from the best projection
    at the end   the best of all these solutions is re-encoded with its own dictionary.

Where this comes from. The supplement prints the program, both updates and the structure of H. "An Efficient Algorithm
..." (AISTATS 2014, §4.3, §5.2) adds: weights start each round from the projection that costs least when all non-zero
entries are set to 1, not from the minimiser; rounds go on until the solution is binary, 8 of them with 1,729 steps on
BeerAdvocate; redundant pointers stay, so binary solutions are poor until late. Of the paper itself we could read
the abstract, the references and single sentences: reweighting after Candès, Wakin and Boyd (2008), Θ(K²n) a step, and
that the weighted program "recovers the correct binary solution if ε is sufficiently small and we use as weights a
nearly binary solution". Our reading, therefore:

- the linear term is d̃ᵀw, d̃ = Dd, where the supplement prints dᵀw: pointer costs are weighted like the norms, so that
  at a binary w with D = 1/w on its support the weighted objective is the binary one;
- D_ii = max(1, 1/(z_i + ε)), z the best projection of the round, negative entries taken as 0. ε is 0.4: on 300
  documents of 20 Newsgroups the result is 1.0039 times the bound at ε = 0.01, 1.0031 at 0.1, 1.0021 at 0.3, 1.0018 at
  0.4 and 1.0015 at 0.5, from where on the price of a w of ½ no longer rises and rounds go on for long; at 0.7 they
  stall;
- "non-zero" is z > 0.01. ADMM's zeros are small numbers; all from 0.001 to 0.027 gave 1.0018 or 1.0019. A token is
  covered by at most K(K+1)/2 ≤ 36 pointers, so below 1/36 rounding leaves none uncovered;
- ρ, its adaption (residual balancing) and the stopping rule are those of Boyd et al. (2011, §3.3.1, §3.4.1), which
  the paper cites;
- "binary" is: 999 in 1,000 of the non-zero indicators of the best projection within 0.01 of 1. Exact ties between
  K-grams can stay fractional for ever, so the rounds also end when some of them in a row find nothing better.

Beyond the paper: α of the first round, the prices of the tokens, is certified as a lower bound every few steps (see
best_bound.py; the α of later rounds never proved more), and the result is certified from the data.

Memory: see ``state_bytes`` in memory.py.

Examples
--------
"a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> import numpy as np
>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_reweighting(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.cover.tolist(), result.gap < 1e-5
(4.0, [2], [2, 0, 2, 0], True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.search.refine import polish
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.compression.solvers.weighted_admm import WeightedAdmm
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.text.kgrams import KGramIndex

REWEIGHTING = "reweighting"


def solve_reweighting(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ReweightingSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """Compress the indexed corpus. ``lam`` only labels the events. Deterministic for any number of threads."""
    settings = settings or ReweightingSettings()
    with threads(n_threads, index.gram_of.size):
        return _Reweighting(Problem(index, costs), settings, listeners, lam).run()


class _Reweighting(CompressionRun):
    """The outer loop: when a round is over, when to bound, when to end."""

    solver = "reweighting"

    def __init__(
        self,
        problem: Problem,
        settings: ReweightingSettings,
        listeners: Iterable[Listener],
        lam: float,
    ) -> None:
        self.admm = WeightedAdmm(problem.index, problem.costs, settings)
        super().__init__(problem, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.round = 1

    @property
    def lower_bound(self) -> float:
        return self.admm.bound.value

    def run(self) -> CompressionResult:
        """All rounds, then the certificate."""
        going = self._report()
        least, idle = math.inf, 0  # rounds in a row that brought nothing better
        while going:
            self._steps()
            if self.round == 1:
                self._finish_relaxation()
            idle = 0 if self.admm.best_objective < least else idle + 1
            least = min(least, self.admm.best_objective)
            binary = self.admm.binary_share() >= self.settings.binary
            if self.progress.reason or self.proved or binary or idle == self.settings.patience:
                break
            if self.round == self.settings.rounds:
                self.limited = True
                break
            self.round += 1
            self.admm.reweight(self.settings.epsilon)
        return self._finish()

    def _steps(self) -> None:
        """The steps of one round."""
        admm, settings = self.admm, self.settings
        for steps in range(1, settings.round_iterations + 1):
            if not admm.step(self.progress):
                return
            self.iteration += 1
            self.work += 1.0
            if not math.isfinite(admm.value + admm.r + admm.u):
                self.progress.reason = TerminationReason.NUMERICAL_ERROR
                return
            self.update_incumbent(admm.objective, admm.cover)
            if self.round == 1 and steps % settings.bound_every == 0:
                admm.prove()
            if not self._report() or (admm.small and steps >= settings.least_iterations):
                return
        self.limited = self.limited or self.round == 1  # the relaxation is not solved to tolerance

    def _finish_relaxation(self) -> None:
        self.admm.prove()
        if self.iteration:
            self.relaxation, self.relaxation_upper = self.admm.value, self.admm.feasible_value()

    def _report(self) -> bool:
        admm = self.admm
        return self.tell(
            REWEIGHTING,
            admm.objective if math.isfinite(admm.objective) else NAN,
            relaxation=admm.value if self.round == 1 else NAN,
            rho=admm.rho,
            support=admm.support,
            extra={"round": self.round, "r": admm.r, "u": admm.u},
        )

    def _finish(self) -> CompressionResult:
        """Re-encode the best solution, let go of the solver's memory, which the certificate needs, and certify."""
        if self.settings.polish:
            polish(self, self.admm.groups, self.admm.data)
        stopped = self.progress.reason not in (None, TerminationReason.NUMERICAL_ERROR)
        if stopped and self.round == 1:  # the iterate rounds to little yet, its sums already price K-grams well
            cover, objective, _ = next(self.coder.price_by_use(self.admm.uses()))
            self.update_incumbent(objective, cover)
        used = self.re_encode()
        alpha = self.admm.bound.alpha()
        self.admm.release()
        return self.result(used, alpha)
