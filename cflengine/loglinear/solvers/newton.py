"""Newton's method with conjugate gradients in a trust region (Lin, Weng, Keerthi 2008), for logistic models.

Differs: conjugate gradients are preconditioned by the Hessian's diagonal, mixed with the identity so that rare features
do not rule (Hsia, Chiang, Lin 2018), and since scores are linear along the step a search along it costs no pass over
the data: a step that is too long is shortened rather than thrown away.

Examples
--------
Documents 1 and −1 of either class, whose best weight is 1 (solvers/lbfgs.py).

>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.model.losses import BinaryModel
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import NewtonSettings
>>> model = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0]))
>>> result = solve(model, 2.0 / (1.0 + np.e), "newton-cg", NewtonSettings(tol=1e-12))
>>> round(float(result.w[0]), 6), result.gap <= 1e-12, result.n_iterations < 6
(1.0, True, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cflengine.loglinear.model.objective import Line, Objective, Point
from cflengine.loglinear.solvers.line_search import unit_step, wolfe_step

_MIX = 0.1  # of the diagonal in the preconditioner


def newton(objective: Objective, point: Point, *, forcing: float = 0.3, max_products: int = 500) -> Iterator[Point]:
    """The points after ``point``; ends where no step decreases f any more."""
    radius = math.inf
    while True:
        step, moved, on_border = _trust_region_step(objective, point, radius, forcing, max_products)
        line = Line(objective, point, step, moved)
        length = wolfe_step(line, 1.0, 0.9)
        if length is None:
            line = objective.along(point, -point.gradient)
            length = wolfe_step(line, unit_step(point.gradient), 0.9)
            if length is None:
                return
            radius = math.inf
        else:
            size = float(np.linalg.norm(step))
            if length < 0.5:
                radius = max(length, 0.1) * size
            elif on_border:
                radius = max(2.0, 1.5 * length) * size
        point = line.point(length)
        yield point


def _trust_region_step(
    objective: Objective, point: Point, radius: float, forcing: float, max_products: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Steihaug's conjugate gradients: the step, the change of the scores, whether it ended on the border."""
    model, ridge = objective.model, objective.ridge
    preconditioner = (1 - _MIX) + _MIX * (model.diagonal(point.derivative) + ridge)  # type: ignore[attr-defined]
    objective.work.passes += model.cost[2]
    step, residual = np.zeros(len(point.w)), -point.gradient
    scaled = residual / preconditioner
    direction = scaled.copy()
    moved = np.zeros(len(point.scores))
    rz = float(residual @ scaled)
    enough = forcing**2 * rz
    for _ in range(max_products):
        if rz <= enough:
            break
        at_scores = model.scores(direction)
        product = model.gather(model.curvature(point.derivative, at_scores)) + ridge * direction  # type: ignore[attr-defined]
        objective.work.passes += model.cost[0] + model.cost[2]
        length = rz / float(direction @ product)
        following = step + length * direction
        if float(np.linalg.norm(following)) > radius:
            length = _to_border(step, direction, radius)
            return step + length * direction, moved + length * at_scores, True
        step = following
        moved += length * at_scores
        residual -= length * product
        scaled = residual / preconditioner
        before, rz = rz, float(residual @ scaled)
        direction = scaled + (rz / before) * direction
    return step, moved, False


def _to_border(step: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """t ≥ 0 with ‖step + t direction‖ = radius."""
    a, b = float(direction @ direction), float(step @ direction)
    c = float(step @ step) - radius * radius
    root = math.sqrt(max(0.0, b * b - a * c))
    return (root - b) / a if b <= 0 else -c / (b + root)
