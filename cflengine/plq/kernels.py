"""numba kernels of the primal-dual coordinate descent (see problem.py for the updates).

An observation is visited once a pass: its score z is one product with β, its duals are updated in turn until they rest
(each update moves z by a known multiple of ‖x‖², so nothing but scalars is touched), and β once, by what they moved in
all. So a pass costs at most two products with each row, however many parts a loss has.

Observations are visited in blocks of neighbours, drawn at random: memory likes that better than one by one. While one
is visited the one at its place in the next block is asked for, so that nothing waits for memory; what asks stands in
:func:`visit` itself, since a call with five arrays costs more than it saves. Those that are done are set aside
(shrinking, as in LIBLINEAR): all of their duals at bounds, and z further from the kinks than the largest violation of
the last pass. ``state[1]`` sums, over the visits of a pass, what an observation adds to the duality gap: an estimate
that says when it is worth proving one.

What belongs to an observation stands together: parts float64 (n, 2L + 3H), a row its u, v, s, t and τ in that order;
duals float64 (n, L + H), a row its λ and γ. What is passed as a tuple is taken apart once, outside all loops: an array
read out of a tuple is an array whose references are counted, which takes longer than the product of a short row.

Shapes: Rows = (data, indices int32, indptr int64, dense, norms): CSR, with dense (0, 0), or dense (n, d), the first
three empty; norms float64 (n,), ‖x_i‖²; beta, q float64 (d,), q (0,) where ν = 0, whose β is q/μ; bias float64 (3,):
β₀, M² of its update (0 where it is fixed) and Σ a_i; order int32, the active observations, ascending; idle uint8 (n,);
state float64 (3,): the largest violation, the estimate of the gap, and by how much duals moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel, prefetch
from cflengine.linear.kernels_products import add_row, dot_sparse

_AHEAD = 64  # entries of a row that are asked for before it is visited; a processor goes on by itself


class Rows(NamedTuple):
    """The data matrix, in one form or the other, and its rows' squared norms."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    dense: np.ndarray
    norms: np.ndarray


class Losses(NamedTuple):
    """The losses: parts, L, how many of them are ReLUs, and whether all are ReHU_τ(y) + ReHU_τ'(−y), as Huber's is."""

    parts: np.ndarray
    n_relu: int
    mirrored: bool


class Point(NamedTuple):
    """Where the descent stands."""

    duals: np.ndarray
    beta: np.ndarray
    q: np.ndarray
    bias: np.ndarray


class Active(NamedTuple):
    """Who is visited, who is done, and what a pass has found."""

    order: np.ndarray
    idle: np.ndarray
    state: np.ndarray


@kernel
def dot_dense(dense, i, beta):
    """x_iᵀβ, with several sums at once, which a processor adds side by side. Unsigned, since a signed index may be one
    from the end, which would be looked into at every entry."""
    a = b = c = d = 0.0
    i, j, n = np.uint64(i), np.uint64(0), np.uint64(dense.shape[1])
    whole = n - n % np.uint64(4)
    while j < whole:
        a += dense[i, j] * beta[j]
        b += dense[i, j + np.uint64(1)] * beta[j + np.uint64(1)]
        c += dense[i, j + np.uint64(2)] * beta[j + np.uint64(2)]
        d += dense[i, j + np.uint64(3)] * beta[j + np.uint64(3)]
        j += np.uint64(4)
    while j < n:
        a += dense[i, j] * beta[j]
        j += np.uint64(1)
    return (a + b) + (c + d)


@kernel
def add_dense(dense, i, step, beta):
    """β += step · x_i."""
    i = np.uint64(i)
    for j in range(dense.shape[1]):
        beta[j] += step * dense[i, j]


@kernel
def soften_dense(mu, nu, q, beta):
    """β_j = soft(q_j)/μ for all j."""
    for j in range(q.shape[0]):
        beta[j] = (max(q[j] - nu, 0.0) - max(-q[j] - nu, 0.0)) / mu


@kernel
def soften_sparse(indices, first, last, mu, nu, q, beta):
    """The same for the features of the entries first .. last − 1."""
    for p in range(first, last):
        j = indices[p]
        beta[j] = (max(q[j] - nu, 0.0) - max(-q[j] - nu, 0.0)) / mu


@kernel
def examine(parts, n_relu, i, z, duals):
    """How far z is from where the duals of an observation would rest, in units of z: the violation and, where that is
    0, the distance to the nearest kink (0 where a dual is between its bounds); and what it adds to the gap."""
    n_rehu = duals.shape[1] - n_relu
    violation, distance, gap = 0.0, np.inf, 0.0
    for k in range(n_relu):
        u = abs(parts[i, k])
        if u == 0.0:
            continue
        y, dual = parts[i, k] * z + parts[i, n_relu + k], duals[i, k]
        gap += max(y, 0.0) - dual * y
        if (y > 0.0 and dual < 1.0) or (y < 0.0 and dual > 0.0):
            violation = max(violation, abs(y) / u)
        distance = min(distance, abs(y) / u if dual == 0.0 or dual == 1.0 else 0.0)
    for h in range(n_rehu):
        at = 2 * n_relu + h
        s = abs(parts[i, at])
        if s == 0.0:
            continue
        y, tau, dual = parts[i, at] * z + parts[i, at + n_rehu], parts[i, at + 2 * n_rehu], duals[i, n_relu + h]
        inside = min(max(y, 0.0), tau)
        gap += inside * (max(y, 0.0) - 0.5 * inside) - dual * y + 0.5 * dual * dual
        violation = max(violation, abs(inside - dual) / s)
        outside = max(-y, y - tau) if dual == 0.0 or dual == tau else 0.0
        distance = min(distance, outside / s)
    return violation, distance, gap


@kernel
def drop_idle(order, idle):
    """Move the observations that are not idle to the front of ``order``, as they come; how many there are."""
    count = 0
    for p in range(order.shape[0]):
        i = order[p]
        order[count] = i
        count += idle[i] == 0
    return count


@kernel
def find_unrested(losses, z, duals, aside):
    """Clear aside[i] (bool (n,)) where the duals of an observation that is set aside do not rest at z_i."""
    parts, n_relu, _ = losses
    for i in range(aside.shape[0]):
        if aside[i]:
            violation, _, _ = examine(parts, n_relu, i, z[i], duals)
            aside[i] = violation == 0.0


@kernel
def settle(losses, z, far, duals, settled):
    """Set settled[i] (bool (n,)), and the duals of that observation, where no z within far_i of z_i comes to another
    side of any of its kinks. Returns of how many the duals have changed."""
    parts, n_relu, _ = losses
    n_rehu = duals.shape[1] - n_relu
    changed = 0
    for i in range(z.shape[0]):
        done = not settled[i]
        for k in range(n_relu):
            done &= abs(parts[i, k] * z[i] + parts[i, n_relu + k]) > abs(parts[i, k]) * far[i] or parts[i, k] == 0.0
        for h in range(n_rehu):
            at = 2 * n_relu + h
            y, tau = parts[i, at] * z[i] + parts[i, at + n_rehu], parts[i, at + 2 * n_rehu]
            done &= max(-y, y - tau) > abs(parts[i, at]) * far[i]
        if not done:
            continue
        settled[i] = True
        same = True
        for k in range(duals.shape[1]):
            at = k if k < n_relu else n_relu + k
            above = parts[i, at] * z[i] + parts[i, at + (n_relu if k < n_relu else n_rehu)] > 0.0
            top = 1.0 if k < n_relu else parts[i, at + 2 * n_rehu]
            same &= duals[i, k] == (top if above else 0.0)
            duals[i, k] = top if above else 0.0
        changed += not same
    return changed


@kernel
def update_duals(parts, n_relu, i, z, norm, duals):
    """The closed-form updates of one observation until they rest; norm: ‖x_i‖²/μ. Returns by how much a_i grew."""
    n_rehu = duals.shape[1] - n_relu
    total = 0.0
    for _ in range(1 if n_relu + n_rehu == 1 else 3 * (n_relu + n_rehu)):
        moved = 0.0
        for k in range(n_relu):
            u = parts[i, k]
            y = u * z + parts[i, n_relu + k]
            curvature = u * u * norm
            new = 1.0 if y > 0.0 else 0.0
            if curvature > 0.0:
                new = min(max(duals[i, k] + y / curvature, 0.0), 1.0)
            step = (new - duals[i, k]) * u
            duals[i, k] = new
            z -= step * norm
            total += step
            moved += abs(step)
        for h in range(n_rehu):
            at, k = 2 * n_relu + h, n_relu + h
            s = parts[i, at]
            rest = s * z + parts[i, at + n_rehu] - duals[i, k]
            new = min(max(duals[i, k] + rest / (s * s * norm + 1.0), 0.0), parts[i, at + 2 * n_rehu])
            step = (new - duals[i, k]) * s
            duals[i, k] = new
            z -= step * norm
            total += step
            moved += abs(step)
        if moved * norm <= 1e-15 * abs(z):
            break
    return total


@kernel
def rest_alone(parts, n_relu, i, z, norm, duals):
    """``examine``, then ``update_duals``, of an observation whose loss has one part: the same numbers in two thirds of
    a pass's time. Returns violation, distance, what it added to the gap, and by how much a_i grew."""
    i, part = np.uint64(i), np.uint64(0)
    factor, dual = parts[i, part], duals[i, part]
    y, size = factor * z + parts[i, np.uint64(1)], abs(factor)
    if size == 0.0:
        return 0.0, np.inf, 0.0, 0.0
    if n_relu == 1:
        top, rest, curvature = 1.0, y, factor * factor * norm
        gap = max(y, 0.0) - dual * y
        violation = abs(y) if (y > 0.0 and dual < 1.0) or (y < 0.0 and dual > 0.0) else 0.0
        distance = abs(y) if dual == 0.0 or dual == 1.0 else 0.0
        if curvature == 0.0:
            rest, curvature = (1.0 if y > 0.0 else -1.0), 1.0
    else:
        top, rest, curvature = parts[i, np.uint64(2)], y - dual, factor * factor * norm + 1.0
        inside = min(max(y, 0.0), top)
        gap = inside * (max(y, 0.0) - 0.5 * inside) - dual * y + 0.5 * dual * dual
        violation = abs(inside - dual)
        distance = max(-y, y - top) if dual == 0.0 or dual == top else 0.0
    if violation == 0.0:
        return 0.0, distance / size, gap, 0.0
    new = min(max(dual + rest / curvature, 0.0), top)
    duals[i, part] = new
    return violation / size, 0.0, gap, (new - dual) * factor


@kernel
def rest_mirrored(parts, i, z, norm, duals):
    """The same of an observation whose loss is ReHU_τ(y) + ReHU_τ'(−y), y = sz + t: of its duals one is 0, and their
    difference, within −τ' and τ, has one closed form."""
    i, one, other = np.uint64(i), np.uint64(0), np.uint64(1)
    s, top, bottom = parts[i, one], parts[i, np.uint64(4)], -parts[i, np.uint64(5)]
    y, dual, size = s * z + parts[i, np.uint64(2)], duals[i, one] - duals[i, other], abs(s)
    if size == 0.0:
        return 0.0, np.inf, 0.0, 0.0
    inside = min(max(y, bottom), top)
    both = min(duals[i, one], duals[i, other])
    gap = inside * (y - 0.5 * inside) - dual * y + 0.5 * dual * dual + both * (abs(dual) + both)
    if inside == dual and both == 0.0:
        return 0.0, (max(y - top, bottom - y) if dual in (top, bottom) else 0.0) / size, gap, 0.0
    new = min(max(dual + (y - dual) / (s * s * norm + 1.0), bottom), top)
    duals[i, one], duals[i, other] = max(new, 0.0), max(-new, 0.0)
    return abs(inside - dual) / size, 0.0, gap, (new - dual) * s


@kernel
def fetch_dense(dense, i):
    """Ask for a row's numbers, or the first _AHEAD of them, which are wanted soon; nothing waits for them."""
    i, j, end = np.uint64(i), np.uint64(0), np.uint64(min(dense.shape[1], _AHEAD))
    while j < end:
        prefetch(dense, (i, j))
        j += np.uint64(8)


@kernel
def fetch_sparse(data, indices, first, last):
    """The same of the entries first .. last − 1."""
    p, end = np.uint64(first), np.uint64(min(last, first + _AHEAD))
    while p < end:
        prefetch(data, p)
        prefetch(indices, p)
        p += np.uint64(8)


@kernel
def visit(rows, losses, point, active, blocks, size, penalty, margin):
    """Visit the observations of some blocks of ``order``: block b is its places b·size .. (b+1)·size − 1.

    blocks: int64 (r, k), a row a pass, in the order of the visit; state is of the last row. Between two passes β₀ has
    the update of the method of multipliers (descent.py). penalty: (μ, ν). margin: observations further from their kinks
    than this are set aside, inf for none: idle becomes 1.
    """
    (data, indices, indptr, dense, norms), (parts, n_relu, mirrored) = rows, losses
    (duals, beta, q, bias), (order, idle, state), (mu, nu) = point, active, penalty
    is_dense, plain, alone = dense.shape[0] > 0, q.shape[0] == 0, duals.shape[1] == 1
    carried, scale = (beta, 1.0 / mu) if plain else (q, 1.0)
    for r in range(blocks.shape[0]):
        worst, gap, travelled = (state[0], state[1], state[2]) if r == 0 else (0.0, 0.0, 0.0)
        if r > 0:
            bias[0] -= bias[1] * bias[2]
        for t in range(blocks.shape[1]):
            b = blocks[r, t]
            ahead = size * (blocks[r, t + 1] - b) if size > 1 and t + 1 < blocks.shape[1] else order.shape[0]
            for p in range(b * size, min((b + 1) * size, order.shape[0])):
                i = order[p]
                if p + ahead < order.shape[0]:
                    j = order[p + ahead]
                    if is_dense:
                        fetch_dense(dense, j)
                    else:
                        fetch_sparse(data, indices, indptr[j], indptr[j + 1])
                    prefetch(parts, (j, 0))
                    prefetch(duals, (j, 0))
                first, last = (0, 0) if is_dense else (indptr[i], indptr[i + 1])
                z = dot_dense(dense, i, beta) if is_dense else dot_sparse(data, indices, first, last, beta)
                z, norm = z + bias[0], norms[i] / mu + bias[1]
                if alone:
                    violation, distance, more, step = rest_alone(parts, n_relu, i, z, norm, duals)
                elif mirrored:
                    violation, distance, more, step = rest_mirrored(parts, i, z, norm, duals)
                else:
                    violation, distance, more = examine(parts, n_relu, i, z, duals)
                    step = update_duals(parts, n_relu, i, z, norm, duals) if violation > 0.0 else 0.0
                gap += more
                if violation == 0.0:
                    idle[i] = distance > margin
                    continue
                idle[i] = 0
                worst = max(worst, violation)
                if step == 0.0:
                    continue
                bias[0] -= bias[1] * step
                bias[2] += step
                travelled += abs(step)
                if is_dense:
                    add_dense(dense, i, -step * scale, carried)
                    if not plain:
                        soften_dense(mu, nu, q, beta)
                else:
                    add_row(data, indices, first, last, -step * scale, carried)
                    if not plain:
                        soften_sparse(indices, first, last, mu, nu, q, beta)
        state[0], state[1], state[2] = worst, gap, travelled


@kernel
def visit_constraints(A, b, equal, xi, beta, q, penalty, rounds):
    """The update of every ξ_k, ``rounds`` times or until all rest; returns the largest relative violation seen.

    A: Rows, sparse; beta, q: as in a Point.
    """
    (data, indices, indptr, _, norms), (mu, nu) = A, penalty
    plain = q.shape[0] == 0
    carried, scale = (beta, 1.0 / mu) if plain else (q, 1.0)
    largest = 0.0
    for _ in range(rounds):
        worst = 0.0
        for k in range(b.shape[0]):
            if norms[k] == 0.0:
                continue
            first, last = indptr[k], indptr[k + 1]
            new = xi[k] - (dot_sparse(data, indices, first, last, beta) + b[k]) * mu / norms[k]
            if not equal[k]:
                new = max(new, 0.0)
            step = new - xi[k]
            if step != 0.0:
                xi[k] = new
                add_row(data, indices, first, last, step * scale, carried)
                if not plain:
                    soften_sparse(indices, first, last, mu, nu, q, beta)
                worst = max(worst, abs(step) * norms[k] / mu / (1.0 + abs(b[k])))
        largest = max(largest, worst)
        if worst <= 1e-15:
            break
    return largest
