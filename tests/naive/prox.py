"""Operations on one group of pointers."""

from __future__ import annotations

import numpy as np


def prox(q: np.ndarray, kappa: float) -> np.ndarray:
    """argmin_{v ≥ 0} ½‖v − q‖² + κ max(v), by sorting: the level t with Σ (q − t)₊ = κ lies below the t-th largest."""
    positive = np.sort(np.maximum(q, 0.0))[::-1]
    sums = np.cumsum(positive)
    if sums[-1] <= kappa:
        return np.zeros_like(q)
    for count in range(1, len(positive) + 1):
        level = (sums[count - 1] - kappa) / count
        if count == len(positive) or level >= positive[count]:
            break
    return np.minimum(np.maximum(q, 0.0), level)


def prox_objective(v: np.ndarray, q: np.ndarray, kappa: float) -> float:
    return float(0.5 * ((v - q) ** 2).sum() + kappa * v.max())


def share(excess: np.ndarray, budget: float) -> np.ndarray:
    """Shares of sum ``budget``: the excess scaled down where it is too much, the rest spread evenly where not."""
    total = excess.sum()
    return excess * (budget / total) if total > budget else excess + (budget - total) / len(excess)
