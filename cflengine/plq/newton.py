"""Newton's method on an augmented Lagrangian, for few features: where coordinate descent crawls, it takes a few steps.

Coordinate descent takes one observation at a time, and many passes where features are far from 0, of very different
sizes, or all but dependent. In the method of multipliers a ReLU with the multiplier Λ and a step σ is, in place of
max(y, 0) with y = uz + v,

    ψ(y) = max over 0 ≤ λ ≤ 1 of  λy − (λ − Λ)²/(2σ),      λ(y) = min(max(Λ + σy, 0), 1),  ψ' = λ(y)

which is smooth, and so is a constraint, with ξ(c) = max(ξ − σc, 0) for c = aᵀβ + b ≥ 0 (not cut off at 0 for c = 0);
ReHUs are smooth as they are. What is left,

    φ(β, β₀) = μ/2 ‖β‖² + Σ ψ(u_li z_i + v_li) + Σ ReHU_τ(s_hi z_i + t_hi) + Σ_k (ξ(c_k)² − ξ_k²)/(2σ) + Σ_j ρ(β_j)
    ρ(β) = max over |r| ≤ ν of  rβ − (r − R)²/(2σ),      r(β) = min(max(R + σβ, −ν), ν),  ρ' = r(β),  for ν|β|

is convex and piecewise quadratic: Newton's method with the curvature of the piece at hand ends after a few steps (Qi
and Sun, 1993), each at the cost of two products with the data and of Xᵀ D X over the observations between their kinks,
of which a solution of an SVM has hardly more than features. Where there are fewer, as on the way there is, the steps
are damped (Levenberg and Marquardt). Its λ, γ and ξ are duals in their boxes, become the next Λ
and ξ, and prove a bound with no more work; σ grows, and the gap falls faster and faster (Rockafellar, 1976).

A coefficient whose r lies between −ν and ν is 0 in the end, and is reported as 0. σ belongs to z: σ_li = h/u_li², where
h is the curvature of ψ between its kinks; a coefficient's is h times its feature's sum of squares, and that of a
constraint h times their mean over ‖a_k‖²: as much as all observations together would have.

Examples
--------
The hinge loss of one observation, 2, of class 1 (problem.py), whose best β is at the kink, 1/2.

>>> from cflengine.plq.problem import CompositeLoss, no_constraints
>>> one, none = np.ones((1, 1)), np.zeros((1, 0))
>>> problem = PLQProblem(2.0 * one, CompositeLoss(U=-one, V=one, S=none, T=none, tau=none), no_constraints(1))
>>> start = Iterate(np.zeros((1, 1)), none, np.zeros(0), np.zeros(1), 0.0)
>>> *_, (found, steps) = AugmentedNewton(problem, np.array([4.0]), start, 1e-3, lambda: True)
>>> found.beta.round(6).tolist(), found.lam.round(6).tolist()
([0.5], [[0.25]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from cflengine.plq.problem import PLQProblem

MOST_FEATURES = 1000  # Xᵀ D X has their square
_MOST_STEPS, _MOST_ROUNDS = 40, 40  # of a round, and rounds
_MOST_FAILED = 6  # rounds that did not come to their end
_FEW, _MANY = 10, 25  # steps of a round, by which h grows for the next: 5 times, twice, or not
_GROWTH, _TIGHTER = 5.0, 0.1  # h, and what φ may miss, from one round to the next
_EASIER = 2.0  # the largest h, after a round of few steps
_LINE_STEPS = 40
_SHORT, _LEAST, _MORE = 0.1, 1e-8, 10.0  # of a step; the damping begins with, of all observations' curvature; grows by
_BLOCK_ENTRIES = 1 << 18  # of a dense matrix that are worked on at a time
_STEPS, _SMOOTH_STEPS = 25, 6  # that it usually takes, with ReLUs and without
_LEFT = 0.25  # of the observations between kinks of ReLUs, on the way to a solution
_SOONER = 1.0  # by this factor it has to be, to take over
_SEEN, _EARLIER = 0.3, 0.6  # passes before that is judged, of its own cost; where a rate begins, of the passes so far
_OVERFLOWING = np.errstate(over="ignore", invalid="ignore")  # numbers near 1e300 end a round
_PRODUCTS = 20.0  # multiplications of Xᵀ D X in the time of one of a pass


def passes_of_newton(problem: PLQProblem, between: int, entries: float) -> float:
    """How many passes of coordinate descent the method takes the time of, inf where it cannot be had.

    between: observations that are between kinks of their loss; entries: of a row, on average.
    """
    if problem.shape[1] > MOST_FEATURES:
        return np.inf
    share = between / max(problem.shape[0], 1)
    steps, share = (_STEPS, _LEFT * share) if problem.loss.U.shape[1] else (_SMOOTH_STEPS, share)
    return steps * (1.0 + share * entries / _PRODUCTS)


def is_sooner(cost: float, proofs: Sequence[tuple[float, float]], tol: float) -> bool:
    """Whether the method, at ``cost`` passes, would be at the gap ``tol`` sooner than passes are, by how the gap fell.

    proofs: passes before, and the gap, of each proof since it was last tried; inf where no solution is found yet.
    """
    work = proofs[-1][0]
    earlier = [proof for proof in proofs if proof[0] <= _EARLIER * work]
    if not earlier or work < _SEEN * cost:
        return False
    before, now = (math.log(min(max(proof[1], 1e-300), 1e300)) for proof in (earlier[-1], proofs[-1]))
    fall = (before - now) / (work - earlier[-1][0])
    return max(now - math.log(tol), 0.0) > _SOONER * cost * max(fall, 0.0)


@dataclass(frozen=True)
class Iterate:
    """λ float64 (n, L), γ float64 (n, H), ξ float64 (K,), and β float64 (d,) with its β₀, which is closer to a
    minimiser than what the duals give: the difference, φ's gradient over μ, counts much where features are large."""

    lam: np.ndarray
    gam: np.ndarray
    xi: np.ndarray
    beta: np.ndarray
    bias: float


@dataclass(frozen=True)
class _Place:
    """φ along a line: derivative and curvature by observation, and what they come from."""

    z: np.ndarray
    c: np.ndarray
    lam: np.ndarray
    gam: np.ndarray
    xi: np.ndarray
    a: np.ndarray
    beta: np.ndarray
    r: np.ndarray


class AugmentedNewton:
    """Rounds of the method of multipliers; iterating gives what is found after each, best last."""

    @_OVERFLOWING
    def __init__(
        self, problem: PLQProblem, columns: np.ndarray, start: Iterate, off: float, poll: Callable[[], bool]
    ) -> None:
        """columns: float64 (d,), the sums of their squares; off: by how much φ may miss its least value at first, and
        ``least`` in the end; poll: asked before every step whether to go on."""
        self.problem, self.off, self.least, self.poll, self.steps = problem, off, 1e-6 * off, poll, 0
        self.lam, self.xi, self.beta, self.bias = start.lam.copy(), start.xi.copy(), start.beta.copy(), start.bias
        # how strongly coefficients and constraints are held, as observations are by h
        norms = problem.constraints.norms
        self.columns = np.where(columns > 0.0, columns, 1.0)
        self.hold = (columns.mean() or 1.0) / np.where(norms > 0.0, norms, 1.0)
        q = problem.combination(problem.weights(start.lam, start.gam), start.xi)
        self.r = np.clip(q, -problem.nu, problem.nu)
        self.h, self.largest, self.damping = self._first_curvature(problem.scores(start.beta)), np.inf, 0.0

    def _first_curvature(self, z: np.ndarray) -> float:
        """What h begins with: a ReLU's derivative over how far kinks or scores are apart; ReHUs' own where there is
        none."""
        loss = self.problem.loss
        U, V, S = loss.U[loss.U != 0.0], loss.V[loss.U != 0.0], loss.S[loss.S != 0.0]
        if not U.size:
            return float(np.mean(S**2)) if S.size else 1.0
        return float(np.sqrt(np.mean(U**2))) / (max(float(np.std(V / U)), float(z.std())) or 1.0)

    def __iter__(self) -> Iterator[tuple[Iterate, int]]:
        """And the steps it took. Ends where the work is stopped or a round changes nothing."""
        told, failed = 0, 0
        for _ in range(_MOST_ROUNDS):
            before, (place, solved) = self.steps, self._solve()
            if place is None:
                return
            if not solved:  # too many kinks for so few steps: the same multipliers, and no such h until rounds are easy
                self.h = self.largest = self.h / _GROWTH
                failed += 1
                if failed > _MOST_FAILED:
                    return
                continue
            before_after = ((place.lam, self.lam), (place.xi, self.xi), (place.r, self.r))
            same = all(np.array_equal(*pair) for pair in before_after)
            idle = self.steps == before and same
            if idle and self.off == self.least:
                return
            self.lam, self.xi, self.r = place.lam, place.xi, place.r
            if not idle:
                beta = np.where(np.abs(place.r) < self.problem.nu, 0.0, self.beta)
                yield Iterate(place.lam, place.gam, place.xi, beta, self.bias), self.steps - told
                told = self.steps
            steps = self.steps - before
            self.largest *= _EASIER if steps <= _FEW else 1.0
            self.h = min(self.h * (_GROWTH if steps <= _FEW else 2.0 if steps <= _MANY else 1.0), self.largest)
            self.off = max(self.off * _TIGHTER, self.least)

    @_OVERFLOWING
    def _solve(self) -> tuple[_Place | None, bool]:
        """Newton's method on φ at the multipliers at hand, and whether it came to its end; None if stopped."""
        problem = self.problem
        c = problem.constraints.A @ self.beta + problem.constraints.b
        at = self._at(problem.scores(self.beta, self.bias), c, self.beta)
        for _ in range(_MOST_STEPS):
            if not self.poll():
                return None, False
            gradient = self._derivative(at)
            if self._is_small(gradient, at):
                return at, True
            step = -self._curved(at, gradient)
            if not np.isfinite(step).all():
                break
            self.steps += 1
            move = step[:-1] if problem.intercept else step
            dz = problem.scores(move, float(step[-1]) if problem.intercept else 0.0)
            length, at = self._along(at, dz, problem.constraints.A @ move, move)
            self._damp(length)
            if length == 0.0:
                break
            self.beta = at.beta
            self.bias += length * float(step[-1]) if problem.intercept else 0.0
        return at, False

    def _at(self, z: np.ndarray, c: np.ndarray, beta: np.ndarray) -> _Place:
        loss, constraints = self.problem.loss, self.problem.constraints
        with np.errstate(divide="ignore", invalid="ignore"):
            sigma = np.where(loss.U != 0.0, self.h / loss.U**2, 0.0)
        lam = np.clip(self.lam + sigma * (loss.U * z[:, None] + loss.V), 0.0, 1.0)
        gam = np.clip(loss.S * z[:, None] + loss.T, 0.0, loss.tau)
        xi = self.xi - self.h * self.hold * c
        xi = np.where(constraints.equal, xi, np.maximum(xi, 0.0))
        r = np.clip(self.r + self.h * self.columns * beta, -self.problem.nu, self.problem.nu)
        return _Place(z, c, lam, gam, xi, self.problem.weights(lam, gam), beta, r)

    def _derivative(self, at: _Place) -> np.ndarray:
        """float64 (d,) or, with a free β₀, (d + 1,): the gradient of φ."""
        problem = self.problem
        gradient = problem.mu * at.beta + at.r - problem.combination(at.a, at.xi)
        return np.append(gradient, at.a.sum()) if problem.intercept else gradient

    def _is_small(self, gradient: np.ndarray, at: _Place) -> bool:
        """Whether φ is all but least: it is μ-strongly convex in β, and Σ a_i is what β₀ could gain for each unit."""
        beta = gradient[:-1] if self.problem.intercept else gradient
        shift = abs(float(gradient[-1])) * float(at.z.std()) if self.problem.intercept else 0.0
        return float(beta @ beta) / (2.0 * self.problem.mu) + shift <= self.off

    def _curved(self, at: _Place, gradient: np.ndarray) -> np.ndarray:
        """The solution of (Hessian of the piece at hand) p = gradient, float64, of gradient's size."""
        problem, loss = self.problem, self.problem.loss
        curvature = np.where((at.lam > 0.0) & (at.lam < 1.0), self.h, 0.0).sum(axis=1)
        curvature += np.where((at.gam > 0.0) & (at.gam < loss.tau), np.square(loss.S), 0.0).sum(axis=1)
        rows = np.flatnonzero(curvature)
        # β₀ by itself, at the mean of these rows: only their differences are left, which h does not drown
        mean, total = np.zeros(problem.shape[1]), self.h
        if problem.intercept and len(rows):
            total = float(curvature.sum())
            mean = np.asarray(problem.X.T @ curvature).ravel() / total
        hessian = _gram(problem.X, rows, np.sqrt(curvature), mean)
        active = np.flatnonzero((at.xi > 0.0) | problem.constraints.equal)
        if len(active):
            root = np.sqrt(self.h * self.hold)
            hessian += _gram(problem.constraints.A, active, root, np.zeros(problem.shape[1]))
        hessian[np.diag_indices_from(hessian)] += problem.mu + np.where(
            np.abs(at.r) < problem.nu, self.h * self.columns, 0.0
        )
        hessian[np.diag_indices_from(hessian)] += self.damping * self.h * self.columns
        if not problem.intercept:
            return _solved(hessian, gradient)
        step = _solved(hessian, gradient[:-1] - gradient[-1] * mean)
        return np.append(step, float(gradient[-1]) / total - float(mean @ step))

    def _damp(self, length: float) -> None:
        """Levenberg's and Marquardt's damping, where fewer observations are between kinks than there are features:
        then steps are far too long, and shortened ones lead from kink to kink. It ends where a whole step is good."""
        if length < _SHORT:
            self.damping = max(_MORE * self.damping, _LEAST)
        elif length == 1.0:
            self.damping = self.damping / _MORE if self.damping > _LEAST else 0.0

    def _along(self, at: _Place, dz: np.ndarray, dc: np.ndarray, move: np.ndarray) -> tuple[float, _Place]:
        """How far to go, and where that is: φ's derivative along a line ascends, and is to be small there."""
        mu, xs = self.problem.mu, (float(at.beta @ move), float(move @ move))

        def derivative(length: float) -> tuple[float, _Place]:
            there = self._at(at.z + length * dz, at.c + length * dc, at.beta + length * move)
            slope = mu * (xs[0] + length * xs[1]) + float(there.a @ dz) - float(there.xi @ dc)
            return slope + float(there.r @ move), there

        first, _ = derivative(0.0)
        if not first < 0.0:
            return 0.0, at
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(_LINE_STEPS):
            value, there = derivative(length)
            if abs(value) <= 0.1 * abs(first) or high - low <= 1e-12 * length:
                return length, there
            low, high = (length, high) if value < 0.0 else (low, length)
            if value < 0.0 and length == 1.0:
                return length, there  # still downhill: the next step sees to the rest
            length = 0.5 * (low + high) if low > 0.0 else 0.1 * high
        return length, derivative(length)[1]


def _gram(X: np.ndarray | sparse.csr_matrix, rows: np.ndarray, root: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Σ root_i² (x_i − mean)(x_i − mean)ᵀ over some rows, float64 (d, d); mean: theirs, weighted by root², or 0."""
    if sparse.issparse(X):
        scaled = sparse.diags_array(root[rows]) @ X[rows]
        return (scaled.T @ scaled).toarray() - float(np.square(root[rows]).sum()) * np.outer(mean, mean)
    total, size = np.zeros((X.shape[1], X.shape[1])), max(1, _BLOCK_ENTRIES // X.shape[1])
    for begin in range(0, len(rows), size):
        block = rows[begin : begin + size]
        scaled = (X[block] - mean) * root[block, None]
        total += scaled.T @ scaled
    return total


def _solved(hessian: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By Cholesky, of the matrix with a diagonal of 1; what rounding makes indefinite gets more on its diagonal."""
    root = 1.0 / np.sqrt(np.diag(hessian))
    scaled = hessian * root[:, None] * root
    more = 0.0
    for _ in range(12):
        try:
            factor = linalg.cho_factor(scaled + more * np.eye(len(scaled)), check_finite=False)
            return root * linalg.cho_solve(factor, root * right, check_finite=False)
        except linalg.LinAlgError:
            more = max(10.0 * more, 1e-14)
    return root * root * right
