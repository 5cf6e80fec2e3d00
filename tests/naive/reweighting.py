"""One ADMM step of iterative reweighting as the supplement of NIPS 2013 writes it: dense X, float64, w, z and y kept.

The w-update finds the level by root finding, the z-update solves (26) as a least-distance problem through
non-negative least squares (Lawson and Hanson, chapter 23), which never forms H.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, nnls

from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex
from naive.admm import NaiveAdmm


def weighted_prox(v: np.ndarray, weight: np.ndarray, kappa: float) -> np.ndarray:
    """argmin_{w ≥ 0} ½‖w − v‖² + κ max_i D_i w_i."""
    q = np.maximum(v, 0.0)
    if (q / weight).sum() <= kappa:
        return np.zeros_like(q)

    def too_much(level: float) -> float:
        return float((np.maximum(q - level / weight, 0.0) / weight).sum()) - kappa

    top = float((weight * q).max())
    level = brentq(too_much, 0.0, top, xtol=1e-300, rtol=1e-14) if too_much(top) < 0 else top
    return np.minimum(q, level / weight)


def weighted_prox_objective(w: np.ndarray, v: np.ndarray, weight: np.ndarray, kappa: float) -> float:
    return float(0.5 * ((w - v) ** 2).sum() + kappa * (weight * w).max())


def cover_nearby(X: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The z nearest to ``point`` with Xz ≥ 1, and β ≥ 0 with z = point + Xᵀβ."""
    right = 1.0 - X @ point
    if right.max() <= 0:
        return point.copy(), np.zeros(len(right))
    system = np.vstack([X.T, right])
    target = np.append(np.zeros(X.shape[1]), 1.0)
    u, _ = nnls(system, target, maxiter=100 * system.shape[1])
    rest = float(system[-1] @ u) - 1.0
    return point - X.T @ u / rest, -u / rest


class NaiveReweighting:
    """Explicit w, z and y; ``weight`` is D."""

    def __init__(self, index: KGramIndex, costs: StorageCosts) -> None:
        dense = NaiveAdmm(index, costs, 1.0)
        self.index, self.costs = index, costs
        self.pointers, self.groups, self.X, self.d = dense.pointers, dense.groups, dense.X, dense.d
        m = len(self.d)
        self.w, self.z, self.y, self.weight = np.zeros(m), np.zeros(m), np.zeros(m), np.ones(m)

    def step(self, rho: float) -> None:
        v = self.z - (self.weight * self.d + self.y) / rho
        for s, group in enumerate(self.groups):
            self.w[group] = weighted_prox(v[group], self.weight[group], self.costs.dictionary[s] / rho)
        z_before = self.z
        self.z, self.beta = cover_nearby(self.X, self.w + self.y / rho)
        self.y = self.y + rho * (self.w - self.z)
        root = np.sqrt(len(self.d))
        self.r = float(np.linalg.norm(self.w - self.z)) / root
        self.u = rho * float(np.linalg.norm(self.z - z_before)) / root

    def value(self) -> float:
        """The relaxed objective at w."""
        tops = [self.w[group].max() for group in self.groups]
        return float(self.d @ self.w + self.costs.dictionary @ np.array(tops))

    def rounded(self, nonzero: float) -> np.ndarray:
        """Every non-zero indicator of z set to 1, as cover."""
        cover = np.zeros(self.index.n_tokens, dtype=np.uint8)
        for (k, i), value in zip(self.pointers, self.z, strict=True):
            cover[i] |= (value > nonzero) << k
        return cover

    def reweight(self, best: np.ndarray, epsilon: float) -> None:
        self.weight = np.maximum(1.0, 1.0 / (np.maximum(best, 0.0) + epsilon))
