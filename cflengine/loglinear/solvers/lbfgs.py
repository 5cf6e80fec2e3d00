"""L-BFGS as in the paper's Figure 1, with a strong Wolfe search that costs no pass over the data.

Examples
--------
Documents 1 and −1 of either class; 2 log(1 + exp(−w)) + ridge/2 w² has its least value at w = 1 where
ridge = 2/(1 + e).

>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.model.losses import BinaryModel
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import LBFGSSettings
>>> model = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0]))
>>> result = solve(model, 2.0 / (1.0 + np.e), "lbfgs", LBFGSSettings(tol=1e-12))
>>> round(float(result.w[0]), 6), result.gap <= 1e-12
(1.0, True)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.loglinear.kernels import history as kernels
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.line_search import unit_step, wolfe_step

_NEARLY_EXACT, _LOOSE = 0.1, 0.9  # curvature of the Wolfe conditions


class History:
    """The last ``memory`` pairs s = change of w, y = change of the gradient; gives the direction −H g.

    scaled: H begins as (sᵀy/yᵀy) I of the newest pair, else as the identity, which is what the paper's package does.
    See kernels/history.py.
    """

    def __init__(self, n_weights: int, memory: int, *, scaled: bool = True) -> None:
        rows = memory + 1  # one for a pair that may have to be left out
        self.steps, self.changes = np.empty((rows, n_weights), np.float32), np.empty((rows, n_weights), np.float32)
        self.sy, self.yy = np.zeros((rows, rows)), np.zeros((rows, rows))  # s_i·y_j of j not before i, y_i·y_j
        self.memory, self.scaled, self._blocks = memory, scaled, max(1, -(-n_weights // kernels.BLOCK))
        self.newest, self.count, self.scale = -1, 0, 1.0

    def add(self, before: Point, after: Point) -> None:
        """Remember a move; one without positive curvature, where rounding rules, is left out."""
        at = (self.newest + 1) % len(self.steps)
        sums = np.empty((self._blocks, 2))
        pair = self.steps[at], self.changes[at]
        kernels.store_pair(before.w, after.w, before.gradient, after.gradient, *pair, sums, (0, len(sums)))
        curvature, square = sums.sum(axis=0).tolist()
        if not curvature > 1e-16 * square:
            return
        self.newest, self.count = at, min(self.count + 1, self.memory)
        if self.scaled:
            self.scale = curvature / square

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """−H g."""
        rows = (self.newest - np.arange(self.count)) % len(self.steps)
        of_steps, of_changes, out = np.empty(self.count), np.empty(self.count), np.empty(len(gradient))
        if self.count:
            sums = np.empty((self._blocks, self.count, 4))
            kernels.products(self.steps, self.changes, rows, gradient, sums, (0, len(sums)))
            sg, sy, yg, yy = np.ascontiguousarray(sums.sum(axis=0).T)
            self.sy[rows, self.newest], self.yy[rows, self.newest], self.yy[self.newest, rows] = sy, yy, yy
            among = np.ix_(rows, rows)
            kernels.coefficients(self.sy[among], self.yy[among], sg, yg, self.scale, of_steps, of_changes)
        pairs, factors = (self.steps, self.changes), (of_steps, of_changes)
        kernels.combine(pairs, rows, factors, self.scale, gradient, out, (0, self._blocks))
        return out

    def forget(self) -> None:
        """Begin again with the gradient."""
        self.newest, self.count, self.scale = -1, 0, 1.0


def lbfgs(
    objective: Objective, point: Point, *, memory: int = 20, curvature: float | None = None, scaled: bool = True
) -> Iterator[Point]:
    """The points after ``point``; ends where no step decreases f any more.

    memory: m of the paper. curvature: of the Wolfe conditions, None for the default. scaled: see :class:`History`.
    """
    if curvature is None:
        trials_are_free = objective.model.cost[1] == 0
        curvature = _NEARLY_EXACT if trials_are_free else _LOOSE
    history = History(objective.model.n_weights, memory, scaled=scaled)
    while True:
        direction = history.direction(point.gradient)
        first = 1.0 if history.count else unit_step(point.gradient)
        step = wolfe_step(line := objective.along(point, direction), first, curvature)
        if step is None:
            if not history.count:
                return
            history.forget()  # rounding may have spoilt it
            continue
        before, point = point, line.point(step)
        history.add(before, point)
        yield point
