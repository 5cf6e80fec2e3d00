"""(P) of the PLQ package as a smooth programme in more variables, solved by SLSQP: slow, and nothing like the solver.

ReLU(y) = min e over e ≥ 0, e ≥ y; ReHU_τ(y) = min p²/2 + τr over p, r ≥ 0, p + r ≥ y; |β| = min of two parts.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

from cflengine.plq.problem import PLQProblem


def optimum(problem: PLQProblem) -> float:
    """The value of (P)."""
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    (n, d), loss, limits = X.shape, problem.loss, problem.constraints
    L, H = loss.U.shape[1], loss.S.shape[1]
    finite = np.isfinite(loss.tau)
    sizes = [d, d, 1, n * L, n * H, n * H]
    starts = np.cumsum([0, *sizes])
    up, down, bias, e, p, r = (slice(a, b) for a, b in pairwise(starts))
    total = int(starts[-1])
    cost, square = np.zeros(total), np.zeros(total)
    cost[up] = cost[down] = problem.nu
    cost[e] = 1.0
    cost[r] = np.where(finite, loss.tau, 0.0).ravel()
    square[p] = 1.0

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        beta = v[up] - v[down]
        gradient = cost + square * v
        gradient[up] += problem.mu * beta
        gradient[down] -= problem.mu * beta
        return float(cost @ v + 0.5 * (square * v * v).sum() + 0.5 * problem.mu * beta @ beta), gradient

    rows, lower = [], []
    for i in range(n):
        for k in range(L + H):
            row = np.zeros(total)
            slope, level = (loss.U[i, k], loss.V[i, k]) if k < L else (loss.S[i, k - L], loss.T[i, k - L])
            row[up], row[down], row[bias] = -slope * X[i], slope * X[i], -slope
            if k < L:
                row[starts[3] + i * L + k] = 1.0
            else:
                row[starts[4] + i * H + k - L] = row[starts[5] + i * H + k - L] = 1.0
            rows.append(row)
            lower.append(level)
    equal = []
    for k in range(len(limits)):
        row = np.zeros(total)
        a = limits.A[k].toarray().ravel()
        row[up], row[down] = a, -a
        rows.append(row)
        lower.append(-limits.b[k])
        equal.append(len(rows) - 1)
    fixed = [place for k, place in enumerate(equal) if limits.equal[k]]
    free = [place for place in range(len(rows)) if place not in fixed]
    rows_there, levels = np.array(rows), np.array(lower)
    linear = [LinearConstraint(rows_there[free], levels[free])]
    if fixed:
        linear.append(LinearConstraint(rows_there[fixed], levels[fixed], levels[fixed]))
    ends = [(0.0, None)] * total
    for place in range(starts[2], starts[3]):
        ends[place] = (None, None) if problem.intercept else (0.0, 0.0)
    for place, there in zip(range(starts[5], starts[6]), finite.ravel(), strict=True):
        ends[place] = (0.0, None) if there else (0.0, 0.0)
    start = np.full(total, 0.1)
    answer = minimize(
        value, start, jac=True, bounds=ends, method="trust-constr" if total > 400 else "SLSQP",
        constraints=linear,
        options={"maxiter": 3000, "ftol": 1e-13},
    )  # fmt: skip
    return float(answer.fun) + loss.constant
