"""Compiled: exp of many numbers at once, in loops without calls, which become vector instructions."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel

_MAGIC = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number, which its low bits then hold
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@kernel
def exp_row(x, work):
    """x = exp(x) for x ≤ 0, to the last digit or two; below −708 as at −708. work: float64, as long as x.

    exp(x) = 2^k exp(r), |r| ≤ log(2)/2, by a polynomial of degree 12; k is added to the exponent's bits.
    """
    for i in range(len(x)):
        t = max(x[i], -708.0)
        s = t * _LOG2E + _MAGIC
        k = s - _MAGIC
        r = (t - k * _LN2_HIGH) - k * _LN2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        x[i] = p * r + 1.0
        work[i] = s
    bits, exponent = x.view(np.int64), work.view(np.int64)
    for i in range(len(x)):
        bits[i] += exponent[i] << 52
