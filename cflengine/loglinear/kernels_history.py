"""numba kernels of L-BFGS's matrix, without its two loops over the memory.

The paper's Figure 1 walks through the pairs twice, the gradient in hand, and so reads and writes a vector of d numbers
4m times beside the pairs themselves. Here all products that the recursion asks for are taken first, a block of weights
at a time (:func:`products`); the recursion itself is then one of m numbers (:func:`coefficients`); and the direction is
put together a block at a time (:func:`combine`). Pairs are float32: what is approximate anyway needs no more, and the
matrix is positive definite as long as the products s·y of the pairs *as they are stored* are positive.

Shapes: steps, changes float32 (rows, d), s_t = w_{t+1} − w_t and y_t = g_{t+1} − g_t; rows: int64 (m,), those in use,
from the newest to the oldest. Sums over blocks of BLOCK weights are combined in order, so that any number of threads
gives the same bytes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel

BLOCK = 2048  # weights: one of float64 and a pair stay in the first cache


@kernel
def dot(a, b):
    """aᵀb in float64, in four lanes, which the processor adds at once; always in this order."""
    n = a.shape[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += np.float64(a[i]) * np.float64(b[i])
        s1 += np.float64(a[i + 1]) * np.float64(b[i + 1])
        s2 += np.float64(a[i + 2]) * np.float64(b[i + 2])
        s3 += np.float64(a[i + 3]) * np.float64(b[i + 3])
    for i in range(whole, n):
        s0 += np.float64(a[i]) * np.float64(b[i])
    return (s0 + s1) + (s2 + s3)


@parallel_kernel
def store_pair(w, next_w, gradient, next_gradient, step, change, sums):
    """step, change: the differences, as they are stored; sums: float64 (blocks, 2), of s·y and y·y."""
    for b in prange(sums.shape[0]):
        first, last = b * BLOCK, min(step.shape[0], (b + 1) * BLOCK)
        for j in range(first, last):
            step[j] = next_w[j] - w[j]
            change[j] = next_gradient[j] - gradient[j]
        sums[b, 0] = dot(step[first:last], change[first:last])
        sums[b, 1] = dot(change[first:last], change[first:last])


@parallel_kernel
def products(steps, changes, rows, gradient, sums):
    """sums: float64 (blocks, m, 5), of s_r·g, y_r·g, s_r·y, y_r·s and y_r·y for every pair r; s, y: the newest."""
    for b in prange(sums.shape[0]):
        first, last = b * BLOCK, min(gradient.shape[0], (b + 1) * BLOCK)
        g, s, y = gradient[first:last], steps[rows[0], first:last], changes[rows[0], first:last]
        for i in range(rows.shape[0]):
            step, change = steps[rows[i], first:last], changes[rows[i], first:last]
            sums[b, i, 0] = dot(step, g)
            sums[b, i, 1] = dot(change, g)
            sums[b, i, 2] = dot(step, y)
            sums[b, i, 3] = dot(change, s)
            sums[b, i, 4] = dot(change, y)


@kernel
def coefficients(sy, yy, sg, yg, scale, of_steps, of_changes):
    """−H g = −scale·g + Σ of_changes_i y_i − Σ of_steps_i s_i, by the two loops of Figure 1 on m numbers.

    sy, yy: float64 (m, m), s_i·y_j and y_i·y_j; sg, yg: float64 (m,), s_i·g and y_i·g; from the newest to the oldest.
    """
    m = sg.shape[0]
    for i in range(m):
        along = sg[i]
        for j in range(i):
            along -= of_changes[j] * sy[i, j]
        of_changes[i] = along / sy[i, i]
    for i in range(m - 1, -1, -1):
        along = yg[i]
        for j in range(m):
            along -= of_changes[j] * yy[i, j]
        along *= scale
        for j in range(i + 1, m):
            along += of_steps[j] * sy[j, i]
        of_steps[i] = of_changes[i] - along / sy[i, i]
    for i in range(m):
        of_changes[i] *= scale


@parallel_kernel
def combine(steps, changes, rows, of_steps, of_changes, scale, gradient, direction):
    """direction = −scale·g + Σ of_changes_i y_i − Σ of_steps_i s_i."""
    for b in prange((gradient.shape[0] + BLOCK - 1) // BLOCK):
        first, last = b * BLOCK, min(gradient.shape[0], (b + 1) * BLOCK)
        for j in range(first, last):
            direction[j] = -scale * gradient[j]
        for i in range(rows.shape[0]):
            step, change, p, q = steps[rows[i]], changes[rows[i]], of_steps[i], of_changes[i]
            for j in range(first, last):
                direction[j] += q * change[j] - p * step[j]
