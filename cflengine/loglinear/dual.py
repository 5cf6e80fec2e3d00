"""Dual coordinate descent for the binary model, which features cost nothing that no document has (LIBLINEAR's −s 7)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.loglinear.kernels_dual import dual_pass
from cflengine.loglinear.models import BinaryModel
from cflengine.loglinear.objective import Objective, Point

_FIRST_PRECISION, _LAST_PRECISION = 1e-2, 1e-8  # of a document's own problem
_START = 1e-3  # α of every document before the first pass


def dual(objective: Objective, seed: int) -> Iterator[Point]:
    """The primal points w(α) after every pass, each with its gradient, so that the bound is that of every solver.

    α starts near 0, where every document is right and w is nearly 0. Ends where no α moves any more.
    """
    model = objective.model
    assert isinstance(model, BinaryModel)
    design, y, ridge = model.design, model.y, objective.ridge
    square = np.asarray(design.X.multiply(design.X).sum(axis=1)).ravel()
    alpha = np.full(len(y), min(_START, ridge / (ridge + float(square.max(initial=1.0)))))
    w = design.transposed(y * alpha) / ridge
    objective.work.passes += 1.0
    generator, precision = np.random.default_rng(seed), _FIRST_PRECISION
    while True:
        order = generator.permutation(len(y))
        _, steps = dual_pass(*design.by_rows, y, square, ridge, order, alpha, w, precision)
        objective.work.passes += 1.0
        if steps <= len(y) // 10:
            if precision <= _LAST_PRECISION and steps == 0:
                return
            precision = max(_LAST_PRECISION, 0.1 * precision)
        yield objective.at(w.copy())
