"""numba kernels of the division of shared dictionary costs (shards/budgets.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def project_entries(order, first, cost, values):
    """Give ``values`` (float (E,)) the nearest x ≥ 0 whose sum over the entries of each K-gram is its cost.

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


@kernel
def sum_entries(entry, values, sums):
    """Add ``values`` (numbers, (E,)) to ``sums`` (float64 (S,)) by the K-gram of each entry (entry: int32 (E,))."""
    for j in range(entry.shape[0]):
        sums[entry[j]] += values[j]
    return entry.shape[0]


@kernel
def ask_entries(entry, excess, total, cost, part, share):
    """Give ``share`` (float32 (E,)) what excesses ask for: scaled down where they are too much, of what is left by
    ``part``. excess: float32 (E,), total: float64 (S,), its sums, cost: float64 (S,), part: float32 (E,)."""
    for j in range(entry.shape[0]):
        s = entry[j]
        if total[s] > cost[s]:
            share[j] = excess[j] * (cost[s] / total[s])
        else:
            share[j] = excess[j] + (cost[s] - total[s]) * part[j]
    return entry.shape[0]
