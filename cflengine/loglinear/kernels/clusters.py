"""numba kernels of one-dimensional k-means: the optimum by dynamic programming, and Lloyd's iterations."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def spread(weight, total, square, i, j):
    """Σ (x − mean)² over the sorted points i .. j−1, from prefix sums of their number, x and x²."""
    part = total[j] - total[i]
    return max(0.0, square[j] - square[i] - part * part / (weight[j] - weight[i]))


@kernel
def next_layer(weight, total, square, least, k, cost, begin, stack):
    """The cheapest cut of the first j points into k + 1 clusters, for every j, from ``least``, that into k.

    cost: float64 (n+1,), out; begin: int32 (n+1,), out: where the last cluster begins, which never falls as j grows, so
    that halving the range of j halves the work too. stack: work, int64 (any, 4).
    """
    n = least.shape[0] - 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = k + 1, n, k, n - 1
    depth = 1
    while depth:
        depth -= 1
        first, last, low, high = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if first > last:
            continue
        j = (first + last) // 2
        best, at = np.inf, low
        for i in range(low, min(high, j - 1) + 1):
            found = least[i] + spread(weight, total, square, i, j)
            if found < best:
                best, at = found, i
        cost[j], begin[j] = best, at
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = first, j - 1, low, at
        stack[depth + 1, 0], stack[depth + 1, 1] = j + 1, last
        stack[depth + 1, 2], stack[depth + 1, 3] = at, high
        depth += 2


@kernel
def lloyd(x, total, begin, n_rounds):
    """Lloyd's iterations on sorted points; total: prefix sums; begin: int64 (k+1,), where clusters begin, changed.

    A cluster keeps at least a point. Returns the number of rounds.
    """
    k = begin.shape[0] - 1
    for r in range(n_rounds):
        moved = False
        for c in range(1, k):
            left = (total[begin[c]] - total[begin[c - 1]]) / (begin[c] - begin[c - 1])
            right = (total[begin[c + 1]] - total[begin[c]]) / (begin[c + 1] - begin[c])
            border = 0.5 * (left + right)
            at = begin[c]
            while at > begin[c - 1] + 1 and x[at - 1] > border:
                at -= 1
            while at < begin[c + 1] - 1 and x[at] <= border:
                at += 1
            if at != begin[c]:
                begin[c] = at
                moved = True
        if not moved:
            return r + 1
    return n_rounds
