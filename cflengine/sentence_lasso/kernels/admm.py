"""numba kernels of ADMM: means of the copies, the sentences' proximal steps. Shapes as in admm.py."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def mean_of_copies(groups, copies, u, rho, out):
    """out_i = Σ over the copies of i of v + u/ρ: N_i µ_i. A group stands for ``weight`` equal ones."""
    ptr, feature, count, weight = groups
    out[:] = 0.0
    for g in range(ptr.shape[0] - 1):
        for e in range(ptr[g], ptr[g + 1]):
            out[feature[e]] += weight[g] * np.sqrt(count[e]) * (copies[e] + u[e] / rho)


@parallel_kernel(least=1000)
def copies_and_multipliers(groups, w, lam_sen, rho, relaxation, copies, u, chunk):
    """v and u after w: equations (5) and (4), the sentences in parallel."""
    ptr, feature, count, _ = groups
    for g in range(chunk[0], chunk[1]):
        square = 0.0
        for e in range(ptr[g], ptr[g + 1]):
            there = relaxation * np.sqrt(count[e]) * w[feature[e]] + (1.0 - relaxation) * copies[e]
            copies[e] = there - u[e] / rho  # z, for now
            u[e] = -copies[e]
            square += copies[e] * copies[e]
        norm = np.sqrt(square)
        factor = max(0.0, 1.0 - lam_sen / (rho * norm)) if norm > 0.0 else 0.0
        for e in range(ptr[g], ptr[g + 1]):
            copies[e] *= factor
            u[e] = rho * (u[e] + copies[e])  # u + ρ (v − ŵ) = ρ (v − z)
