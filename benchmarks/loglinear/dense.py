"""BFGS with its whole matrix, and faster iterative scaling: what the paper compares L-BFGS with (Section II-A.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.loglinear.kernels_scaling import STEPS, scale_features
from cflengine.engine import InputError, Solver
from cflengine.loglinear import (
    BinaryModel,
    ClusteredSettings,
    Iterations,
    Objective,
    Point,
    Step,
    clustered,
    unit_step,
    wolfe_step,
)

MOST_FEATURES = 5000  # of BFGS: its matrix has the square of that
_HALVINGS = 40


def bfgs(objective: Objective, point: Point, settings: Any = None) -> Iterator[Point]:
    """The points after ``point``. Raises ValueError for more than MOST_FEATURES weights."""
    n = len(point.w)
    if n > MOST_FEATURES:
        raise InputError(f"solver 'bfgs' keeps a matrix of {n:,} × {n:,}; it is for at most {MOST_FEATURES:,} weights.")
    inverse = np.eye(n) * unit_step(point.gradient)
    fresh = True
    while True:
        line = objective.along(point, -inverse @ point.gradient)
        step = wolfe_step(line, 1.0, 0.9)
        if step is None:
            if fresh:
                return
            inverse, fresh = np.eye(n) * unit_step(point.gradient), True
            continue
        before, point = point, line.point(step)
        inverse = _updated(inverse, point.w - before.w, point.gradient - before.gradient, scale=fresh)
        fresh = False
        yield point


def _updated(inverse: np.ndarray, s: np.ndarray, y: np.ndarray, *, scale: bool) -> np.ndarray:
    """(I − s yᵀ/sᵀy) H (I − y sᵀ/sᵀy) + s sᵀ/sᵀy; H is first scaled to (sᵀy/yᵀy) I if ``scale``."""
    curvature = float(s @ y)
    if not curvature > 0:
        return inverse
    if scale:
        inverse = np.eye(len(s)) * (curvature / float(y @ y))
    turned = inverse @ y
    cross = np.outer(s, turned) / curvature
    return inverse - cross - cross.T + np.outer(s, s) * (1.0 / curvature + float(y @ turned) / curvature**2)


def iterative_scaling(objective: Objective, point: Point) -> Iterator[Point]:
    """Faster iterative scaling of the binary model with values of at least 0: the points after ``point``.

    Jensen's inequality over the features of a document bounds the loss by one convex problem for each feature,
    Σ_i (x_ij/m_i) log(p_i⁻ + p_i⁺ exp(m_i δ_j)) − δ_j Σ_{y_i = 1} x_ij with m_i = Σ_j x_ij, which keeps the classes
    together and is tighter than that of improved iterative scaling (after Jin, Yan, Zhang and Hauptmann, 2003). Each is
    solved by a few Newton steps, all at the same time. Raises ValueError for a value below 0.
    """
    model = objective.model
    assert isinstance(model, BinaryModel)
    X, y = model.design.X, model.y
    if X.nnz and X.data.min() < 0:
        raise InputError("solver 'fis' is for features of at least 0.")
    mass = np.asarray(X.sum(axis=1)).ravel()
    observed = X.T @ (y > 0).astype(np.float64)
    columns = model.design.by_columns
    if model.design.ones:
        columns = columns._replace(values=np.ones(X.nnz))
    while True:
        step = np.zeros(len(point.w))
        scale_features(columns, point.scores, mass, observed, point.w, objective.ridge, step, (0, len(step)))
        objective.work.passes += 0.5 * STEPS
        for _ in range(_HALVINGS):
            there = objective.at(point.w + step)
            if there.value < point.value:
                break
            step *= 0.5  # some problems were left too far beyond their solutions
        else:
            return
        point = there
        yield point


def _bfgs(objective: Objective, first: Point, settings: Iterations, **_: Any) -> Iterator[Step]:
    return (Step("bfgs", point) for point in bfgs(objective, first))


def _scaling(objective: Objective, first: Point, settings: Iterations, **_: Any) -> Iterator[Step]:
    return (Step("fis", point) for point in iterative_scaling(objective, first))


def _over_bfgs(
    objective: Objective, first: Point, settings: ClusteredSettings, *, n_tied: int, **_: Any
) -> Iterator[Step]:
    return clustered(objective, first, settings, n_tied, bfgs)


_ABLE = frozenset({"bounds", "warm start"})
BFGS = Solver("bfgs", "BFGS with its whole matrix, for few features", Iterations, _ABLE | {"many classes"}, _bfgs)
FIS = Solver("fis", "faster iterative scaling, for few features", Iterations, _ABLE, _scaling)
CLUSTERS_OVER_BFGS = Solver("clustered over bfgs", "the paper's Section III-D", ClusteredSettings, _ABLE, _over_bfgs)
