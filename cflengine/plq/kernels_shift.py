"""numba kernels of the best β₀ for given scores (shift.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def derivative_at(parts, n_relu, i, z):
    """The right derivative of L_i at z, and its second one there."""
    derivative = curvature = 0.0
    for k in range(n_relu):
        if parts[i, k] * z + parts[i, n_relu + k] > 0.0:
            derivative += parts[i, k]
    n_rehu = (parts.shape[1] - 2 * n_relu) // 3
    for at in range(2 * n_relu, 2 * n_relu + n_rehu):
        s, tau = parts[i, at], parts[i, at + 2 * n_rehu]
        y = s * z + parts[i, at + n_rehu]
        derivative += s * min(max(y, 0.0), tau)
        if 0.0 < y < tau:
            curvature += s * s
    return derivative, curvature


@kernel
def changes_piece_within(parts, n_relu, i, lo, hi):
    """Whether L_i has a kink between two scores lo < hi."""
    for k in range(n_relu):
        u, v = parts[i, k], parts[i, n_relu + k]
        if (u * lo + v > 0.0) != (u * hi + v > 0.0):
            return True
    n_rehu = (parts.shape[1] - 2 * n_relu) // 3
    for at in range(2 * n_relu, 2 * n_relu + n_rehu):
        s, t, tau = parts[i, at], parts[i, at + n_rehu], parts[i, at + 2 * n_rehu]
        first, last = s * lo + t, s * hi + t
        if (first > 0.0) != (last > 0.0) or (first < tau) != (last < tau):
            return True
    return False


@kernel
def total_derivative(losses, z, some, count, shift):
    """Σ L_i'(z_i + shift) over the first ``count`` of ``some`` (int64); losses: as in kernels.py."""
    (parts, n_relu, _), total = losses, 0.0
    for p in range(count):
        i = some[p]
        derivative, _ = derivative_at(parts, n_relu, i, z[i] + shift)
        total += derivative
    return total


@kernel
def derivative_and_size(losses, z, shift):
    """Σ L_i'(z_i + shift), and the sum of its terms' sizes, which bounds what rounding did to it."""
    (parts, n_relu, _), total, size = losses, 0.0, 0.0
    n_rehu = (parts.shape[1] - 2 * n_relu) // 3
    for i in range(z.shape[0]):
        at = z[i] + shift
        for k in range(n_relu):
            if parts[i, k] * at + parts[i, n_relu + k] > 0.0:
                total += parts[i, k]
                size += abs(parts[i, k])
        for h in range(2 * n_relu, 2 * n_relu + n_rehu):
            s = parts[i, h]
            term = s * min(max(s * at + parts[i, h + n_rehu], 0.0), parts[i, h + 2 * n_rehu])
            total += term
            size += abs(term)
    return total, size


@kernel
def keep_changing(losses, z, some, count, lo, hi, line):
    """Of ``some``, keep those whose loss has a kink at a shift between lo and hi, and return how many; the others'
    derivatives there, lines in the shift, are added to line (float64 (2,)): their value at lo and their rise."""
    (parts, n_relu, _), left = losses, 0
    for p in range(count):
        i = some[p]
        if changes_piece_within(parts, n_relu, i, z[i] + lo, z[i] + hi):
            some[left] = i
            left += 1
        else:
            derivative, curvature = derivative_at(parts, n_relu, i, z[i] + 0.5 * (lo + hi))
            line[0] += derivative - curvature * 0.5 * (lo + hi)
            line[1] += curvature
    return left
