"""numba kernels of a proximal Newton step: curvature of the sentences' norms, coordinate descent on a Newton model.

Shapes: CSC of X as indptr int64 (V+1,), rows int32, values float64; groups as in problem.py; w, q float64 (V,).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def majorise(groups, w, lam_sen, epsilon, q):
    """q_j = Σ_g λ_sen a_g c_gj/η_g with η_g = √(‖(Mw)_g‖² + ε²). Returns Σ λ_sen a_g η_g.

    λ_sen a_g (η_g + (‖v‖² − ‖(Mw)_g‖²)/(2 η_g)) majorises λ_sen a_g √(‖v‖² + ε²) and touches it at v = (Mw)_g.
    """
    ptr, feature, count, weight = groups
    q[:] = 0.0
    total = 0.0
    for g in range(ptr.shape[0] - 1):
        square = epsilon * epsilon
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        eta = np.sqrt(square)
        scale = lam_sen * weight[g]
        total += scale * eta
        for e in range(ptr[g], ptr[g + 1]):
            q[feature[e]] += count[e] * scale / eta
    return total


@kernel
def smooth_norms(groups, w, lam_sen, epsilon):
    """Σ_g λ_sen a_g √(‖(Mw)_g‖² + ε²)."""
    ptr, feature, count, weight = groups
    total = 0.0
    for g in range(ptr.shape[0] - 1):
        square = epsilon * epsilon
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        total += weight[g] * np.sqrt(square)
    return lam_sen * total


@kernel
def gather(columns, derivative, out):
    """out_j = Σ_d x_dj derivative_d."""
    indptr, rows, values = columns
    for j in range(out.shape[0]):
        total = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            total += values[p] * derivative[rows[p]]
        out[j] = total


@kernel
def second_derivatives(columns, hessian, active, out):
    """out_j = Σ_d h_d x_dj² for the features in ``active``."""
    indptr, rows, values = columns
    for j in active:
        total = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            total += hessian[rows[p]] * values[p] * values[p]
        out[j] = total


@kernel
def descend(columns, active, lam, model, point, bias, passes, tol):
    """Coordinate descent on the Newton model of the loss at the start, plus λ|w| + ½ q w² − linear w; changes
    ``point``, whose ``moved`` is zeros at first (arrays.py).

    Ends when no coordinate of a pass lowers the model by more than ``tol``, or after ``passes``.
    Returns the bias.
    """
    indptr, rows, values = columns
    q, linear, curvature, hessian = model
    derivative, moved, w = point
    stiffness = np.sum(hessian)
    for _ in range(passes):
        step = -np.sum(derivative) / stiffness
        bias += step
        for d in range(derivative.shape[0]):
            derivative[d] += hessian[d] * step
            moved[d] += step
        largest = stiffness * step * step
        for j in active:
            partial = q[j] * w[j] - linear[j]
            for p in range(indptr[j], indptr[j + 1]):
                partial += values[p] * derivative[rows[p]]
            a = curvature[j] + q[j]
            if a <= 0.0:
                continue
            target = w[j] - partial / a
            following = max(abs(target) - lam / a, 0.0)
            if target < 0.0:
                following = -following
            change = following - w[j]
            if change != 0.0:
                w[j] = following
                largest = max(largest, a * change * change)
                for p in range(indptr[j], indptr[j + 1]):
                    moved[rows[p]] += values[p] * change
                    derivative[rows[p]] += hessian[rows[p]] * values[p] * change
        if largest <= tol:
            break
    return bias
