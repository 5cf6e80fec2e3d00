"""numba kernels of the linear relaxation (relaxation.py): the update of groups, the pass over words, and the bound.

A run of words has about four thousand units, begin[r] .. begin[r+1]-1, and stays in the cache. Shapes: w float32 (m,)
and slot int32 (K, n), as compression's passes/layout.py has them; weight float32 (m,), n_w of each pointer in the order
of its group within the bin; per_unit float32 (n,), 1 / how many pointers have a unit; y float32 (n,), the multipliers.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def weigh(values, weight, lo, hi, cost, work):
    """values[lo:hi] become max(0, min(values, t)) with Σ weight (values − t)₊ = cost, or 0 where that has no t ≥ 0.
    Returns t. work: float32 (2, hi - lo) or more."""
    value, share = work
    left = 0
    gain = mass = 0.0
    for j in range(lo, hi):
        if values[j] > np.float32(0.0):
            value[left], share[left] = values[j], weight[j]
            gain += np.float64(value[left]) * share[left]
            mass += share[left]
            left += 1
    if gain <= cost:
        values[lo:hi] = np.float32(0.0)
        return 0.0
    while True:  # Newton's method from the left, as in compression's kernels/prox.py
        level = (gain - cost) / mass
        before, left = left, 0
        gain = mass = 0.0
        for j in range(before):
            if value[j] > level:
                value[left], share[left] = value[j], share[j]
                gain += np.float64(value[left]) * share[left]
                mass += share[left]
                left += 1
        if left == before or not left:
            break
    top = np.float32(level)
    for j in range(lo, hi):
        values[j] = min(max(values[j], np.float32(0.0)), top)
    return level


@parallel_kernel()
def update_groups(w, weight, bins, cost, levels, chunk):
    """The proximal map of Σ_s cost_s ‖w_s‖∞ in the metric of the weights, in place, w ≥ 0; levels: float32 (G,), given
    the maxima; cost: float64 (G,)."""
    for b in range(chunk[0], chunk[1]):
        first, last = bins.ptr[b], bins.ptr[b + 1]
        g0, g1 = bins.gram[b], bins.gram[b + 1]
        values, own = w[first:last], weight[first:last]
        work = np.empty((2, last - first), np.float32)
        if g1 - g0 == 1 or g1 - g0 == last - first:  # by position is by group
            for g in range(g0, g1):
                lo, hi = bins.grp_ptr[g] - bins.grp_ptr[g0], bins.grp_ptr[g + 1] - bins.grp_ptr[g0]
                levels[g] = weigh(values, own, lo, hi, cost[g], work)
        else:
            rank = bins.rank[first:last]
            grouped = np.empty(last - first, np.float32)
            for j in range(last - first):
                grouped[j] = values[np.int64(rank[j])]
            for g in range(g0, g1):
                lo, hi = bins.grp_ptr[g] - bins.grp_ptr[g0], bins.grp_ptr[g + 1] - bins.grp_ptr[g0]
                levels[g] = weigh(grouped, own, lo, hi, cost[g], work)
            for j in range(last - first):
                values[np.int64(rank[j])] = grouped[j]


@parallel_kernel(least=10_000)
def counts_by_place(slot, counts, by_place, chunk):
    """by_place (float32 (m,)) from counts float32 (n,), n_w at each unit."""
    for i in range(chunk[0], chunk[1]):
        for k in range(slot.shape[0]):
            if slot[k, i] >= 0:
                by_place[slot[k, i]] = counts[i]


@parallel_kernel()
def weights_by_group(by_place, bins, weight, chunk):
    """weight (see the module's docstring) from the counts by place."""
    for b in range(chunk[0], chunk[1]):
        first, last = bins.ptr[b], bins.ptr[b + 1]
        groups = bins.gram[b + 1] - bins.gram[b]
        plain = groups == 1 or groups == last - first
        for j in range(last - first):
            weight[first + j] = by_place[first + (j if plain else np.int64(bins.rank[first + j]))]


@kernel
def cover_units(own, covered):
    """covered float32 (size,) = Xw of a run, of w in its places: float32 (K, size)."""
    covered[:] = np.float32(0.0)
    for k in range(own.shape[0]):
        for begin in range(k + 1):  # by the pointers that begin so many units before
            for i in range(begin, covered.shape[0]):
                covered[i] += own[k, i - begin]


@kernel
def towards(w, slot, a, own, gradient, window, inv_rho):
    """w becomes w − (Xᵀ gradient + 1/ρ)/k by length k, the point whose proximal map is the next w."""
    size = own.shape[1]
    window[:] = np.float32(0.0)
    for k in range(own.shape[0]):
        scale = np.float32(1.0) / np.float32(k + 1)
        for i in range(size - k):
            window[i] += gradient[i + k]
            if slot[k, a + i] >= 0:
                w[slot[k, a + i]] = own[k, i] - scale * (window[i] + inv_rho)


@parallel_kernel()
def pass_over_words(w, slot, y, per_unit, begin, rates, chunk):
    """y += ρ over (Xw − 1) per_unit, and w becomes the next point to map; both in place; rates: ρ and over."""
    rho, over = rates
    for r in range(chunk[0], chunk[1]):
        a, size = begin[r], begin[r + 1] - begin[r]
        own = np.zeros((slot.shape[0], size), np.float32)
        covered = np.empty(size, np.float32)
        for k in range(slot.shape[0]):
            for i in range(size):
                if slot[k, a + i] >= 0:
                    own[k, i] = w[slot[k, a + i]]
        cover_units(own, covered)
        for i in range(size):
            missing = (covered[i] - np.float32(1.0)) * per_unit[a + i]
            y[a + i] += rho * over * missing
            covered[i] = missing + y[a + i] / rho
        towards(w, slot, a, own, covered, np.empty(size, np.float32), np.float32(1.0) / rho)


@parallel_kernel()
def pointers_of_units(slot, begin, per_unit, chunk):
    """per_unit: float32 (n,)."""
    for r in range(chunk[0], chunk[1]):
        a, e = begin[r], begin[r + 1]
        own = np.zeros((slot.shape[0], e - a), np.float32)
        for k in range(slot.shape[0]):
            for i in range(a, e):
                own[k, i - a] = np.float32(slot[k, i] >= 0)
        covered = np.empty(e - a, np.float32)
        cover_units(own, covered)
        for i in range(a, e):
            per_unit[i] = np.float32(1.0) / max(covered[i - a], np.float32(1.0))


@parallel_kernel()
def excesses(y, counts, slot, begin, shares, chunk):
    """shares (float32 (m,), by place) = n (Σ −y over its units − 1)₊ of each pointer; counts: float32 (n,), n."""
    for r in range(chunk[0], chunk[1]):
        a, e = begin[r], begin[r + 1]
        window = np.zeros(e - a, np.float64)
        for k in range(slot.shape[0]):
            for i in range(a, e - k):
                window[i - a] -= y[i + k]
                place = slot[k, i]
                if place >= 0:
                    shares[place] = min(counts[i] * max(window[i - a] - 1.0, 0.0), 1e30)


@parallel_kernel()
def bound_words(shares, counts, slot, ptr, words, alpha, totals, chunk):
    """The cheapest way through each word where a pointer costs n + its share: totals float64 (R,), Σ of the words
    words[r] .. words[r+1]-1, and alpha float64 (n,), what each unit adds to it. counts: int64 (n,)."""
    for r in range(chunk[0], chunk[1]):
        total = 0.0
        for w in range(words[r], words[r + 1]):
            a, e = ptr[w], ptr[w + 1]
            reach = np.zeros(e - a + 1, np.float64)
            for i in range(1, e - a + 1):
                best = np.inf
                for k in range(1, min(slot.shape[0], i) + 1):
                    place = slot[k - 1, a + i - k]
                    if place >= 0:
                        best = min(best, reach[i - k] + counts[a] + np.float64(shares[place]))
                reach[i] = best
                alpha[a + i - 1] = best - reach[i - 1]
            total += reach[e - a]
        totals[r] = total
