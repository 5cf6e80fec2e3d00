"""Where a solver of (P) stands: w, bias, scores, and the data in the layout of the kernels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.sentence_lasso.kernels import majorise as kernels
from cflengine.sentence_lasso.kernels.arrays import Columns, Groups, ModelPoint, NewtonModel
from cflengine.sentence_lasso.model.certificate import best_bias
from cflengine.sentence_lasso.model.margin_loss import HINGE, Loss, proximal_hinge
from cflengine.sentence_lasso.model.problem import SentenceProblem

LEAST_HESSIAN = 1e-12  # of a document's loss: far from the border it is 0, and a quadratic model needs some
_SUFFICIENT = 1e-4  # Armijo's constant


def columns_of(X: sparse.csr_matrix) -> Columns:
    """X as kernels take it."""
    csc = X.tocsc()
    return Columns(csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data.astype(np.float64))


class Iterate:
    """w float64 (V,), bias, scores = Xw + b float64 (D,); w and scores are replaced, never written into.

    columns: of ``problem.X``, if they are at hand. Without w it begins at w = 0 with the best bias. working: the
    loss that solvers work with, which has a derivative: the problem's own, but for the hinge.
    """

    def __init__(
        self, problem: SentenceProblem, columns: Columns | None = None, w: np.ndarray | None = None, bias: float = 0.0
    ) -> None:
        self.problem = problem
        hinge = problem.margin_loss is HINGE
        self.working: Loss = proximal_hinge(np.zeros(len(problem.y))) if hinge else problem.margin_loss
        self.columns = columns_of(problem.X) if columns is None else columns
        groups = problem.groups
        self.groups = Groups(groups.ptr, groups.feature, groups.count, groups.weight)
        self.w = np.zeros(problem.n_features) if w is None else w.astype(np.float64)
        scores = problem.X @ self.w
        self.bias = best_bias(scores, problem.y, bias, problem.v, self.working)
        self.scores = scores + self.bias
        self.work = 0.0  # passes over the data

    def move(self, w: np.ndarray, bias: float, scores: np.ndarray) -> None:
        """Be there; scores: Xw + bias."""
        self.w, self.bias, self.scores = w, bias, scores

    def go(self, w: np.ndarray, bias: float) -> None:
        """Be there, scores computed afresh."""
        self.move(w, bias, self.problem.X @ w + bias)

    def objective(self) -> float:
        """(P) here, with the loss that is worked with."""
        return self.loss(self.scores) + self.problem.penalty(self.w)

    def loss(self, scores: np.ndarray) -> float:
        """Σ_d v_d ℓ(y_d scores_d) with the loss that is worked with."""
        return self.problem.loss_by(self.working, scores)

    def alpha(self) -> np.ndarray:
        """float64 (D,): α = −ℓ'(margin), with which the bias is the best."""
        return self.working.alpha(self.problem.y * self.scores)

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each document's loss by its score: the first, −v y α, and the second, kept above 0. float64 (D,) each."""
        y, v = self.problem.y, self.problem.v
        alpha, second = self.working.derivatives(y * self.scores)
        return -v * y * alpha, np.maximum(v * second, LEAST_HESSIAN)

    def gathered(self, derivative: np.ndarray) -> np.ndarray:
        """Xᵀ derivative."""
        out = np.empty(self.problem.n_features)
        kernels.gather(self.columns, derivative, out)
        return out

    def curvature(self, hessian: np.ndarray, features: np.ndarray) -> np.ndarray:
        """float64 (V,): Σ_d h_d x_dj² for ``features`` (int64), 0 elsewhere."""
        out = np.zeros(self.problem.n_features)
        kernels.second_derivatives(self.columns, hessian, features, out)
        return out


def proximal_newton_step(here: Iterate, q: np.ndarray, linear: np.ndarray, penalty, passes: int) -> float:
    """One step on loss + λ_las‖w‖₁ + penalty(w), where ½ Σ q_j w_j² − Σ linear_j w_j has the penalty's derivative at w
    and no less curvature: a Newton model of the loss, ``passes`` of coordinate descent, then a search along the way
    found.

    penalty: a function of w that gives a number. Returns what the step has taken off the objective, 0 if nothing.
    """
    problem, w = here.problem, here.w
    derivative, hessian = here.derivatives()
    gradient = here.gathered(derivative) + q * w - linear
    # a weight of 0 stays 0 unless it is pulled by more than λ_las, whatever q is
    active = np.flatnonzero((w != 0) | (np.abs(gradient) > problem.lam_las))
    curvature = here.curvature(hessian, active)
    before = here.loss(here.scores) + problem.lam_las * float(np.abs(w).sum()) + penalty(w)
    target, moved = w.copy(), np.zeros(len(problem.y))
    model, point = NewtonModel(q, linear, curvature, hessian), ModelPoint(derivative.copy(), moved, target)
    bias = kernels.descend(here.columns, active, problem.lam_las, model, point, here.bias, passes, 1e-9 * before)
    here.work += 2 + passes
    step = target - w
    expected = float(derivative @ moved) + float((q * w - linear) @ step)
    expected += problem.lam_las * float(np.abs(target).sum() - np.abs(w).sum())
    length = 1.0
    while length > 1e-8:
        there, scores = w + length * step, here.scores + length * moved
        value = here.loss(scores) + problem.lam_las * float(np.abs(there).sum()) + penalty(there)
        if value <= before + _SUFFICIENT * length * min(expected, 0.0) + 1e-14 * abs(before):
            here.move(there, here.bias + length * (bias - here.bias), scores)
            return before - value
        length *= 0.5
    return 0.0
