"""Losses of a document as functions of its margin m = y (xᵀw + b), with what their duals need.

    log             log(1 + exp(−m))     the paper's, and the only one that gives probabilities
    squared         ½ (1 − m)²           least squares on −1 and 1
    squared hinge   ½ max(0, 1 − m)²
    hinge           max(0, 1 − m)        the support vector machine's

A convex loss ℓ is, for every α, at least the line −ℓ*(−α) − α m, and touches it at α = −ℓ'(m): −ℓ*(−α) is what α
brings into the dual (problem.py). The hinge has no derivative at 1; solvers work with another one that has, and whose α
are the hinge's, too (:func:`proximal_hinge`). What is proved is proved for the hinge itself.

Examples
--------
>>> import numpy as np
>>> HINGE.value(np.array([-1.0, 0.5, 2.0])).tolist(), SQUARED.alpha(np.array([-1.0, 0.5, 2.0])).tolist()
([2.0, 0.5, 0.0], [2.0, 0.5, -1.0])
>>> m, alpha = np.linspace(-3, 3, 7), 0.3
>>> all((loss.value(m) >= loss.dual(np.array([alpha]))[0] - alpha * m).all() for loss in LOSSES.values())
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

_LEAST_SHARE = 0.01  # of the largest curvature: Newton's method goes astray where most documents have none
_Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Loss:
    """A convex loss ℓ ≥ 0 of the margin.

    Parameters
    ----------
    name : str
        How parameters call it.
    value : callable
        float64 (D,) to ℓ(m).
    derivatives : callable
        m to α = −ℓ'(m) and ℓ''(m), which is 0 or above; where that jumps, of one side.
    dual : callable
        α to −ℓ*(−α), of α within ``least`` and ``most``.
    least : float
        Below no α.
    most : float
        Above no α.
    """

    name: str
    value: _Function
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    dual: _Function
    least: float = 0.0
    most: float = np.inf

    def alpha(self, margin: np.ndarray) -> np.ndarray:
        """float64 (D,): α = −ℓ'(m)."""
        return self.derivatives(margin)[0]


def _of_log(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    alpha = expit(-margin)
    return alpha, alpha * (1.0 - alpha)


def proximal_hinge(near: np.ndarray, sigma: float = 0.5) -> Loss:
    """max over 0 ≤ α ≤ 1 of α (1 − m) − σ/2 (α − near)²: the hinge where α = ``near`` is its own; never above it.

    near: float64 (D,). A step of the proximal point method on the dual; its curvature is kept above 0, which leaves the
    solution as it is.
    """

    def derivatives(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        free = near + (1.0 - margin) / sigma
        return np.clip(free, 0.0, 1.0), np.where((free > 0.0) & (free < 1.0), 1.0, _LEAST_SHARE) / sigma

    def value(margin: np.ndarray) -> np.ndarray:
        alpha, _ = derivatives(margin)
        return alpha * (1.0 - margin) - 0.5 * sigma * (alpha - near) ** 2

    return Loss("hinge", value, derivatives, lambda alpha: alpha - 0.5 * sigma * (alpha - near) ** 2, most=1.0)


def _short(margin: np.ndarray) -> np.ndarray:
    """What is missing from a margin of 1."""
    return np.maximum(1.0 - margin, 0.0)


def _lacking(margin: np.ndarray) -> np.ndarray:
    """1 where something is."""
    return (margin < 1.0).astype(np.float64)


def _quadratic(alpha: np.ndarray) -> np.ndarray:
    return alpha - 0.5 * alpha * alpha


LOG = Loss(
    "log", lambda margin: np.logaddexp(0.0, -margin), _of_log, lambda alpha: entr(alpha) + entr(1.0 - alpha), most=1.0
)
SQUARED = Loss(
    "squared", lambda margin: 0.5 * (1.0 - margin) ** 2, lambda margin: (1.0 - margin, np.ones_like(margin)),
    _quadratic, least=-np.inf,
)  # fmt: skip
SQUARED_HINGE = Loss(
    "squared hinge", lambda margin: 0.5 * _short(margin) ** 2, lambda margin: (_short(margin), _lacking(margin)),
    _quadratic,
)  # fmt: skip
HINGE = Loss(
    "hinge", _short, lambda margin: (_lacking(margin), np.zeros_like(margin)), lambda alpha: alpha.copy(), most=1.0
)

#: name -> loss
LOSSES: Mapping[str, Loss] = {loss.name: loss for loss in (LOG, SQUARED, SQUARED_HINGE, HINGE)}
