"""numba kernels of the local search on the dictionary: what adding or removing each K-gram would change.

Let R(i) be the least cost of a cover of tokens 0 .. i-1 of a document that ends there, B(i) that of a cover of tokens
i .. n-1 that begins there, at the prices of the current dictionary (an absent single word costs d + c, so that every
document can be covered), and T = R(n). With R̄(i) = min_{j ≥ i} R(j) and B̄(i) = min_{j ≤ i} B(j), the cheapest cover
through pointer (k, i) costs R̄(i) + d + B̄(i+k). Hence, each pointer taken by itself,

    an absent K-gram there would save    (T − R̄(i) − d − B̄(i+k))₊,
    a pointer that is used would cost    min over covers without it − T  to do without:

any cover has an end among i+k .. i+2k-1 .. (K of them), and R at these, computed anew without the pointer, plus B̄ is
the best such cover: Θ(K²) a pointer. Sums over J(s) against c(s) tell what a K-gram is worth; they are exact where its
uses are far enough apart not to compete.

Shapes: data float32 (m,), by place (passes/layout.py); cover uint8 (n,); tuples: arrays.py.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.arrays import Window
from cflengine.compression.kernels.cover import store_block
from cflengine.compression.kernels.shortest import (
    cover_piece,
    encoding_window,
    extend_cover,
    mark_cover,
    pointer_price,
    shortest_cover,
    worth_window,
)
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def price_pointers(gram_of, d, prices, a, cost, plain):
    """cost[k, i]: price of the pointer in the current dictionary, inf if absent; plain: d alone, inf for no pointer."""
    for k in range(cost.shape[0]):
        for i in range(cost.shape[1]):
            g = gram_of[k, a + i]
            cost[k, i] = plain[k, i] = np.inf
            if g >= 0:
                price = np.float64(pointer_price(d, k + 1, a + i))
                plain[k, i] = price
                if prices.present[g]:
                    cost[k, i] = price
                elif k == 0:
                    cost[k, i] = price + prices.gram[g]


@kernel
def backward_cover(cost, first, n, back, end):
    """back[i] = B(i), float64 (n+1,), of the document at columns first .. of ``cost``, given from ``end`` on."""
    for i in range(end - 1, -1, -1):
        best = np.inf
        nearest = np.inf
        for k in range(1, min(cost.shape[0], n - i) + 1):
            nearest = min(nearest, back[i + k])
            best = min(best, cost[k - 1, first + i] + nearest)
        back[i] = best


@kernel
def through(reach, back, n, suffix_min, prefix_min):
    """suffix_min[i] = min_{j ≥ i} R(j), prefix_min[i] = min_{j ≤ i} B(j)."""
    least = np.inf
    for i in range(n, -1, -1):
        least = min(least, reach[i])
        suffix_min[i] = least
    least = np.inf
    for i in range(n + 1):
        least = min(least, back[i])
        prefix_min[i] = least


@kernel
def cost_without(cost, first, n, k, i, reach, prefix_min, anew):
    """The least cost of the document without its pointer of length k at token i; anew: float64 (K,), work."""
    K = cost.shape[0]
    end = i + k
    best = np.inf
    for q in range(min(K, n - end + 1)):
        last = end + q
        r = np.inf
        nearest = np.inf
        for length in range(1, min(K, last) + 1):
            j = last - length
            nearest = min(nearest, reach[j] if j < end else anew[j - end])
            if length != k or q > 0:
                r = min(r, cost[length - 1, first + j] + nearest)
        anew[q] = r
        best = min(best, r + prefix_min[last])
    return best


@kernel
def worth_of_document(window, first, n, total, cover, a):
    """window.worth[k, first + i] for the pointers of one document, as the module's docstring says.

    Its columns of the window are first .. first+n-1, its first token a + first; reach and back are filled; total: T.
    """
    cost, plain, worth, reach, back, suffix_min, prefix_min, anew = window
    through(reach, back, n, suffix_min, prefix_min)
    for k in range(1, cost.shape[0] + 1):
        for i in range(n - k + 1):
            if cover[a + first + i] >> (k - 1) & 1:
                value = cost_without(cost, first, n, k, i, reach, prefix_min, anew) - total
                worth[k - 1, first + i] = max(value, 0.0)  # inf where it cannot be done without
            elif cost[k - 1, first + i] > plain[k - 1, first + i]:  # absent, and not because it crosses an end
                saved = total - (suffix_min[i] + plain[k - 1, first + i] + prefix_min[i + k])
                worth[k - 1, first + i] = max(saved, 0.0)


@parallel_kernel()
def encode_pieces(gram_of, blocks, chunk, touched, d, prices, carry):
    """What comes before ``worth_blocks`` for documents that are cut; ``settle`` then writes their cover."""
    for b in range(chunk[0], chunk[1]):
        if not touched[b] or blocks.piece[b] < 0:
            continue
        lo, hi = encoding_window(blocks, b, gram_of.shape[0])
        cost = np.empty((gram_of.shape[0], hi - lo), np.float64)
        plain = np.empty((gram_of.shape[0], hi - lo), np.float64)
        price_pointers(gram_of, d, prices, lo, cost, plain)
        choice = np.empty(hi - lo + 1, carry.choice.dtype)
        cover_piece(cost, blocks, b, carry, np.empty(hi - lo + 1, np.float64), choice)


@kernel
def worth_of_piece(window, blocks, b, lo, cover):
    """:func:`worth_of_document` for the tokens from lo on that the window has, as if the document were no longer.

    What is cut off has no price, so that covers may begin and end where they like, and pointers near either end are
    worth something else; those of the piece itself are far enough from it.
    """
    K, n = window.cost.shape
    reach, back = window.reach, window.back
    d = blocks.doc[b]
    begin, end = 1, n
    reach[0], back[n] = 0.0, 0.0
    if lo > blocks.doc_ptr[d]:
        reach[:K] = 0.0
        begin = K
    if lo + n < blocks.doc_ptr[d + 1]:
        back[n - K + 1 :] = 0.0
        end = n - K + 1
    first = np.int64(0)
    extend_cover(window.cost, first, begin, n, reach, np.empty(n + 1, cover.dtype))
    backward_cover(window.cost, first, n, back, end)
    total = np.inf
    for i in range(end, n + 1):
        total = min(total, reach[i])
    worth_of_document(window, first, n, total, cover, lo)


@kernel
def window_of(K, size):
    """Work arrays for ``size`` tokens; worth is 0."""
    rows, ends = (K, size), size + 1
    return Window(
        np.empty(rows, np.float64),
        np.empty(rows, np.float64),
        np.zeros(rows, np.float32),
        np.empty(ends, np.float64),
        np.empty(ends, np.float64),
        np.empty(ends, np.float64),
        np.empty(ends, np.float64),
        np.empty(K, np.float64),
    )


@kernel
def worth_of_documents(window, blocks, b, cover):
    """The covers of block b, of whole documents, and what their pointers are worth."""
    a = blocks.token[b]
    choice = np.empty(window.reach.shape[0], cover.dtype)
    cover[a : blocks.token[b + 1]] = 0
    for d in range(blocks.doc[b], blocks.doc[b + 1]):
        first, n = blocks.doc_ptr[d] - a, blocks.doc_ptr[d + 1] - blocks.doc_ptr[d]
        shortest_cover(window.cost, first, n, window.reach, choice)
        mark_cover(choice, blocks.doc_ptr[d], n, cover)
        window.back[n] = 0.0
        backward_cover(window.cost, first, n, window.back, n)
        worth_of_document(window, first, n, window.reach[n], cover, a)


@parallel_kernel()
def worth_blocks(pointers, blocks, chunk, touched, d, prices, cover, data):
    """Encode those of the blocks of ``chunk`` (first, last + 1) that are ``touched`` (uint8 (B,)) with the dictionary
    of ``prices``: cover (documents that are cut have them already), and data = each pointer's worth.

    An absent single word that is used is charged d + c here: its worth is what doing without it would cost beyond that.
    """
    slot, gram_of = pointers.slot, pointers.gram_of
    for b in range(chunk[0], chunk[1]):
        if not touched[b]:
            continue
        a, e = blocks.token[b], blocks.token[b + 1]
        lo, hi = worth_window(blocks, b, gram_of.shape[0])
        window = window_of(gram_of.shape[0], hi - lo)
        price_pointers(gram_of, d, prices, lo, window.cost, window.plain)
        if blocks.piece[b] >= 0:
            worth_of_piece(window, blocks, b, lo, cover)
        else:
            worth_of_documents(window, blocks, b, cover)
        store_block(window.worth, data, slot, a, e, lo)
