"""Counts of features by document, weighted: as they are, by the document's length, by how rare a feature is.

count     as they are
tf        count / the document's sum
idf       count × idf
tf-idf    both
damped    √count × idf, the document scaled to length 1: a long document, or a feature that one document has often,
          weighs less. Measured on RateBeer (docs/results.md), it is best for most tasks and ways to count, not for all.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.engine.checks import check_choice

WEIGHTINGS = ("count", "tf", "idf", "tf-idf", "damped")


def check_weighting(weighting: str) -> str:
    """``weighting`` as one of WEIGHTINGS (``"tfidf"`` is ``"tf-idf"``); ValueError otherwise."""
    name = "tf-idf" if weighting == "tfidf" else weighting
    return check_choice(name, "weighting", WEIGHTINGS)


def document_frequency(counts: sparse.csr_matrix) -> np.ndarray:
    """int64 (features,): in how many documents each feature occurs."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def inverse_document_frequency(frequency: np.ndarray, n_documents: int) -> np.ndarray:
    """float64: ln((1 + N) / (1 + df)) + 1, as scikit-learn smooths it."""
    return np.log((1.0 + n_documents) / (1.0 + frequency)) + 1.0


def idf_of(counts: sparse.csr_matrix) -> np.ndarray:
    """float64 (features,): by the documents that are counted here."""
    return inverse_document_frequency(document_frequency(counts), counts.shape[0])


def weigh(counts: sparse.csr_matrix, weighting: str, idf: np.ndarray) -> sparse.csr_matrix:
    """CSR of the same shape; ``count`` leaves counts as they are, the others are float64. idf: float64 (features,)."""
    weighting = check_weighting(weighting)
    if weighting == "count":
        return counts
    matrix = counts.astype(np.float64)
    if weighting in ("tf", "tf-idf"):
        totals = np.asarray(matrix.sum(axis=1)).ravel()
        matrix.data /= np.repeat(np.where(totals > 0, totals, 1.0), np.diff(matrix.indptr))
    if weighting == "damped":
        np.sqrt(matrix.data, out=matrix.data)
    if weighting in ("idf", "tf-idf", "damped"):
        matrix.data *= idf[matrix.indices]
    if weighting == "damped":
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        lengths = np.sqrt(np.bincount(rows, matrix.data**2, minlength=matrix.shape[0]))
        matrix.data /= np.maximum(lengths, 1e-300)[rows]
    return matrix
