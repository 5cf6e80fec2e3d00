"""numba kernels over groups of pointers, foremost the w-update: the proximal map of κ‖·‖∞ on w ≥ 0.

    prox(q) = argmin_{v ≥ 0} ½‖v − q‖² + κ‖v‖∞ = min(max(q, 0), t),

where t solves Σ_i (q_i − t)₊ = κ, and t = 0 (so v = 0) if Σ_i (q_i)₊ ≤ κ. t is found by Newton's method on
this convex, piecewise linear function from the left, dropping elements below t for good (Michelot). By
Dinkelbach's lemma a step halves the function's value or the number of elements left, so the passes cost
O(m_s) in all, with the word length as factor at worst; two or three passes are usual.

How a group's entries are brought together is layout.py's business. More operations that need groups use the same
scaffold: TOP, the maximum and so the dictionary cost of a w as it stands; SUM; and SHARE, which makes the excess of a
dual vector fit each group's budget (see kernels/bound.py).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel

PROX, SHARE, TOP, SUM = 0, 1, 2, 3


@kernel
def water_level(positive, count, total, kappa):
    """The t with Σ (positive_i − t)₊ = κ; positive: float32, its first ``count`` entries > 0, of sum ``total`` > κ.

    The array is overwritten.
    """
    level = (total - kappa) / count
    while True:
        left = 0
        total = 0.0
        for j in range(count):
            value = positive[j]
            above = value > level
            # written in any case and kept by the counter: no branch for the processor to guess wrong
            positive[left] = value
            left += above
            total += value if above else 0.0
        if left == count or left == 0:
            return level
        count = left
        level = (total - kappa) / count


@kernel
def _prox_group(values, lo, hi, kappa, scratch):
    """Apply the prox to values[lo:hi] in place; returns the level t."""
    total = 0.0
    for j in range(lo, hi):
        total += max(values[j], np.float32(0.0))
    if total <= kappa:
        for j in range(lo, hi):
            values[j] = np.float32(0.0)
        return 0.0
    count = 0
    for j in range(lo, hi):
        scratch[count] = values[j]
        count += values[j] > np.float32(0.0)
    level = water_level(scratch, count, total, kappa)
    top = np.float32(level)
    for j in range(lo, hi):
        values[j] = min(max(values[j], np.float32(0.0)), top)
    return level


@kernel
def _share_group(values, lo, hi, budget):
    """values[lo:hi] ≥ 0 become shares of sum ≤ budget: scaled down if they exceed it, else the rest spread evenly."""
    total = 0.0
    for j in range(lo, hi):
        total += values[j]
    # float32 rounding of the shares is far below the millionth taken off here
    budget *= 1.0 - 1e-6
    if total > budget:
        factor = np.float32(budget / total)
        for j in range(lo, hi):
            values[j] *= factor
    else:
        extra = np.float32((budget - total) / (hi - lo) * (1.0 - 1e-6))
        for j in range(lo, hi):
            values[j] += extra


@kernel
def _on_group(operation, values, lo, hi, cost, inv_mu, scratch):
    if operation == PROX:
        return _prox_group(values, lo, hi, cost * inv_mu, scratch)
    if operation == SHARE:
        _share_group(values, lo, hi, cost)
        return 0.0
    top = 0.0
    total = 0.0
    for j in range(lo, hi):
        top = max(top, values[j])
        total += values[j]
    return top if operation == TOP else total


@kernel
def _on_singles(operation, values, cost, g0, inv_mu, levels):
    """The operation where every group has one pointer. Returns (Σ c·level, number not zero)."""
    total = 0.0
    alive = 0
    if operation == SHARE:
        for j in range(values.shape[0]):
            values[j] = np.float32(cost[g0 + j] * (1.0 - 2e-6))
        return total, alive
    step = inv_mu if operation == PROX else 0.0
    for j in range(values.shape[0]):
        level = max(values[j] - np.float32(cost[g0 + j] * step), np.float32(0.0))
        values[j] = level
        total += cost[g0 + j] * level
        alive += level > np.float32(0.0)
    if levels.shape[0] > 0:
        levels[g0 : g0 + values.shape[0]] = values
    return total, alive


@kernel
def _on_mixed(operation, values, bins, b, cost, inv_mu, levels):
    """The operation on bin b, of several groups: into group order, group by group, back. Returns as above."""
    size = values.shape[0]
    rank, grp_ptr, first = bins.rank[bins.ptr[b] : bins.ptr[b + 1]], bins.grp_ptr, bins.grp_ptr[bins.gram[b]]
    grouped = np.empty(size, np.float32)
    scratch = np.empty(size, np.float32)
    for j in range(size):
        grouped[j] = values[np.int64(rank[j])]
    total = 0.0
    alive = 0
    for g in range(bins.gram[b], bins.gram[b + 1]):
        level = _on_group(operation, grouped, grp_ptr[g] - first, grp_ptr[g + 1] - first, cost[g], inv_mu, scratch)
        alive += level > 0.0
        total += cost[g] * level
        if levels.shape[0] > 0:
            levels[g] = level
    if operation in (PROX, SHARE):
        for j in range(size):
            values[np.int64(rank[j])] = grouped[j]
    return total, alive


@parallel_kernel()
def over_groups(operation, data, bins, order, cost, inv_mu, sums, chunk):
    """An operation (PROX, SHARE, TOP or SUM) on all groups of the bins in ``order``, in place.

    data: float32 (m,), for PROX q, given w; for SHARE excesses ≥ 0, given shares; for TOP and SUM ≥ 0, left alone.
    cost: float64 (G,), c(s); inv_mu: float64 (K,), by length, κ = cost · inv_mu. sums: arrays.py; levels are given the
    maximum of each group (SUM: its sum), not for SHARE.
    """
    levels, totals, support = sums.levels, sums.totals, sums.support
    for i in range(chunk[0], chunk[1]):
        b = order[i]
        first, last = bins.ptr[b], bins.ptr[b + 1]
        g0, g1 = bins.gram[b], bins.gram[b + 1]
        values = data[first:last]
        mu = inv_mu[bins.length[b] - 1]
        if g1 - g0 == last - first:
            totals[b], support[b] = _on_singles(operation, values, cost, g0, mu, levels)
        elif g1 - g0 == 1:
            scratch = np.empty(last - first, np.float32)
            level = _on_group(operation, values, np.int64(0), last - first, cost[g0], mu, scratch)
            totals[b] = cost[g0] * level
            support[b] = level > 0.0
            if levels.shape[0] > 0:
                levels[g0] = level
        else:
            totals[b], support[b] = _on_mixed(operation, values, bins, b, cost, mu, levels)
