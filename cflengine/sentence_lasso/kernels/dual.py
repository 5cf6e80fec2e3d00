"""numba kernels of the multipliers of the copies: what the certificate (certificate.py) needs of every sentence.

Shapes: groups as in problem.py; u, momentum float64 (E,); gradient, r, step float64 (V,).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def smooth_multipliers(ptr, feature, count, weight, w, lam_sen, epsilon, u):
    """u_gj = λ_sen a_g √c_gj w_j/η_g, η_g = √(‖(Mw)_g‖² + ε²): inside its ball by construction."""
    for g in range(ptr.shape[0] - 1):
        square = epsilon * epsilon
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * w[feature[e]] * w[feature[e]]
        scale = lam_sen * weight[g] / np.sqrt(square) if square > 0.0 else 0.0
        for e in range(ptr[g], ptr[g + 1]):
            u[e] = scale * np.sqrt(count[e]) * w[feature[e]]


@kernel
def own_multipliers(ptr, feature, count, weight, w, lam_sen, u, free, free_count):
    """Where (Mw)_g is not 0 its multipliers are given, u_g = λ_sen a_g (Mw)_g/‖(Mw)_g‖; the other groups' stay.

    free: int64 (G,), receives the groups with (Mw)_g = 0, whose number is returned; free_count_j = Σ over them of c_gj.
    """
    free_count[:] = 0.0
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
            free[n] = g
            n += 1
            for e in range(ptr[g], ptr[g + 1]):
                free_count[feature[e]] += count[e]
    return n


@kernel
def subtract_gathered(ptr, feature, count, u, r):
    """r −= Mᵀu."""
    for g in range(ptr.shape[0] - 1):
        for e in range(ptr[g], ptr[g + 1]):
            r[feature[e]] -= np.sqrt(count[e]) * u[e]


@kernel
def polish(ptr, feature, count, weight, lam_sen, lam, free, free_count, r, u, state, steps, enough):
    """Lower ½ Σ_j S_λ(r_j)²/N_j, N_j = free_count_j, over the balls of the groups in ``free``.

    r: what the multipliers have left of the pull, on entry and on return; u: changed in place, for those groups alone.
    Projected gradient with Nesterov's momentum, restarted where the value rises; its step is 1, for M N⁻¹ Mᵀ has no
    eigenvalue above 1. Ends after ``steps`` or when no |r_j| with N_j > 0 exceeds λ by more than ``enough``.
    state: float64 (2,), the momentum's t and the last value, (1, inf) at first; to go on, call again with all of it.
    """
    n_features = r.shape[0]
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
        for g in free:
            square = 0.0
            for e in range(ptr[g], ptr[g + 1]):
                square += (u[e] + np.sqrt(count[e]) * excess[feature[e]]) ** 2
            radius = lam_sen * weight[g]
            factor = radius / np.sqrt(square) if square > radius * radius else 1.0
            for e in range(ptr[g], ptr[g + 1]):
                j = feature[e]
                there = factor * (u[e] + np.sqrt(count[e]) * excess[j])
                ahead = there + momentum * (there - before[e])
                step_r[j] -= np.sqrt(count[e]) * (ahead - u[e])
                before[e] = there
                u[e] = ahead
    for g in free:
        for e in range(ptr[g], ptr[g + 1]):
            step_r[feature[e]] += np.sqrt(count[e]) * (u[e] - before[e])
            u[e] = before[e]
    r[:] = step_r
    state[0], state[1] = t, last


@kernel
def free_norms(ptr, feature, count, weight, free, p):
    """Σ a_g ‖(Mp)_g‖ over the groups in ``free``."""
    total = 0.0
    for g in free:
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            square += count[e] * p[feature[e]] * p[feature[e]]
        total += weight[g] * np.sqrt(square)
    return total
