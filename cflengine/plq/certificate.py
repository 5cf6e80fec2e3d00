"""What a solution of (P) is worth, recomputed from the data in float64 numpy; imports no kernel and no solver.

Any duals in their boxes with Σ a_i = 0 (where β₀ is free) give a lower bound, any β that meets the constraints an upper
one (problem.py). Duals are clipped into their boxes; where β₀ is free and Σ a_i is not 0, the side that outweighs the
other is scaled down, which stays in the boxes.

Both are rounded outward. A score x_iᵀβ is off by at most (n_i + 2)ε Σ_j |x_ij β_j| ≤ (n_i + 2)ε ‖x_i‖‖β‖, so a loss,
which is convex, is at most its larger value at either end; an entry of q likewise, of which the larger square counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from cflengine.engine.gaps import EPSILON, relative_gap, round_down, round_up, sum_terms
from cflengine.plq.problem import PLQProblem

FEASIBLE = 1e-9  # the largest relative violation of a constraint at which an objective is one of (P)


@dataclass(frozen=True)
class Certificate:
    """objective: of (P) at β, rounded up; lower_bound: on the optimum, rounded down; violation: the largest of the
    constraints, relative; price = Σ_k |ξ_k| f_k, with f_k by how much constraint k fails; gap = (objective +
    price)/lower_bound − 1, or what gaps.py has for numbers below 0: the objective alone may lie below the bound there,
    this sum cannot, as the Lagrangian does not exceed it. Where the violation is above 1e-9 the objective is not one of
    (P), and objective and gap are estimates. scores: float64 (n,); q: float64 (d,), of the duals that the bound is
    of."""

    objective: float
    lower_bound: float
    gap: float
    violation: float
    price: float
    scores: np.ndarray = field(repr=False)
    q: np.ndarray = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether the gap is."""
        return self.violation <= FEASIBLE


@dataclass(frozen=True)
class Sizes:
    """Norms that bound rounding, float64: rows (n,) and columns (d,), squared, and entries of the rows (n,)."""

    rows: np.ndarray
    entries: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray | sparse.csr_matrix) -> Sizes:
        """Those of a matrix."""
        if isinstance(X, np.ndarray):
            entries = np.full(X.shape[0], float(X.shape[1]))
            return cls(np.einsum("ij,ij->i", X, X), entries, np.einsum("ij,ij->j", X, X))
        squares = sparse.csr_matrix((np.square(X.data), X.indices, X.indptr), X.shape)
        rows, columns = (np.asarray(squares.sum(axis=axis)).ravel() for axis in (1, 0))
        return cls(rows, np.diff(X.indptr).astype(np.float64), columns)


def balance(problem: PLQProblem, lam: np.ndarray, gam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The duals with Σ a_i = 0: parts of the heavier side are scaled down."""
    terms = np.concatenate([(lam * problem.loss.U).ravel(), (gam * problem.loss.S).ravel()])
    up, down = float(terms[terms > 0].sum()), float(-terms[terms < 0].sum())
    if up == down:
        return lam, gam
    sign, factor = (1.0, down / up) if up > down else (-1.0, up / down)
    lighter = [
        np.where(sign * factor_of > 0, dual * factor, dual)
        for dual, factor_of in ((lam, problem.loss.U), (gam, problem.loss.S))
    ]
    return lighter[0], lighter[1]


def upper_bound(
    problem: PLQProblem, beta: np.ndarray, bias: float, sizes: Sizes, z: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """The objective of (P) at (β, β₀), rounded up, and the scores z, which are worked out unless they are given."""
    z = problem.scores(beta, bias) if z is None else z
    off = EPSILON * (sizes.entries + 3.0) * (np.sqrt(sizes.rows * float(beta @ beta)) * 1.01 + abs(bias))
    losses = np.maximum(problem.loss.value(z - off), problem.loss.value(z + off))
    value = float(losses.sum()) + problem.penalty(beta) + problem.loss.constant
    terms = 8.0 * (problem.loss.U.shape[1] + problem.loss.S.shape[1] + 2) + sum_terms(len(z)) + sum_terms(len(beta))
    return round_up(value, terms, abs(value) + abs(problem.loss.constant)), z


def lower_bound(
    problem: PLQProblem,
    lam: np.ndarray,
    gam: np.ndarray,
    xi: np.ndarray,
    sizes: Sizes,
    q: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """The dual's value, rounded down, and q, which is worked out unless it is given."""
    loss, constraints = problem.loss, problem.constraints
    lam, gam = np.clip(lam, 0.0, 1.0), np.clip(gam, 0.0, loss.tau)
    xi = np.where(constraints.equal, xi, np.maximum(xi, 0.0))
    n_parts = loss.U.shape[1] + loss.S.shape[1]
    scaling = 0.0
    if problem.intercept:
        # the bound is that of duals that balance exactly, which are within so many roundings of these
        lam, gam = balance(problem, lam, gam)
        scaling = 8.0 + sum_terms(n_parts * len(lam))
    a = problem.weights(lam, gam)
    q = problem.combination(a, xi) if q is None else q
    size = float(np.sqrt((a * a).sum()))
    off = EPSILON * (len(a) + n_parts + 3.0 + scaling) * np.sqrt(sizes.columns) * size * 1.01
    if len(constraints):
        off += EPSILON * (len(xi) + 2.0) * constraints.magnitude(xi) * 1.01
    soft = np.maximum(np.abs(q) + off - problem.nu, 0.0) / problem.mu
    linear = [(lam * loss.V).ravel(), (gam * loss.T).ravel(), -0.5 * (gam * gam).ravel(), -xi * constraints.b]
    value = sum(float(part.sum()) for part in linear) - 0.5 * problem.mu * float(soft @ soft) + loss.constant
    magnitude = sum(float(np.abs(part).sum()) for part in linear) + 0.5 * problem.mu * float(soft @ soft)
    magnitude += abs(loss.constant)
    terms = 8.0 + scaling + sum_terms(n_parts * len(a)) + sum_terms(len(q))
    return round_down(value, terms, magnitude), q


def certify(
    problem: PLQProblem,
    beta: np.ndarray,
    bias: float,
    duals: tuple[np.ndarray, np.ndarray, np.ndarray],
    sizes: Sizes | None = None,
    *,
    scores: np.ndarray | None = None,
    q: np.ndarray | None = None,
) -> Certificate:
    """Objective, bound, gap and violation of a solution; duals: lam (n, L), gam (n, H), xi (K,).

    scores, q: the products of the data with β (and β₀) and with the duals, where the caller has just worked them out.
    """
    sizes = sizes or Sizes.of(problem.X)
    objective, z = upper_bound(problem, beta, bias, sizes, scores)
    bound, q = lower_bound(problem, *duals, sizes, q)
    constraints, price = problem.constraints, 0.0
    if len(constraints):
        price = float(np.abs(duals[2]) @ constraints.failing(beta))
    gap = relative_gap(objective + price, bound)
    return Certificate(objective, bound, gap, constraints.violation(beta), price, z, q)
