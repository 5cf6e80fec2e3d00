"""The outer loop of every solver of f: the best so far, its bound, events, reasons to stop, the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cflengine.engine.progress import NAN, IterationStats, Listener, Progress, TerminationReason
from cflengine.loglinear.certificate import lower_bound, relative_gap
from cflengine.loglinear.clustered import Clusters, Step
from cflengine.loglinear.objective import Objective, Point
from cflengine.loglinear.result import LoglinearResult
from cflengine.loglinear.settings import Settings


class Run:
    """Takes a solver's steps until the certified gap is small enough, or something else says stop.

    lasso: c₁. watch: int64, weights whose trajectories are kept.
    """

    def __init__(
        self,
        objective: Objective,
        settings: Settings,
        *,
        lasso: float = 0.0,
        watch: Sequence[int] = (),
        listeners: Iterable[Listener] = (),
    ) -> None:
        self.objective, self.settings, self.lasso = objective, settings, lasso
        self.progress = Progress(listeners, time_limit=settings.time_limit)
        self.watch = np.asarray(watch, dtype=np.int64)
        self.trajectories: list[np.ndarray] = []
        self.clusters: list[tuple[int, Clusters]] = []
        self.best = math.inf
        self.w = np.zeros(objective.model.n_weights)
        self.bound = 0.0
        self.iteration = 0

    @property
    def gap(self) -> float:
        """Proved so far."""
        return relative_gap(self.best, self.bound)

    def take(self, start: Point, steps: Iterator[Step]) -> TerminationReason:
        """Report the start and every step; why it ended. A solver that runs dry without the gap asked for has reached
        the limits of float64: "numerical error"."""
        going = self._report(Step("start", start))
        while going:
            if self.gap <= self.settings.tol:
                return TerminationReason.CONVERGED
            if self.iteration >= self.settings.max_iter:
                return TerminationReason.ITERATION_LIMIT
            step = next(steps, None)
            if step is None:
                return TerminationReason.NUMERICAL_ERROR
            self.iteration += 1
            if not math.isfinite(step.point.value):
                return TerminationReason.NUMERICAL_ERROR
            going = self._report(step)
        if self.gap <= self.settings.tol:
            return TerminationReason.CONVERGED
        return self.progress.reason or TerminationReason.INTERRUPTED

    def _report(self, step: Step) -> bool:
        point = step.point
        value = point.value + (self.lasso * float(np.abs(point.w).sum()) if self.lasso else 0.0)
        if step.clusters is None:
            bound = lower_bound(point.entropy, point.gathered, self.objective.ridge, self.lasso)
            self.bound = max(self.bound, bound)
            if value <= self.best:
                self.best, self.w = value, point.w
        elif not self.clusters or self.clusters[-1][1] is not step.clusters:
            self.clusters.append((len(self.progress.records), step.clusters))
        if len(self.watch):
            self.trajectories.append(step.weights()[self.watch])
        stats = IterationStats(
            iteration=self.iteration,
            stage=step.stage,
            elapsed_s=self.progress.elapsed_s,
            work=self.objective.work.passes,
            objective=value,
            best_objective=self.best if math.isfinite(self.best) else NAN,
            lower_bound=self.bound,
            gap=self.gap,
            lam=self.objective.ridge,
            support=int(np.count_nonzero(point.w)) if self.lasso else -1,
            extra={"gradient_norm": float(np.linalg.norm(point.gradient))},
        )
        return self.progress.report(stats)

    def result(self, reason: TerminationReason, solver: str, why: str, settings: dict[str, Any]) -> LoglinearResult:
        """The best solution with the best bound."""
        return LoglinearResult(
            w=self.w,
            objective=self.best,
            lower_bound=self.bound,
            gap=self.gap,
            reason=reason,
            n_iterations=self.iteration,
            n_passes=self.objective.work.passes,
            seconds=self.progress.elapsed_s,
            solver=solver,
            why=why,
            settings=settings,
            trace=self.progress.trace(),
            trajectories=np.array(self.trajectories).reshape(len(self.trajectories), len(self.watch)),
            clusters=tuple(self.clusters),
        )
