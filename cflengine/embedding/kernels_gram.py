"""Compiled: the kernel between documents, G_ij = p_iᵀ𝐊p_j, a block of columns of 𝐊 at a time."""

from __future__ import annotations

from numba import prange

from cflengine.embedding.kernels import TILE, fill_tile
from cflengine.engine.jit import kernel, parallel_kernel


@parallel_kernel
def fill_columns(words, first, last, columns, buffers):
    """𝐊 of all words against the words first … last − 1, at most TILE of them: columns, float64 (V, last − first)."""
    n, lanes = len(words.x), len(buffers.z)
    for lane in prange(lanes):
        for a0 in range(lane * TILE, n, lanes * TILE):
            a1 = min(a0 + TILE, n)
            work = (buffers.values[lane], buffers.factors[lane], buffers.z[lane])
            E, _ = fill_tile(words, words.x[a0:a1], words.y[first:last], False, work)
            columns[a0:a1] = E


@parallel_kernel
def add_to_gram(by_document, by_word, first, columns, row, gram):
    """Add to G the part of these columns.

    by_document, by_word: (indptr, indices, data) of the laws in CSR and CSC; row: float64 (lanes, columns).
    """
    lanes = len(row)
    for lane in prange(lanes):
        for i in range(lane, len(gram), lanes):
            add_document_row(by_document, by_word, (first, i), columns, row[lane], gram[i])


@kernel
def add_document_row(by_document, by_word, place, columns, row, out):
    """Of document i, against documents up to i: G is symmetric."""
    indptr, indices, data = by_document
    word_ptr, documents, laws = by_word
    first, i = place
    row[:] = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        weight, values = data[k], columns[indices[k]]
        for j in range(len(row)):
            row[j] += weight * values[j]
    for j in range(len(row)):
        for k in range(word_ptr[first + j], word_ptr[first + j + 1]):
            if documents[k] > i:
                break
            out[documents[k]] += row[j] * laws[k]
