"""numba kernels of the multipliers of the copies: what the certificate (certificate.py) needs of every sentence.

Shapes: groups as in problem.py; u, momentum float64 (E,); gradient, r, step float64 (V,).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def smooth_multipliers(groups, w, lam_sen, epsilon, u):
    """u_gj = λ_sen a_g √c_gj w_j/η_g, η_g = √(‖(Mw)_g‖² + ε²): inside its ball by construction."""
    ptr, feature, count, weight = groups
    for g in range(ptr.shape[0] - 1):
        square = epsilon * epsilon
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        scale = lam_sen * weight[g] / np.sqrt(square) if square > 0.0 else 0.0
        for e in range(ptr[g], ptr[g + 1]):
            u[e] = scale * np.sqrt(count[e]) * w[feature[e]]


@kernel
def own_multipliers(groups, w, lam_sen, u, free):
    """Where (Mw)_g is not 0 its multipliers are given, u_g = λ_sen a_g (Mw)_g/‖(Mw)_g‖; the other groups' stay.

    free (arrays.py; space for all groups) receives those with (Mw)_g = 0, whose number is returned, and their counts.
    """
    ptr, feature, count, weight = groups
    free.counts[:] = 0.0
    n = 0
    for g in range(ptr.shape[0] - 1):
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        if square > 0.0:
            scale = lam_sen * weight[g] / np.sqrt(square)
            for e in range(ptr[g], ptr[g + 1]):
                u[e] = scale * np.sqrt(count[e]) * w[feature[e]]
        else:
            free.groups[n] = g
            n += 1
            for e in range(ptr[g], ptr[g + 1]):
                free.counts[feature[e]] += count[e]
    return n


@kernel
def subtract_gathered(groups, u, r):
    """r −= Mᵀu."""
    ptr, feature, count, _ = groups
    for g in range(ptr.shape[0] - 1):
        for e in range(ptr[g], ptr[g + 1]):
            r[feature[e]] -= np.sqrt(count[e]) * u[e]


@kernel
def polish(groups, lam_sen, lam, free, point, state, steps, enough):
    """Lower ½ Σ_j S_λ(r_j)²/N_j, N_j = free.counts_j, over the balls of the groups in ``free``.

    point: ``Dual`` (arrays.py), changed in place, u for those groups alone.
    Projected gradient with Nesterov's momentum, restarted where the value rises; its step is 1, for M N⁻¹ Mᵀ has no
    eigenvalue above 1. Ends after ``steps`` or when no |r_j| with N_j > 0 exceeds λ by more than ``enough``.
    state: float64 (2,), the momentum's t and the last value, (1, inf) at first; to go on, call again with all of it.
    """
    ptr, feature, count, weight = groups
    u, r = point
    free_count, n_features = free.counts, r.shape[0]
    before = u.copy()
    excess = np.zeros(n_features)
    step_r = r.copy()  # r at the extrapolated point
    t, last = state[0], state[1]
    for _ in range(steps):
        value, worst = 0.0, 0.0
        for j in range(n_features):
            excess[j] = 0.0
            if free_count[j] > 0.0:
                over = abs(step_r[j]) - lam
                if over > 0.0:
                    worst = max(worst, over)
                    excess[j] = over / free_count[j] if step_r[j] > 0.0 else -over / free_count[j]
                    value += over * over / free_count[j]
        if worst <= enough:
            break
        if value > last:
            t = 1.0
        last = value
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / following
        t = following
        for g in free.groups:
            square = 0.0
            for e in range(ptr[g], ptr[g + 1]):
                square += (u[e] + np.sqrt(count[e]) * excess[feature[e]]) ** 2
            radius = lam_sen * weight[g]
            factor = radius / np.sqrt(square) if square > radius * radius else 1.0
            for e in range(ptr[g], ptr[g + 1]):
                j = feature[e]
                there = factor * (u[e] + np.sqrt(count[e]) * excess[j])
                extrapolated = there + momentum * (there - before[e])
                step_r[j] -= np.sqrt(count[e]) * (extrapolated - u[e])
                before[e] = there
                u[e] = extrapolated
    for g in free.groups:
        for e in range(ptr[g], ptr[g + 1]):
            step_r[feature[e]] += np.sqrt(count[e]) * (u[e] - before[e])
            u[e] = before[e]
    r[:] = step_r
    state[0], state[1] = t, last


@kernel
def free_norms(groups, free, p):
    """Σ a_g ‖(Mp)_g‖ over the groups in ``free``."""
    ptr, feature, count, weight = groups
    total = 0.0
    for g in free:
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * p[feature[e]] * p[feature[e]]
        total += weight[g] * np.sqrt(square)
    return total
