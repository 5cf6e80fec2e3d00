"""numba kernel of iterative scaling: a convex problem in one variable for each feature."""

from __future__ import annotations

import numpy as np

from cflengine.engine import parallel_kernel

STEPS = 4  # of Newton's method for each feature


@parallel_kernel(least=500)
def scale_features(columns, scores, mass, observed, w, ridge, step, chunk):
    """step_j: about the minimiser of the bound in FIS (dense.py) plus ridge/2 (w_j + δ)².

    X by columns; scores: float64 (n,), of the positive class; mass: m_i; observed: Σ_{y_i = 1} x_ij. A Newton step
    moves no m_i δ by more than 2: the bound bends as the logistic function does, and otherwise further on.
    """
    indptr, rows, values = columns.indptr, columns.indices, columns.values
    for j in range(chunk[0], chunk[1]):
        delta, heaviest = 0.0, 0.0
        for k in range(indptr[j], indptr[j + 1]):
            heaviest = max(heaviest, mass[rows[k]])
        largest = 2.0 / heaviest if heaviest > 0.0 else 0.0
        for _ in range(STEPS):
            derivative = ridge * (w[j] + delta) - observed[j]
            curvature = ridge
            for k in range(indptr[j], indptr[j + 1]):
                i = rows[k]
                probability = 1.0 / (1.0 + np.exp(-scores[i] - mass[i] * delta))
                derivative += values[k] * probability
                curvature += values[k] * mass[i] * probability * (1.0 - probability)
            change = -derivative / curvature if curvature > 0.0 else 0.0
            delta += min(max(change, -largest), largest)
        step[j] = delta
