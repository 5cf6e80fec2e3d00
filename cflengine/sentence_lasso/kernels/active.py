"""numba kernels of Newton's method on the support: products with the Hessian of (P) and conjugate gradients.

On a support F on which no weight is 0 and among groups of which none is 0, (P) is smooth: its Hessian is

    XᵀHX + diag(κ) + Σ_g (λ_sen a_g/η_g) (C_g − C_g w wᵀ C_g/η_g²),

η_g = ‖(Mw)_g‖, C_g = diag(c_g), H = diag(α(1 − α)), with one more row and column for the bias. Shapes: X_F as CSC,
indptr int64 (F+1,), rows int32, values float64; groups restricted to F: ptr int64 (G'+1,), feature int32 (E',) in
0..F-1, count (E',), weight (G',); vectors over the unknowns (F+1,), the bias last; tuples: arrays.py.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def penalty_derivatives(groups, w, lam_sen, scale, inverse_square, gradient, diagonal):
    """Adds the sentences' part to gradient and diagonal; scale_g = λ_sen a_g/η_g, inverse_square_g = η_g⁻²."""
    ptr, feature, count, weight = groups
    for g in range(ptr.shape[0] - 1):
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        scale[g] = lam_sen * weight[g] / np.sqrt(square)
        inverse_square[g] = 1.0 / square
        for e in range(ptr[g], ptr[g + 1]):
            j = feature[e]
            share = count[e] * w[j] * w[j] / square
            gradient[j] += scale[g] * count[e] * w[j]
            # all of a group's weight on one feature: a straight line has no curvature
            diagonal[j] += scale[g] * count[e] * max(1.0 - share, 0.0)


@kernel
def hessian_product(columns, groups, smooth, p, at_rows, out):
    """out = (Hessian of (P)) p; at_rows: work, float64 (D,)."""
    hessian, kappa, scale, inverse_square, w = smooth
    indptr, rows, values = columns
    ptr, feature, count, _ = groups
    last = p.shape[0] - 1
    at_rows[:] = p[last]
    for j in range(last):
        for k in range(indptr[j], indptr[j + 1]):
            at_rows[rows[k]] += values[k] * p[j]
    total = 0.0
    for d in range(at_rows.shape[0]):
        at_rows[d] *= hessian[d]
        total += at_rows[d]
    out[last] = total
    for j in range(last):
        total = kappa[j] * p[j]
        for k in range(indptr[j], indptr[j + 1]):
            total += values[k] * at_rows[rows[k]]
        out[j] = total
    for g in range(ptr.shape[0] - 1):
        along = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            along += count[e] * w[feature[e]] * p[feature[e]]
        along *= inverse_square[g]
        for e in range(ptr[g], ptr[g + 1]):
            j = feature[e]
            out[j] += scale[g] * count[e] * (p[j] - w[j] * along)


@kernel
def conjugate_gradients(columns, groups, smooth, diagonal, search, rz, enough, steps):
    """Go on with conjugate gradients for Hessian p = −gradient, preconditioned by the diagonal, for at most ``steps``.

    p: 0 at first; residual: −gradient at first; direction: residual/diagonal at first; rz: their product, which ends it
    at ``enough``. Along a direction of (numerically) no curvature it stops: status 1. Returns rz, steps taken, status.
    """
    p, residual, direction, product, at_rows = search
    n = p.shape[0]
    for k in range(steps):
        if rz <= enough:
            return rz, k, 0
        hessian_product(columns, groups, smooth, direction, at_rows, product)
        curvature, size = 0.0, 0.0
        for j in range(n):
            curvature += direction[j] * product[j]
            size += diagonal[j] * direction[j] * direction[j]
        if not curvature > 1e-13 * size:
            return rz, k + 1, 1
        length = rz / curvature
        following = 0.0
        for j in range(n):
            p[j] += length * direction[j]
            residual[j] -= length * product[j]
            following += residual[j] * residual[j] / diagonal[j]
        for j in range(n):
            direction[j] = residual[j] / diagonal[j] + following / rz * direction[j]
        rz = following
    return rz, steps, 0
