"""The best β₀ for given scores: argmin over b of Σ_i L_i(z_i + b), whose derivative rises with b.

Bisection on the derivative; an observation whose loss has no kink left between the two ends is a line from then on, so
that all steps together cost a few looks at every observation.
"""

from __future__ import annotations

import numpy as np

from cflengine.plq import kernels_shift

_FURTHEST = 1e18


def best_shift(losses: object, z: np.ndarray, near: float = 0.0) -> float:
    """The minimiser (one of them), to the last bits; near: where to begin. ±1e18 where there is none."""
    some, line = np.arange(len(z), dtype=np.int64), np.zeros(2)
    count = len(z)

    def derivative(shift: float) -> float:
        rest: float = kernels_shift.total_derivative(losses, z, some, count, shift)
        return rest + line[0] + line[1] * shift

    lo = hi = near
    step = max(1e-3 * abs(near), 1e-6)
    while derivative(lo) > 0 and lo > -_FURTHEST:
        hi, lo, step = lo, lo - step, 4 * step
    while derivative(hi) < 0 and hi < _FURTHEST:
        lo, hi, step = hi, hi + step, 4 * step
    while count and np.nextafter(lo, hi) < hi:
        count = kernels_shift.keep_bending(losses, z, some, count, lo, hi, line)
        middle = 0.5 * (lo + hi)
        if not lo < middle < hi:
            break
        if derivative(middle) < 0:
            lo = middle
        else:
            hi = middle
    if not count and line[1] > 0:
        return float(np.clip(-line[0] / line[1], lo, hi))
    return hi if derivative(hi) <= 0 or abs(derivative(hi)) <= abs(derivative(lo)) else lo
