"""What every solve is, while it runs: the best solution's value, the best proved bound, events, why it ended.

A solver's outer loop subclasses :class:`Run`: it offers every feasible solution it meets, raises the bound whenever it
proves one, and reports after every step. Both only ever get better, so that a run can be stopped at any moment with
what is proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import NAN, IterationStats, Listener, Progress, TerminationReason
from cflengine.engine.results import settings_dict
from cflengine.engine.settings import Limits


class Run:
    """One solve.

    solver: its name. settings: their ``tol`` is the proved gap that ends it. unit: what the solver's own numbers are
    multiplied by to be the user's. lam: labels the events.
    """

    solver = ""

    def __init__(
        self,
        settings: Limits,
        listeners: Iterable[Listener] = (),
        *,
        solver: str = "",
        lam: float = NAN,
        unit: float = 1.0,
        progress: Progress | None = None,
    ) -> None:
        self.settings: Any = settings  # of the solver's own class
        self.lam, self.unit = lam, unit
        self.solver = solver or self.solver
        self.progress = progress or Progress(listeners, time_limit=settings.time_limit)
        self.iteration = 0
        self.work = 0.0
        self.best_objective = math.inf
        self.limited = False  # by a number of iterations
        self._bound = NAN

    @property
    def lower_bound(self) -> float:
        """The best proved bound; NaN before there is one."""
        return self._bound

    def raise_bound(self, bound: float) -> bool:
        """Note a proved bound; whether it is the best so far."""
        better = not bound <= self._bound and not math.isnan(bound)
        if better:
            self._bound = bound
        return better

    @property
    def gap(self) -> float:
        """Of the best solution, proved; NaN before there is a bound."""
        return relative_gap(self.best_objective, self.lower_bound) if math.isfinite(self.best_objective) else NAN

    def reached(self, gap: float) -> bool:
        """Whether a proved gap is the one asked for, or smaller; never, where none was asked for."""
        return self.settings.tol is not None and gap <= self.settings.tol

    @property
    def proved(self) -> bool:
        """Whether the best solution's gap is the one asked for."""
        return self.reached(self.gap)

    def may_go_on(self) -> bool:
        """Asked between pieces of work: whether no listener said stop, and there is time left."""
        return self.progress.poll()

    def report(
        self, stage: str, objective: float = NAN, *, support: int = -1, extra: Mapping[str, float] | None = None
    ) -> bool:
        """Tell the listeners where the solve stands; False means stop."""
        unit, best = self.unit, self.best_objective
        stats = IterationStats(
            iteration=self.iteration,
            stage=stage,
            elapsed_s=self.progress.elapsed_s,
            work=self.work,
            objective=unit * objective,
            best_objective=unit * best if math.isfinite(best) else NAN,
            lower_bound=unit * self.lower_bound,
            gap=self.gap,
            lam=self.lam,
            support=support,
            extra=extra or {},
        )
        return self.progress.report(stats)

    @property
    def reason(self) -> TerminationReason:
        """Why it ended."""
        if self.progress.reason is not None:
            return self.progress.reason
        return TerminationReason.ITERATION_LIMIT if self.limited else TerminationReason.CONVERGED

    def facts(self, objective: float, lower_bound: float) -> dict[str, Any]:
        """The fields that every :class:`~cflengine.engine.results.Result` has, for a certified objective and bound."""
        return {
            "objective": objective,
            "lower_bound": lower_bound,
            "gap": relative_gap(objective, lower_bound),
            "reason": self.reason,
            "n_iterations": self.iteration,
            "n_passes": self.work,
            "seconds": self.progress.elapsed_s,
            "solver": self.solver,
            "settings": settings_dict(self.settings),
            "events": tuple(self.progress.records),
        }
