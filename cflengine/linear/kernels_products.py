"""numba kernels of products with a sparse matrix.

Shapes: indptr int64 (rows+1,), indices int32, values float64, by rows for scores and by columns for gradients: the same
product either way. Every row is summed by one thread, so that any number of threads gives the same bytes.
"""

from __future__ import annotations

from cflengine.engine.jit import parallel_kernel


@parallel_kernel(least=1000)
def product(indptr, indices, values, x, out, chunk):
    """out_i = Σ_k values_k x[indices_k]."""
    for i in range(chunk[0], chunk[1]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * x[indices[k]]
        out[i] = total


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
