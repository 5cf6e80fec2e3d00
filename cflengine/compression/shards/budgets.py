"""How the dictionary cost of a shared K-gram is divided between the shards that have it.

For any c_k(s) ≥ 0 with Σ_k c_k(s) = c(s), the sum of the shards' lower bounds at the costs c_k is a lower bound for
the whole, and the best division gives the whole relaxation: Lagrangian decomposition, by the shards' levels
t_k(s) = ‖w_J_k(s)‖∞, whose largest is ‖w_J(s)‖∞. The supergradient of a shard's value in c_k(s) is its level, so that
levels drive the division:

    c_k(s) ← projection of c_k(s) + η t_k(s) onto Σ_k c_k(s) = c(s), c_k(s) ≥ 0                          (divide)

Dual prices that are known propose another one: what each shard's excesses Σ_{i ∈ J_k(s)} ((Xᵀα)_i − d_i)₊ ask for,
scaled down where that is more than there is, the rest by the number of pointers where it is less. That is what an
unsharded bound does with the same prices (kernels/bound.py), so that nothing is lost by the shards.

Shapes: an *entry* is a pair (shared K-gram, shard that has it); vectors over entries are float32 (E,), shard by shard.
There are tens of millions of them in a large corpus. Rounding is far below the millionth that bounds leave of every
budget (kernels/prox.py), and the certificate is not concerned by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cflengine.compression.kernels import budgets as kernels


class Budgets:
    """cost: float64 (S,), c(s); numbers: by shard, int (H_k,), ascending, the shared K-grams that it has; counts: by
    shard, (H_k,), their pointers there. ``share``: c_k(s) as it is now."""

    def __init__(self, cost: np.ndarray, numbers: Sequence[np.ndarray], counts: Sequence[np.ndarray]) -> None:
        self.cost = cost
        self.entry = np.concatenate(numbers).astype(np.int32)
        self.ends = np.cumsum([len(own) for own in numbers])
        self._order = np.argsort(self.entry, kind="stable").astype(np.int32)
        self._first = np.zeros(len(cost) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.entry, minlength=len(cost)), out=self._first[1:])
        count = np.concatenate(counts).astype(np.float32)
        self.part = count / self.sum(count).astype(np.float32)[self.entry]  # of a K-gram's pointers, those in a shard
        self.share = self.cost.astype(np.float32)[self.entry] * self.part

    def by_shard(self, values: np.ndarray) -> list[np.ndarray]:
        """A vector over entries, cut into the shards'."""
        return np.split(values, self.ends[:-1])

    def spread(self, values: np.ndarray) -> list[np.ndarray]:
        """A vector over shared K-grams, (S,), as each shard has it."""
        return self.by_shard(values[self.entry])

    def sum(self, values: np.ndarray) -> np.ndarray:
        """float64 (S,): the sum of a vector over entries, by K-gram."""
        sums = np.zeros(len(self.cost))
        kernels.sum_entries(self.entry, values, sums)
        return sums

    def any(self, flags: np.ndarray) -> np.ndarray:
        """uint8 (S,): whether any shard has the flag set."""
        return (self.sum(flags) > 0).astype(np.uint8)

    def highest(self, values: np.ndarray) -> np.ndarray:
        """The largest of a vector over entries, by K-gram."""
        return np.maximum.reduceat(values[self._order], self._first[:-1]) if len(self.entry) else np.zeros(0)

    def divide(self, levels: np.ndarray, eta: float) -> None:
        """One supergradient step from the shards' levels."""
        self.share = self.share + np.float32(eta) * levels
        self.project(self.share, self.cost)

    def rescale(self, cost: np.ndarray) -> None:
        """Take other costs, float64 (S,), divided as those before were."""
        factor = cost / np.where(self.cost > 0, self.cost, 1.0)
        self.share = self.share * factor.astype(np.float32)[self.entry]
        self.cost = cost

    def project(self, values: np.ndarray, cost: np.ndarray) -> None:
        """Give ``values`` (float (E,)) the nearest x ≥ 0 whose sum by K-gram is ``cost`` (float64 (S,))."""
        kernels.project_entries(self._order, self._first, cost, values)

    def asked_for(self, excess: np.ndarray) -> np.ndarray:
        """The division that these excesses propose."""
        share = np.empty(len(self.entry), dtype=np.float32)
        kernels.ask_entries(self.entry, excess, self.sum(excess), self.cost, self.part, share)
        return share
