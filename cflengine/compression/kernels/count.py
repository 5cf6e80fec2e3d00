"""numba kernels of soft counting: expected uses of K-grams over all encodings of a document (counting.py).

Shapes: features int32 (K, n), the entry of the dictionary that stands at each token by length, -1 for none; doc_ptr
int64 (D+1,), documents within these tokens; forward, backward float64 (n + D,), a document's L tokens have L + 1
places; value float64 (K, n).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def log_add(a, b):
    """ln(eᵃ + eᵇ), where a may be −∞."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@kernel
def sum_encodings(features, a, length, use, literal, sums, step):
    """ln of the sum of e^(−cost/T) over all encodings of the first (step 1) or the last (step −1) i tokens of a
    document, for all i, into sums[0 .. length] by place. use, literal: −cost/T of a pointer and of a literal."""
    begin = 0 if step > 0 else length
    sums[begin] = 0.0
    for i in range(1, length + 1):
        here = begin + step * i
        total = -np.inf
        for k in range(1, min(features.shape[0], i) + 1):
            start = a + min(here, here - step * k)
            if features[k - 1, start] >= 0:
                total = log_add(total, sums[here - step * k] + use)
            elif k == 1:
                total = log_add(total, sums[here - step] + literal)
        sums[here] = total


@parallel_kernel(least=16)
def expected_uses(features, doc_ptr, use, literal, forward, backward, value, chunk):
    """value[k, i] = the share of weight of the encodings that use the pointer of length k+1 at token i; 0 for none."""
    for d in range(chunk[0], chunk[1]):
        a, length = doc_ptr[d], doc_ptr[d + 1] - doc_ptr[d]
        ahead, behind = forward[a + d : a + d + length + 1], backward[a + d : a + d + length + 1]
        sum_encodings(features, a, length, use, literal, ahead, 1)
        sum_encodings(features, a, length, use, literal, behind, -1)
        for k in range(features.shape[0]):
            for i in range(length):
                value[k, a + i] = 0.0
                if features[k, a + i] >= 0:
                    value[k, a + i] = np.exp(ahead[i] + use + behind[i + k + 1] - ahead[length])
