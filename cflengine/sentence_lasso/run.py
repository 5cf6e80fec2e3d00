"""What every solver of (P) shares: the best solution and bound so far, events, reasons to stop, the result."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import expit

from cflengine.engine.progress import NAN, IterationStats, Listener, Progress, TerminationReason
from cflengine.sentence_lasso.certificate import relative_gap
from cflengine.sentence_lasso.iterate import Iterate
from cflengine.sentence_lasso.multipliers import Multipliers
from cflengine.sentence_lasso.result import SentenceResult, settings_of
from cflengine.sentence_lasso.settings import Settings


class Run:
    """A solve on its way. ``solver``'s outer loop moves ``here`` and reports; :meth:`result` ends it.

    settings: their ``tol`` is the relative gap that ends it, None for none.
    """

    def __init__(self, here: Iterate, solver: str, settings: Settings, listeners: Iterable[Listener]) -> None:
        self.here, self.solver, self.settings = here, solver, settings
        self.tol = -1.0 if settings.tol is None else settings.tol
        self.progress = Progress(listeners, time_limit=settings.time_limit)
        self.multipliers = Multipliers(here)
        self.best: tuple[float, np.ndarray, float] = (math.inf, here.w, here.bias)
        self.bound, self.u = -math.inf, self.multipliers.u
        self.alpha = np.zeros(len(here.scores))
        self.iteration = 0
        self.converged = False

    @property
    def gap(self) -> float:
        """Proved so far."""
        return relative_gap(self.best[0], self.bound)

    def may_go_on(self) -> bool:
        """Within the limits, and not told to stop; asked between pieces of work."""
        if self.iteration >= self.settings.max_iter and self.progress.reason is None:
            self.progress.reason = TerminationReason.ITERATION_LIMIT
        return self.progress.poll() and not self.converged

    def certify(self, stage: str, *, sparse: bool = True, **extra: float) -> bool:
        """Certify where ``here`` stands, keep what is better than before, report; whether to go on.

        sparse: whether its zeros are the solution's. Only such a point can end the run: if its own gap is small enough,
        it is the result, also where a dense one is better by some fraction of that gap.
        """
        found, u = self.multipliers.certify()
        self.offer(found.objective)
        if found.lower_bound > self.bound:
            self.bound, self.u = found.lower_bound, u
            self.alpha = expit(-self.here.problem.y * self.here.scores)
        if sparse and relative_gap(found.objective, self.bound) <= self.tol:
            self.converged = True
            self.best = (found.objective, self.here.w, self.here.bias)
        return self._report(stage, found.objective, extra)

    def offer(self, objective: float) -> None:
        """Keep ``here`` if it is better than the best so far."""
        if objective < self.best[0]:
            self.best = (objective, self.here.w, self.here.bias)

    def report(self, stage: str, **extra: float) -> bool:
        """An event without a certificate of its own; whether to go on."""
        objective = self.here.objective()
        self.offer(objective)
        return self._report(stage, objective, extra)

    def _report(self, stage: str, objective: float, extra: dict[str, float]) -> bool:
        stats = IterationStats(
            iteration=self.iteration,
            stage=stage,
            elapsed_s=self.progress.elapsed_s,
            work=self.here.work,
            objective=objective,
            best_objective=self.best[0],
            lower_bound=self.bound if self.bound > -math.inf else NAN,
            gap=self.gap,
            lam=self.here.problem.lam_sen,
            support=int(np.count_nonzero(self.here.w)),
            extra=extra,
        )
        return self.progress.report(stats) and not self.converged

    def result(self, reason: TerminationReason | None = None, copies: np.ndarray | None = None) -> SentenceResult:
        """The best solution with the best bound. copies: float64 (E,), v, of a solver that has them."""
        objective, w, bias = self.best
        if self.converged:
            reason = TerminationReason.CONVERGED
        return SentenceResult(
            early_stopped=not self.converged,
            w=w,
            bias=bias,
            alpha=self.alpha,
            multipliers=self.u,
            copies=copies,
            objective=objective,
            lower_bound=self.bound,
            gap=relative_gap(objective, self.bound),
            reason=reason or self.progress.reason or TerminationReason.ITERATION_LIMIT,
            n_iterations=self.iteration,
            seconds=self.progress.elapsed_s,
            solver=self.solver,
            settings=settings_of(self.here.problem, self.settings),
            trace=self.progress.trace(),
        )
