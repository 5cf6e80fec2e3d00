"""numba kernels of binary solutions: encode a corpus at given prices, evaluate a cover, list its pointers.

Shapes: gram_of int32 (K, n); cover uint8 (n,), bit k-1 of cover[i] says that the pointer of length k that starts at i
is used. The encoding programme itself: kernels/shortest.py.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.shortest import cover_documents, cover_piece, encoding_window, pointer_price
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def fill_costs(gram_of, a, d, prices, cost):
    """cost[k, i] = pointer cost + gram_cost of the K-gram there; a literal stands for a token without one."""
    for k in range(cost.shape[0]):
        for i in range(cost.shape[1]):
            g = gram_of[k, a + i]
            price = np.inf
            if g >= 0:
                price = pointer_price(d, k + 1, a + i) + prices.gram[g]
            elif k == 0:
                price = prices.literal
            cost[k, i] = price


@parallel_kernel()
def encode_blocks(gram_of, blocks, chunk, d, prices, cover, totals, carry):
    """Encode the blocks of ``chunk`` (first, last + 1) with given prices (arrays.py); documents that are cut have their
    cover from ``settle``.

    gram_of: int32 (K, n), -1 where no K-gram may be used. Overwrites cover; totals: float64 (B,), 0 for pieces, whose
    are carry.gain after ``settle``.
    """
    for b in range(chunk[0], chunk[1]):
        a, e = encoding_window(blocks, b, gram_of.shape[0])
        cost = np.empty((gram_of.shape[0], e - a), np.float64)
        reach = np.empty(e - a + 1, np.float64)
        choice = np.empty(e - a + 1, cover.dtype)
        fill_costs(gram_of, a, d, prices, cost)
        if blocks.piece[b] >= 0:
            cover_piece(cost, blocks, b, carry, reach, choice)
            totals[b] = 0.0
        else:
            totals[b] = cover_documents(cost, blocks, b, reach, choice, cover)


@kernel
def use_cover(gram_of, cover, a, e, d, used):
    """Set used[g] = 1 for every K-gram of a marked pointer in tokens a .. e-1; returns Σ d and the number."""
    total = 0.0
    count = 0
    for i in range(a, e):
        if cover[i] == 0:
            continue
        for k in range(gram_of.shape[0]):
            if cover[i] >> k & 1:
                total += pointer_price(d, k + 1, i)
                count += 1
                if gram_of[k, i] >= 0:
                    # threads may write the same byte, but only ever this value
                    used[gram_of[k, i]] = 1
    return total, count


@parallel_kernel()
def evaluate_blocks(gram_of, blocks, cover, d, used, totals, counts, chunk):
    """Pointer cost (float64) and number (int64) of the marked pointers per block; flags their K-grams in used."""
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        totals[b], counts[b] = use_cover(gram_of, cover, a, e, d, used)


@kernel
def count_uses(gram_of, cover, uses):
    """uses[g] += 1 for every marked pointer; uses: (G,)."""
    for i in range(cover.shape[0]):
        for k in range(gram_of.shape[0]):
            if cover[i] >> k & 1:
                uses[gram_of[k, i]] += 1
