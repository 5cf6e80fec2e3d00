"""What a solution of (P) is worth, recomputed from the data in float64; imports no kernel and no solver.

From any w and any multipliers u of the copies: the best bias b for w makes α = −ℓ'(margin) satisfy Σ y α = 0; u is
clipped to its balls; r = Xᵀ(y∘α) − Mᵀu. Where κ = 0, (D) wants |r_j| ≤ λ_las, and there are two ways to a bound if it
exceeds that by e_j > 0, of which the better is taken:

    τ = min(1, λ_las/‖r‖∞)   makes (τα, τu) feasible in (D), whose value is a bound;
    |w*_j| ≤ P/s_j           for an optimum w* and any P that (P) takes on, as its penalties are at least s_j |w*_j|
                             with s_j = λ_las + λ_sen Σ_g a_g √c_gj; the value of (D) at (α, u) less Σ_j e_j P/s_j is
                             a bound.

The second is better where λ_las is small and words are frequent, and all there is where λ_las = 0. All of problem.py's
notation. The objective is rounded up, the bound down (engine/gaps.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cflengine.engine.gaps import EPSILON, relative_gap, round_down, round_up, sum_terms
from cflengine.sentence_lasso.model.margin_loss import LOG, Loss
from cflengine.sentence_lasso.model.problem import SentenceProblem, soft_threshold

_BIAS_STEPS = 200


@dataclass(frozen=True)
class Certificate:
    """Proved: objective of (P) at (w, bias), a lower bound on its optimum, gap = (objective − bound) / bound; shrink
    is the τ that makes the dual point feasible."""

    objective: float
    lower_bound: float
    gap: float
    bias: float
    shrink: float


def best_bias(
    scores: np.ndarray, y: np.ndarray, start: float = 0.0, v: np.ndarray | float = 1.0, loss: Loss = LOG
) -> float:
    """The b that minimises Σ v ℓ(y (scores + b)), by Newton kept inside a bracket. Needs both classes, and a loss with
    a derivative everywhere."""
    total, positives = float((v * np.ones(len(y))).sum()), float((v * (y > 0)).sum())
    # At the left end every score is low enough for the derivative to be below 0, at the right end above: by the log
    # loss where σ(scores + b) sums to fewer than the positives, by others where no negative lacks margin.
    low, high = -float(scores.max()), -float(scores.min())
    if loss is LOG:
        middle = math.log(positives / (total - positives))
        low, high = low + middle, high + middle
    else:
        low, high = low - 1.0, high + 1.0
    b = min(max(start, low), high)
    for _ in range(_BIAS_STEPS):
        alpha, second = loss.derivatives(y * (scores + b))
        excess = -float((v * y * alpha).sum())
        if excess > 0:
            high = b
        else:
            low = b
        curvature = float((v * second).sum())
        step = b - excess / curvature if curvature > 0 else math.inf
        following = step if low < step < high else 0.5 * (low + high)
        if abs(excess) <= 1e-13 * total or following == b:
            break
        b = following
    return b


def certify(
    problem: SentenceProblem, w: np.ndarray, u: np.ndarray, bias: float = 0.0, working: Loss | None = None
) -> Certificate:
    """Certify w by a dual point: objective, bound and gap, recomputed from the data.

    Parameters
    ----------
    problem : SentenceProblem
        (P).
    w : float64 ndarray (V,)
        The weights.
    u : float64 ndarray (E,)
        Multipliers, one of each copy of a weight in a sentence.
    bias : float
        Where the search for b begins.
    working : Loss or None
        The one whose α and best b are taken, of the same bounds; None for the problem's own, which needs a derivative.

    Returns
    -------
    Certificate
        Objective rounded up, bound rounded down.

    Raises
    ------
    ValueError
        If w or u is not finite.
    """
    if not (np.isfinite(w).all() and np.isfinite(u).all()):
        raise ValueError("a weight or a multiplier is not a number: nothing can be certified.")
    scores, loss = problem.X @ w, working or problem.margin_loss
    bias = best_bias(scores, problem.y, bias, problem.v, loss)
    objective = objective_at(problem, w, bias, scores)
    bound, shrink = dual_bound(problem, loss.alpha(problem.y * (scores + bias)), u, objective)
    return Certificate(objective, bound, relative_gap(objective, bound), bias, shrink)


def objective_at(problem: SentenceProblem, w: np.ndarray, bias: float, scores: np.ndarray | None = None) -> float:
    """(P) at (w, bias), rounded up; scores: Xw, if they are at hand."""
    scores = problem.X @ w if scores is None else scores
    return round_up(problem.loss(scores + bias) + problem.penalty(w), _terms(problem))


def dual_bound(
    problem: SentenceProblem, alpha: np.ndarray, u: np.ndarray, value: float = math.inf
) -> tuple[float, float]:
    """A lower bound on (P) from any α (float64 (D,), to be times v) within the loss's bounds, which it is clipped to,
    and any u (float64 (E,)), and τ.

    value: one that (P) takes on somewhere, for the second way (see above).
    """
    y, v, groups = problem.y, problem.v, problem.groups
    balanced = _balanced(problem, alpha)
    if balanced is None:
        return 0.0, 0.0
    alpha, u = balanced, clipped(problem, u)
    r = problem.X.T @ (v * y * alpha) - groups.gathered(u, problem.n_features)
    # what rounding may have hidden: r_j is a sum of as many terms as feature j has entries
    terms = EPSILON * (max(problem.X.shape[0], len(u)) + 4)
    largest = max(1.0, float(np.abs(alpha).max()))
    r = r + np.sign(r) * (terms * (largest * problem.column_sums + problem.stiffness))
    hard = problem.kappa == 0
    worst = float(np.abs(r[hard]).max(initial=0.0))
    shrink = round_down(problem.lam_las / worst, 2) if worst > problem.lam_las else 1.0
    bound = dual_value(shrink * alpha, v, problem.margin_loss) - _bent(problem, shrink * r)
    if shrink < 1.0 and math.isfinite(value):
        stiffness = problem.stiffness
        excess = np.abs(soft_threshold(r, problem.lam_las))
        missed = value * float((excess[hard] / stiffness[hard]).sum())
        bound = max(bound, dual_value(alpha, v, problem.margin_loss) - _bent(problem, r) - missed)
    # the terms of the dual are no larger, the entropies' neither
    magnitude = float((v * np.maximum(1.0, np.abs(alpha) + 0.5 * alpha * alpha)).sum())
    return max(round_down(bound, _terms(problem), magnitude=magnitude), 0.0), shrink


def _balanced(problem: SentenceProblem, alpha: np.ndarray) -> np.ndarray | None:
    """α with Σ v y α = 0, which rounding of the bias may violate; None where a class has none left."""
    y, v, loss = problem.y, problem.v, problem.margin_loss
    if not np.isfinite(alpha).all():
        return None
    if loss.least == -np.inf:
        total = float((v * np.ones(len(y))).sum())
        for _ in range(2):  # the second takes what rounding has left of the first
            alpha = alpha - y * (float((v * y * alpha).sum()) / total)
        return alpha
    alpha = np.clip(alpha, loss.least, loss.most)
    sums = {sign: float((v * alpha)[y == sign].sum()) for sign in (-1.0, 1.0)}
    least = min(sums.values())
    if least <= 0:
        return None
    # the class with the larger sum is scaled down
    return alpha * np.where(y > 0, least / sums[1.0], least / sums[-1.0])


def _terms(problem: SentenceProblem) -> float:
    """Roundings of a sum over documents, features or copies of logarithms and squares, themselves good to some ulp."""
    return 64.0 + sum_terms(max(problem.X.nnz, 1))


def _bent(problem: SentenceProblem, r: np.ndarray) -> float:
    """Σ_{κ_j > 0} S(r_j)²/(2 κ_j)."""
    curved = problem.kappa > 0
    excess = soft_threshold(r[curved], problem.lam_las)
    return 0.5 * float(excess @ (excess / problem.kappa[curved]))


def clipped(problem: SentenceProblem, u: np.ndarray) -> np.ndarray:
    """u, every group scaled into its ball of radius λ_sen a_g."""
    groups = problem.groups
    norms, radius = groups.norms(u), problem.lam_sen * groups.weight
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(norms > radius, radius / norms, 1.0)
    return u * factor[groups.group]


def dual_value(alpha: np.ndarray, v: np.ndarray | float = 1.0, loss: Loss = LOG) -> float:
    """−Σ v ℓ*(−α), of α within the loss's bounds; of the log loss −Σ v (α log α + (1 − α) log(1 − α))."""
    return float((v * loss.dual(alpha)).sum())
