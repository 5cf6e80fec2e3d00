"""The outer loop of every solver of f: the best so far, its bound, events, reasons to stop, the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cflengine.engine.gaps import relative_gap, round_down, sum_terms
from cflengine.engine.progress import NAN, Progress, Stopped, TerminationReason
from cflengine.engine.run import Run
from cflengine.loglinear.model.certificate import lower_bound
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.clustered import Clusters, Step
from cflengine.loglinear.solvers.result import LoglinearResult
from cflengine.loglinear.solvers.settings import Settings


class LoglinearRun(Run):
    """Takes a solver's steps until the certified gap is small enough, or something else says stop.

    lasso: c₁. watch: int64, weights whose trajectories are kept.
    """

    def __init__(
        self,
        objective: Objective,
        settings: Settings,
        *,
        solver: str,
        lasso: float = 0.0,
        watch: Sequence[int] = (),
        progress: Progress,
    ) -> None:
        super().__init__(settings, solver=solver, lam=objective.ridge, progress=progress)
        self.objective, self.lasso, self.max_iter = objective, lasso, settings.max_iter
        self.watch = np.asarray(watch, dtype=np.int64)
        self.trajectories: list[np.ndarray] = []
        self.clusters: list[tuple[int, Clusters]] = []
        self.w = np.zeros(objective.model.n_weights)
        self._proof: Point | None = None  # where the bound comes from
        self._rounding = 0.0  # what was taken off the bound of the last point

    @property
    def stages(self) -> list[str]:
        """The stage of every event so far."""
        return [record.stage for record in self.progress.records]

    def take(self, start: Point, steps: Iterator[Step]) -> TerminationReason:
        """Report the start and every step; why it ended. A solver that runs dry without the gap asked for has reached
        the limits of float64: "numerical error"."""
        going = self._note(Step("start", start))
        while going:
            if self.proved:
                return TerminationReason.CONVERGED
            if self.settings.tol is not None and self.best_objective - self.lower_bound <= 2.0 * self._rounding:
                return TerminationReason.NUMERICAL_ERROR  # what is open is what rounding may have hidden
            if self.iteration >= self.max_iter:
                return TerminationReason.ITERATION_LIMIT
            try:
                step = next(steps, None)
            except Stopped:
                break
            if step is None:
                return TerminationReason.NUMERICAL_ERROR
            self.iteration += 1
            if not math.isfinite(step.point.value):
                return TerminationReason.NUMERICAL_ERROR
            going = self._note(step)
        if self.proved:
            return TerminationReason.CONVERGED
        return self.progress.reason or TerminationReason.INTERRUPTED

    def _note(self, step: Step) -> bool:
        point = step.point
        value = point.value + (self.lasso * float(np.abs(point.w).sum()) if self.lasso else 0.0)
        if step.clusters is None:
            bound = self._bound_at(point)
            if self.raise_bound(bound) or bound == self.lower_bound:
                self._proof = point
            if value <= self.best_objective:
                self.best_objective, self.w = value, point.w
        elif not self.clusters or self.clusters[-1][1] is not step.clusters:
            self.clusters.append((len(self.progress.records), step.clusters))
        if len(self.watch):
            self.trajectories.append(step.weights()[self.watch])
        self.work = self.objective.work.passes
        norm = float(np.linalg.norm(point.gradient)) if len(point.gradient) else NAN
        support = int(np.count_nonzero(point.w)) if self.lasso else -1
        return self.report(step.stage, value, support=support, extra={"gradient_norm": norm})

    def _bound_at(self, point: Point) -> float:
        """Rounded down by what the certificate, which comes at the end, would take off at most."""
        bound = point.bound
        if bound is None:
            bound = lower_bound(point.entropy, point.gathered, self.objective.ridge, self.lasso)
        size = abs(point.loss) + abs(point.loss - point.entropy) + abs(bound)
        rounded = round_down(bound, 64.0 + sum_terms(len(point.w)), size)
        self._rounding = bound - rounded
        return max(0.0, rounded)

    def _certified(self) -> tuple[float, float, np.ndarray | None]:
        """Objective, bound, and the weights that prove it if they are not the solution's."""
        model, ridge, proof = self.objective.model, self.objective.ridge, self._proof
        alpha = None if proof is None else proof.alpha
        found = model.certify(self.w, ridge, self.lasso, alpha)
        bound = found.lower_bound
        if proof is not None and proof.w is not self.w and not self.reached(relative_gap(found.objective, bound)):
            other = model.certify(proof.w, ridge, self.lasso, alpha).lower_bound
            if other > bound:
                return found.objective, other, proof.w
        return found.objective, bound, None

    def result(self, reason: TerminationReason, why: str, settings: dict[str, Any]) -> LoglinearResult:
        """The best solution with the best bound, both as certificate.py finds them from the data."""
        objective, bound, proof = self._certified()
        facts = self.facts(objective, bound)
        return LoglinearResult(
            **facts | {"reason": reason, "settings": settings, "n_passes": self.objective.work.passes},
            w=self.w,
            why=why,
            alpha=None if self._proof is None else self._proof.alpha,
            proof_w=proof,
            trajectories=np.array(self.trajectories).reshape(len(self.trajectories), len(self.watch)),
            clusters=tuple(self.clusters),
        )
