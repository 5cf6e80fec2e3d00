"""A lower bound on f from any w, recomputed from the data in float64 numpy. No kernel, no solver.

Let p be the model's own predictions at w: the loss's slope by the scores, expected less observed counts, H ≥ 0 their
entropy, v = the slope gathered by features, which is the loss's gradient. The dual value of τ·slope, 0 ≤ τ ≤ 1, is

    D(τ) = H(τ p + (1 − τ) observed) − Σ_j S_{c₁}(τ v_j)²/(2 ridge)  ≥  τ H − Σ_j S_{c₁}(τ v_j)²/(2 ridge)  ≤  min f

since entropy is concave and that of an observation is 0. H needs no enumeration: by Fenchel's equality it is
loss − slopeᵀscores, for chains as for single labels. At τ = 1, c₁ = 0 the right side is f(w) − ‖∇f(w)‖²σ²/2, the
bound of strong convexity; smaller τ help where w is far from the optimum. S_c(r) = sign(r) max(|r| − c, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr

from cflengine.loglinear import problem


@dataclass(frozen=True)
class Certificate:
    """objective: f(w). lower_bound: proved on min f. gap: objective/lower_bound − 1."""

    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """(objective − bound)/bound; inf without a bound above 0."""
        return relative_gap(self.objective, self.lower_bound)


def lower_bound(entropy: float, gathered: np.ndarray, ridge: float, lasso: float = 0.0) -> float:
    """max over some τ of τ H − Σ S(τ v)²/(2 ridge): the best τ without c₁, else the best of those tried; at least 0.

    entropy: H. gathered: v, float64 (d,). Without a ridge τ v must stay within c₁.
    """
    if lasso == 0:
        square = float(gathered @ gathered) / (2 * ridge)
        tau = min(1.0, entropy / (2 * square)) if square > 0 else 1.0
        return max(0.0, tau * entropy - tau * tau * square)
    largest = float(np.abs(gathered).max(initial=0.0))
    within = min(1.0, lasso / largest) if largest > 0 else 1.0
    best = within * entropy
    if ridge > 0:
        for tau in np.linspace(within, 1.0, 9)[1:]:
            excess = np.maximum(np.abs(tau * gathered) - lasso, 0.0)
            best = max(best, tau * entropy - float(excess @ excess) / (2 * ridge))
    return max(0.0, best)


def dual_value(alpha: np.ndarray, square: float) -> float:
    """D(α) of the binary model: the entropy of α ∈ [0, 1]ⁿ less square = ‖Σ α_i y_i x_i‖²/(2 ridge); at least 0."""
    return max(0.0, float((entr(alpha) + entr(1.0 - alpha)).sum()) - square)


def relative_gap(objective: float, bound: float) -> float:
    """(objective − bound)/bound, at least 0; inf unless the bound is above 0."""
    if not (bound > 0 and math.isfinite(objective)):
        return math.inf if objective > 0 else 0.0
    return max(0.0, objective / bound - 1.0)


def _certify(loss: float, inner: float, gathered: np.ndarray, w: np.ndarray, ridge: float, lasso: float) -> Certificate:
    objective = loss + lasso * float(np.abs(w).sum()) + 0.5 * ridge * float(w @ w)
    return Certificate(objective, lower_bound(loss - inner, gathered, ridge, lasso))


def certify_binary(
    X: sparse.csr_matrix,
    y: np.ndarray,
    w: np.ndarray,
    ridge: float,
    lasso: float = 0.0,
    alpha: np.ndarray | None = None,
) -> Certificate:
    """Of the binary model: X sparse (n, d), y ±1. alpha: the dual point to take instead of the model's predictions,
    float64 (n,) in [0, 1], without c₁."""
    loss, scores, slope = problem.binary_loss(X, y, w)
    if alpha is None:
        return _certify(loss, float(slope @ scores), X.T @ slope, w, ridge, lasso)
    alpha = np.clip(alpha, 0.0, 1.0)
    gathered = X.T @ (y * alpha)
    bound = dual_value(alpha, float(gathered @ gathered) / (2 * ridge))
    return Certificate(loss + 0.5 * ridge * float(w @ w), bound)


def certify_multinomial(
    X: sparse.csr_matrix, label: np.ndarray, w: np.ndarray, ridge: float, lasso: float = 0.0
) -> Certificate:
    """Of the multinomial model: w float64 (d·C,)."""
    loss, scores, slope = problem.multinomial_loss(X, label, w)
    return _certify(loss, float((slope * scores).sum()), np.asarray(X.T @ slope).ravel(), w, ridge, lasso)


def certify_chain(
    data: problem.ChainData, features: problem.ChainFeatures, w: np.ndarray, ridge: float, lasso: float = 0.0
) -> Certificate:
    """Of the linear-chain CRF with c₁ = ``lasso``."""
    loss, scores, slopes = problem.chain_loss(data, features, w)
    inner = sum(float((slope * score).sum()) for slope, score in zip(slopes, scores, strict=True))
    return _certify(loss, inner, problem.gathered_chain(data, features, slopes), w, ridge, lasso)
