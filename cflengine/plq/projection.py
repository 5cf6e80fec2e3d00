"""Coefficients that meet the constraints: the nearest ones, with bounds of single coefficients met to the last digit.

Examples
--------
Β₁ ≥ 0 holds its dual, ξ = 1, and β₁ = −1e-12 is what rounding left of 0.

>>> from cflengine.plq.arrays import rows_of
>>> from cflengine.plq.constraints import monotone, nonnegative
>>> both = nonnegative(2)
>>> onto = Projection(both, rows_of(both.A, np.ones(2)), np.ones(2))
>>> onto(np.array([-1e-12, 1.0]), np.array([1.0, 0.0])).tolist()
[0.0, 1.0]

Of a chain, β₁ ≤ β₂ ≤ β₃, the nearest are means.

>>> chain = monotone(3)
>>> onto = Projection(chain, rows_of(chain.A, np.full(2, 2.0)), np.ones(3))
>>> onto(np.array([1.0, 3.0, 2.0]), np.zeros(2)).tolist()
[1.0, 2.5, 2.5]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg
from scipy.optimize import isotonic_regression

from cflengine.plq import kernels
from cflengine.plq.certificate import FEASIBLE
from cflengine.plq.problem import Constraints

CONSTRAINT_ROUNDS = 20  # over all constraints, in a call of their kernel
_CALLS = 50
_TRIED = (0, 4, 19, _CALLS - 1)  # calls after which the constraints that hold are met as equations
_MOST_EQUATIONS = 1000
_NEAR_BOUND = (1e-6, 1e-9, 0.0)  # in what a coefficient does to the scores, of the largest
_DUST = 1e-14  # likewise: what rounding leaves of 0


class Projection:
    """Onto the coefficients that meet some constraints.

    Parameters
    ----------
    constraints : Constraints
        The constraints.
    rows : Rows
        Of theirs, for the kernel.
    norms : ndarray
        float64 (d,), of the data's columns.
    """

    def __init__(self, constraints: Constraints, rows: kernels.Rows, norms: np.ndarray) -> None:
        self.constraints, self.rows, self.norms = constraints, rows, norms
        self.chains = chains_of(constraints)

    def __call__(self, beta: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """β where it meets the constraints, else the nearest that does (Hildreth's method, which is their update by
        itself; isotonic regression of chains); coefficients that their duals ξ hold at a bound, or that are beyond it,
        lie on it."""
        constraints, norms = self.constraints, self.norms
        largest = float(np.max(np.abs(beta) * norms, initial=0.0))
        if constraints.violation(beta) > FEASIBLE:
            beta = self._nearest(beta, self._scales(largest))
        scales = self._scales(float(np.max(np.abs(beta) * norms, initial=0.0)))
        for near_bound in _NEAR_BOUND:  # the further only where other constraints allow it
            exact = constraints.at_bounds(beta, xi, near_bound * scales)
            if exact is beta or constraints.violation(exact) <= FEASIBLE:
                return exact
        return beta

    def _scales(self, largest: float) -> np.ndarray:
        """float64 (d,): coefficients that do as much to the scores."""
        return np.divide(largest, self.norms, out=np.zeros_like(self.norms), where=self.norms > 0.0)

    def _nearest(self, beta: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """The nearest β that meets the constraints, or nearly so; 0 where that does and nothing else was found."""
        constraints = self.constraints
        if self.chains is not None:
            return _on_chains(beta, *self.chains)
        near, prices = beta.copy(), np.zeros(len(constraints))
        for call in range(_CALLS):
            kernels.visit_constraints(
                self.rows, constraints.b, constraints.equal, prices, near, np.empty(0), (1.0, 0.0), CONSTRAINT_ROUNDS
            )  # fmt: skip
            found = np.where(np.abs(near) <= _DUST * scales, 0.0, near)
            if constraints.violation(found) <= 0.1 * FEASIBLE:
                return found
            if call in _TRIED:
                exact = _on(constraints, beta, constraints.equal | (prices > 0.0))
                if exact is not None:
                    exact[np.abs(exact) <= _DUST * scales] = 0.0
                    if constraints.violation(exact) <= FEASIBLE:
                        return exact
        nothing = np.zeros_like(beta)  # the nearest may be 0: what is left of β has the sizes of its rounding
        return nothing if constraints.violation(nothing) == 0.0 else near


def chains_of(constraints: Constraints) -> tuple[list[np.ndarray], np.ndarray, np.ndarray] | None:
    """Where all rows are β_j ≤ β_k, in chains, or bounds of one coefficient that are the same along each chain: the
    chains, int (m,) ascending, and the bounds, float64 (d,) each. None of other constraints, and where there is no
    chain."""
    A, b, equal = constraints.A, constraints.b, constraints.equal
    entries = np.diff(A.indptr)
    pairs = np.flatnonzero(entries == 2)
    if not len(pairs) or equal.any() or b[pairs].any() or not np.isin(entries, (1, 2)).all() or not A.data.all():
        return None
    at = A.indptr[pairs]
    first, second = A.data[at], A.data[at + 1]
    if np.any(first != -second):
        return None
    low = np.where(first < 0, A.indices[at], A.indices[at + 1])
    high = np.where(first < 0, A.indices[at + 1], A.indices[at])
    if len(np.unique(low)) < len(low) or len(np.unique(high)) < len(high):
        return None
    lower, upper = constraints.box
    above = dict(zip(low.tolist(), high.tolist(), strict=True))
    chains = []
    for begin in np.setdiff1d(low, high).tolist():
        chain = [begin]
        while chain[-1] in above:
            chain.append(above.pop(chain[-1]))
        chains.append(np.array(chain))
        if any(np.any(ends[chain] != ends[begin]) for ends in (lower, upper)):
            return None
    return None if above else (chains, lower, upper)  # what is left goes round


def _on_chains(beta: np.ndarray, chains: Sequence[np.ndarray], lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The nearest β: that on chains, cut off at the bounds."""
    found = beta.copy()
    for chain in chains:
        found[chain] = isotonic_regression(beta[chain]).x
    return np.clip(found, lower, upper)


def _on(constraints: Constraints, beta: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """The nearest β with aᵀβ + b = 0 for the rows that are held, which may depend on each other; None for too many."""
    if held.sum() > _MOST_EQUATIONS or len(beta) > _MOST_EQUATIONS:
        return None
    A = constraints.A[np.flatnonzero(held)].toarray()
    off = A @ beta + constraints.b[held]
    return beta - linalg.lstsq(A, off, check_finite=False)[0]
