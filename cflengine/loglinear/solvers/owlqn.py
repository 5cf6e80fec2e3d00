"""OWL-QN (Andrew & Gao 2007): L-BFGS for f(w) + c₁‖w‖₁, an orthant at a time.

There every weight may only move as the pseudo-gradient points. Here that is asked of weights that are 0 alone: along a
narrow valley, which two features that nearly cancel each other make, every aligned step is a small one across it. Where
the others' freedom brings no decrease, the steepest step is taken, as in any step that fails.

Examples
--------
1 and −1 of either class; 2 log(1 + exp(−w)) + c₁|w| + ridge/2 w² at w = 1 has the derivative
c₁ + ridge − 2/(1 + e), so that halves of that in either penalty make 1 the best weight; c₁ ≥ 1 leaves none.

>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.model.losses import BinaryModel
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import LBFGSSettings
>>> settings = LBFGSSettings(tol=1e-9)
>>> model, half = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0])), 1.0 / (1.0 + np.e)
>>> [round(float(solve(model, half, "lbfgs", settings, lasso=lasso).w[0]), 3) for lasso in (half, 1.0)]
[1.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.lbfgs import History
from cflengine.loglinear.solvers.line_search import unit_step

_SUFFICIENT, _HALVINGS = 1e-4, 40


def owlqn(objective: Objective, point: Point, lasso: float, *, memory: int = 20) -> Iterator[Point]:
    """The points after ``point``; their ``value`` is without c₁‖w‖₁. Ends where no step decreases the sum any more."""
    history = History(objective.model.n_weights, memory)
    while True:
        subgradient = pseudo_gradient(point.w, point.gradient, lasso)
        direction = history.direction(subgradient)
        direction[(point.w == 0) & (direction * subgradient >= 0)] = 0.0  # only where it goes down
        first = 1.0 if history.count else unit_step(subgradient)
        found = _step(objective, point, direction, subgradient, lasso, first)
        if found is None:
            if not history.count:
                return
            history.forget()
            continue
        history.add(point, found)
        point = found
        yield point


def pseudo_gradient(w: np.ndarray, gradient: np.ndarray, lasso: float) -> np.ndarray:
    """The smallest subgradient of f + c₁‖·‖₁."""
    subgradient = gradient + lasso * np.sign(w)
    zero = w == 0
    subgradient[zero] = np.sign(gradient[zero]) * np.maximum(np.abs(gradient[zero]) - lasso, 0.0)
    return subgradient


def _step(
    objective: Objective, point: Point, direction: np.ndarray, subgradient: np.ndarray, lasso: float, length: float
) -> Point | None:
    """Halve the step until it decreases enough; a weight that would change its sign stops at 0."""
    orthant = np.where(point.w != 0, np.sign(point.w), -np.sign(subgradient))
    before = point.value + lasso * float(np.abs(point.w).sum())
    for _ in range(_HALVINGS):
        w = point.w + length * direction
        w[w * orthant <= 0] = 0.0
        there = objective.at(w)
        expected = float(subgradient @ (w - point.w))
        if expected < 0 and there.value + lasso * float(np.abs(w).sum()) <= before + _SUFFICIENT * expected:
            return there
        length *= 0.5
    return None
