"""numba kernels of the losses of scores, and of sums within clusters.

Sums over blocks of BLOCK rows are combined in order, so that any number of threads gives the same bytes.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel

BLOCK = 4096


@parallel_kernel()
def logistic(scores, y, weight, derivative, totals, chunk):
    """derivative_i = −v_i y_i σ(−y_i s_i); totals: float64 (blocks,), of v_i log(1 + exp(−y_i s_i)).

    weight: v, of length 0 where all are 1.
    """
    n = scores.shape[0]
    for b in range(chunk[0], chunk[1]):
        total = 0.0
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            margin = y[i] * scores[i]
            v = weight[i] if weight.shape[0] else 1.0
            small = np.exp(-abs(margin))
            if margin > 0:
                total += v * np.log1p(small)
                derivative[i] = -v * y[i] * small / (1.0 + small)
            else:
                total += v * (np.log1p(small) - margin)
                derivative[i] = -v * y[i] / (1.0 + small)
        totals[b] = total


@parallel_kernel()
def softmax(scores, label, weight, derivative, totals, chunk):
    """derivative_i = v_i (softmax(s_i) − e_label); totals: float64 (blocks,), of v_i (log Σ_c exp(s_ic) − s_{i,
    label_i}).

    weight: v, of length 0 where all are 1.
    """
    n, n_classes = scores.shape
    for b in range(chunk[0], chunk[1]):
        total = 0.0
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            top = scores[i, 0]
            for c in range(1, n_classes):
                top = max(top, scores[i, c])
            partition = 0.0
            for c in range(n_classes):
                derivative[i, c] = np.exp(scores[i, c] - top)
                partition += derivative[i, c]
            v = weight[i] if weight.shape[0] else 1.0
            for c in range(n_classes):
                derivative[i, c] *= v / partition
            total += v * (np.log(partition) + top - scores[i, label[i]])
            # 1 − p of the right class as a sum of the others: 1 − p itself has no digits left where p is nearly 1
            others = 0.0
            for c in range(n_classes):
                if c != label[i]:
                    others += derivative[i, c]
            derivative[i, label[i]] = -others
        totals[b] = total


@kernel
def collect(cluster_of, values, out):
    """out_k = Σ of ``values`` over the members of cluster k."""
    out[:] = 0.0
    for j in range(cluster_of.shape[0]):
        out[cluster_of[j]] += values[j]
