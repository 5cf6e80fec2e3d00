"""Operations on all groups of pointers at once (kernels_prox.py), in chunks that can be stopped."""

from __future__ import annotations

import numpy as np

from cflengine.compression import kernels_prox, layout
from cflengine.compression.layout import PointerLayout
from cflengine.engine.progress import Progress
from cflengine.text.kgrams import KGramIndex


class Groups:
    """The groups J(s) of a layout, and buffers for sums over them."""

    def __init__(self, index: KGramIndex, lay: PointerLayout) -> None:
        self.index, self.layout = index, lay
        self._costs, self._support = np.zeros(lay.n_bins), np.zeros(lay.n_bins, dtype=np.int64)

    @property
    def support(self) -> int:
        """After PROX: how many groups are not zero."""
        return int(self._support.sum())

    def apply(
        self,
        operation: int,
        vector: np.ndarray,
        cost: np.ndarray,
        inv_mu: float = 0.0,
        progress: Progress | None = None,
    ) -> float:
        """PROX, SHARE or TOP on ``vector`` (float32 (m,)) in place; returns Σ cost(s)‖·‖∞.

        cost: float64 (G,); inv_mu: for PROX, κ = cost · inv_mu. Ends early if ``progress`` says so.
        """
        lay, order = self.layout, self.layout.order
        per_chunk = max(1, int(layout.CHUNK_POINTERS * lay.n_bins / max(1, len(vector))))
        for i in range(0, len(order), per_chunk):
            kernels_prox.over_groups(
                operation, vector, lay.rank, self.index.grp_ptr, lay.bins, lay.bin_ptr, order[i : i + per_chunk],
                cost, inv_mu, self._costs, self._support,
            )  # fmt: skip
            if progress is not None and not progress.poll():
                break
        return float(self._costs.sum())
