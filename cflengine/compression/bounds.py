"""The best certified lower bound of a run, from whatever dual vectors a solver proposes (see kernels_bound.py)."""

from __future__ import annotations

import numpy as np

from cflengine.compression import kernels_bound, kernels_prox
from cflengine.compression.coder import Coder
from cflengine.compression.groups import Groups
from cflengine.compression.problem import StorageCosts


class DualBound:
    """Keeps the best bound and the multiplier behind it (float32 (n,), 4 bytes a token)."""

    def __init__(self, coder: Coder, groups: Groups, costs: StorageCosts) -> None:
        self.coder, self.groups, self.costs = coder, groups, costs
        self.value = 0.0
        self.best_y = np.zeros(coder.index.n_tokens, dtype=np.float32)

    def update(self, y: np.ndarray) -> None:
        """Certify a lower bound from a multiplier y = −α of the coverage constraints; keep the better one."""
        bound = self._dual(y, np.empty(0, dtype=np.float64))
        if np.isfinite(bound) and bound > self.value:
            self.value = bound
            self.best_y[:] = y

    def alpha(self) -> np.ndarray:
        """The dual feasible prices, float64 (n,), behind ``value`` (for certificate.py, and to be looked at)."""
        alpha = np.zeros(self.coder.index.n_tokens)
        self._dual(self.best_y, alpha)
        return alpha

    def _dual(self, y: np.ndarray, alpha: np.ndarray) -> float:
        coder, lay, costs = self.coder, self.groups.layout, self.costs
        doc_ptr = coder.index.doc_ptr
        shares = np.empty(coder.index.n_pointers, dtype=np.float32)
        totals = np.zeros(coder.n_blocks)
        price = (costs.pointer_by_length, costs.pointer_extra)
        for b0, b1 in coder.chunks():
            kernels_bound.excess_blocks(y, lay.slot, doc_ptr, lay.blocks, b0, b1, *price, shares)
        self.groups.apply(kernels_prox.SHARE, shares, costs.dictionary)
        for b0, b1 in coder.chunks():
            kernels_bound.bound_blocks(shares, lay.slot, doc_ptr, lay.blocks, b0, b1, *price, alpha, totals)
        return float(totals.sum())
