"""numba kernels of the losses of scores, and of L-BFGS's two loops.

Sums over blocks of BLOCK rows are combined in order, so that any number of threads gives the same bytes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel

BLOCK = 4096


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
