"""numba kernels of soft counting: expected uses of K-grams over all encodings of a document (counting.py).

Weights are those of the excess of an encoding's cost over the least, e^(−(cost − least)/T), of which each piece has its
part (reduced costs, as in a search for shortest paths): so sums stay small at any temperature, where those of costs
would have lost the differences between encodings to rounding.

Shapes: features int32 (K, n), the entry of the dictionary that stands at each token by length, -1 for none; doc_ptr
int64 (D+1,), documents within these tokens; work float64 (3, n + D), a document's L tokens have L + 1 places; value
float64 (K, n); costs: float64, of a literal, and the temperature.
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
def least_costs(features, a, length, literal, least):
    """The least cost of the first i tokens of a document, at 1 a pointer, into least[i]."""
    least[0] = 0.0
    for i in range(1, length + 1):
        best = np.inf
        for k in range(1, min(features.shape[0], i) + 1):
            start = a + i - k
            if features[k - 1, start] >= 0:
                best = min(best, least[i - k] + 1.0)
            elif k == 1:
                best = min(best, least[i - 1] + literal)
        least[i] = best


@kernel
def lost(least, i, k, cost, temperature):
    """−(excess)/T, at most 0: what tokens i .. i+k−1 cost in one piece beyond the least."""
    return -max(least[i] + cost - least[i + k], 0.0) / temperature


@kernel
def sum_encodings(features, a, length, costs, least, sums, step):
    """ln of the sum of e^(−excess/T) over all encodings of the first (step 1) or the last (step −1) i tokens of a
    document, for all i, into sums[0 .. length] by place. costs: of a literal, and T."""
    literal, temperature = costs
    begin = 0 if step > 0 else length
    sums[begin] = 0.0
    for i in range(1, length + 1):
        here = begin + step * i
        total = -np.inf
        for k in range(1, min(features.shape[0], i) + 1):
            start = min(here, here - step * k)
            if features[k - 1, a + start] >= 0:
                total = log_add(total, sums[here - step * k] + lost(least, start, k, 1.0, temperature))
            elif k == 1:
                total = log_add(total, sums[here - step] + lost(least, start, 1, literal, temperature))
        sums[here] = total


@parallel_kernel(least=16)
def expected_uses(features, doc_ptr, costs, work, value, chunk):
    """value[k, i] = the share of weight of the encodings that use the pointer of length k+1 at token i; 0 for none."""
    for d in range(chunk[0], chunk[1]):
        a, length = doc_ptr[d], doc_ptr[d + 1] - doc_ptr[d]
        first, last = a + d, a + d + length + 1
        least, log_forward, log_backward = work[0, first:last], work[1, first:last], work[2, first:last]
        least_costs(features, a, length, costs[0], least)
        sum_encodings(features, a, length, costs, least, log_forward, 1)
        sum_encodings(features, a, length, costs, least, log_backward, -1)
        for k in range(features.shape[0]):
            for i in range(length):
                value[k, a + i] = 0.0
                if features[k, a + i] >= 0:
                    excess = lost(least, i, k + 1, 1.0, costs[1])
                    value[k, a + i] = np.exp(log_forward[i] + excess + log_backward[i + k + 1] - log_forward[length])
