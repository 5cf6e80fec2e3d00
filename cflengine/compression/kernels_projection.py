"""numba kernels of the z-update of iterative reweighting: the nearest point that covers every token.

    minimise ½‖z − (w + y/ρ)‖²   subject to   Xz ≥ 1                                       (26)

has the dual, with α = ρβ for the prices of the constraints (supplement of NIPS 2013, §1.2),

    minimise ½βᵀHβ − (1 − X(w + y/ρ))ᵀβ   subject to   β ≥ 0,   H = XXᵀ,                   (30)

and then z = w + y/ρ + Xᵀβ (29). The multiplier's own update y + ρ(w − z) turns out to be −ρXᵀβ: y is never stored, and
with β̄ of the step before, z = w + Xᵀ(β − β̄), and the gradient of (30), which is the slack of Xz ≥ 1, is

    g = Xz − 1 = Xw − 1 + H(β − β̄).

H is block diagonal by document and has bandwidth K − 1 (supplement, §2): H_jl is the number of pointers that cover
both tokens, (K−δ)(K−δ+1)/2 for δ = |j − l| < K, less near a document's ends; ``overlaps`` has all values.

(30) is solved document by document by Newton's method on the free variables (β > 0, or β = 0 and g < 0) with a banded
LDLᵀ factorisation, Θ(K²n), and projection on β ≥ 0. The free set hardly changes from one step to the next, so one or
two factorisations are usual. A step that does not lower the objective is undone and replaced by a sweep of projected
Gauss-Seidel, which always does; so is every fourth step in any case. With sweeps alone it took 14 (K = 3) to 90 (K = 8)
of them, and the whole pass 2.4 to 4 times as long; over-relaxation only made it more.

Shapes: a document has n tokens; g, beta, step float64 (n,); factor float64 (K, n); table float64 (K, K, K).
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.compression.kernels_cover import coverage, load_tokens, pointer_cost, store_block
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def overlaps(max_gram):
    """table[δ, a, b] = H_jl, l = j + δ, with a tokens before j and b after l in the document (K − 1 for more)."""
    K = max_gram
    table = np.zeros((K, K, K), np.float64)
    for delta in range(K):
        for a in range(K):
            for b in range(K):
                # x tokens before j and y after l make a pointer of length x + δ + 1 + y
                for x in range(min(a, K - 1 - delta) + 1):
                    table[delta, a, b] += min(b, K - 1 - delta - x) + 1
    return table


@kernel
def add_product(table, step, g):
    """g += H step."""
    n, K = g.shape[0], table.shape[0]
    for j in range(n):
        if step[j] == 0.0:
            continue
        a, b = min(j, K - 1), min(n - 1 - j, K - 1)
        g[j] += table[0, a, b] * step[j]
        for delta in range(1, b + 1):
            g[j + delta] += table[delta, a, min(n - 1 - j - delta, K - 1)] * step[j]
        for delta in range(1, a + 1):
            g[j - delta] += table[delta, min(j - delta, K - 1), b] * step[j]


@kernel
def optimality(g, beta):
    """The largest of −g (a token not covered) and, where β > 0, |g| (complementarity)."""
    worst = 0.0
    for j in range(g.shape[0]):
        worst = max(worst, abs(g[j]) if beta[j] > 0.0 else -g[j])
    return worst


@kernel
def gauss_seidel(table, g, beta):
    """One sweep of coordinate descent on (30), each β_j the best there is given the others; keeps g."""
    n, K = g.shape[0], table.shape[0]
    for j in range(n):
        a, b = min(j, K - 1), min(n - 1 - j, K - 1)
        new = max(beta[j] - g[j] / table[0, a, b], 0.0)
        step = new - beta[j]
        if step == 0.0:
            continue
        beta[j] = new
        g[j] += table[0, a, b] * step
        for delta in range(1, b + 1):
            g[j + delta] += table[delta, a, min(n - 1 - j - delta, K - 1)] * step
        for delta in range(1, a + 1):
            g[j - delta] += table[delta, min(j - delta, K - 1), b] * step


@kernel
def newton_step(table, g, beta, factor, step):
    """step = max(β + p, 0) − β, H p = −g on the free variables, by LDLᵀ in the band.

    factor[0, j] = D_j (0: not free), factor[δ, j] = L_{j, j−δ}.
    """
    n, K = g.shape[0], table.shape[0]
    for j in range(n):
        step[j] = 0.0
        for delta in range(K):
            factor[delta, j] = 0.0
        if beta[j] <= 0.0 and g[j] >= 0.0:
            continue
        a, b = min(j, K - 1), min(n - 1 - j, K - 1)
        pivot, right = table[0, a, b], -g[j]
        for delta in range(a, 0, -1):
            i = j - delta
            if factor[0, i] == 0.0:
                continue
            entry = table[delta, min(i, K - 1), b]
            for e in range(delta + 1, a + 1):
                entry -= factor[e, j] * factor[e - delta, i] * factor[0, j - e]
            entry /= factor[0, i]
            factor[delta, j] = entry
            pivot -= entry * entry * factor[0, i]
            right -= entry * step[i]
        factor[0, j] = pivot
        step[j] = right
    for j in range(n - 1, -1, -1):
        if factor[0, j] != 0.0:
            value = step[j] / factor[0, j]
            for delta in range(1, min(K - 1, n - 1 - j) + 1):
                value -= factor[delta, j + delta] * step[j + delta]
            step[j] = value
    for j in range(n):
        step[j] = max(beta[j] + step[j], 0.0) - beta[j]


@kernel
def project_document(table, g, beta, tol, limit, factor, step):
    """Solve (30) for one document, from the β and g that are there, to ``optimality`` ≤ tol; returns how many rounds.

    At most ``limit`` factorisations or sweeps.
    """
    for done in range(limit):
        if optimality(g, beta) <= tol:
            return done
        if done % 4 == 3:
            gauss_seidel(table, g, beta)
            continue
        newton_step(table, g, beta, factor, step)
        change = 0.0  # of the objective, twice: stepᵀ(g + g_new)
        for j in range(g.shape[0]):
            change += step[j] * g[j]
        add_product(table, step, g)
        for j in range(g.shape[0]):
            change += step[j] * g[j]
            beta[j] += step[j]
        if change > 0.0:
            for j in range(g.shape[0]):
                step[j] = -step[j]
                beta[j] += step[j]
            add_product(table, step, g)
            gauss_seidel(table, g, beta)
    return limit


@kernel
def _project_block(table, w, beta, blocks, b, tol, limit, change, shifted):
    """β of block b, of whole documents, whose w is float32 (K, size); change (float64 (size,)) is given β − β̄."""
    size = w.shape[1]
    a, doc_ptr = blocks.token[b], blocks.doc_ptr
    d0, d1 = blocks.doc[b], blocks.doc[b + 1]
    cover, tail = np.empty(size, np.float32), np.empty(size, np.float32)
    coverage(w, cover, tail, shifted)
    slack = np.empty(size, np.float64)
    longest = 0
    for i in range(size):
        slack[i] = np.float64(cover[i]) - 1.0
        change[i] = beta[a + i]
    for d in range(d0, d1):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    factor, step = np.empty((w.shape[0], longest), np.float64), np.empty(longest, np.float64)
    for d in range(d0, d1):
        p, q = doc_ptr[d], doc_ptr[d + 1]
        project_document(table, slack[p - a : q - a], beta[p:q], tol, limit, factor, step[: q - p])
    for i in range(size):
        change[i] = beta[a + i] - change[i]


@kernel
def _move(w, z, prices, change, weight, slot, a, d_len, d_extra, scale, inv_rho, nonzero, marks, sums):
    """z of the block, its rounding (marks) and the next prox's point v = z − (d̃ + y)/ρ, which replaces w.

    prices: float64 (size,), β. sums: float64 (5,), Σ (w − z)², Σ (z − z̄)², Σ w², Σ z², Σ (Xᵀβ)².
    """
    K, size = w.shape
    total, moved = np.zeros(size, np.float64), np.zeros(size, np.float64)
    for i in range(size):
        marks[a + i] = 0
    for k in range(K):
        for i in range(size - k):
            total[i] += prices[i + k]
            moved[i] += change[i + k]
            place = slot[k, a + i]
            if place < 0:
                continue
            d = np.float64(d_len[k])
            if d_extra.shape[1] > 0:
                d += d_extra[k, a + i]
            new = w[k, i] + moved[i]
            sums[0] += moved[i] * moved[i]
            sums[1] += (new - z[k, a + i]) * (new - z[k, a + i])
            sums[2] += np.float64(w[k, i]) * w[k, i]
            sums[3] += new * new
            sums[4] += total[i] * total[i]
            z[k, a + i] = new
            if new > nonzero:
                marks[a + i] |= np.uint8(1 << k)
            w[k, i] = new + scale * total[i] - weight[place] * d * inv_rho


@kernel
def bare_tokens(marks, a, e):
    """How many of the tokens a .. e-1, whole documents, no marked pointer covers."""
    bare = 0
    reached = a
    for i in range(a, e):
        length = 0
        while marks[i] >> length:
            length += 1
        reached = max(reached, i + length)
        bare += reached <= i
    return bare


@parallel_kernel
def projection_pass(
    data, weight, slot, z, beta, marks, blocks, b0, b1, table, d_len, d_extra, rho, rho_next, tol, limit,
    nonzero, sums, costs, bare,
):  # fmt: skip
    """One step after the prox, for the blocks b0 .. b1-1: β, z, the rounding of z, then the next v in the place of w.

    Blocks are of whole documents here, however long: (30) is solved for all of a document at once.

    data, weight: float32 (m,), w and D (layout.py); z: float32 (K, n); beta: float64 (n,), α/ρ; marks: uint8 (n,), bit
    k-1 where z > nonzero; table: of ``overlaps``; rho, rho_next, tol, nonzero: float64. Per block are written sums
    (float64 (5,), see ``_move``), costs (float64), Σ d w, and bare (int64), the tokens that the rounding leaves bare.
    """
    for b in prange(b0, b1):
        a, e = blocks.token[b], blocks.token[b + 1]
        size = e - a
        w = np.empty((slot.shape[0], size), np.float32)
        change = np.empty(size, np.float64)
        work = np.empty(size, np.float32)
        load_tokens(data, slot, a, e, a, w)
        costs[b] = pointer_cost(w, a, e, a, d_len, d_extra, work)
        _project_block(table, w, beta, blocks, b, tol, limit, change, work)
        scale, inv_rho = rho / rho_next, 1.0 / rho_next
        prices = beta[a:e]
        sums[b, :] = 0.0
        _move(w, z, prices, change, weight, slot, a, d_len, d_extra, scale, inv_rho, nonzero, marks, sums[b])
        prices *= scale
        store_block(w, data, slot, a, e, a)
        bare[b] = bare_tokens(marks, a, e)


@parallel_kernel
def reweight_blocks(best, data, weight, slot, blocks, b0, b1, d_len, d_extra, rho, epsilon):
    """D = max(1, 1/(z + ε)) from the best projection z (float32 (K, n)), and v moved from the old D's d̃ to the new."""
    for b in prange(b0, b1):
        a, e = blocks.token[b], blocks.token[b + 1]
        for k in range(slot.shape[0]):
            for i in range(a, e):
                place = slot[k, i]
                if place >= 0:
                    d = np.float64(d_len[k])
                    if d_extra.shape[1] > 0:
                        d += d_extra[k, i]
                    new = np.float32(max(1.0, 1.0 / (max(np.float64(best[k, i]), 0.0) + epsilon)))
                    data[place] += (weight[place] - new) * d / rho
                    weight[place] = new
