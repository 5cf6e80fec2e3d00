"""numba kernels of bursts: the sequence of two states of least cost, for each phrase (analysis/overtime.py).

A period without the phrase speaks against a burst, so a burst begins and ends at periods that have it, and only these
are gone through: between two of them the cost of staying in the burst is that of the words between. Θ(nnz) instead of
Θ(T·D).

Shapes: places CSC (T, D), its indices ascending; ptr int (D + 1,), period int (nnz,), x float64 (nnz,); words float64
(T + 1,), of all periods before; gains float64 (2, D), what a place and what any other word adds to the log likelihood
of the state with bursts over that without; found: float64 (4, D), weight, first, last and places of each
phrase's heaviest burst, weight 0 where it has none; scratch: bool (nnz,) twice.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def heaviest_bursts(places, words, gains, rise, found, scratch):
    """Fill ``found``; places: (ptr, period, x); rise: what a burst costs to begin; scratch: (begins, burst)."""
    ptr, period, x = places
    for d in range(gains.shape[1]):
        cut = slice(ptr[d], ptr[d + 1])
        own, begins, burst = (period[cut], x[cut]), scratch[0][cut], scratch[1][cut]
        states_of_least_cost(own, words, gains[:, d], rise, begins, burst)
        heaviest(own, words, gains[:, d], begins, burst, found[:, d])


@kernel
def gain_at(own, words, gain, j):
    """What the j-th period that has the phrase adds, and those between it and the one before."""
    period, x = own
    t = period[j]
    here = x[j] * gain[0] + (words[t + 1] - words[t] - x[j]) * gain[1]
    between = (words[t] - words[period[j - 1] + 1]) * gain[1] if j > 0 else 0.0
    return here, between


@kernel
def states_of_least_cost(own, words, gain, rise, begins, burst):
    """burst: whether the phrase's j-th period is in a burst; begins: whether one begins there."""
    low, high = 0.0, -np.inf  # best up to here, with a last state of each kind
    for j in range(len(burst)):
        here, between = gain_at(own, words, gain, j)
        fresh = max(low, high) - rise  # after the period before, the burst may have ended: only matters in a gap
        begins[j] = high + between < fresh
        low, high = max(low, high), max(high + between, fresh) + here
        burst[j] = high > low
    inside = False
    for j in range(len(burst) - 1, -1, -1):
        inside = inside or burst[j]
        burst[j], begins[j] = inside, inside and begins[j]
        inside = inside and not begins[j]


@kernel
def heaviest(own, words, gain, begins, burst, found):
    """The burst of largest weight, the first of equal ones."""
    found[:] = 0.0
    weight, first, count = 0.0, 0, 0.0
    for j in range(len(burst)):
        if not burst[j]:
            continue
        here, between = gain_at(own, words, gain, j)
        if begins[j]:
            weight, first, count = 0.0, own[0][j], 0.0
        else:
            weight += between
        weight += here
        count += own[1][j]
        if weight > found[0]:
            found[0], found[1], found[2], found[3] = weight, first, own[0][j], count
