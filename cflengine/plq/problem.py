"""Empirical risk with a convex piecewise linear-quadratic (PLQ) loss as mathematics, in clear numpy.

    minimise over β, β₀   Σ_i L_i(x_iᵀβ + β₀) + μ/2 ‖β‖² + ν‖β‖₁   subject to   Aβ + b ≥ 0                           (P)

    L_i(z) = Σ_l ReLU(u_li z + v_li) + Σ_h ReHU_{τ_hi}(s_hi z + t_hi)
    ReLU(y) = max(y, 0);   ReHU_τ(y) = 0 for y ≤ 0,  y²/2 for 0 < y ≤ τ,  τ(y − τ/2) beyond;  τ = ∞ allowed

Rows of A may hold with equality; β₀ is free, or 0. Source: Dai and Qiu, "ReHLine: Regularized Composite ReLU-ReHU Loss
Minimization with Linear Computation and Linear Convergence", NeurIPS 2023, with μ = 1, ν = 0 and no β₀.

The dual. ReLU(y) = max_{0≤λ≤1} λy and ReHU_τ(y) = max_{0≤γ≤τ} γy − γ²/2, so with a_i = Σ_l λ_li u_li + Σ_h γ_hi s_hi,
q = Aᵀξ − Σ_i a_i x_i and soft(q)_j = sign(q_j) max(|q_j| − ν, 0),

    maximise over λ, γ, ξ   Σ λv + Σ (γt − γ²/2) − ξᵀb − ‖soft(q)‖²/(2μ)
    subject to              0 ≤ λ ≤ 1,  0 ≤ γ ≤ τ,  ξ ≥ 0 (free where a row holds with equality),
                            Σ_i a_i = 0 if β₀ is free,

and β = soft(q)/μ, the linear relation that is carried along. With z_i = x_iᵀβ + β₀, the best single coordinates are,
for ν = 0 exactly and else by a bound on the curvature,

    λ_li ← clip(λ_li + (u_li z_i + v_li) / (u_li² ‖x_i‖²/μ), 0, 1)
    γ_hi ← clip(γ_hi + (s_hi z_i + t_hi − γ_hi) / (s_hi² ‖x_i‖²/μ + 1), 0, τ_hi)
    ξ_k  ← max(ξ_k − (a_kᵀβ + b_k) / (‖a_k‖²/μ), 0)

since the dual's derivative in λ_li is u_li z_i + v_li, its second one −u_li² ‖x_i‖²/μ, and likewise for the others.

Examples
--------
One observation x = 1, the hinge loss of y = 1 (u = −1, v = 1), μ = 1. From λ = 0, β = 0: λ ← clip(0 +
1/1, 0, 1) = 1, β = −λux = 1: the optimum, β²/2 = λv − β²/2 = 1/2.

>>> import numpy as np
>>> one, none = np.ones((1, 1)), np.zeros((1, 0))
>>> hinge = CompositeLoss(U=-one, V=one, S=none, T=none, tau=none)
>>> hinge.value(np.array([0.0])).tolist(), hinge.value(np.array([1.0])).tolist()
([1.0], [0.0])

Shapes: X float64 (n, d), dense in C order or CSR; U, V float64 (n, L); S, T, tau float64 (n, H); A CSR (K, d).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse


def rehu(y: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """ReHU_τ(y), elementwise."""
    inside = np.clip(y, 0.0, tau)
    return inside * (np.maximum(y, 0.0) - 0.5 * inside)


def row_sums(values: np.ndarray) -> np.ndarray:
    """float64 (n,): the sums of short rows, a column at a time, which takes a tenth of numpy's own."""
    total = np.zeros(len(values))
    for column in values.T:
        total += column
    return total


@dataclass(frozen=True)
class CompositeLoss:
    """One loss per observation: U, V (n, L), S, T, tau (n, H), all float64 in C order; ``constant`` is added to their
    sum and plays no part in the optimisation."""

    U: np.ndarray
    V: np.ndarray
    S: np.ndarray
    T: np.ndarray
    tau: np.ndarray
    constant: float = 0.0

    def __len__(self) -> int:
        return len(self.U)

    def value(self, z: np.ndarray) -> np.ndarray:
        """float64 (n,): L_i(z_i), without the constant."""
        z = z[:, None]
        return row_sums(np.maximum(self.U * z + self.V, 0.0)) + row_sums(rehu(self.S * z + self.T, self.tau))

    def kinks(self) -> np.ndarray:
        """float64 (m,): where the parts that have a slope begin to rise."""
        return np.concatenate(
            [-self.V[self.U != 0.0] / self.U[self.U != 0.0], -self.T[self.S != 0.0] / self.S[self.S != 0.0]]
        )

    def derivative(self, z: np.ndarray) -> np.ndarray:
        """float64 (n,): the derivative of L_i at z_i, the right one at a kink of a rising part."""
        z = z[:, None]
        relu = row_sums(self.U * (self.U * z + self.V > 0))
        return relu + row_sums(self.S * np.clip(self.S * z + self.T, 0.0, self.tau))


@dataclass(frozen=True)
class Constraints:
    """Aβ + b ≥ 0, with equality where ``equal``.

    Parameters
    ----------
    A : csr_matrix
        float64 (K, d), in CSR.
    b : ndarray
        float64 (K,).
    equal : ndarray
        bool (K,).
    """

    A: sparse.csr_matrix = field(repr=False)
    b: np.ndarray = field(repr=False)
    equal: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.b)

    def violation(self, beta: np.ndarray) -> float:
        """The largest amount by which a row fails, relative to |b_k| + Σ_j |a_kj β_j|, what it is the sum of, so that
        neither units nor other rows' coefficients matter; 0 where none does."""
        failing = self.failing(beta)
        if not failing.any():
            return 0.0
        sizes = np.abs(self.b) + self.absolute @ np.abs(beta)
        return float(np.max(np.divide(failing, sizes, out=np.zeros_like(failing), where=failing != 0.0)))

    def failing(self, beta: np.ndarray) -> np.ndarray:
        """float64 (K,): by how much each row fails, at least 0."""
        slack = self.A @ beta + self.b
        return np.where(self.equal, np.abs(slack), np.maximum(-slack, 0.0))

    def combination(self, xi: np.ndarray) -> np.ndarray:
        """float64 (d,): Aᵀξ."""
        return self._transposed @ xi if len(self) else np.zeros(self.A.shape[1])

    def at_bounds(self, beta: np.ndarray, xi: np.ndarray, near: np.ndarray) -> np.ndarray:
        """β with each coefficient j at its bound that is beyond it, or held there by its dual and at most near_j off:
        rows of one coefficient can be met to the last digit. β itself where none is to move."""
        rows, columns, factors = self.single_rows
        if not len(rows):
            return beta
        slack = factors * beta[columns] + self.b[rows]
        held = (self.equal[rows] | (xi[rows] > 0.0)) & (np.abs(slack) <= np.abs(factors) * near[columns])
        moved = (slack != 0.0) & (held | ((slack < 0.0) & ~self.equal[rows]))
        if not moved.any():
            return beta
        found = beta.copy()
        found[columns[moved]] = 0.0 - self.b[rows[moved]] / factors[moved]
        return found

    @cached_property
    def single_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of one coefficient, its column, and its factor."""
        A = self.A
        rows = np.flatnonzero(np.diff(A.indptr) == 1)
        at = A.indptr[rows]
        some = A.data[at] != 0.0
        return rows[some], A.indices[at[some]], A.data[at[some]]

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """float64 (d,) each: the least and the largest β_j that the rows of one coefficient leave."""
        rows, columns, factors = self.single_rows
        lower, upper = np.full(self.A.shape[1], -np.inf), np.full(self.A.shape[1], np.inf)
        ends, equal = 0.0 - self.b[rows] / factors, self.equal[rows]  # 0 itself, not −0
        below, above = (factors > 0) | equal, (factors < 0) | equal
        np.maximum.at(lower, columns[below], ends[below])
        np.minimum.at(upper, columns[above], ends[above])
        return lower, upper

    @cached_property
    def absolute(self) -> sparse.csr_matrix:
        """|A|."""
        return abs(self.A)

    @cached_property
    def norms(self) -> np.ndarray:
        """float64 (K,): ‖a_k‖²."""
        return np.asarray(self.A.multiply(self.A).sum(axis=1)).ravel()

    def magnitude(self, xi: np.ndarray) -> np.ndarray:
        """float64 (d,): |A|ᵀ|ξ|."""
        return np.asarray(self._absolute_transposed @ np.abs(xi)).ravel()

    @cached_property
    def _absolute_transposed(self) -> sparse.csr_matrix:
        return abs(self._transposed)

    @cached_property
    def _transposed(self) -> sparse.csr_matrix:
        return self.A.T.tocsr()


def no_constraints(d: int) -> Constraints:
    """No constraints at all.

    Parameters
    ----------
    d : int
        Coefficients.

    Returns
    -------
    Constraints
        Of no row.
    """
    return Constraints(sparse.csr_matrix((0, d)), np.zeros(0), np.zeros(0, dtype=bool))


@dataclass(frozen=True)
class PLQProblem:
    """(P): see the module's docstring.

    Parameters
    ----------
    X : ndarray or csr_matrix
        float64 (n, d).
    loss : CompositeLoss
        One for each observation.
    constraints : Constraints
        On β.
    mu : float, default: 1.0
        μ > 0, of ridge.
    nu : float, default: 0.0
        ν ≥ 0, of the lasso.
    intercept : bool, default: False
        Whether β₀ is free.
    """

    X: np.ndarray | sparse.csr_matrix = field(repr=False)
    loss: CompositeLoss = field(repr=False)
    constraints: Constraints = field(repr=False)
    mu: float = 1.0
    nu: float = 0.0
    intercept: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.X.shape

    def scores(self, beta: np.ndarray, bias: float = 0.0) -> np.ndarray:
        """float64 (n,): z."""
        return np.asarray(self.X @ beta).ravel() + bias

    def penalty(self, beta: np.ndarray) -> float:
        """μ/2 ‖β‖² + ν‖β‖₁."""
        return float(0.5 * self.mu * (beta @ beta) + self.nu * np.abs(beta).sum())

    def objective(self, beta: np.ndarray, bias: float = 0.0) -> float:
        """The value of (P), the loss's constant included; feasibility is not looked at."""
        return float(self.loss.value(self.scores(beta, bias)).sum()) + self.loss.constant + self.penalty(beta)

    def weights(self, lam: np.ndarray, gam: np.ndarray) -> np.ndarray:
        """float64 (n,): a_i = Σ_l λ_li u_li + Σ_h γ_hi s_hi."""
        return row_sums(lam * self.loss.U) + row_sums(gam * self.loss.S)

    def combination(self, a: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """float64 (d,): q = Aᵀξ − Xᵀa."""
        return self.constraints.combination(xi) - np.asarray(self.X.T @ a).ravel()

    def coefficients(self, q: np.ndarray) -> np.ndarray:
        """float64 (d,): β = soft(q)/μ."""
        return (np.sign(q) * np.maximum(np.abs(q) - self.nu, 0.0) if self.nu > 0 else q) / self.mu

    def dual(self, lam: np.ndarray, gam: np.ndarray, xi: np.ndarray) -> float:
        """The dual's value, the constant included, at duals in their boxes (Σ a = 0 is not looked at)."""
        beta = self.coefficients(self.combination(self.weights(lam, gam), xi))
        loss = self.loss
        linear = float((lam * loss.V).sum() + (gam * loss.T - 0.5 * gam * gam).sum() - xi @ self.constraints.b)
        return linear - 0.5 * self.mu * float(beta @ beta) + loss.constant
