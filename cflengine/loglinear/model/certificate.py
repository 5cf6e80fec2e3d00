"""A lower bound on f from any w, recomputed from the data in float64 numpy. No kernel, no solver.

Let p be the model's own predictions at w: the loss's derivative by the scores, expected less observed counts, H ≥ 0
their entropy, v = the derivative gathered by features, which is the loss's gradient. The dual value of τ·derivative, 0
≤ τ ≤ 1, is

    D(τ) = H(τ p + (1 − τ) observed) − Σ_j S_{c₁}(τ v_j)²/(2 ridge)  ≥  τ H − Σ_j S_{c₁}(τ v_j)²/(2 ridge)  ≤  min f

since entropy is concave and that of an observation is 0. H needs no enumeration: by Fenchel's equality it is
loss − derivativeᵀscores, for chains as for single labels. At τ = 1, c₁ = 0 the right side is f(w) − ‖∇f(w)‖²σ²/2, the
bound of strong convexity; smaller τ help where w is far from the optimum. S_c(r) = sign(r) max(|r| − c, 0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.special import entr

from cflengine.engine.gaps import EPSILON, relative_gap, round_down, round_up, sum_terms
from cflengine.loglinear.model import problem


@dataclass(frozen=True)
class Certificate:
    """objective: f(w), rounded up. lower_bound: proved on min f, rounded down. gap: objective/lower_bound − 1."""

    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """See :func:`~cflengine.engine.gaps.relative_gap`."""
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


def _entropy(alpha: np.ndarray, weight: np.ndarray | None) -> float:
    """Σ v_i H(α_i) of α ∈ [0, 1]ⁿ; weight: v, None for ones."""
    each = entr(alpha) + entr(1.0 - alpha)
    return float((each if weight is None else weight * each).sum())


def dual_value(alpha: np.ndarray, square: float, off: float = 0.0, *, weight: np.ndarray | None = None) -> float:
    """D(α) of the binary model: the entropy of α ∈ [0, 1]ⁿ less square = ‖Σ v_i α_i y_i x_i‖²/(2 ridge); at least 0.

    off: by how much rounding may have made that too large. weight: v, None for ones.
    """
    return max(0.0, _entropy(alpha, weight) - square - off)


def _certify(
    loss: float, inner: float, gathered: np.ndarray, w: np.ndarray, ridge: float, lasso: float, size: float
) -> Certificate:
    """size: what the terms of loss and inner product may add up to; ``gathered`` already includes what it is off by."""
    off = EPSILON * (64.0 + sum_terms(len(w))) * (size + abs(loss) + abs(inner))
    penalty = lasso * float(np.abs(w).sum()) + 0.5 * ridge * float(w @ w)
    objective = round_up(loss + penalty, 8.0 + sum_terms(len(w))) + off
    bound = lower_bound(max(loss - inner - off, 0.0), gathered, ridge, lasso)
    return Certificate(objective, max(round_down(bound, 8.0 + sum_terms(len(w)), bound), 0.0))


def _outward(gathered: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Numbers moved away from 0 by what rounding may have hidden."""
    return gathered + np.sign(gathered) * off


def _gathered(X: sparse.csr_matrix, derivative: np.ndarray) -> np.ndarray:
    """Xᵀ derivative, (d,) or (d, C), rounded outward: a sum of as many terms as the column has entries."""
    sizes = sparse.csr_matrix((np.abs(X.data), X.indices, X.indptr), X.shape)
    counts = np.bincount(X.indices, minlength=X.shape[1]) + 2.0
    most = np.asarray(sizes.T @ np.abs(derivative))
    return _outward(np.asarray(X.T @ derivative), EPSILON * (counts if most.ndim == 1 else counts[:, None]) * most)


def certify_binary(
    X: sparse.csr_matrix,
    y: np.ndarray,
    w: np.ndarray,
    ridge: float,
    lasso: float = 0.0,
    alpha: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> Certificate:
    """Certify weights of the binary model by a dual point.

    Parameters
    ----------
    X : CSR matrix (n, d)
        Features.
    y : float64 ndarray (n,)
        −1 or 1.
    w : float64 ndarray (d,)
        Weights.
    ridge : float
        c₂.
    lasso : float
        c₁.
    alpha : float64 ndarray (n,), optional
        The dual point to take instead of the model's predictions, in [0, 1]; without c₁.
    weight : float64 ndarray (n,), optional
        Of the documents, above 0; by default ones.

    Returns
    -------
    Certificate
        Objective rounded up, bound rounded down.
    """
    loss, scores, derivative = problem.binary_loss(X, y, w, weight)
    n = len(y)
    most = float(np.diff(X.indptr).max(initial=0))
    if alpha is None:
        inner, size = float(derivative @ scores), float(np.abs(derivative) @ (np.abs(scores) + 1.0))
        return _certify(loss, inner, _gathered(X, derivative), w, ridge, lasso, size * (1.0 + most / 64.0))
    alpha = np.clip(alpha, 0.0, 1.0)
    gathered = _gathered(X, y * alpha if weight is None else y * weight * alpha)
    square = round_up(float(gathered @ gathered) / (2 * ridge), 8.0 + sum_terms(len(w)))
    off = EPSILON * (64.0 + sum_terms(n)) * _entropy(alpha, weight)
    bound = dual_value(alpha, square, off, weight=weight)
    size = float(np.abs(derivative) @ np.abs(scores))  # a score that is off changes the loss by the derivative
    objective = round_up(loss + 0.5 * ridge * float(w @ w), 64.0 + most + sum_terms(max(n, len(w))), 2.0 * loss + size)
    return Certificate(objective, bound)


def certify_multinomial(
    X: sparse.csr_matrix,
    label: np.ndarray,
    w: np.ndarray,
    ridge: float,
    lasso: float = 0.0,
    weight: np.ndarray | None = None,
) -> Certificate:
    """Of the multinomial model: w float64 (d·C,); weight: of the documents, float64 (n,), above 0; None for ones."""
    loss, scores, derivative = problem.multinomial_loss(X, label, w, weight)
    size = float((np.abs(derivative) * (np.abs(scores) + 1.0)).sum())
    size *= 1.0 + float(np.diff(X.indptr).max(initial=0)) / 64.0
    return _certify(loss, float((derivative * scores).sum()), _gathered(X, derivative).ravel(), w, ridge, lasso, size)


def certify_chain(
    data: problem.ChainData, features: problem.ChainFeatures, w: np.ndarray, ridge: float, lasso: float = 0.0
) -> Certificate:
    """Of the linear-chain CRF with c₁ = ``lasso``."""
    loss, scores, derivatives = problem.chain_loss(data, features, w)
    inner = sum(float((derivative * score).sum()) for derivative, score in zip(derivatives, scores, strict=True))
    ends = np.setdiff1d(np.arange(len(data.label)), data.ptr[:-1])
    observed = np.zeros_like(derivatives[1])
    np.add.at(observed, (data.label[ends - 1], data.label[ends]), 1.0)
    # expected less observed counts of label pairs: pairwise sums, of counts that nearly cancel
    magnitudes = (np.abs(derivatives[0]), (np.abs(derivatives[1]) + 2.0 * observed) * (64.0 / (len(data.label) + 4.0)))
    most = problem.gathered_chain(replace(data, X=abs(data.X)), features, magnitudes)
    found = _outward(problem.gathered_chain(data, features, derivatives), EPSILON * (len(data.label) + 4.0) * most)
    # forward and backward add up logarithms along a sentence, each good to some ulp of the scores so far
    longest = float(np.diff(data.ptr).max(initial=1))
    pairs = zip(scores, derivatives, strict=True)
    size = sum(float((np.abs(derivative) * (np.abs(score) + 1.0)).sum()) for score, derivative in pairs) * (
        1.0 + longest / 64.0
    )
    return _certify(loss, inner, found, w, ridge, lasso, size)
