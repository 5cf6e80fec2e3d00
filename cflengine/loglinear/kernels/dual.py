"""numba kernel of dual coordinate descent for logistic regression (Yu, Huang, Lin 2011)."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def dual_pass(rows, y, square, ridge, order, alpha, w, precision):
    """Once over the documents in ``order``: minimise the dual over each α_i ∈ (0, 1) in turn; changes α and w.

    The dual: ½‖Σ α_i y_i x_i‖²/ridge + Σ |y_i| (α_i log α_i + (1 − α_i) log(1 − α_i)), w = Σ α_i y_i x_i/ridge. y: the
    documents' weights with the sign of their class; square: |y_i| ‖x_i‖².
    Each subproblem by Newton's method on whichever of α_i and 1 − α_i is the smaller at its solution, where it is
    safe (their Algorithm 4), until its derivative is below ``precision``.
    rows: ``linear.design.Arrays``. Returns the number of Newton steps.
    """
    indptr, indices, values = rows
    ones = values.shape[0] == 0
    n_steps = 0
    for i in order:
        score = 0.0
        if ones:
            for k in range(indptr[i], indptr[i + 1]):
                score += w[indices[k]]
        else:
            for k in range(indptr[i], indptr[i + 1]):
                score += values[k] * w[indices[k]]
        if y[i] < 0.0:
            score = -score
        curvature = square[i] / ridge
        before = alpha[i]
        sign = 1.0
        if 0.5 * curvature * (1.0 - 2.0 * before) + score < 0.0:  # the solution is above 1/2: work on 1 − α
            before = 1.0 - before
            sign = -1.0
        z = 0.1 * before if before > 0.5 else before
        derivative = curvature * (z - before) + sign * score + np.log(z / (1.0 - z))
        steps = 0
        while abs(derivative) >= precision and steps < 100:
            there = z - derivative / (curvature + 1.0 / (z * (1.0 - z)))
            z = there if there > 0.0 else 0.1 * z
            derivative = curvature * (z - before) + sign * score + np.log(z / (1.0 - z))
            steps += 1
        if steps:
            n_steps += steps
            change = sign * (z - before)
            alpha[i] = z if sign > 0.0 else 1.0 - z
            change *= y[i] / ridge
            if ones:
                for k in range(indptr[i], indptr[i + 1]):
                    w[indices[k]] += change
            else:
                for k in range(indptr[i], indptr[i + 1]):
                    w[indices[k]] += change * values[k]
    return n_steps
