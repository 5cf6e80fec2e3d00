"""numba kernels of the two coordinate descents on the dual of the SVM (race.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel
from cflengine.linear.kernels_products import add_row, dot_sparse
from cflengine.plq.kernels import add_dense, dot_dense


@kernel
def best_step(alpha, most, minus_gradient, curvature):
    """δ* = max(−α, min(C − α, minus_gradient/curvature)), as the talk has it; a row of zeros goes to its better end."""
    if curvature <= 0.0:
        return most - alpha if minus_gradient > 0.0 else -alpha
    return max(-alpha, min(most - alpha, minus_gradient / curvature))


@kernel
def pure_sweep(Q, most, order, alpha):
    """Once over α with (Qα)_i worked out at every step. Returns multiplications: n for each."""
    n = alpha.shape[0]
    for i in order:
        product = 0.0
        for j in range(n):
            product += Q[i, j] * alpha[j]
        alpha[i] += best_step(alpha[i], most, 1.0 - product, Q[i, i])
    return order.shape[0] * n


@kernel
def carried_sweep(rows, entries, y, most, order, alpha, beta):
    """Once over α with β = Σ α_i y_i x_i carried along. Returns multiplications: a row's entries, twice where it
    moves."""
    data, indices, indptr, dense, norms = rows
    is_dense, operations = dense.shape[0] > 0, 0
    for i in order:
        first, last = (0, 0) if is_dense else (indptr[i], indptr[i + 1])
        z = dot_dense(dense, i, beta) if is_dense else dot_sparse(data, indices, first, last, beta)
        step = best_step(alpha[i], most, 1.0 - y[i] * z, norms[i])
        operations += entries[i]
        if step == 0.0:
            continue
        alpha[i] += step
        operations += entries[i]
        if is_dense:
            add_dense(dense, i, step * y[i], beta)
        else:
            add_row(data, indices, first, last, step * y[i], beta)
    return operations
