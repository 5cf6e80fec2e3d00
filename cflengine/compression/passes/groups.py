"""Operations on all groups of pointers at once (kernels/prox.py), in chunks that can be stopped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.kernels.arrays import Bins, GroupSums
from cflengine.compression.passes import layout
from cflengine.compression.passes.layout import PointerLayout
from cflengine.engine.progress import Progress
from cflengine.text.kgrams import KGramIndex

_NONE = np.empty(0, dtype=np.float32)


class Groups:
    """The groups J(s) of a layout, and buffers for sums over them.

    Parameters
    ----------
    index : KGramIndex
        The K-grams.
    lay : PointerLayout
        Where their pointers are.
    """

    def __init__(self, index: KGramIndex, lay: PointerLayout) -> None:
        self.index, self.layout = index, lay
        self.bins = Bins(lay.rank, index.grp_ptr, lay.bins, lay.bin_ptr, lay.bin_length)
        self._totals, self._support = np.zeros(lay.n_bins), np.zeros(lay.n_bins, dtype=np.int64)

    @property
    def support(self) -> int:
        """After PROX: how many groups are not zero."""
        return int(self._support.sum())

    def share(self, excess: np.ndarray, budget: np.ndarray) -> None:
        """Excesses ≥ 0, float32 (m,) by place, become shares ≥ 0 of a sum of at most ``budget``, float64 (G,), in each
        group: scaled down where they exceed it, else with the rest of it spread evenly."""
        self.apply(kernels_prox.SHARE, excess, budget)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of the layout's ``order``, of about CHUNK_POINTERS pointers each."""
        n = self.layout.n_bins
        per_chunk = max(1, int(layout.CHUNK_POINTERS * n / max(1, self.index.n_pointers)))
        for first in range(0, n, per_chunk):
            yield first, min(first + per_chunk, n)

    def apply(
        self,
        operation: int,
        vector: np.ndarray,
        cost: np.ndarray,
        *,
        inv_mu: np.ndarray | None = None,
        levels: np.ndarray = _NONE,
        progress: Progress | None = None,
    ) -> float:
        """PROX, SHARE, TOP or SUM on ``vector`` (float32 (m,)), in place; returns Σ cost(s)·level(s).

        cost: float64 (G,); inv_mu: float64 (K,), for PROX, κ = cost · inv_mu by length; levels: float32 (G,), given
        each group's level, its maximum (SUM: sum). Ends early if ``progress`` says so.
        """
        order = self.layout.order
        if inv_mu is None:
            inv_mu = np.zeros(self.index.max_gram)
        sums = GroupSums(levels, self._totals, self._support)
        for chunk in self.chunks():
            kernels_prox.over_groups(operation, vector, self.bins, order, cost, inv_mu, sums, chunk)
            if progress is not None and not progress.poll():
                break
        return float(self._totals.sum())
