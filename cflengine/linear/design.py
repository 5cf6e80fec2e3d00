"""A sparse matrix of documents and features as kernels want it: by rows and by columns, values left out if all 1."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from cflengine.linear import kernels_products as kernels


class Arrays(NamedTuple):
    """indptr: int64; indices: int32; values: float64, of length 0 where all entries are 1."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class Design:
    """A design matrix and products with it.

    Parameters
    ----------
    X : csr_matrix
        float64 (n, d), in CSR.

    Attributes
    ----------
    by_rows, by_columns : as kernels take them.
    """

    def __init__(self, X: sparse.csr_matrix) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.ones = bool((X.data == 1.0).all())
        self.by_rows = self._arrays(X)

    @cached_property
    def by_columns(self) -> Arrays:
        """X by columns."""
        return self._arrays(self.X.tocsc())

    def _arrays(self, matrix: sparse.csr_matrix | sparse.csc_matrix) -> Arrays:
        values = np.empty(0) if self.ones else matrix.data.astype(np.float64, copy=False)
        return Arrays(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), values)

    def times(self, w: np.ndarray) -> np.ndarray:
        """X w: float64 (n,), or (n, C) of (d, C)."""
        return self._product(self.by_rows, w, self.shape[0])

    def transposed(self, derivative: np.ndarray) -> np.ndarray:
        """Xᵀ derivative: float64 (d,), or (d, C) of (n, C)."""
        return self._product(self.by_columns, derivative, self.shape[1])

    def squared_lengths(self) -> np.ndarray:
        """‖x_i‖² of every row: float64 (n,)."""
        if self.ones:
            return np.diff(self.X.indptr).astype(np.float64)
        squares = sparse.csr_matrix((self.X.data**2, self.X.indices, self.X.indptr), self.shape)
        return squares @ np.ones(self.shape[1])

    def squared_transposed(self, derivative: np.ndarray) -> np.ndarray:
        """(X∘X)ᵀ derivative, in the shapes of :meth:`transposed`."""
        indptr, rows, values = self.by_columns
        return self._product(Arrays(indptr, rows, values * values), derivative, self.shape[1])

    def _product(self, arrays: Arrays, x: np.ndarray, n: int) -> np.ndarray:
        out = np.empty((n, *x.shape[1:]))
        if x.ndim == 2:
            kernels.products(*arrays, x, out, (0, n))
            return out
        if self.ones:
            kernels.product_of_ones(*arrays[:2], x, out, (0, n))
        else:
            kernels.product(*arrays, x, out, (0, n))
        return out

    def merged(self, cluster_of: np.ndarray, n_clusters: int) -> Design:
        """The design whose features are the clusters' sums (the paper's pseudo-features f_k)."""
        d = self.shape[1]
        chosen = sparse.csr_matrix((np.ones(d), cluster_of, np.arange(d + 1)), shape=(d, n_clusters))
        X = sparse.csr_matrix(self.X @ chosen)
        X.sort_indices()
        return Design(X)
