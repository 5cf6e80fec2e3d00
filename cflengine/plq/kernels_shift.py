"""numba kernels of the best β₀ for given scores (shift.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def derivative_at(parts, i, z):
    """The right derivative of L_i at z, and its second one there."""
    derivative = curvature = 0.0
    for k in range(parts.U.shape[1]):
        if parts.U[i, k] * z + parts.V[i, k] > 0.0:
            derivative += parts.U[i, k]
    for k in range(parts.S.shape[1]):
        s = parts.S[i, k]
        y = s * z + parts.T[i, k]
        derivative += s * min(max(y, 0.0), parts.tau[i, k])
        if 0.0 < y < parts.tau[i, k]:
            curvature += s * s
    return derivative, curvature


@kernel
def bends_within(parts, i, lo, hi):
    """Whether L_i has a kink between two scores lo < hi."""
    for k in range(parts.U.shape[1]):
        u, v = parts.U[i, k], parts.V[i, k]
        if (u * lo + v > 0.0) != (u * hi + v > 0.0):
            return True
    for k in range(parts.S.shape[1]):
        first = parts.S[i, k] * lo + parts.T[i, k]
        last = parts.S[i, k] * hi + parts.T[i, k]
        tau = parts.tau[i, k]
        if (first > 0.0) != (last > 0.0) or (first < tau) != (last < tau):
            return True
    return False


@kernel
def total_derivative(parts, z, some, count, shift):
    """Σ L_i'(z_i + shift) over the first ``count`` of ``some`` (int64)."""
    total = 0.0
    for p in range(count):
        i = some[p]
        derivative, _ = derivative_at(parts, i, z[i] + shift)
        total += derivative
    return total


@kernel
def keep_bending(parts, z, some, count, lo, hi, line):
    """Of ``some``, keep those whose loss has a kink at a shift between lo and hi, and return how many; the others'
    derivatives there, lines in the shift, are added to line (float64 (2,)): their value at lo and their rise."""
    left = 0
    for p in range(count):
        i = some[p]
        if bends_within(parts, i, z[i] + lo, z[i] + hi):
            some[left] = i
            left += 1
        else:
            derivative, curvature = derivative_at(parts, i, z[i] + 0.5 * (lo + hi))
            line[0] += derivative - curvature * 0.5 * (lo + hi)
            line[1] += curvature
    return left
