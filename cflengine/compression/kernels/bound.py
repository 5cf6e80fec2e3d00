"""numba kernels of the certified lower bound and of a feasible point of the relaxation, both from any iterate.

Lower bound (design: Lagrangian duality). Give every pointer i of K-gram s a share β_i ≥ 0 with Σ_J(s) β_i ≤ c(s).
Charging pointers d + β instead of paying for the dictionary can only be cheaper, so the cheapest encoding of
the corpus at these prices, which the encoding programme finds exactly, is a lower bound on (1). Any dual
vector α ≥ 0 of the coverage constraints proposes shares: its excesses ((Xᵀα)_i − d_i)₊, scaled down where they
exceed c(s), the rest of the budget spread evenly where they do not.

The programme's own prices α'_j = V(j) − V(j−1), V(j) = min_{i ≥ j} R(i) the cost of covering j tokens or more,
satisfy Xᵀα' ≤ d + β and Σ α' = the bound: a dual feasible point that certificate.py checks without any of this.

Feasible point: where Xw < 1, scale w_i by the largest 1/(Xw)_j of the tokens it covers; then Xw ≥ 1, and the
relaxed objective there is a proved upper bound on the relaxation's optimum.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.cover import coverage, load_block, pointer_cost, store_block
from cflengine.compression.kernels.halo import with_halo
from cflengine.compression.kernels.shortest import cover_piece, encoding_window, pointer_price, shortest_cover
from cflengine.engine.jit import kernel, parallel_kernel


@parallel_kernel()
def excess_blocks(y, slot, blocks, chunk, d, shares):
    """shares (float32 (m,), by place) = ((Xᵀα)_i − d_i)₊, α = −y ≥ 0, of the blocks of ``chunk`` (first, last + 1)."""
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        _, hi = with_halo(blocks, b, slot.shape[0] - 1)
        size = hi - a
        excess = np.zeros((slot.shape[0], size), np.float32)
        window = np.zeros(size, np.float64)
        for k in range(slot.shape[0]):
            for i in range(size - k):
                window[i] -= y[a + i + k]
                price = pointer_price(d, k + 1, a + i)
                # the cap keeps sums of a diverged multiplier finite; no budget comes near it
                excess[k, i] = min(max(window[i] - price, 0.0), 1e30)
        store_block(excess, shares, slot, a, e, a)


@kernel
def cover_prices(reach, first, length, alpha):
    """alpha[first + j] = V(j+1) − V(j) ≥ 0 with V(j) = min_{i ≥ j} R(i)."""
    after = reach[length]
    for j in range(length - 1, -1, -1):
        before = min(reach[j], after)
        alpha[first + j] = after - before
        after = before


@parallel_kernel()
def bound_blocks(shares, slot, blocks, chunk, d, alpha, totals, carry):
    """Encode at the prices d + β: totals (float64 (B,)) are the bound's summands, 0 for pieces, whose are
    carry.gain after ``settle``; alpha is given α'.

    alpha: float64 (n,), since certificate.py adds up as many of its entries as a frequent word has occurrences;
    or (0,) where only the bound is wanted.
    """
    for b in range(chunk[0], chunk[1]):
        a, e = encoding_window(blocks, b, slot.shape[0])
        size = e - a
        cost = np.empty((slot.shape[0], size), np.float64)
        for k in range(slot.shape[0]):
            for i in range(size):
                place = slot[k, a + i]
                cost[k, i] = pointer_price(d, k + 1, a + i) + shares[place] if place >= 0 else np.inf
        reach = np.empty(size + 1, np.float64)
        choice = np.empty(size + 1, carry.choice.dtype)
        if blocks.piece[b] >= 0:
            cover_piece(cost, blocks, b, carry, reach, choice)
            if alpha.shape[0] > 0:
                first, last = blocks.token[b], blocks.token[b + 1]
                prices = np.empty(size - (first - a), np.float64)
                cover_prices(reach[first - a :], np.int64(0), size - (first - a), prices)
                alpha[first:last] = prices[: last - first]
            totals[b] = 0.0
            continue
        total = 0.0
        for j in range(blocks.doc[b], blocks.doc[b + 1]):
            first, length = blocks.doc_ptr[j], blocks.doc_ptr[j + 1] - blocks.doc_ptr[j]
            shortest_cover(cost, first - a, length, reach, choice)
            if alpha.shape[0] > 0:
                cover_prices(reach, first, length, alpha)
            total += reach[length]
        totals[b] = total


@parallel_kernel()
def repair_blocks(data, slot, blocks, borders, chunk, d, totals, least):
    """data (float32 (m,)), holding w, is given a w' ≥ w with Xw' ≥ 1; per block its cost and the least (Xw)_j."""
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        lo, hi = with_halo(blocks, b, slot.shape[0] - 1)
        size = hi - lo
        w = np.empty((slot.shape[0], size), np.float32)
        covered = np.empty(size, np.float32)
        tail = np.empty(size, np.float32)
        factor = np.zeros(size, np.float32)
        load_block(data, slot, blocks, b, borders, lo, hi, w)
        coverage(w, covered, tail, factor)
        least[b] = 1.0
        for i in range(a - lo, e - lo):
            least[b] = min(least[b], covered[i])
        for i in range(size):
            # a millionth more, so that float32 rounding cannot leave a token short
            covered[i] = np.float32(1.000001) / min(max(covered[i], np.float32(1e-6)), np.float32(1.0))
            factor[i] = covered[i]
        for k in range(slot.shape[0]):
            for i in range(size - k):
                factor[i] = max(factor[i], covered[i + k])
                w[k, i] *= factor[i]
        totals[b] = pointer_cost(w, a, e, lo, d, tail)
        store_block(w, data, slot, a, e, lo)


@parallel_kernel()
def binary_share_blocks(data, slot, blocks, margin, counts, chunk):
    """counts (int64 (B, 2)): pointers with w > margin, and those of them with w ≥ 1 − margin."""
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        positive = ones = 0
        for k in range(slot.shape[0]):
            for i in range(a, e):
                if slot[k, i] >= 0:
                    value = data[slot[k, i]]
                    positive += value > margin
                    ones += value >= 1.0 - margin
        counts[b, 0] = positive
        counts[b, 1] = ones
