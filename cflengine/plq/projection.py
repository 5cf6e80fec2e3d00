"""Coefficients that meet the constraints: the nearest ones, with bounds of single coefficients met to the last digit.

Examples
--------
Β₁ ≥ 0 holds its dual, ξ = 1, and β₁ = −1e-12 is what rounding left of 0.

>>> from cflengine.plq.arrays import rows_of
>>> from cflengine.plq.constraints import nonnegative
>>> both = nonnegative(2)
>>> feasible(both, rows_of(both.A, np.ones(2)), np.array([-1e-12, 1.0]), np.array([1.0, 0.0]), np.ones(2)).tolist()
[0.0, 1.0]
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from cflengine.plq import kernels
from cflengine.plq.certificate import FEASIBLE
from cflengine.plq.problem import Constraints

CONSTRAINT_ROUNDS = 20  # over all constraints, in a call of their kernel
_CALLS = 50
_TRIED = (0, 4, 19, _CALLS - 1)  # calls after which the constraints that hold are met as equations
_MOST_EQUATIONS = 1000
_NEAR_BOUND = (1e-6, 1e-9, 0.0)  # in what a coefficient does to the scores, of the largest


def feasible(
    constraints: Constraints, rows: kernels.Rows, beta: np.ndarray, xi: np.ndarray, norms: np.ndarray
) -> np.ndarray:
    """β where it meets the constraints, else the nearest that does (Hildreth's method, which is their update by
    itself); coefficients that their duals ξ hold at a bound, or that are beyond it, lie on it.

    rows: of the constraints, for the kernel; beta, norms: float64 (d,), norms those of the data's columns.
    """
    if constraints.violation(beta) > FEASIBLE:
        beta = _nearest(constraints, rows, beta)
    largest = float(np.max(np.abs(beta) * norms, initial=0.0))
    scales = np.divide(largest, norms, out=np.zeros_like(norms), where=norms > 0.0)
    for near_bound in _NEAR_BOUND:  # the further only where other constraints allow it
        exact = constraints.at_bounds(beta, xi, near_bound * scales)
        if exact is beta or constraints.violation(exact) <= FEASIBLE:
            return exact
    return beta


def _nearest(constraints: Constraints, rows: kernels.Rows, beta: np.ndarray) -> np.ndarray:
    """The nearest β that meets the constraints, or nearly so; 0 where that does and nothing else was found."""
    near, prices = beta.copy(), np.zeros(len(constraints))
    for call in range(_CALLS):
        kernels.visit_constraints(
            rows, constraints.b, constraints.equal, prices, near, np.empty(0), (1.0, 0.0), CONSTRAINT_ROUNDS
        )  # fmt: skip
        if constraints.violation(near) <= 0.1 * FEASIBLE:
            return near
        if call in _TRIED:
            exact = _on(constraints, beta, constraints.equal | (prices > 0.0))
            if exact is not None and constraints.violation(exact) <= FEASIBLE:
                return exact
    nothing = np.zeros_like(beta)  # the nearest may be 0: what is left of β has the sizes of its rounding
    return nothing if constraints.violation(nothing) == 0.0 else near


def _on(constraints: Constraints, beta: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """The nearest β with aᵀβ + b = 0 for the rows that are held, which may depend on each other; None for too many."""
    if held.sum() > _MOST_EQUATIONS or len(beta) > _MOST_EQUATIONS:
        return None
    A = constraints.A[np.flatnonzero(held)].toarray()
    off = A @ beta + constraints.b[held]
    return beta - linalg.lstsq(A, off, check_finite=False)[0]
