"""Compiled: histograms of the squared distances of all pairs of words, each pair by how often it occurs."""

from __future__ import annotations

import numpy as np

from cflengine.embedding.kernels import TILE
from cflengine.engine.jit import kernel, loose_kernel, parallel_kernel


@kernel
def put_row(e, mass, other, span, histogram, inside):
    """Add the pairs of a word with others to the histogram of span; what is below it is in the first entry, what is
    above in the last. e: −‖a − b‖²/2; inside: int32 scratch, as long: few are inside a span that is narrow."""
    (low, high), (weights, moments) = span, histogram
    n, n_inside = len(weights) - 2, 0
    below, above = sum_outside(e, other, -0.5 * low, -0.5 * high)
    weights[0] += mass * below
    weights[n + 1] += mass * above
    for j in range(len(e)):
        inside[n_inside] = j
        n_inside += (e[j] <= -0.5 * low) & (e[j] > -0.5 * high)
    scale = n / (high - low)
    for k in range(n_inside):
        j = inside[k]
        squared, weight = -2.0 * e[j], mass * other[j]
        at = 1 + min(int((squared - low) * scale), n - 1)
        weights[at] += weight
        moments[at] += weight * squared


@loose_kernel
def sum_outside(e, other, first, last):
    """The sums of other where e > first and where e ≤ last; e above 0, which is rounding, becomes 0."""
    below, above = 0.0, 0.0
    for j in range(len(e)):
        e[j] = min(e[j], 0.0)
        below += other[j] if e[j] > first else 0.0
        above += other[j] if e[j] <= last else 0.0
    return below, above


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
    factor, inside = 1.0 if same else 2.0, np.empty(E.shape[1], dtype=np.int32)
    for i in range(E.shape[0]):
        if same:
            E[i, i] = 0.0
        put_row(E[i], factor * mass[i], other, span, histogram, inside)


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
