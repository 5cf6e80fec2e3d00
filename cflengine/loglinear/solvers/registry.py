"""The solvers by name, and which model each is for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.gaps import relative_gap
from cflengine.engine.jit import one_blas_thread
from cflengine.engine.progress import Listener, Progress, Stopped
from cflengine.engine.registry import Registry, Solver
from cflengine.engine.results import settings_dict
from cflengine.loglinear.model.losses import BinaryModel, MultinomialModel, ScoreModel
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.auto import auto, explain
from cflengine.loglinear.solvers.clustered import Step, clustered
from cflengine.loglinear.solvers.dual import dual, no_weights
from cflengine.loglinear.solvers.lbfgs import lbfgs
from cflengine.loglinear.solvers.newton import newton
from cflengine.loglinear.solvers.owlqn import owlqn
from cflengine.loglinear.solvers.result import LoglinearResult
from cflengine.loglinear.solvers.run import LoglinearRun
from cflengine.loglinear.solvers.settings import (
    AutoSettings,
    ClusteredSettings,
    DualSettings,
    LBFGSSettings,
    NewtonSettings,
    Settings,
)


def _named(stage: str, points: Iterator[Point]) -> Iterator[Step]:
    return (Step(stage, point) for point in points)


def _auto(objective: Objective, first: Point, settings: AutoSettings, **_: Any) -> Iterator[Step]:
    return (Step(stage, point) for stage, point in auto(objective, first, settings.tol, settings.random_state))


def _lbfgs(objective: Objective, first: Point, settings: LBFGSSettings, *, lasso: float, **_: Any) -> Iterator[Step]:
    if lasso:
        return _named("owl-qn", owlqn(objective, first, lasso, memory=settings.memory))
    points = lbfgs(objective, first, memory=settings.memory, curvature=settings.curvature, scaled=settings.scaled)
    return _named("l-bfgs", points)


def _clustered(
    objective: Objective, first: Point, settings: ClusteredSettings, *, n_tied: int, **_: Any
) -> Iterator[Step]:
    return clustered(objective, first, settings, n_tied)


def _newton(objective: Objective, first: Point, settings: NewtonSettings, **_: Any) -> Iterator[Step]:
    points = newton(objective, first, forcing=settings.forcing, max_products=settings.max_products)
    return _named("newton", points)


def _dual(objective: Objective, first: Point, settings: DualSettings, **_: Any) -> Iterator[Step]:
    return _named("dual", dual(objective, settings.random_state))


_BOUNDS = frozenset({"bounds"})
_MANY = _BOUNDS | {"warm start", "many classes"}
SOLVERS = Registry(
    Solver("auto", "whichever is fastest to a certified gap", AutoSettings, _BOUNDS | {"many classes"}, _auto),
    Solver("lbfgs", "L-BFGS; with an ℓ1 penalty, OWL-QN", LBFGSSettings, _MANY | {"sentences", "lasso"}, _lbfgs),
    Solver(
        "clustered", "the paper's scheme: weights of nearly the same size move as one", ClusteredSettings,
        _MANY | {"sentences"}, _clustered,
    ),
    Solver("newton-cg", "Newton's method by conjugate gradients", NewtonSettings, _MANY, _newton),
    Solver("dual", "dual coordinate descent", DualSettings, _BOUNDS, _dual),
)  # fmt: skip


def solve(
    model: ScoreModel,
    ridge: float,
    solver: str | Solver,
    settings: Settings,
    *,
    start: np.ndarray | None = None,
    lasso: float = 0.0,
    n_tied: int | None = None,
    watch: Sequence[int] = (),
    listeners: Iterable[Listener] = (),
    progress: Progress | None = None,
) -> LoglinearResult:
    """Minimise f and certify what was found.

    Parameters
    ----------
    model : ScoreModel
        The training data.
    ridge : float
        c₂.
    solver : str or Solver
        A name of SOLVERS, or one of your own, whose steps are certified and limited as theirs are.
    settings : settings of the solver
        Its own kind.
    start : float64 ndarray (d,), optional
        Where to begin, by default at 0; "dual" and "auto" of two classes have no use for one.
    lasso : float
        c₁, for solver "lbfgs" alone, which then is OWL-QN.
    n_tied : int, optional
        How many weights "clustered" may cluster.
    watch : sequence of int
        Weights whose trajectories are kept.
    listeners : iterable of callables
        Told of every event.
    progress : Progress, optional
        That of the whole of which this is a part, with its listeners and time limit.

    Returns
    -------
    LoglinearResult
        Certified.

    Raises
    ------
    InputError
        For a solver that is not for this model.
    """
    method = solver if isinstance(solver, Solver) else SOLVERS[solver]
    solver = method.name
    if not method.can("many classes") and not isinstance(model, BinaryModel):
        raise InputError(f"solver {solver!r} is for two classes, or one against the rest.")
    if solver == "newton-cg" and not hasattr(model, "curvature"):
        raise InputError("solver 'newton-cg' needs products with the Hessian, which this model has not.")
    if lasso and not method.can("lasso"):
        raise InputError(f"solver {solver!r} knows no c1; solver 'lbfgs' does.")
    if isinstance(settings, ClusteredSettings) and settings.merge and not hasattr(model, "merged"):
        raise InputError("merge adds up features within clusters of weights, so it is for two classes alone.")
    objective = Objective(model, ridge)
    progress = progress or Progress(listeners, time_limit=settings.time_limit)
    run = LoglinearRun(objective, settings, solver=solver, lasso=lasso, watch=watch, progress=progress)
    by_dual = solver == "dual" or (solver == "auto" and isinstance(model, BinaryModel))
    n_tied = model.n_weights if n_tied is None else n_tied
    chosen = {"ridge": ridge, "lasso": lasso} | settings_dict(settings)
    with one_blas_thread():
        try:
            if by_dual:
                first = no_weights(objective)
            else:
                first = objective.at(np.zeros(model.n_weights) if start is None else start.astype(np.float64))
        except Stopped:  # in the first pass: the weights are still 0
            return run.result(run.reason, "", chosen)
        reason = run.take(first, method.solve(objective, first, settings, lasso=lasso, n_tied=n_tied))
    why = explain(run.stages) if solver == "auto" else ""
    return run.result(reason, why, chosen)


def frequency_alone(
    model: BinaryModel | MultinomialModel, ridge: float, lasso: float, result: LoglinearResult
) -> LoglinearResult:
    """A result of a solve that never began, with the weights of the last feature, of value 1, that fit the classes'
    frequencies: weights of 0 throughout would make all classes as likely, and the first, or this one, win."""
    w = np.zeros(model.n_weights)
    if isinstance(model, MultinomialModel):  # the ridge, which is small beside the documents, is left aside
        frequency = np.log(np.bincount(model.label, model.weight, minlength=model.n_classes))
        w[-model.n_classes :] = frequency - frequency.mean()
    else:
        w[-1] = _log_odds(model, ridge)
    found = model.certify(w, ridge, lasso, None)
    gap = relative_gap(found.objective, found.lower_bound)
    proved: dict[str, Any] = {"lower_bound": found.lower_bound, "gap": gap, "alpha": None, "proof_w": None}
    return replace(result, w=w, objective=found.objective, **proved)


def _log_odds(model: BinaryModel, ridge: float) -> float:
    """The weight of a feature of value 1 alone: Newton's method on a convex function of one number."""
    v = np.ones(len(model.y)) if model.weight is None else model.weight
    positive, n, b = float(v[model.y > 0].sum()), float(v.sum()), 0.0
    for _ in range(100):
        probability = 1.0 / (1.0 + math.exp(-b))
        step = (n * probability - positive + ridge * b) / (n * probability * (1.0 - probability) + ridge)
        b -= max(-2.0, min(2.0, step))
    return b
