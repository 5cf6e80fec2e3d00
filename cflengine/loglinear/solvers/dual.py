"""Dual coordinate descent for the binary model (LIBLINEAR's −s 7). A feature that no document has costs nothing.

Examples
--------
Documents 1 and −1 of either class, whose best weight is 1 (solvers/lbfgs.py).

>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import DualSettings
>>> model = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0]))
>>> result = solve(model, 2.0 / (1.0 + np.e), "dual", DualSettings(tol=1e-10))
>>> round(float(result.w[0]), 4), result.gap <= 1e-10
(1.0, True)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.loglinear.kernels.dual import dual_pass
from cflengine.loglinear.model.certificate import dual_value
from cflengine.loglinear.model.losses import BinaryModel
from cflengine.loglinear.model.objective import Objective, Point

_FIRST_PRECISION, _LAST_PRECISION = 1e-2, 1e-8  # of a document's own problem
_START = 1e-8  # α of every document before the first pass
_FIRST_CHECK = 3  # passes before the first objective: half a pass each, and no text is learnt in two


def no_weights(objective: Objective) -> Point:
    """w = 0 without its gradient, which dual coordinate descent has no use for: not even a pass."""
    w, nothing = np.zeros(objective.model.n_weights), np.empty(0)
    scores = np.zeros(objective.model.n_scores)
    loss, derivative = objective.model.loss(scores)
    return Point(w, scores, derivative, nothing, nothing, loss, loss, loss, bound=0.0)


def dual(objective: Objective, seed: int) -> Iterator[Point]:
    """The primal points w(α) after every pass from the third on, with the dual value of α as their bound.

    α starts near 0, where every document is right and w is nearly 0. Ends where no α moves any more.
    """
    model = objective.model
    assert isinstance(model, BinaryModel)
    design, y, ridge = model.design, model.y, objective.ridge
    square = design.squared_lengths()
    if model.weight is not None:
        y, square = y * model.weight, square * model.weight
    alpha = np.full(len(y), min(_START, ridge / (ridge + float(square.max(initial=1.0)))))
    w = design.X.T @ (y * alpha) / ridge  # not by columns: they are not needed, and take longer to lay out than a pass
    objective.work.passes += 0.5
    generator, precision, n_passes = np.random.default_rng(seed), _FIRST_PRECISION, 0
    while True:
        order = generator.permutation(len(y))
        steps = dual_pass(design.by_rows, y, square, ridge, order, alpha, w, precision)
        objective.work.passes += 1.0
        n_passes += 1
        if steps <= len(y) // 10:
            if precision <= _LAST_PRECISION and steps == 0:
                return
            precision = max(_LAST_PRECISION, 0.1 * precision)
        if n_passes >= _FIRST_CHECK:
            yield _point(objective, model, w, alpha)


def _point(objective: Objective, model: BinaryModel, w: np.ndarray, alpha: np.ndarray) -> Point:
    """w(α) with D(α) as its bound; half a pass, for the loss, and no gradient."""
    ridge = objective.ridge
    scores = model.scores(w)
    loss, derivative = model.loss(scores)
    objective.work.passes += model.cost[0]
    square = 0.5 * ridge * float(w @ w)
    nothing = np.empty(0)
    entropy = loss - float(derivative @ scores)
    bound = dual_value(alpha, square, weight=model.weight)
    return Point(w.copy(), scores, derivative, nothing, nothing, loss + square, loss, entropy, bound, alpha.copy())
