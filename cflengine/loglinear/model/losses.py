"""Losses of scores that are linear in the weights: what a solver needs to know of a log-linear model.

Every loss here is −Σ log Pr(observed | scores): convex, at least 0, and its derivative by the scores is expected minus
observed counts. A pass over the data is one evaluation of loss and gradient; ``cost`` says what share of it each part
has, so that all solvers count alike.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from cflengine.linear.design import Design
from cflengine.loglinear.kernels import scores as kernels
from cflengine.loglinear.model.certificate import Certificate, certify_binary, certify_multinomial


class ScoreModel(Protocol):
    """scores(w) is linear, gather its transpose; loss gives the value and its derivative by the scores. All arrays
    flat.

    cost: passes over the data that scores, loss and gather come to.
    """

    n_weights: int
    n_scores: int
    cost: tuple[float, float, float]

    def scores(self, w: np.ndarray) -> np.ndarray: ...
    def loss(self, scores: np.ndarray) -> tuple[float, np.ndarray]: ...
    def gather(self, derivative: np.ndarray) -> np.ndarray: ...
    def certify(self, w: np.ndarray, ridge: float, lasso: float, alpha: np.ndarray | None) -> Certificate: ...


class BinaryModel:
    """Σ_i v_i log(1 + exp(−y_i xᵢᵀw)): equation (5) of the paper with classes −1 and +1.

    Parameters
    ----------
    design : Design
        X.
    y : ndarray
        float64 (n,), ±1.
    weight : ndarray or None, default: None
        v, float64 (n,), above 0; None where all are 1.
    """

    def __init__(self, design: Design, y: np.ndarray, weight: np.ndarray | None = None) -> None:
        self.design, self.y, self.weight = design, y, weight
        self.cost = (0.5, 0.0, 0.5)
        self.n_scores, self.n_weights = design.shape

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.design.times(w)

    def loss(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        derivative, totals = np.empty(len(scores)), np.empty(_blocks(len(scores)))
        kernels.logistic(scores, self.y, _or_none(self.weight), derivative, totals, (0, len(totals)))
        return float(totals.sum()), derivative

    def gather(self, derivative: np.ndarray) -> np.ndarray:
        return self.design.transposed(derivative)

    def certify(self, w: np.ndarray, ridge: float, lasso: float, alpha: np.ndarray | None) -> Certificate:
        """Objective and bound, recomputed by certificate.py."""
        return certify_binary(self.design.X, self.y, w, ridge, lasso, alpha, self.weight)

    def curvature(self, derivative: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """The second derivative by the scores where the derivative is this, times ``moved``."""
        return self._bent(derivative) * moved

    def diagonal(self, derivative: np.ndarray) -> np.ndarray:
        """Of the loss's Hessian where the derivative is this: float64 (d,)."""
        return self.design.squared_transposed(self._bent(derivative))

    def _bent(self, derivative: np.ndarray) -> np.ndarray:
        share = np.abs(derivative)
        return share * (1.0 - (share if self.weight is None else share / self.weight))

    def merged(self, cluster_of: np.ndarray, n_clusters: int) -> BinaryModel:
        """The same loss of features that were added up within clusters: the paper's pre-aggregation."""
        merged = BinaryModel(self.design.merged(cluster_of, n_clusters), self.y, self.weight)
        share = merged.design.X.nnz / max(1, self.design.X.nnz)
        merged.cost = (0.5 * share, 0.0, 0.5 * share)
        return merged


class MultinomialModel:
    """Σ_i v_i (log Σ_c exp(s_ic) − s_{i, label_i}), s = X W; weights (d, C), flat, scores (n, C), flat.

    label: int32 (n,); weight: v float64 (n,), above 0; None where all are 1.
    """

    cost = (0.5, 0.0, 0.5)

    def __init__(self, design: Design, label: np.ndarray, n_classes: int, weight: np.ndarray | None = None) -> None:
        self.design, self.label, self.n_classes, self.weight = design, label, n_classes, weight
        self.n_scores, self.n_weights = design.shape[0] * n_classes, design.shape[1] * n_classes

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.design.times(w.reshape(-1, self.n_classes)).ravel()

    def loss(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        scores = scores.reshape(-1, self.n_classes)
        derivative, totals = np.empty(scores.shape), np.empty(_blocks(len(scores)))
        kernels.softmax(scores, self.label, _or_none(self.weight), derivative, totals, (0, len(totals)))
        return float(totals.sum()), derivative.ravel()

    def gather(self, derivative: np.ndarray) -> np.ndarray:
        return self.design.transposed(derivative.reshape(-1, self.n_classes)).ravel()

    def certify(self, w: np.ndarray, ridge: float, lasso: float, alpha: np.ndarray | None) -> Certificate:
        """Objective and bound, recomputed by certificate.py."""
        return certify_multinomial(self.design.X, self.label, w, ridge, lasso, self.weight)

    def curvature(self, derivative: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """The second derivative by the scores where the derivative is this, times ``moved``."""
        probability, weight = self._probabilities(derivative)
        moved = moved.reshape(probability.shape)
        return (weight * probability * (moved - (probability * moved).sum(axis=1, keepdims=True))).ravel()

    def diagonal(self, derivative: np.ndarray) -> np.ndarray:
        """Of the loss's Hessian where the derivative is this: float64 (d·C,)."""
        probability, weight = self._probabilities(derivative)
        return self.design.squared_transposed(weight * probability * (1.0 - probability)).ravel()

    def _probabilities(self, derivative: np.ndarray) -> tuple[np.ndarray, Any]:
        """float64 (n, C) and the weights, (n, 1) or 1."""
        weight = 1.0 if self.weight is None else self.weight[:, None]
        probability = derivative.reshape(-1, self.n_classes) / weight
        probability[np.arange(len(probability)), self.label] += 1.0
        return probability, weight


class TiedModel:
    """A model whose weights are equal within clusters, without touching its data: equation (14) of the paper.

    cluster_of: int64 (d,), numbers 0 .. n_clusters−1.
    """

    def __init__(self, model: ScoreModel, cluster_of: np.ndarray, n_clusters: int) -> None:
        self.model, self.cluster_of = model, cluster_of
        self.n_weights, self.n_scores, self.cost = n_clusters, model.n_scores, model.cost

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.model.scores(w[self.cluster_of])

    def loss(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        return self.model.loss(scores)

    def certify(self, w: np.ndarray, ridge: float, lasso: float, alpha: np.ndarray | None) -> Certificate:
        """Of the untied model."""
        return self.model.certify(w[self.cluster_of], ridge, lasso, alpha)

    def gather(self, derivative: np.ndarray) -> np.ndarray:
        return collected(self.model.gather(derivative), self.cluster_of, self.n_weights)


def collected(values: np.ndarray, cluster_of: np.ndarray, n_clusters: int) -> np.ndarray:
    """Pᵀ values: their sums over every cluster."""
    out = np.empty(n_clusters)
    kernels.collect(cluster_of, values, out)
    return out


_NO_WEIGHTS = np.empty(0)


def _or_none(weight: np.ndarray | None) -> np.ndarray:
    """Weights as kernels take them: of length 0 where all are 1."""
    return _NO_WEIGHTS if weight is None else weight


def _blocks(n: int) -> int:
    return max(1, -(-n // kernels.BLOCK))
