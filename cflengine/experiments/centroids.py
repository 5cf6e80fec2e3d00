"""Nearest centroids over sparse features: the classifier of Section 5.1.1, and its shrunken form.

A class is the mean of its documents. A document x is of the class whose centroid c is nearest, by the Euclidean
distance, as the paper's words have it (argmin ‖c‖² − 2 xᵀc), or by the cosine (argmax xᵀc/‖c‖).

Shrunken centroids (Tibshirani, Hastie, Narasimhan, Chu, PNAS 2002): with m_k = √(1/n_k − 1/n), s_j the pooled standard
deviation within classes and s_0 its median over features,

    d_kj = (c_kj − mean_j) / (m_k (s_j + s_0)),   c'_kj = mean_j + m_k (s_j + s_0) soft(d_kj, Δ),

and x is of the class with the least Σ_j (x_j − c'_kj)²/(s_j + s_0)² − 2 ln(n_k/n). Features in no class further than Δ
from the mean play no part.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

DISTANCES = ("cosine", "euclidean")
_CHUNK_SCORES = 1 << 24


def class_means(X: sparse.csr_matrix, y: np.ndarray, n_classes: int) -> sparse.csr_matrix:
    """CSR (n_classes, d): the mean of each class; 0 for one without documents."""
    counts = np.bincount(y, minlength=n_classes)
    share = 1.0 / np.maximum(counts[y], 1)
    return sparse.csr_matrix(sparse.csr_matrix((share, (y, np.arange(len(y)))), shape=(n_classes, len(y))) @ X)


def nearest(X: sparse.csr_matrix, centroids: sparse.csr_matrix, distance: str) -> np.ndarray:
    """int64 (n,): the class of each row; the first of equally near ones."""
    found = [near.argmax(axis=1) for _, near in _nearness(X, centroids, distance)]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def judged(
    X: sparse.csr_matrix, centroids: sparse.csr_matrix, distance: str, truth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """int64 (n,), the class of each row, as :func:`nearest` has it; and float64 (n,), by how much its centroid is
    nearer than that of ``truth``, int64 (n,), as a share of the row's length: by the cosine, or half the square of the
    distance."""
    found, more = np.zeros(X.shape[0], dtype=np.int64), np.zeros(X.shape[0])
    for part, near in _nearness(X, centroids, distance):
        found[part] = near.argmax(axis=1)
        rows = np.arange(len(near))
        more[part] = near[rows, found[part]] - near[rows, truth[part]]
    lengths = np.sqrt(np.maximum(np.asarray(X.multiply(X).sum(axis=1)).ravel(), 1e-300))
    return found, more / lengths


def _nearness(X: sparse.csr_matrix, centroids: sparse.csr_matrix, distance: str) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows at a time, and float64 (rows, classes), the larger the nearer."""
    squares = np.asarray(centroids.multiply(centroids).sum(axis=1)).ravel()
    turned = sparse.csr_matrix(centroids.T)
    step = max(1, _CHUNK_SCORES // max(centroids.shape[0], 1))
    for begin in range(0, X.shape[0], step):
        part = slice(begin, begin + step)
        dot = np.asarray((X[part] @ turned).todense())
        yield part, dot / np.sqrt(np.maximum(squares, 1e-300)) if distance == "cosine" else dot - 0.5 * squares


class ShrunkenCentroids:
    """Fitted shrunken centroids; ``delta`` may be changed between predictions.

    X: CSR (n, d); y: int64 (n,), classes 0 .. n_classes − 1. The centroids are dense: n_classes × d × 4 bytes.
    """

    def __init__(self, X: sparse.csr_matrix, y: np.ndarray, n_classes: int) -> None:
        counts = np.bincount(y, minlength=n_classes).astype(np.float64)
        n, self.prior = X.shape[0], np.maximum(counts, 1e-300) / X.shape[0]
        means = class_means(X, y, n_classes)
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        explained = np.asarray((sparse.diags(counts) @ means.multiply(means)).sum(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - explained, 0.0) / max(n - n_classes, 1))
        positive = deviation[deviation > 0]
        self.scale = deviation + (float(np.median(positive)) if len(positive) else 1.0)
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        self.m = np.sqrt(np.maximum(1.0 / np.maximum(counts, 1.0) - 1.0 / n, 0.0))
        self.d = np.empty(means.shape, dtype=np.float32)
        for k, m in enumerate(np.maximum(self.m, 1e-12).tolist()):  # a class at a time: the table is large enough once
            self.d[k] = (means[k].toarray().ravel() - self.mean) / (m * self.scale)

    def predict(self, X: sparse.csr_matrix, delta: float) -> np.ndarray:
        """int64 (n,)."""
        shrunken = np.sign(self.d) * np.maximum(np.abs(self.d) - delta, 0.0)
        used = np.flatnonzero(shrunken.any(axis=0))
        # in units of the scale, and from the mean: what no class departs from is the same for all
        departure = self.m[:, None] * shrunken[:, used]
        from_mean = (X[:, used] @ sparse.diags(1.0 / self.scale[used]) @ departure.T) - (
            departure @ (self.mean[used] / self.scale[used])
        )
        score = (departure**2).sum(axis=1) - 2.0 * np.asarray(from_mean) - 2.0 * np.log(self.prior)
        return np.argmin(score, axis=1)
