"""numba kernels of the encoding programme (§3.1): the cheapest set of pointers that covers a document.

    R(i) = min_{k=1..K} [ d(i, k) + min_{j=1..k} R(i − j) ],   R(0) = 0,

where d(i, k) is the cost of the pointer of length k that *ends* at token i: Θ(Kn). Overlapping pointers
(j < k) are allowed. Of equally cheap pointers the longest is taken, without overlap if that is as cheap, so the
solution depends on the input alone.

Shapes: cost float64 (K, size), by length and *start*, inf where a pointer does not exist; marks uint8 (n,),
bit k-1 of marks[i] says that the pointer of length k that starts at i is used.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def shortest_cover(cost, first, length, reach, choice):
    """Fill reach[0..length] = R (float64) and choice (uint8) for the document at columns first .. of ``cost``.

    choice[i] packs the k and j that achieve R(i): (k-1) | (j-1) << 3. reach[length] is inf when the
    document cannot be covered.
    """
    reach[0] = 0.0
    for i in range(1, length + 1):
        best = np.inf
        nearest = np.inf
        j_best = 1
        packed = 0
        for k in range(1, min(cost.shape[0], i) + 1):
            if reach[i - k] <= nearest:
                nearest = reach[i - k]
                j_best = k
            total = cost[k - 1, first + i - k] + nearest
            if total <= best:
                best = total
                packed = (k - 1) | ((j_best - 1) << 3)
        reach[i] = best
        choice[i] = packed


@kernel
def mark_cover(choice, first, length, marks):
    """Walk back from the end and set marks[first + start] for every pointer of the cheapest cover."""
    i = length
    while i > 0:
        k = (choice[i] & 7) + 1
        marks[first + i - k] |= np.uint8(1 << (k - 1))
        i -= (choice[i] >> 3) + 1


@kernel
def fill_costs(gram_of, a, gram_cost, d_len, d_extra, literal_cost, cost):
    """cost[k, i] = pointer cost + gram_cost of the K-gram there; a literal stands for a token without one."""
    for k in range(cost.shape[0]):
        for i in range(cost.shape[1]):
            g = gram_of[k, a + i]
            price = np.inf
            if g >= 0:
                price = d_len[k] + gram_cost[g]
                if d_extra.shape[1] > 0:
                    price += d_extra[k, a + i]
            elif k == 0:
                price = literal_cost
            cost[k, i] = price


@parallel_kernel
def encode_blocks(gram_of, doc_ptr, blocks, b0, b1, gram_cost, d_len, d_extra, literal_cost, marks, totals):
    """Encode the documents of blocks b0 .. b1-1 with given prices.

    gram_of: int32 (K, n), -1 where no K-gram may be used; gram_cost: float64 (G,), added to the pointer cost
    of each use, inf forbids; literal_cost: float64, inf for none. Overwrites marks; totals: float64 (B,).
    """
    for b in prange(b0, b1):
        a, e = doc_ptr[blocks[b]], doc_ptr[blocks[b + 1]]
        cost = np.empty((gram_of.shape[0], e - a), np.float64)
        reach = np.empty(e - a + 1, np.float64)
        choice = np.empty(e - a + 1, np.uint8)
        fill_costs(gram_of, a, gram_cost, d_len, d_extra, literal_cost, cost)
        marks[a:e] = 0
        total = 0.0
        for d in range(blocks[b], blocks[b + 1]):
            start, length = doc_ptr[d] - a, doc_ptr[d + 1] - doc_ptr[d]
            shortest_cover(cost, start, length, reach, choice)
            total += reach[length]
            if reach[length] < np.inf:
                mark_cover(choice, doc_ptr[d], length, marks)
        totals[b] = total


@kernel
def use_marks(gram_of, marks, a, e, d_len, d_extra, used):
    """Set used[g] = 1 for every K-gram of a marked pointer in tokens a .. e-1; returns Σ d and the number."""
    total = 0.0
    count = 0
    for i in range(a, e):
        if marks[i] == 0:
            continue
        for k in range(gram_of.shape[0]):
            if marks[i] >> k & 1:
                total += d_len[k]
                if d_extra.shape[1] > 0:
                    total += d_extra[k, i]
                count += 1
                if gram_of[k, i] >= 0:
                    # threads may write the same byte, but only ever this value
                    used[gram_of[k, i]] = 1
    return total, count


@parallel_kernel
def evaluate_blocks(gram_of, doc_ptr, blocks, marks, d_len, d_extra, used, totals, counts):
    """Pointer cost (float64) and number (int64) of the marked pointers per block; flags their K-grams in used."""
    for b in prange(blocks.shape[0] - 1):
        a, e = doc_ptr[blocks[b]], doc_ptr[blocks[b + 1]]
        totals[b], counts[b] = use_marks(gram_of, marks, a, e, d_len, d_extra, used)


@kernel
def list_pointers(gram_of, marks, start, length, gram):
    """Write out the marked pointers in order of start, then length; returns how many."""
    count = 0
    for i in range(marks.shape[0]):
        for k in range(gram_of.shape[0]):
            if marks[i] >> k & 1:
                start[count] = i
                length[count] = k + 1
                gram[count] = gram_of[k, i]
                count += 1
    return count


@kernel
def count_uses(gram_of, marks, uses):
    """uses[g] += 1 for every marked pointer; uses: float32 (G,)."""
    for i in range(marks.shape[0]):
        for k in range(gram_of.shape[0]):
            if marks[i] >> k & 1:
                uses[gram_of[k, i]] += 1
