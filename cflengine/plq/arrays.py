"""Data and losses as kernels take them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.plq import kernels
from cflengine.plq.problem import CompositeLoss


def rows_of(X: np.ndarray | sparse.csr_matrix, norms: np.ndarray) -> kernels.Rows:
    """A matrix as kernels take it; values are not copied if it is float64, and in C order or CSR.

    norms: float64 (n,), squared, of its rows.
    """
    if isinstance(X, np.ndarray):
        none = np.empty(0, dtype=np.int32)
        return kernels.Rows(np.empty(0), none, none.astype(np.int64), np.ascontiguousarray(X), norms)
    indices, indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
    return kernels.Rows(np.asarray(X.data), indices, indptr, np.empty((0, 0)), norms)


def losses_of(loss: CompositeLoss) -> kernels.Losses:
    """Losses as kernels take them: what belongs to an observation stands together."""
    return kernels.Losses(np.hstack([loss.U, loss.V, loss.S, loss.T, loss.tau]), loss.U.shape[1])
