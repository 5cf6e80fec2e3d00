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

from cflengine.engine.jit import kernel, loose_kernel, parallel_kernel

BLOCK = 2048  # weights: two of float64 and a pair stay in the first two caches


@loose_kernel
def four_dots(a, b, c, d):
    """aᵀc, aᵀd, bᵀc and bᵀd in float64; a, b: float32."""
    with_ac, with_ad, with_bc, with_bd = 0.0, 0.0, 0.0, 0.0
    for i in range(a.shape[0]):
        p, q, x, y = np.float64(a[i]), np.float64(b[i]), np.float64(c[i]), np.float64(d[i])
        with_ac += p * x
        with_ad += p * y
        with_bc += q * x
        with_bd += q * y
    return with_ac, with_ad, with_bc, with_bd


@parallel_kernel()
def store_pair(w, next_w, gradient, next_gradient, step, change, sums, chunk):
    """step, change: the differences, as they are stored; sums: float64 (blocks, 2), of y·s and y·y."""
    for b in range(chunk[0], chunk[1]):
        first, last = b * BLOCK, min(step.shape[0], (b + 1) * BLOCK)
        # slices, so that the compiler knows that no index is negative, and does several numbers at once
        s, here, there = step[first:last], w[first:last], next_w[first:last]
        for j in range(s.shape[0]):
            s[j] = there[j] - here[j]
        y, here, there = change[first:last], gradient[first:last], next_gradient[first:last]
        for j in range(y.shape[0]):
            y[j] = there[j] - here[j]
        sums[b, 0], _, sums[b, 1], _ = four_dots(s, y, y, y)


@parallel_kernel(least=1000)
def products(steps, changes, rows, gradient, sums, chunk):
    """sums: float64 (blocks, m, 4), of s_r·g, s_r·y, y_r·g and y_r·y for every pair r; y: of the newest."""
    for b in range(chunk[0], chunk[1]):
        first, last = b * BLOCK, min(gradient.shape[0], (b + 1) * BLOCK)
        g, y = gradient[first:last], changes[rows[0], first:last].astype(np.float64)
        for i in range(rows.shape[0]):
            r = rows[i]
            of_step, of_change = sums[b, i, :2], sums[b, i, 2:]
            of_step[0], of_step[1], of_change[0], of_change[1] = four_dots(
                steps[r, first:last], changes[r, first:last], g, y
            )


@kernel
def coefficients(sy, yy, sg, yg, scale, of_steps, of_changes):
    """−H g = −scale·g + Σ of_changes_i y_i − Σ of_steps_i s_i, by the two loops of Figure 1 on m numbers.

    sy, yy: float64 (m, m), s_i·y_j, of which only those with j ≤ i are asked for, and y_i·y_j; sg, yg: float64 (m,),
    s_i·g and y_i·g; from the newest to the oldest.
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


@parallel_kernel()
def combine(pairs, rows, factors, scale, gradient, direction, chunk):
    """direction = −scale·g + Σ of_changes_i y_i − Σ of_steps_i s_i."""
    (steps, changes), (of_steps, of_changes) = pairs, factors
    for b in range(chunk[0], chunk[1]):
        first, last = b * BLOCK, min(gradient.shape[0], (b + 1) * BLOCK)
        out, g = direction[first:last], gradient[first:last]
        for j in range(out.shape[0]):
            out[j] = -scale * g[j]
        for i in range(rows.shape[0]):
            step, change = steps[rows[i], first:last], changes[rows[i], first:last]
            p, q = of_steps[i], of_changes[i]
            for j in range(out.shape[0]):
                out[j] += q * change[j] - p * step[j]
