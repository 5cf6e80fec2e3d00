"""Anderson's extrapolation of the passes' duals (Bertrand & Massias, AISTATS 2021; here in the dual).

Where few observations are left, a pass is nearly a linear map of their duals, which takes the last of them only slowly
to where they rest. From the duals h_0 .. h_M after M passes follows Σ c_k h_k, with Σ c_k = 1 and the least
‖Σ c_k (h_k − h_{k−1})‖: that is where the passes are going. It is put into the boxes, and taken where the dual's value
is larger there; so it never makes anything worse, whatever it rests on.
"""

from __future__ import annotations

import numpy as np

PASSES = 5  # M
_RIDGE = 1e-10  # of the mean of its diagonal, added to the matrix of products


class Extrapolation:
    """Duals of some observations, pass by pass; rows: int32, which ones."""

    def __init__(self) -> None:
        self.rows = np.zeros(0, dtype=np.int32)
        self.known: list[np.ndarray] = []

    def forget(self) -> None:
        """What is known does not lead to what comes."""
        self.known.clear()

    def follow(self, duals: np.ndarray, order: np.ndarray) -> np.ndarray | None:
        """Note the duals, float64 (n, parts), after a pass over ``order``; once there are enough, where they are going:
        float64 (len(rows), parts), not in their boxes yet."""
        if not self.known:
            self.rows = order.copy()
        self.known.append(duals[self.rows])
        if len(self.known) <= PASSES:
            return None
        known, self.known = np.array([one.ravel() for one in self.known]), []
        moved = np.diff(known, axis=0)
        products = moved @ moved.T
        ridge = _RIDGE * np.trace(products) / PASSES
        if not ridge > 0.0:
            return None  # nothing moves
        weights = np.linalg.solve(products + ridge * np.eye(PASSES), np.ones(PASSES))
        if not np.isfinite(weights).all() or weights.sum() == 0.0:
            return None
        return (weights / weights.sum() @ known[1:]).reshape(len(self.rows), -1)
