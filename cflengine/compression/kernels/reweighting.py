"""numba kernels of the w-update of iterative reweighting: the proximal map of κ‖D·‖∞ on w ≥ 0, in linear time.

    prox(v) = argmin_{w ≥ 0} ½‖w − v‖² + κ max_i D_i w_i,   D_i > 0,  κ = c(s)/ρ

With q = max(v, 0) and f = Dq (supplement of NIPS 2013, §1.1, there with ρ = 1):

    w = 0                  iff Σ q_i/D_i ≤ κ                                                    (12)
    w_i = min(q_i, t/D_i)  otherwise, t = m(k) = (Σ_{i ≤ k} D_i⁻² f_i − κ) / Σ_{i ≤ k} D_i⁻²    (21)

where f is in decreasing order and k is the number of maximal elements of Dw. The supplement shows m(k') ≤ f_{k'+1}
before k and m(k') > f_{k'+1} from k on (25), so that k is found by selection: split the candidates at a pivot p; if
m of all elements above p exceeds p, the rest are not maximal; if not, those down to p are. The pivot is the median of
three; where that removes less than an eighth of the candidates, the next one is halfway, in the order of float32
numbers, between the least and the greatest candidate. That can happen 32 times at most, so the time is linear
whatever the numbers. Nothing is sorted.

Layout of groups: layout.py.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def _halfway(scaled, lo, hi):
    """The float32 that has as many float32 numbers on its way from the least as to the greatest of scaled[lo:hi]."""
    bits = scaled[lo:hi].view(np.int32)  # positive floats are ordered as their bits
    least = greatest = np.int64(bits[0])
    for j in range(1, hi - lo):
        least = min(least, np.int64(bits[j]))
        greatest = max(greatest, np.int64(bits[j]))
    middle = np.int32((least + greatest) >> 1)
    return middle.view(np.float32)


@kernel
def _split(scaled, share, lo, hi, pivot):
    """Order candidates lo .. hi-1 by > pivot, = pivot, < pivot; returns the two borders and, of the first part,
    Σ D⁻² f and Σ D⁻²."""
    moment = mass = 0.0
    i = lo
    while i < hi:
        value = scaled[i]
        weight = share[i]
        if value > pivot:
            moment += np.float64(weight) * np.float64(value)
            mass += np.float64(weight)
            scaled[i], share[i] = scaled[lo], share[lo]
            scaled[lo], share[lo] = value, weight
            lo += 1
            i += 1
        elif value < pivot:
            hi -= 1
            scaled[i], share[i] = scaled[hi], share[hi]
            scaled[hi], share[hi] = value, weight
        else:
            i += 1
    return lo, hi, moment, mass


@kernel
def weighted_level(scaled, share, count, kappa):
    """The t with Σ D_i⁻² (f_i − t)₊ = κ, where Σ D_i⁻² f_i > κ ≥ 0.

    scaled: float32, its first ``count`` entries f > 0; share: float32, D⁻². Both are reordered.
    """
    lo, hi = 0, count
    moment = mass = 0.0  # of those known to be maximal
    poor = False
    while lo < hi:
        before = hi - lo
        if poor:
            pivot = _halfway(scaled, lo, hi)
        else:
            x, y, z = scaled[lo], scaled[lo + before // 2], scaled[hi - 1]
            pivot = max(min(x, y), min(max(x, y), z))
        above, below, more_moment, more_mass = _split(scaled, share, lo, hi, pivot)
        if moment + more_moment - kappa > (mass + more_mass) * pivot:
            hi = above
        else:
            for j in range(above, below):
                more_moment += np.float64(share[j]) * np.float64(pivot)
                more_mass += np.float64(share[j])
            moment += more_moment
            mass += more_mass
            lo = below
        poor = 8 * (hi - lo) > 7 * before
    return (moment - kappa) / mass


@kernel
def weighted_prox(values, weight, lo, hi, kappa, scaled, share):
    """Apply the prox to values[lo:hi] in place; returns the level t. scaled, share: float32 work arrays."""
    total = 0.0
    count = 0
    for j in range(lo, hi):
        q = values[j]
        if q > np.float32(0.0):
            d = weight[j]
            total += q / np.float64(d)
            scaled[count] = q * d
            share[count] = np.float32(1.0) / (d * d)
            count += 1
    if total <= kappa:
        for j in range(lo, hi):
            values[j] = np.float32(0.0)
        return 0.0
    level = weighted_level(scaled, share, count, kappa)
    top = np.float32(level)
    for j in range(lo, hi):
        values[j] = min(max(values[j], np.float32(0.0)), top / weight[j])
    return level


@kernel
def _prox_of_singles(values, weight, cost, g0, inv_rho):
    """Where every group has one pointer, w = max(v − κD, 0). Returns (Σ c D w, number not zero)."""
    total = 0.0
    alive = 0
    for j in range(values.shape[0]):
        w = max(values[j] - np.float32(cost[g0 + j] * inv_rho) * weight[j], np.float32(0.0))
        values[j] = w
        total += cost[g0 + j] * (weight[j] * w)
        alive += w > np.float32(0.0)
    return total, alive


@kernel
def _prox_of_bin(values, weight, bins, b, cost, inv_rho):
    """Bin b, of several groups: into group order, group by group, back. Returns as above."""
    size = values.shape[0]
    g0, g1, grp_ptr = bins.gram[b], bins.gram[b + 1], bins.grp_ptr
    rank, first = bins.rank[bins.ptr[b] : bins.ptr[b + 1]], grp_ptr[g0]
    grouped, weights = np.empty(size, np.float32), np.empty(size, np.float32)
    scaled, share = np.empty(size, np.float32), np.empty(size, np.float32)
    alone = g1 - g0 == 1  # then the order is right as it is
    for j in range(size):
        place = j if alone else np.int64(rank[j])
        grouped[j] = values[place]
        weights[j] = weight[place]
    total = 0.0
    alive = 0
    for g in range(g0, g1):
        lo, hi = grp_ptr[g] - first, grp_ptr[g + 1] - first
        level = weighted_prox(grouped, weights, lo, hi, cost[g] * inv_rho, scaled, share)
        alive += level > 0.0
        total += cost[g] * level
    for j in range(size):
        values[j if alone else np.int64(rank[j])] = grouped[j]
    return total, alive


@parallel_kernel()
def prox_of_groups(data, weight, bins, order, cost, inv_rho, sums, chunk):
    """The w-update of all groups of the bins in ``order``, in place.

    data, weight: float32 (m,), v (given w) and D; cost: float64 (G,), c(s); inv_rho: float64; sums: arrays.py, without
    levels: totals are given Σ c(s)‖D w_J(s)‖∞.
    """
    totals, support = sums.totals, sums.support
    for i in range(chunk[0], chunk[1]):
        b = order[i]
        first, last = bins.ptr[b], bins.ptr[b + 1]
        values, weights = data[first:last], weight[first:last]
        if bins.gram[b + 1] - bins.gram[b] == last - first:
            totals[b], support[b] = _prox_of_singles(values, weights, cost, bins.gram[b], inv_rho)
        else:
            totals[b], support[b] = _prox_of_bin(values, weights, bins, b, cost, inv_rho)
