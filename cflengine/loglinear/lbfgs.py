"""L-BFGS as in the paper's Figure 1, with a strong Wolfe search that costs no pass over the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.loglinear import kernels_linear as kernels
from cflengine.loglinear.line_search import unit_step, wolfe_step
from cflengine.loglinear.objective import Objective, Point

_NEARLY_EXACT, _LOOSE = 0.1, 0.9  # curvature of the Wolfe conditions


class History:
    """The last ``memory`` pairs s = change of w, y = change of the gradient; gives the direction −H g.

    scaled: H begins as (sᵀy/yᵀy) I of the newest pair, else as the identity, which is what the paper's package does.
    """

    def __init__(self, n_weights: int, memory: int, *, scaled: bool = True) -> None:
        self.steps, self.changes = np.empty((memory, n_weights)), np.empty((memory, n_weights))
        self.curvature, self._alpha = np.zeros(memory), np.empty(memory)
        self.newest, self.count, self.scale, self.scaled = -1, 0, 1.0, scaled

    def add(self, before: Point, after: Point) -> None:
        """Remember a move; one without positive curvature, where rounding rules, is left out."""
        at = (self.newest + 1) % len(self.steps)
        step, change = self.steps[at], self.changes[at]
        np.subtract(after.w, before.w, out=step)
        np.subtract(after.gradient, before.gradient, out=change)
        curvature, square = kernels.dot(step, change), kernels.dot(change, change)
        if not curvature > 1e-16 * square:
            return
        self.curvature[at], self.newest = curvature, at
        self.count = min(self.count + 1, len(self.steps))
        if self.scaled:
            self.scale = curvature / square

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """−H g."""
        out = gradient.copy()
        kernels.two_loop(
            self.steps, self.changes, self.curvature, self.newest, self.count, self.scale, out, self._alpha
        )
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
            history.forget()  # rounding may have spoilt it: the gradient has the last word
            continue
        before, point = point, line.point(step)
        history.add(before, point)
        yield point
