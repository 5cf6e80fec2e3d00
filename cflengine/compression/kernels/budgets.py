"""numba kernel of the division of shared dictionary costs (shards/budgets.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def project_entries(order, first, cost, values):
    """Give ``values`` (float64 (E,)) the nearest x ≥ 0 whose sum over the entries of each K-gram is its cost.

    order: int32 (E,), the entries of K-gram s are order[first[s]] .. order[first[s+1]-1]; first: int64 (S+1,); cost:
    float64 (S,). Michelot's method: what lies at or below the level is dropped, for good.
    """
    for s in range(cost.shape[0]):
        a, e = first[s], first[s + 1]
        total, left = 0.0, e - a
        for j in range(a, e):
            total += values[order[j]]
        level = (total - cost[s]) / left
        while True:
            total, above = 0.0, 0
            for j in range(a, e):
                value = values[order[j]]
                if value > level:
                    total += value
                    above += 1
            if above >= left or above == 0:  # by rounding a dropped one may seem to be above again
                break
            left = above
            level = (total - cost[s]) / left
        for j in range(a, e):
            values[order[j]] = max(values[order[j]] - level, 0.0)
    return cost.shape[0]
