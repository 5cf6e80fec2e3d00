"""The best β₀ for given scores: argmin over b of Σ_i L_i(z_i + b), whose derivative rises with b.

Bisection on the derivative; an observation whose loss has no kink left between the two ends is a line from then on, so
that all steps together cost a few looks at every observation.

Where scores are known to within far_i, so is every best β₀: derivatives of convex functions rise, so that it lies below
any b with Σ L_i'(z_i − far_i + b) > 0, and above any with Σ L_i'(z_i + far_i + b) < 0. Were all far_i one number and
the best β₀ of z zero, b would be that number; so it is looked for around their mean.
"""

from __future__ import annotations

import math

import numpy as np

from cflengine.engine.gaps import EPSILON
from cflengine.plq import kernels_shift
from cflengine.plq.problem import PLQProblem

_OF_KINKS = 1e-6  # of how far they are apart, for a unit of Σ a_i: rounding of scores hides less
_FURTHEST = 1e18
_FURTHER, _TRIES = 1.25, 40  # a range need not be exact


def shift_weight(problem: PLQProblem, rows: np.ndarray) -> float:
    """M² of descent.py, by how much β₀ moves for a unit of Σ a_i: as much as that unit changes the score of a usual row
    itself, or, where rows are nearly 0, a small share of the distance between kinks. rows: ‖x_i‖², float64 (n,)."""
    if not problem.intercept or not len(rows):
        return 0.0
    kinks = problem.loss.kinks()
    return max(float(rows.mean()) / problem.mu, _OF_KINKS * float(np.ptp(kinks)) if len(kinks) else 0.0) or 1.0


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
        count = kernels_shift.keep_changing(losses, z, some, count, lo, hi, line)
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


def shift_range(losses: object, z: np.ndarray, far: np.ndarray) -> tuple[float, float]:
    """lo and hi with every best β₀ between them, for all scores within far_i of z_i, whose best β₀ is near 0; ±inf
    where no end is sure, whatever rounding did."""
    about = max(float(far.mean()), 1e-12) if len(far) else 0.0
    return _sure_end(losses, z + far, -1.0, about), _sure_end(losses, z - far, 1.0, about)


def _sure_end(losses: object, z: np.ndarray, sign: float, about: float) -> float:
    """The nearest to 0 of ±about · _FURTHER^k at which the derivative surely has this sign, looked for from k = 0."""

    def sure(k: int) -> bool:
        total, size = kernels_shift.derivative_and_size(losses, z, sign * about * _FURTHER**k)
        return sign * total > EPSILON * (len(z) + 8.0) * 1.01 * size

    k = 0
    while not sure(k):
        k += 1
        if k == _TRIES:
            return sign * math.inf
    while -_TRIES < k <= 0 and sure(k - 1):
        k -= 1
    return sign * about * _FURTHER**k
