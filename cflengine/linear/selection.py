"""Which features say most about a class, or about a number.

Mutual information: as Yang and Pedersen (1997) call information gain, and as Mathur and Chakrabarti choose their 500
words (Section II-A.5).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import xlogy


def mutual_information(X: sparse.csr_matrix, y: np.ndarray) -> np.ndarray:
    """I(feature present; class), a value for each class.

    Parameters
    ----------
    X : CSR matrix (n, d)
        A feature is present where its entry is not 0.
    y : int ndarray (n,)
        Classes.

    Returns
    -------
    float64 ndarray (d,)
        In nats.
    """
    n = X.shape[0]
    present = sparse.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    with_feature, turned = np.asarray(present.sum(axis=0)).ravel(), sparse.csr_matrix(present.T)
    total = np.zeros(X.shape[1])
    for label in np.unique(y):
        inside = (y == label).astype(np.float64)
        both, of_class = turned @ inside, inside.sum()
        for count, row in ((both, with_feature), (of_class - both, n - with_feature)):
            with np.errstate(divide="ignore", invalid="ignore"):
                total += xlogy(count, np.where(count > 0, count * n / (row * of_class), 1.0))
    return np.maximum(total / n, 0.0)
