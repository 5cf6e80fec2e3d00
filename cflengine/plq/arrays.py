"""Data and losses as kernels take them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.linear import kernels_products as products
from cflengine.plq import kernels
from cflengine.plq.certificate import Sizes
from cflengine.plq.problem import CompositeLoss, PLQProblem

_PARTS = 2  # of the rows, whose sums are made side by side: so many whatever the threads, for the same bytes

_WORTH_TWO = 1_000_000  # numbers of which two threads are sooner done
_BLOCK, _DENSE_BLOCK = 8, 16  # neighbours that are visited together: memory likes more, convergence fewer ..
_FREE_BLOCK = 2, 4  # .. in the cache and beyond, where β₀ is free: what it is off is passed on from one to the next
_BLOCKS, _MANY_BLOCKS, _LARGE_BLOCK = 64, 8192, 64  # .. of which there are so many at least; larger if there are more
_IN_CACHE = 1 << 17  # entries of the active rows


def block_size(n: int, entries: float, *, rows: kernels.Rows, free: bool) -> int:
    """How many neighbours are visited together, of n observations that are active; entries: of theirs; free: β₀ is."""
    in_cache, fits = entries <= _IN_CACHE, max(1, n // _BLOCKS)
    if free:
        return min(_FREE_BLOCK[not in_cache], fits)
    most = _DENSE_BLOCK if len(rows.dense) and not in_cache else _BLOCK
    return min(max(min(most, fits), n // _MANY_BLOCKS), _LARGE_BLOCK)


def rows_of(X: np.ndarray | sparse.csr_matrix, norms: np.ndarray) -> kernels.Rows:
    """A matrix as kernels take it; values are not copied if it is float64, and in C order or CSR.

    norms: float64 (n,), squared, of its rows.
    """
    if isinstance(X, np.ndarray):
        none = np.empty(0, dtype=np.int32)
        return kernels.Rows(np.empty(0), none, none.astype(np.int64), np.ascontiguousarray(X), norms)
    indices, indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False)
    return kernels.Rows(np.asarray(X.data), indices, indptr, np.empty((0, 0)), norms)


def sizes_of(X: np.ndarray | sparse.csr_matrix) -> Sizes:
    """:meth:`Sizes.of` in a third of its time."""
    rows, columns = np.empty(X.shape[0]), np.empty((_PARTS, X.shape[1]))
    if isinstance(X, np.ndarray):
        parts = _PARTS if X.size > _WORTH_TWO else 1
        ends = np.linspace(0, len(X), parts + 1).astype(np.int64)
        products.squared_norms_dense(np.ascontiguousarray(X), ends, rows, columns, (0, parts))
        return Sizes(rows, np.full(len(X), float(X.shape[1])), columns[:parts].sum(axis=0))
    products.squared_norms(X.indptr, X.indices, X.data, _parts_of(X.indptr), rows, columns, (0, _PARTS))
    return Sizes(rows, np.diff(X.indptr).astype(np.float64), columns.sum(axis=0))


def _parts_of(indptr: np.ndarray) -> np.ndarray:
    """int64 (_PARTS+1,): where ranges of rows begin that have about as many entries each."""
    ends = np.searchsorted(indptr, np.arange(1, _PARTS) * (int(indptr[-1]) // _PARTS))
    return np.concatenate([[0], ends, [len(indptr) - 1]]).astype(np.int64)


class Products:
    """Of a problem's data: its ``scores`` and ``combination`` (problem.py), of sparse data by kernels, on all threads
    or without the rows whose duals are 0."""

    def __init__(self, problem: PLQProblem, rows: kernels.Rows) -> None:
        self.problem, self.rows = problem, rows
        self.sparse = sparse.issparse(problem.X)
        self.parts = _parts_of(rows.indptr) if self.sparse else np.zeros(0, dtype=np.int64)

    def scores(self, beta: np.ndarray) -> np.ndarray:
        """float64 (n,): Xβ."""
        if not self.sparse:
            return self.problem.scores(beta)
        z, rows = np.empty(self.problem.shape[0]), self.rows
        products.product(rows.indptr, rows.indices, rows.data, beta, z, (0, len(z)))
        return z

    def combination(self, a: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """float64 (d,): q = Aᵀξ − Xᵀa."""
        if not self.sparse:
            return self.problem.combination(a, xi)
        q, rows = np.empty((_PARTS, self.problem.shape[1])), self.rows
        products.transposed_product(rows.indptr, rows.indices, rows.data, a, self.parts, q, (0, _PARTS))
        return self.problem.constraints.combination(xi) - q.sum(axis=0)


def losses_of(loss: CompositeLoss) -> kernels.Losses:
    """Losses as kernels take them: what belongs to an observation stands together."""
    mirrored = loss.U.shape[1] == 0 and loss.S.shape[1] == 2
    mirrored = mirrored and all(np.array_equal(one[:, 0], -one[:, 1]) for one in (loss.S, loss.T))
    return kernels.Losses(np.hstack([loss.U, loss.V, loss.S, loss.T, loss.tau]), loss.U.shape[1], mirrored)
