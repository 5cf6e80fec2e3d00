"""The guided solver: problem (1) to between a half and two thousandths, proved; the homotopy stays near one hundredth.

    relaxation      linearised ADMM on the linear relaxation until it is solved to a proved gap, not to residuals;
    annealing       the same steps with the dictionary cost made concave: c(s)·log(1 + t/ε)/log(1 + 1/ε) of
                    t = ‖w_J(s)‖∞, reweighted every few steps, c(s)/((t + ε) log(1 + 1/ε)), so that nearly every t
                    becomes 0 or 1;
    rounding        the corpus is encoded at pointer prices d + c(s)/u_s, u_s how often s was used last time, at first
                    the sum of w over J(s);
    local search    additions and removals of K-grams that stand apart (moves.py);
    recombination   a perturbed dictionary is searched again and the best of both solutions combined by a minimum
                    cut (crossover.py);
    exact search    of small parts where the gap lies, all else fixed (neighbourhood.py), and
    branching trees in the end, for documents, or windows of them, where the bound is not tight (model/branching.py).

From annealing to recombination this is repeated, with the relaxation taken up again for a better bound in between,
until the gap is reached, time is up or a whole cycle closes hardly anything.

The bound comes from the relaxation's multipliers (kernels/bound.py), averaged over steps (best_bound.py); every event
carries a valid (objective, bound, gap). A second solve with the same solver object starts from the last relaxation and
the last dictionary (:class:`GuidedSolver`): that is what the λ-path and a dragged slider use.

What was tried and lost: docs/experiments.md.

Examples
--------
"a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_guided(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.cover.tolist(), result.gap < 1e-5
(4.0, [2], [2, 0, 2, 0], True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.guided.run import GuidedRun, WarmState
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule, length_steps
from cflengine.compression.solvers.run import Problem
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, Listener
from cflengine.text.kgrams import KGramIndex


def solve_guided(
    index: KGramIndex,
    costs: StorageCosts,
    settings: GuidedSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
    known: Iterable[tuple[np.ndarray, np.ndarray | None]] = (),
) -> CompressionResult:
    """Compress the indexed corpus. ``lam`` only labels the events; known: as for :class:`GuidedSolver`. Deterministic
    for any number of threads."""
    solver = GuidedSolver(index, n_threads=n_threads, once=True)
    return solver.solve(costs, settings, listeners=listeners, lam=lam, known=known)


class GuidedSolver:
    """Solves problem (1) on one corpus again and again, for other costs, each time from where the last ended.

    Parameters
    ----------
    index : KGramIndex
        The K-grams.
    n_threads : int or None, default: None
        None for all cores.
    once : bool, default: False
        Whether there will be one solve only, so that memory can go to its certificate.
    """

    def __init__(self, index: KGramIndex, *, n_threads: int | None = None, once: bool = False) -> None:
        self.index, self.n_threads, self.once = index, n_threads, once
        self.admm: LinearisedAdmm | None = None
        self.warm: WarmState | None = None

    def solve(
        self,
        costs: StorageCosts,
        settings: GuidedSettings | None = None,
        *,
        listeners: Iterable[Listener] = (),
        lam: float = NAN,
        known: Iterable[tuple[np.ndarray, np.ndarray | None]] = (),
    ) -> CompressionResult:
        """Solve for ``costs``; warm from the second call on.

        known: solutions of this problem or one much like it, as (cover uint8 (n,), dual prices (n,) or None): for this
        very problem the result is at least as good; the search starts from the last one's dictionary.
        """
        settings = settings or GuidedSettings()
        problem = Problem(self.index, costs)
        with threads(self.n_threads, self.index.gram_of.size):
            if self.admm is None:
                sigma = length_steps(self.index.max_gram)
                self.admm = LinearisedAdmm(self.index, problem.costs, RhoRule(1.0, 1.0, 1, math.inf), sigma=sigma)
            solve = GuidedRun(self, problem, settings, listeners, lam)
            for cover, alpha in known:
                solve.warm_start(cover, None if alpha is None else alpha / problem.unit)
            return solve.run()
