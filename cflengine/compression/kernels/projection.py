"""numba kernels of the z-update of iterative reweighting: the nearest point that covers every token.

    minimise ½‖z − (w + y/ρ)‖²   subject to   Xz ≥ 1                                       (26)

has the dual, with α = ρβ for the prices of the constraints (supplement of NIPS 2013, §1.2),

    minimise ½βᵀHβ − (1 − X(w + y/ρ))ᵀβ   subject to   β ≥ 0,   H = XXᵀ,                   (30)

and then z = w + y/ρ + Xᵀβ (29). The multiplier's own update y + ρ(w − z) turns out to be −ρXᵀβ: y is never stored, and
with β̄ of the step before, z = w + Xᵀ(β − β̄), and the gradient of (30), which is the slack of Xz ≥ 1, is

    g = Xz − 1 = Xw − 1 + H(β − β̄).

H is block diagonal by document and has bandwidth K − 1 (supplement, §2): H_jl is the number of pointers that cover
both tokens, (K−δ)(K−δ+1)/2 for δ = |j − l| < K, less near a document's ends; ``overlaps`` has all values.

(30) is solved document by document, and within a long one piece by piece (kernels/projection_pass.py), by Newton's
method on the free variables (β > 0, or β = 0 and g < 0) with a banded LDLᵀ factorisation, Θ(K²n), and projection on
β ≥ 0. The free set hardly changes from one step to the next, so one or two factorisations are usual. A step that does
not lower the objective is undone and replaced by a sweep of projected Gauss-Seidel, which always does; so is every
fourth step in any case.

Shapes: a document has n tokens; g, beta, step float64 (n,); factor float64 (K, n); table float64 (K, K, K).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


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
def add_product(table, step, first, g):
    """g += H step, where step is 0 but for the tokens from ``first`` on that it has."""
    n, K = g.shape[0], table.shape[0]
    for p in range(step.shape[0]):
        if step[p] == 0.0:
            continue
        j = first + p
        a, b = min(j, K - 1), min(n - 1 - j, K - 1)
        g[j] += table[0, a, b] * step[p]
        for delta in range(1, b + 1):
            g[j + delta] += table[delta, a, min(n - 1 - j - delta, K - 1)] * step[p]
        for delta in range(1, a + 1):
            g[j - delta] += table[delta, min(j - delta, K - 1), b] * step[p]


@kernel
def optimality(g, beta, first, last):
    """The largest of −g (a token not covered) and, where β > 0, |g| (complementarity), of tokens first .. last-1."""
    worst = 0.0
    for j in range(first, last):
        worst = max(worst, abs(g[j]) if beta[j] > 0.0 else -g[j])
    return worst


@kernel
def gauss_seidel(table, g, beta, first, last):
    """One sweep of coordinate descent on (30), each β_j the best there is given the others; keeps g."""
    n, K = g.shape[0], table.shape[0]
    for j in range(first, last):
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
def newton_step(table, g, beta, first, factor, step):
    """step = max(β + p, 0) − β, H p = −g on the free variables of the tokens from ``first`` on that step has, by LDLᵀ
    in the band.

    Of token first + p: factor[0, p] = D (0: not free), factor[δ, p] = L with the token δ before it.
    """
    n, K, m = g.shape[0], table.shape[0], step.shape[0]
    for p in range(m):
        j = first + p
        step[p] = 0.0
        for delta in range(K):
            factor[delta, p] = 0.0
        if beta[j] <= 0.0 and g[j] >= 0.0:
            continue
        a, b, known = min(j, K - 1), min(n - 1 - j, K - 1), min(p, K - 1)
        pivot, right = table[0, a, b], -g[j]
        for delta in range(known, 0, -1):
            i = p - delta
            if factor[0, i] == 0.0:
                continue
            entry = table[delta, min(j - delta, K - 1), b]
            for e in range(delta + 1, known + 1):
                entry -= factor[e, p] * factor[e - delta, i] * factor[0, p - e]
            entry /= factor[0, i]
            factor[delta, p] = entry
            pivot -= entry * entry * factor[0, i]
            right -= entry * step[i]
        factor[0, p] = pivot
        step[p] = right
    for p in range(m - 1, -1, -1):
        if factor[0, p] != 0.0:
            value = step[p] / factor[0, p]
            for delta in range(1, min(K - 1, m - 1 - p) + 1):
                value -= factor[delta, p + delta] * step[p + delta]
            step[p] = value
    for p in range(m):
        step[p] = max(beta[first + p] + step[p], 0.0) - beta[first + p]


@kernel
def project_tokens(rule, g, beta, first, factor, step):
    """Solve (30) for the tokens of a document from ``first`` on that step has, the others' β as they are.

    From the β and g that are there, to ``optimality`` ≤ rule.tol; returns how many rounds, of a factorisation or a
    sweep, of which there are at most rule.limit. rule: ``Projection`` (arrays.py). g, beta: of the whole document; g
    changes also beside these tokens.
    """
    last, table, limit = first + step.shape[0], rule.table, rule.limit
    for done in range(limit):
        if optimality(g, beta, first, last) <= rule.tol:
            return done
        if done % 4 == 3:
            gauss_seidel(table, g, beta, first, last)
            continue
        newton_step(table, g, beta, first, factor, step)
        change = 0.0  # of the objective, twice: stepᵀ(g + g_new)
        for j in range(first, last):
            change += step[j - first] * g[j]
        add_product(table, step, first, g)
        for j in range(first, last):
            change += step[j - first] * g[j]
            beta[j] += step[j - first]
        if change > 0.0:
            for j in range(first, last):
                step[j - first] = -step[j - first]
                beta[j] += step[j - first]
            add_product(table, step, first, g)
            gauss_seidel(table, g, beta, first, last)
    return limit
