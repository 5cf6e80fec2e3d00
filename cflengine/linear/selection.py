"""Which features say most about a class: mutual information, as the paper chooses its 500 words (Section II-A.5)."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import xlogy


def mutual_information(X: sparse.csr_matrix, y: np.ndarray) -> np.ndarray:
    """float64 (d,), in nats: I(feature present; class), of X (n, d) and y (n,), above 0 for documents of the class."""
    n = X.shape[0]
    present = sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    inside = (y > 0).astype(np.float64)
    both, with_feature = present.T @ inside, np.asarray(present.sum(axis=0)).ravel()
    of_class = inside.sum()
    cells = (
        (both, with_feature, of_class),
        (with_feature - both, with_feature, n - of_class),
        (of_class - both, n - with_feature, of_class),
        (n - with_feature - of_class + both, n - with_feature, n - of_class),
    )
    total = np.zeros(X.shape[1])
    for count, row, column in cells:
        with np.errstate(divide="ignore", invalid="ignore"):
            total += xlogy(count, np.where(count > 0, count * n / (row * column), 1.0))
    return np.maximum(total / n, 0.0)
