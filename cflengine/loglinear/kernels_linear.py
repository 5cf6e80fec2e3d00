"""numba kernels of scores that are linear in the weights, and of the losses of those scores.

Shapes: a sparse matrix as indptr int64 (rows+1,), indices int32, values float64, by rows for scores and by columns for
gradients: the same product either way. Sums over blocks of _BLOCK rows are combined in order, so that any number of
threads gives the same bytes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel

BLOCK = 4096


@parallel_kernel
def product(indptr, indices, values, x, out):
    """out_i = Σ_k values_k x[indices_k]."""
    for i in prange(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * x[indices[k]]
        out[i] = total


@parallel_kernel
def product_of_ones(indptr, indices, x, out):
    """As :func:`product` where every value is 1: a third of the bytes."""
    for i in prange(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += x[indices[k]]
        out[i] = total


@parallel_kernel
def products(indptr, indices, values, x, out):
    """out_ic = Σ_k values_k x[indices_k, c]; values of length 0 stand for ones."""
    ones = values.shape[0] == 0
    for i in prange(out.shape[0]):
        out[i] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = 1.0 if ones else values[k]
            for c in range(out.shape[1]):
                out[i, c] += value * x[indices[k], c]


@parallel_kernel
def logistic(scores, y, slope, totals):
    """slope_i = −y_i σ(−y_i s_i); totals: float64 (blocks,), of log(1 + exp(−y_i s_i))."""
    n = scores.shape[0]
    for b in prange(totals.shape[0]):
        total = 0.0
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            margin = y[i] * scores[i]
            small = np.exp(-abs(margin))
            if margin > 0:
                total += np.log1p(small)
                slope[i] = -y[i] * small / (1.0 + small)
            else:
                total += np.log1p(small) - margin
                slope[i] = -y[i] / (1.0 + small)
        totals[b] = total


@parallel_kernel
def softmax(scores, label, slope, totals):
    """slope_i = softmax(s_i) − e_{label_i}; totals: float64 (blocks,), of log Σ_c exp(s_ic) − s_{i, label_i}."""
    n, n_classes = scores.shape
    for b in prange(totals.shape[0]):
        total = 0.0
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            top = scores[i, 0]
            for c in range(1, n_classes):
                top = max(top, scores[i, c])
            partition = 0.0
            for c in range(n_classes):
                slope[i, c] = np.exp(scores[i, c] - top)
                partition += slope[i, c]
            for c in range(n_classes):
                slope[i, c] /= partition
            total += np.log(partition) + top - scores[i, label[i]]
            # 1 − p of the right class as a sum of the others: 1 − p itself has no digits left where p is nearly 1
            others = 0.0
            for c in range(n_classes):
                if c != label[i]:
                    others += slope[i, c]
            slope[i, label[i]] = -others
        totals[b] = total


@kernel
def dot(a, b):
    """aᵀb in four lanes, which the processor adds at once; always in this order."""
    n = a.shape[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@kernel
def two_loop(steps, changes, curvature, newest, count, scale, direction, alpha):
    """direction = −H direction, H the paper's L-BFGS matrix (Figure 1); direction: the gradient at first.

    steps, changes: float64 (m, d), rings of s_t = w_{t+1} − w_t and y_t = g_{t+1} − g_t, the last at ``newest``;
    curvature: s·y of each; count: how many there are; scale: of the first approximation. alpha: work, float64 (m,).
    """
    m, d = steps.shape
    for k in range(count):
        at = (newest - k) % m
        alpha[at] = dot(steps[at], direction) / curvature[at]
        for j in range(d):
            direction[j] -= alpha[at] * changes[at, j]
    for j in range(d):
        direction[j] *= scale
    for k in range(count - 1, -1, -1):
        at = (newest - k) % m
        excess = alpha[at] - dot(changes[at], direction) / curvature[at]
        for j in range(d):
            direction[j] += excess * steps[at, j]
    for j in range(d):
        direction[j] = -direction[j]


@kernel
def collect(cluster_of, values, out):
    """out_k = Σ of ``values`` over the members of cluster k."""
    out[:] = 0.0
    for j in range(cluster_of.shape[0]):
        out[cluster_of[j]] += values[j]
