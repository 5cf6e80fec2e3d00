"""What a model makes of features: their weights, and which of them tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.experiments.centroids import class_means

MOST_TELLING, LEAST_TELLING = 200, 10  # features in all, and for each of many classes
MOST_CENTROIDS = 60


@dataclass(frozen=True)
class Weights:
    """What a model makes of d features.

    Parameters
    ----------
    coef : ndarray or csr_matrix
        float64 (rows, d); CSR for centroids scaled to length 1.
    names : tuple[str, ...]
        Of the rows, the class that each speaks for ("" for a number; of two classes the second).
    documents : ndarray
        int64 (d,), how many of those learnt from have each.
    average : ndarray or None, default: None
        float64 (d,), what centroids are set against when the most telling are asked for.
    """

    coef: Any = field(repr=False)
    names: tuple[str, ...]
    documents: np.ndarray = field(repr=False)
    average: np.ndarray | None = field(repr=False, default=None)

    def telling(self) -> pd.DataFrame:
        """The largest weights of each row: class, column, weight, documents. Of centroids what a class has more of than
        the average; what it lacks is the same for many classes."""
        most, frames = max(MOST_TELLING // len(self.names), LEAST_TELLING), []
        for row, name in enumerate(self.names):
            values = self.row(row) if self.average is None else self.row(row) - self.average
            size = np.abs(values) if self.average is None else np.maximum(values, 0.0)
            top = np.argsort(-size, kind="stable")[:most]
            top = top[size[top] > 0]
            own = {"class": name, "column": top, "weight": values[top], "documents": self.documents[top]}
            frames.append(pd.DataFrame(own))
        return pd.concat(frames, ignore_index=True)

    def row(self, row: int) -> np.ndarray:
        """float64 (d,)."""
        return self.coef[row].toarray().ravel() if sparse.issparse(self.coef) else self.coef[row]

    def towards(self, name: str, other: str) -> np.ndarray:
        """float64 (d,): what speaks for one class and against another; of a number what raises it."""
        if len(self.names) == 1:
            return self.row(0) if name in ("", self.names[0]) else -self.row(0)
        return self.row(self.names.index(name)) - self.row(self.names.index(other))


def centroid_weights(X: sparse.csr_matrix, y: np.ndarray, classes: Sequence[str]) -> Weights:
    """The centroids of the most frequent classes, at length 1, as the cosine compares them."""
    order = np.argsort(-np.bincount(y, minlength=len(classes)), kind="stable")[:MOST_CENTROIDS]
    means = class_means(X, y, len(classes))[order]
    lengths = np.sqrt(np.asarray(means.multiply(means).sum(axis=1)).ravel())
    average = np.asarray(X.mean(axis=0)).ravel()
    unit = sparse.csr_matrix(sparse.diags(1.0 / np.maximum(lengths, 1e-300)) @ means)
    names = tuple(classes[k] for k in order.tolist())
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    return Weights(unit, names, frequency, average / max(float(np.sqrt(average @ average)), 1e-300))
