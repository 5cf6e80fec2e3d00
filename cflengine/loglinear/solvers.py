"""The solvers by name, which model each is for, and the rule by which "auto" chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cflengine.engine.progress import Listener
from cflengine.engine.results import settings_dict
from cflengine.loglinear.clustered import Step, clustered
from cflengine.loglinear.dense import bfgs, iterative_scaling
from cflengine.loglinear.dual import dual
from cflengine.loglinear.lbfgs import lbfgs
from cflengine.loglinear.models import BinaryModel, ScoreModel
from cflengine.loglinear.newton import newton
from cflengine.loglinear.objective import Objective, Point
from cflengine.loglinear.owlqn import owlqn
from cflengine.loglinear.result import LoglinearResult
from cflengine.loglinear.run import Run
from cflengine.loglinear.settings import (
    ClusteredSettings,
    DenseSettings,
    DualSettings,
    LBFGSSettings,
    NewtonSettings,
    Settings,
)

SOLVERS: dict[str, type] = {
    "lbfgs": LBFGSSettings,
    "clustered": ClusteredSettings,
    "newton-cg": NewtonSettings,
    "dual": DualSettings,
    "bfgs": DenseSettings,
    "fis": DenseSettings,
}
BINARY_ONLY = ("dual", "fis")


def check_settings(solver: str, settings: Settings | None, tol: float) -> Settings | None:
    """The settings to solve with: those given, which must be that solver's, or its own with ``tol``; None of "auto",
    whose solver is not known yet. Raises ValueError."""
    if not isinstance(solver, str) or solver not in ("auto", *SOLVERS):
        raise ValueError(f"solver must be one of auto, {', '.join(SOLVERS)}, not {solver!r}.")
    if solver == "auto":
        if settings is not None:
            raise ValueError("settings go with a solver: name it, not 'auto'.")
        LBFGSSettings(tol=tol)
        return None
    if settings is None:
        return SOLVERS[solver](tol=tol)
    if type(settings) is not SOLVERS[solver]:
        raise ValueError(f"settings of solver {solver!r} must be {SOLVERS[solver].__name__}, not {settings!r}.")
    return settings


def choose(model: ScoreModel, ridge: float) -> tuple[str, str]:
    """The solver of "auto" and why: the fastest to a certified 1e-4 in ``python -m benchmarks loglinear``."""
    if not hasattr(model, "bend"):
        return "lbfgs", "the model has no products with its Hessian"
    return "newton-cg", "any other"


def solve(
    model: ScoreModel,
    ridge: float,
    solver: str,
    settings: Settings,
    *,
    start: np.ndarray | None = None,
    lasso: float = 0.0,
    n_tied: int | None = None,
    watch: Sequence[int] = (),
    why: str = "",
    listeners: Iterable[Listener] = (),
) -> LoglinearResult:
    """Minimise f from ``start`` (default 0).

    lasso: c₁, for solver "lbfgs" alone, which then is OWL-QN. n_tied: how many weights "clustered" may cluster. watch:
    weights whose trajectories are kept. Raises ValueError for a solver that is not for this model.
    """
    if solver in BINARY_ONLY and not isinstance(model, BinaryModel):
        raise ValueError(f"solver {solver!r} is for two classes, or one against the rest.")
    if solver == "newton-cg" and not hasattr(model, "bend"):
        raise ValueError("solver 'newton-cg' needs products with the Hessian, which this model has not.")
    if lasso and solver != "lbfgs":
        raise ValueError(f"solver {solver!r} knows no c1; solver 'lbfgs' does.")
    objective = Objective(model, ridge)
    run = Run(objective, settings, lasso=lasso, watch=watch, listeners=listeners)
    first = objective.at(np.zeros(model.n_weights) if start is None else start.astype(np.float64))
    n_tied = model.n_weights if n_tied is None else n_tied
    steps = _steps(objective, first, solver, settings, lasso, n_tied)
    reason = run.take(first, steps)
    chosen = {"ridge": ridge, "lasso": lasso} | settings_dict(settings)
    return run.result(reason, solver, why, chosen)


def _steps(
    objective: Objective, first: Point, solver: str, settings: Settings, lasso: float, n_tied: int
) -> Iterator[Step]:
    if isinstance(settings, ClusteredSettings):
        return clustered(objective, first, settings, n_tied)
    if isinstance(settings, LBFGSSettings):
        if lasso:
            return _named("owl-qn", owlqn(objective, first, lasso, memory=settings.memory))
        points = lbfgs(objective, first, memory=settings.memory, curvature=settings.curvature, scaled=settings.scaled)
        return _named("l-bfgs", points)
    if isinstance(settings, NewtonSettings):
        points = newton(objective, first, forcing=settings.forcing, max_products=settings.max_products)
        return _named("newton", points)
    if isinstance(settings, DualSettings):
        return _named("dual", dual(objective, settings.seed))
    return _named(solver, bfgs(objective, first) if solver == "bfgs" else iterative_scaling(objective, first))


def _named(stage: str, points: Iterator[Point]) -> Iterator[Step]:
    return (Step(stage, point) for point in points)
