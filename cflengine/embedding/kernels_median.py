"""Compiled: histograms of the squared distances of all pairs of words, each pair by how often it occurs."""

from __future__ import annotations

import numpy as np

from cflengine.embedding.kernels import TILE
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def put(squared, weight, span, weights, moments):
    """Add a pair to the histogram of span; what is below it is in the first entry, what is above in the last."""
    low, high = span
    n = len(weights) - 2
    position = (squared - low) / (high - low) * n
    at = 0  # also of NaN
    if position >= n:
        at = n + 1
    elif position >= 0.0:
        at = 1 + int(position)
    weights[at] += weight
    moments[at] += weight * squared


@parallel_kernel()
def count_tiles(words, mass, tiles, span, sums, values, chunk):
    """All pairs of words (v, w), each by mass_v mass_w; words: (x, y) of :class:`~cflengine.embedding.kernels.Words`;
    sums: weights and moments, float64 (lanes, bins + 2); values: float64 (lanes, TILE²); chunk: of lanes."""
    (x, y), (weights, moments) = words, sums
    lanes = len(values)
    for lane in range(chunk[0], chunk[1]):
        for t in range(lane, len(tiles), lanes):
            a0, b0 = tiles[t]
            a1, b1 = min(a0 + TILE, len(x)), min(b0 + TILE, len(x))
            E = values[lane][: (a1 - a0) * (b1 - b0)].reshape(a1 - a0, b1 - b0)
            np.dot(x[a0:a1], y[b0:b1].T, E)
            count_tile(E, mass[a0:a1], mass[b0:b1], a0 == b0, span, (weights[lane], moments[lane]))


@kernel
def count_tile(E, mass, other, same, span, histogram):
    """One tile, and, off the diagonal, its transpose."""
    weights, moments = histogram
    factor = 1.0 if same else 2.0
    for i in range(E.shape[0]):
        for j in range(E.shape[1]):
            squared = 0.0 if same and i == j else max(-2.0 * E[i, j], 0.0)
            put(squared, factor * mass[i] * other[j], span, weights, moments)


@kernel
def gather(table, rows, out):
    """The rows of a table, one below the other."""
    for i in range(len(rows)):
        out[i] = table[rows[i]]


@parallel_kernel()
def uncount_documents(words, laws, part, span, sums, values, rows, chunk):
    """Take out the pairs of words within the documents part[0] … part[1] − 1; laws: (indptr, indices, data); rows:
    float64 (lanes, 2, TILE, r + 2)."""
    (x, y), (weights, moments) = words, sums
    indptr, indices, data = laws
    lanes = len(values)
    for lane in range(chunk[0], chunk[1]):
        for d in range(part[0] + (lane - part[0]) % lanes, part[1], lanes):
            for a0 in range(indptr[d], indptr[d + 1], TILE):
                for b0 in range(a0, indptr[d + 1], TILE):
                    a1, b1 = min(a0 + TILE, indptr[d + 1]), min(b0 + TILE, indptr[d + 1])
                    gather(x, indices[a0:a1], rows[lane, 0])
                    gather(y, indices[b0:b1], rows[lane, 1])
                    E = values[lane][: (a1 - a0) * (b1 - b0)].reshape(a1 - a0, b1 - b0)
                    np.dot(rows[lane, 0, : a1 - a0], rows[lane, 1, : b1 - b0].T, E)
                    count_tile(E, -data[a0:a1], data[b0:b1], a0 == b0, span, (weights[lane], moments[lane]))
