"""The solvers by name, and which model each is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cflengine.engine.jit import one_blas_thread
from cflengine.engine.progress import Listener
from cflengine.engine.results import settings_dict
from cflengine.loglinear.auto import auto, explain
from cflengine.loglinear.clustered import Step, clustered
from cflengine.loglinear.dense import bfgs, iterative_scaling
from cflengine.loglinear.dual import dual, no_weights
from cflengine.loglinear.lbfgs import lbfgs
from cflengine.loglinear.models import BinaryModel, ScoreModel
from cflengine.loglinear.newton import newton
from cflengine.loglinear.objective import Objective, Point
from cflengine.loglinear.owlqn import owlqn
from cflengine.loglinear.result import LoglinearResult
from cflengine.loglinear.run import Run
from cflengine.loglinear.settings import (
    AutoSettings,
    ClusteredSettings,
    DenseSettings,
    DualSettings,
    LBFGSSettings,
    NewtonSettings,
    Settings,
)

SOLVERS: dict[str, type] = {
    "auto": AutoSettings,
    "lbfgs": LBFGSSettings,
    "clustered": ClusteredSettings,
    "newton-cg": NewtonSettings,
    "dual": DualSettings,
    "bfgs": DenseSettings,
    "fis": DenseSettings,
}
BINARY_ONLY = ("dual", "fis")


def check_settings(solver: str, settings: Settings | None, tol: float) -> Settings:
    """The settings to solve with: those given, which must be the solver's, or its own with ``tol``.

    Raises ValueError.
    """
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}.")
    if settings is None:
        return SOLVERS[solver](tol=tol)
    if type(settings) is not SOLVERS[solver]:
        raise ValueError(f"settings of solver {solver!r} must be {SOLVERS[solver].__name__}, not {settings!r}.")
    return settings


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
    listeners: Iterable[Listener] = (),
) -> LoglinearResult:
    """Minimise f from ``start`` (default 0; "dual" and "auto" of two classes have no use for one).

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
    by_dual = solver == "dual" or (solver == "auto" and isinstance(model, BinaryModel))
    if by_dual:
        first = no_weights(objective)
    else:
        first = objective.at(np.zeros(model.n_weights) if start is None else start.astype(np.float64))
    n_tied = model.n_weights if n_tied is None else n_tied
    steps = _steps(objective, first, solver, settings, lasso, n_tied)
    with one_blas_thread():
        reason = run.take(first, steps)
    chosen = {"ridge": ridge, "lasso": lasso} | settings_dict(settings)
    why = explain(run.stages) if solver == "auto" else ""
    return run.result(reason, solver, why, chosen)


def _steps(
    objective: Objective, first: Point, solver: str, settings: Settings, lasso: float, n_tied: int
) -> Iterator[Step]:
    if isinstance(settings, ClusteredSettings):
        return clustered(objective, first, settings, n_tied)
    if isinstance(settings, AutoSettings):
        return (Step(stage, point) for stage, point in auto(objective, first, settings.tol, settings.seed))
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
