"""numba kernels of the primal-dual coordinate descent (see problem.py for the updates).

An observation is visited once a pass: its score z is one product with β, its duals are updated in turn until they rest
(each update moves z by a known multiple of ‖x‖², so nothing but scalars is touched), and β once, by what they moved in
all. So a pass costs at most two products with each row, however many parts a loss has.

Observations are visited in blocks of neighbours, drawn at random: memory likes that better than one by one. Those that
are done are set aside (shrinking, as in LIBLINEAR): all of their duals at bounds, and z further from the kinks than the
largest violation of the last pass. ``state[1]`` sums, over the visits of a pass, what an observation
adds to the duality gap: an estimate that says when it is worth proving one.

Shapes: rows = (data, indices int32, indptr int64, dense): CSR, with dense (0, 0), or dense (n, d), the others empty;
norms float64 (n,), ‖x_i‖²; parts (U, V, S, T, tau), lam (n, L), gam (n, H) as in problem.py; beta, q float64 (d,), q
(0,) where ν = 0, whose β is q/μ; order int32, the active observations, ascending; bias float64 (3,): β₀, M² of its
update (0 where it is fixed) and Σ a_i; state float64 (3,): the largest violation, the estimate of the gap, and by how
much duals moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel


class Rows(NamedTuple):
    """The data matrix, in one form or the other."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    dense: np.ndarray


class Parts(NamedTuple):
    """The losses' parts."""

    U: np.ndarray
    V: np.ndarray
    S: np.ndarray
    T: np.ndarray
    tau: np.ndarray


@kernel
def dot_row(rows, i, beta):
    """x_iᵀβ; with several sums at once, which a processor adds side by side."""
    a = b = c = d = 0.0
    if rows.dense.shape[0] > 0:
        x = rows.dense[i]
        n = x.shape[0]
        for j in range(0, n - 3, 4):
            a += x[j] * beta[j]
            b += x[j + 1] * beta[j + 1]
            c += x[j + 2] * beta[j + 2]
            d += x[j + 3] * beta[j + 3]
        for j in range(n - n % 4, n):
            a += x[j] * beta[j]
        return (a + b) + (c + d)
    first, last = rows.indptr[i], rows.indptr[i + 1]
    even = last - (last - first) % 2
    for p in range(first, even, 2):
        a += rows.data[p] * beta[rows.indices[p]]
        b += rows.data[p + 1] * beta[rows.indices[p + 1]]
    if even < last:
        a += rows.data[even] * beta[rows.indices[even]]
    return a + b


@kernel
def add_row(rows, i, step, beta):
    """β += step · x_i."""
    if rows.dense.shape[0] > 0:
        x = rows.dense[i]
        for j in range(x.shape[0]):
            beta[j] += step * x[j]
    else:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            beta[rows.indices[p]] += step * rows.data[p]


@kernel
def soften_row(rows, i, mu, nu, q, beta):
    """β_j = soft(q_j)/μ for the features of a row."""
    if rows.dense.shape[0] > 0:
        for j in range(q.shape[0]):
            beta[j] = (max(q[j] - nu, 0.0) - max(-q[j] - nu, 0.0)) / mu
    else:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[p]
            beta[j] = (max(q[j] - nu, 0.0) - max(-q[j] - nu, 0.0)) / mu


@kernel
def move(rows, i, step, mu, nu, q, beta):
    """q += step · x_i, and β with it."""
    if q.shape[0] == 0:
        add_row(rows, i, step / mu, beta)
    else:
        add_row(rows, i, step, q)
        soften_row(rows, i, mu, nu, q, beta)


@kernel
def examine(parts, i, z, lam, gam, state):
    """How far z is from where the duals of an observation would rest, in units of z: the violation and, where that is
    0, the distance to the nearest kink (0 where a dual is between its bounds); adds to the estimate of the gap."""
    violation = 0.0
    distance = np.inf
    for k in range(parts.U.shape[1]):
        u = abs(parts.U[i, k])
        if u == 0.0:
            continue
        y = parts.U[i, k] * z + parts.V[i, k]
        dual = lam[i, k]
        state[1] += max(y, 0.0) - dual * y
        if (y > 0.0 and dual < 1.0) or (y < 0.0 and dual > 0.0):
            violation = max(violation, abs(y) / u)
        distance = min(distance, abs(y) / u if dual == 0.0 or dual == 1.0 else 0.0)
    for k in range(parts.S.shape[1]):
        s = abs(parts.S[i, k])
        if s == 0.0:
            continue
        y = parts.S[i, k] * z + parts.T[i, k]
        dual, tau = gam[i, k], parts.tau[i, k]
        inside = min(max(y, 0.0), tau)
        state[1] += inside * (max(y, 0.0) - 0.5 * inside) - dual * y + 0.5 * dual * dual
        violation = max(violation, abs(inside - dual) / s)
        outside = max(-y, y - tau) if dual == 0.0 or dual == tau else 0.0
        distance = min(distance, outside / s)
    return violation, distance


@kernel
def find_unrested(parts, z, lam, gam, aside):
    """Clear aside[i] (bool (n,)) where the duals of an observation that is set aside do not rest at z_i."""
    state = np.zeros(3)
    for i in range(aside.shape[0]):
        if aside[i]:
            violation, _ = examine(parts, i, z[i], lam, gam, state)
            aside[i] = violation == 0.0


@kernel
def update_duals(parts, i, z, norm, lam, gam):
    """The closed-form updates of one observation until they rest; norm: ‖x_i‖²/μ. Returns by how much a_i grew."""
    n_parts = parts.U.shape[1] + parts.S.shape[1]
    total = 0.0
    for _ in range(1 if n_parts == 1 else 3 * n_parts):
        moved = 0.0
        for k in range(parts.U.shape[1]):
            u = parts.U[i, k]
            y = u * z + parts.V[i, k]
            curvature = u * u * norm
            new = 1.0 if y > 0.0 else 0.0
            if curvature > 0.0:
                new = min(max(lam[i, k] + y / curvature, 0.0), 1.0)
            step = (new - lam[i, k]) * u
            lam[i, k] = new
            z -= step * norm
            total += step
            moved += abs(step)
        for k in range(parts.S.shape[1]):
            s = parts.S[i, k]
            rest = s * z + parts.T[i, k] - gam[i, k]
            new = min(max(gam[i, k] + rest / (s * s * norm + 1.0), 0.0), parts.tau[i, k])
            step = (new - gam[i, k]) * s
            gam[i, k] = new
            z -= step * norm
            total += step
            moved += abs(step)
        if moved * norm <= 1e-15 * abs(z):
            break
    return total


@kernel
def visit(rows, norms, parts, lam, gam, beta, q, order, blocks, size, mu, nu, bias, margin, idle, state):
    """Visit the observations of some blocks of ``order``: block b is its places b·size .. (b+1)·size − 1.

    blocks: int64 (r, k), a row a pass, in the order of the visit; state is of the last row. margin: observations
    further from their kinks than this are set aside, inf for none: idle (uint8 (n,)) becomes 1.
    """
    for r in range(blocks.shape[0]):
        if r:
            state[0] = state[1] = state[2] = 0.0
        for b in blocks[r]:
            for p in range(b * size, min((b + 1) * size, order.shape[0])):
                i = order[p]
                z = dot_row(rows, i, beta) + bias[0]
                violation, distance = examine(parts, i, z, lam, gam, state)
                if violation == 0.0:
                    idle[i] = distance > margin
                    continue
                idle[i] = 0
                state[0] = max(state[0], violation)
                step = update_duals(parts, i, z, norms[i] / mu + bias[1], lam, gam)
                if step != 0.0:
                    move(rows, i, -step, mu, nu, q, beta)
                    bias[0] -= bias[1] * step
                    bias[2] += step
                    state[2] += abs(step)


@kernel
def visit_constraints(A, norms, b, equal, xi, beta, q, mu, nu, rounds):
    """The update of every ξ_k, ``rounds`` times or until all rest; returns the largest relative violation seen last."""
    worst = 0.0
    for _ in range(rounds):
        worst = 0.0
        for k in range(b.shape[0]):
            slack = dot_row(A, k, beta) + b[k]
            if norms[k] == 0.0:
                continue
            new = xi[k] - slack * mu / norms[k]
            if not equal[k]:
                new = max(new, 0.0)
            step = new - xi[k]
            if step != 0.0:
                xi[k] = new
                move(A, k, step, mu, nu, q, beta)
                worst = max(worst, abs(step) * norms[k] / mu / (1.0 + abs(b[k])))
        if worst <= 1e-15:
            break
    return worst
