"""numba kernels on blocks of tokens: X w, Xᵀ g, and the z- and y-updates of linearised ADMM.

X (n, m) says which tokens a pointer covers. It is never formed: with w stored by length and start, as
w[k-1, i], the coverage is (Xw)_j = Σ_k Σ_{i=j-k+1..j} w[k-1, i] and (Xᵀg)[k-1, i] = g_i + ... + g_{i+k-1}.
Both take Θ(Kn) additions here, by Horner's scheme over lengths and by extending sums one token at a time.

A block (blocks.py) has about 4,096 tokens, so that its rows of w stay in the cache while they are worked on. Entries
of w whose K-gram would cross a document's end are zero, so the block is one run of tokens for X w, and loops are long
enough to vectorise whatever the documents' lengths. A piece of a long document is worked on with its halo, tokens
lo .. hi-1 in all, of which a .. e-1 are its own; for whole documents these are the same.

Shapes: data float32 (m,) and slot int32 (K, n) as in layout.py; w float32 (K, size), the rows of tokens lo .. hi-1;
y, z float32 (n,).
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.halo import load_halo, with_halo
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def load_tokens(data, slot, a, e, lo, w):
    """w[k, i - lo] = data[slot[k, i]] for the tokens i = a .. e-1, zero where there is no pointer."""
    for k in range(w.shape[0]):
        for i in range(a, e):
            place = slot[k, i]
            value = data[max(place, 0)]
            w[k, i - lo] = value if place >= 0 else np.float32(0.0)


@kernel
def load_block(data, slot, blocks, b, borders, lo, hi, w):
    """The rows of block b, and of its halo as they were before this pass."""
    load_tokens(data, slot, blocks.token[b], blocks.token[b + 1], lo, w)
    if blocks.piece[b] >= 0:
        load_halo(borders, blocks, b, lo, hi, w)


@kernel
def store_block(w, data, slot, a, e, lo):
    """The inverse of :func:`load_tokens`; entries without a pointer are dropped."""
    for k in range(w.shape[0]):
        for i in range(a, e):
            place = slot[k, i]
            if place >= 0:
                data[place] = w[k, i - lo]


@kernel
def coverage(w, covered, tail, shifted):
    """covered = Xw of the block; afterwards tail = Σ_k w[k]. Work arrays float32 (size,).

    Horner: covered_j = U_0[j] + U_1[j-1] + ... with U_l = Σ_{k>l} w[k-1].
    """
    size = w.shape[1]
    K = w.shape[0]
    for i in range(size):
        tail[i] = w[K - 1, i]
        covered[i] = tail[i]
    for k in range(K - 2, -1, -1):
        if size > 0:
            shifted[0] = np.float32(0.0)
        for i in range(1, size):
            shifted[i] = covered[i - 1]
        for i in range(size):
            tail[i] += w[k, i]
            covered[i] = tail[i] + shifted[i]


@kernel
def update_multipliers(covered, iterate, blocks, b, borders, lo, step, out):
    """:func:`update_multiplier` for block b; what the tokens after it will come to is worked out from the borders."""
    a, e = blocks.token[b], blocks.token[b + 1]
    own = covered[a - lo : e - lo]
    if blocks.piece[b] >= 0 and e - lo < covered.shape[0]:
        after = covered[e - lo :]
        update_multiplier(after, borders.y[b + 1], borders.z[b + 1], np.int64(0), step, out)
    update_multiplier(own, iterate.y, iterate.z, a, step, out)


@kernel
def update_multiplier(covered, y, z, a, step, out):
    """z = max(x + y/ρ, 1), y += ρ(x − z) (§4.2.2) with x = Xw, over-relaxed; covered becomes Xw − z + y/ρ_next.

    x = over·Xw + (1 − over)·z̄ with z̄ the last z; over is 1 for the paper's step. covered, on return, is the next
    gradient. out[0], out[1]: the largest |Xw − z| and |z − z̄| of the block (equation 7).
    """
    one = np.float32(1.0)
    rho, over = step.rho, step.over
    inv_rho = one / rho
    inv_next = one / step.rho_next
    r = u = np.float32(0.0)
    for i in range(covered.shape[0]):
        x = over * covered[i] + (one - over) * z[a + i]
        z_new = max(x + y[a + i] * inv_rho, one)
        # min: y is at most 0 by the update itself, and rounding must not make a dual price negative
        y_new = min(y[a + i] + rho * (x - z_new), np.float32(0.0))
        gap = covered[i] - z_new
        r = max(r, abs(gap))
        u = max(u, abs(z_new - z[a + i]))
        z[a + i] = z_new
        y[a + i] = y_new
        covered[i] = gap + y_new * inv_next
    out[0] = r
    out[1] = u


@kernel
def pointer_cost(w, a, e, lo, d, work):
    """Σ d w over tokens a .. e-1, float64."""
    first, last = a - lo, e - lo
    for i in range(first, last):
        work[i] = np.float32(0.0)
    for k in range(w.shape[0]):
        cost = d.length[k]
        if d.extra.shape[1] > 0:
            for i in range(first, last):
                work[i] += (cost + d.extra[k, lo + i]) * w[k, i]
        else:
            for i in range(first, last):
                work[i] += cost * w[k, i]
    total = 0.0
    for i in range(first, last):
        total += work[i]
    return total


@kernel
def descend(w, lo, g, window, d, step):
    """w becomes the point q that the prox is applied to: keep·w − scale·(Xᵀg + d/ρ), in place.

    Entries that cross a document's end come out wrong; :func:`store_block` drops them.
    """
    size = w.shape[1]
    keep, inv_rho = step.keep, np.float32(1.0) / step.rho_next
    for i in range(size):
        window[i] = np.float32(0.0)
    for k in range(w.shape[0]):
        for i in range(size - k):
            window[i] += g[i + k]
        scale = step.scale[k]
        cost_scale = scale * inv_rho
        cost = cost_scale * d.length[k]
        if d.extra.shape[1] > 0:
            for i in range(size - k):
                w[k, i] = keep * w[k, i] - scale * window[i] - cost - cost_scale * d.extra[k, lo + i]
        else:
            for i in range(size - k):
                w[k, i] = keep * w[k, i] - scale * window[i] - cost


@parallel_kernel()
def relaxation_pass(iterate, d, blocks, borders, chunk, step, sums):
    """One step at ζ = 0 after the prox, for the blocks of ``chunk`` (first, last + 1): z, y, residuals, cost, next q.

    The arguments: arrays.py; borders: of ``save_borders`` before this pass over all blocks.
    """
    data, slot = iterate.w, iterate.slot
    residuals, costs = sums.residuals, sums.pointer_costs
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        lo, hi = with_halo(blocks, b, slot.shape[0] - 1)
        w = np.empty((slot.shape[0], hi - lo), np.float32)
        covered = np.empty(hi - lo, np.float32)
        tail = np.empty(hi - lo, np.float32)
        shifted = np.empty(hi - lo, np.float32)
        load_block(data, slot, blocks, b, borders, lo, hi, w)
        coverage(w, covered, tail, shifted)
        costs[b] = pointer_cost(w, a, e, lo, d, tail)
        update_multipliers(covered, iterate, blocks, b, borders, lo, step, residuals[b])
        descend(w, lo, covered, shifted, d, step)
        store_block(w, data, slot, a, e, lo)
