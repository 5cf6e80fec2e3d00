"""What every solver of (P) shares: where it stands, its best point with what belongs to it, the certified result."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.engine.run import Run
from cflengine.sentence_lasso.model.certificate import dual_bound, objective_at
from cflengine.sentence_lasso.model.result import SentenceResult, settings_of
from cflengine.sentence_lasso.solvers.iterate import Iterate
from cflengine.sentence_lasso.solvers.multipliers import Multipliers
from cflengine.sentence_lasso.solvers.settings import Settings


class SentenceRun(Run):
    """A solve on its way. ``solver``'s outer loop moves ``here`` and reports; :meth:`result` ends it.

    settings: their ``tol`` is the relative gap that ends it, None for none. copies: float64 (E,), v that belong to
    ``here``, of a solver that has them.
    """

    def __init__(self, here: Iterate, solver: str, settings: Settings, listeners: Iterable[Listener]) -> None:
        super().__init__(settings, listeners, solver=solver, lam=here.problem.lam_sen)
        self.here = here
        self.multipliers = Multipliers(here)
        self.copies: np.ndarray | None = None
        self.best: tuple[np.ndarray, float, np.ndarray | None] = (here.w, here.bias, None)
        self.u = self.multipliers.u
        self.alpha = np.zeros(len(here.scores))
        self.converged = False

    def may_go_on(self) -> bool:
        """Within the limits, and not told to stop; asked between pieces of work."""
        if self.iteration >= self.settings.max_iter and self.progress.reason is None:
            self.progress.reason = TerminationReason.ITERATION_LIMIT
        return super().may_go_on() and not self.converged

    def certify(self, stage: str, *, sparse: bool = True, **extra: float) -> bool:
        """Certify where ``here`` stands, keep what is better than before, report; whether to go on.

        sparse: whether its zeros are the solution's. Only such a point can end the run: if its own gap is small enough,
        it is the result, also where a dense one is better by some fraction of that gap.
        """
        # of many classes that share little time, each has a start
        found, u = self.multipliers.certify(spread=stage != "start" or self.progress.poll())
        self.update_incumbent(found.objective)
        if self.raise_bound(found.lower_bound):
            self.u = u
            self.alpha = self.here.alpha()
        if sparse and self.reached(relative_gap(found.objective, self.lower_bound)):
            self.converged = True
            self.best_objective = found.objective
            self._keep()
        return self._tell(stage, found.objective, extra)

    def update_incumbent(self, objective: float) -> None:
        """Keep ``here``, and the copies that belong to it, if it is better than the best so far."""
        if objective < self.best_objective:
            self.best_objective = objective
            self._keep()

    def _keep(self) -> None:
        self.best = (self.here.w, self.here.bias, None if self.copies is None else self.copies.copy())

    def note(self, stage: str, **extra: float) -> bool:
        """An event without a certificate of its own; whether to go on."""
        objective = self.here.objective()
        self.update_incumbent(objective)
        return self._tell(stage, objective, extra)

    def _tell(self, stage: str, objective: float, extra: dict[str, float]) -> bool:
        self.work = self.here.work
        going = self.report(stage, objective, support=int(np.count_nonzero(self.here.w)), extra=extra)
        return going and not self.converged

    def result(self, reason: TerminationReason | None = None) -> SentenceResult:
        """The best solution with the best bound."""
        w, bias, copies = self.best
        if self.converged:
            reason = TerminationReason.CONVERGED
        problem = self.here.problem
        objective = objective_at(problem, w, bias)
        bound = 0.0  # every loss and penalty is at least that
        if not math.isnan(self.lower_bound):
            bound, _ = dual_bound(problem, self.alpha, self.u, objective)
        facts = self.facts(objective, bound)
        return SentenceResult(
            **facts
            | {
                "reason": reason or self.progress.reason or TerminationReason.ITERATION_LIMIT,
                "settings": settings_of(self.here.problem, self.settings),
            },
            early_stopped=not self.converged,
            w=w,
            bias=bias,
            alpha=self.alpha,
            multipliers=self.u,
            copies=copies,
        )
