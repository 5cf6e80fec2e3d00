"""Compiled: exp of many numbers at once, in loops without calls, which become vector instructions."""

from __future__ import annotations

from cflengine.engine.jit import fused, kernel, times_power

_MAGIC = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number, which its low bits then hold
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@kernel
def exp_row(x):
    """x = exp(x) for x ≤ 0, to the last digit or two; below −708 as at −708, above 0, which is rounding, as at 0.

    exp(x) = 2^k exp(r), |r| ≤ log(2)/2, by a polynomial of degree 12.
    """
    for i in range(len(x)):
        t = min(max(x[i], -708.0), 0.0)
        s = fused(t, _LOG2E, _MAGIC)
        k = s - _MAGIC
        r = fused(k, -_LN2_LOW, fused(k, -_LN2_HIGH, t))
        p = fused(1.0 / 479001600.0, r, 1.0 / 39916800.0)
        p = fused(p, r, 1.0 / 3628800.0)
        p = fused(p, r, 1.0 / 362880.0)
        p = fused(p, r, 1.0 / 40320.0)
        p = fused(p, r, 1.0 / 5040.0)
        p = fused(p, r, 1.0 / 720.0)
        p = fused(p, r, 1.0 / 120.0)
        p = fused(p, r, 1.0 / 24.0)
        p = fused(p, r, 1.0 / 6.0)
        p = fused(p, r, 0.5)
        p = fused(p, r, 1.0)
        x[i] = times_power(fused(p, r, 1.0), s)
