"""A linear classifier as arrays: what every penalty's fit comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, logsumexp


class Fitted(Protocol):
    """A result of one row: its weights float64 (V,) and its bias."""

    @property
    def w(self) -> np.ndarray: ...
    @property
    def bias(self) -> float: ...


@dataclass(frozen=True)
class LinearModel:
    """Weights of a linear classifier.

    Parameters
    ----------
    coef : ndarray
        float64 (1, V) for class 1 of two, or (C, V), one against the rest.
    intercept : ndarray
        float64 (1,) or (C,).
    """

    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, results: Sequence[Fitted]) -> LinearModel:
        """The classifier of the results for each class."""
        return cls(np.array([result.w for result in results]), np.array([result.bias for result in results]))

    @property
    def size(self) -> int:
        """How many features have a weight, for some class."""
        return int(np.count_nonzero(self.coef.any(axis=0)))

    def scores(self, X: sparse.csr_matrix) -> np.ndarray:
        """float64 (N,) of class 1, or (N, C)."""
        found = X @ self.coef.T + self.intercept
        return found[:, 0] if found.shape[1] == 1 else found

    def probabilities(self, X: sparse.csr_matrix) -> np.ndarray:
        """float64 (N, classes): see :func:`class_probabilities`."""
        return class_probabilities(self.scores(X))

    def predict(self, X: sparse.csr_matrix) -> np.ndarray:
        """int64 (N,): the likelier class."""
        return predicted_classes(self.scores(X))

    def accuracy(self, X: sparse.csr_matrix, y: np.ndarray) -> float:
        """Share of documents whose class (int, N) is the predicted one."""
        return float(np.mean(self.predict(X) == y))


def predicted_classes(scores: np.ndarray) -> np.ndarray:
    """int64 (N,): the likelier class by scores (N,) of class 1 of two, or (N, C), one against the rest."""
    return (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """float64 (N, classes) of scores (N,) of class 1 of two, or (N, C), one against the rest: there the classes' own
    probabilities, scaled to sum to 1."""
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    probabilities = np.maximum(expit(scores), np.finfo(np.float64).tiny)
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def class_log_probabilities(scores: np.ndarray) -> np.ndarray:
    """The logarithms of :func:`class_probabilities`, which have digits where those are 0."""
    if scores.ndim == 1:
        return np.column_stack([log_expit(-scores), log_expit(scores)])
    found = log_expit(scores)
    return found - logsumexp(found, axis=1, keepdims=True)
