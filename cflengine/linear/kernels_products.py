"""numba kernels of products with a sparse matrix.

Shapes: indptr int64 (rows+1,), indices int32, values float64, by rows for scores and by columns for gradients: the same
product either way. Every row is summed by one thread, so that any number of threads gives the same bytes.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def dot_sparse(values, indices, first, last, x):
    """Σ_k values_k x[indices_k] over k = first .. last − 1, with several sums at once, which a processor adds side by
    side. Unsigned, since a signed index may be one from the end, which would be looked into at every entry."""
    a = b = c = d = 0.0
    p, end = np.uint64(first), np.uint64(last)
    whole = end - (end - p) % np.uint64(4)
    while p < whole:
        a += values[p] * x[np.uint32(indices[p])]
        b += values[p + np.uint64(1)] * x[np.uint32(indices[p + np.uint64(1)])]
        c += values[p + np.uint64(2)] * x[np.uint32(indices[p + np.uint64(2)])]
        d += values[p + np.uint64(3)] * x[np.uint32(indices[p + np.uint64(3)])]
        p += np.uint64(4)
    while p < end:
        a += values[p] * x[np.uint32(indices[p])]
        p += np.uint64(1)
    return (a + b) + (c + d)


@parallel_kernel(least=1000)
def product(indptr, indices, values, x, out, chunk):
    """out_i = Σ_k values_k x[indices_k]."""
    for i in range(chunk[0], chunk[1]):
        out[i] = dot_sparse(values, indices, indptr[i], indptr[i + 1], x)


@kernel
def add_row(values, indices, first, last, factor, out):
    """out_j += factor · value of the entries first .. last − 1."""
    p, end = np.uint64(first), np.uint64(last)
    while p < end:
        out[np.uint32(indices[p])] += factor * values[p]
        p += np.uint64(1)


@parallel_kernel()
def transposed_product(indptr, indices, values, y, parts, out, chunk):
    """out_pj = Σ_i y_i x_ij over the rows i = parts_p .. parts_{p+1} − 1; those with y_i = 0 are passed over."""
    for part in range(chunk[0], chunk[1]):
        out[part] = 0.0
        for i in range(parts[part], parts[part + 1]):
            if y[i] != 0.0:
                add_row(values, indices, indptr[i], indptr[i + 1], y[i], out[part])


@parallel_kernel()
def squared_norms(indptr, indices, values, parts, rows, columns, chunk):
    """‖x_i‖² of every row, and columns_pj = Σ_i x_ij² over the rows i = parts_p .. parts_{p+1} − 1."""
    for part in range(chunk[0], chunk[1]):
        own = columns[part]
        own[:] = 0.0
        for i in range(parts[part], parts[part + 1]):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                square = values[k] * values[k]
                total += square
                own[np.uint32(indices[k])] += square
            rows[i] = total


@parallel_kernel()
def squared_norms_dense(X, parts, rows, columns, chunk):
    """The same of a dense matrix."""
    for part in range(chunk[0], chunk[1]):
        own = columns[part]
        own[:] = 0.0
        for i in range(parts[part], parts[part + 1]):
            total = 0.0
            for j in range(X.shape[1]):
                square = X[i, j] * X[i, j]
                total += square
                own[j] += square
            rows[i] = total


@parallel_kernel(least=1000)
def product_of_ones(indptr, indices, x, out, chunk):
    """As :func:`product` where every value is 1: a third of the bytes."""
    for i in range(chunk[0], chunk[1]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += x[indices[k]]
        out[i] = total


@parallel_kernel(least=1000)
def products(indptr, indices, values, x, out, chunk):
    """out_ic = Σ_k values_k x[indices_k, c]; values of length 0 stand for ones."""
    ones = values.shape[0] == 0
    for i in range(chunk[0], chunk[1]):
        out[i] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = 1.0 if ones else values[k]
            for c in range(out.shape[1]):
                out[i, c] += value * x[indices[k], c]
