"""Compiled: kernel values of pairs of words in tiles, their products with laws, and the derivative by the vectors.

In scaled vectors m (M / width, centred) a Gaussian is exp(e), e = m_v·m_w − ‖m_v‖²/2 − ‖m_w‖²/2 ≤ 0; further widths
are multiples of e, and a Laplace kernel is exp(−√(−2e)). A tile is at most TILE × TILE, so that it stays in the cache;
never is there a matrix of all pairs. Every sum of several tiles is kept per lane, and the lanes are added in order, so
that the result does not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel
from cflengine.engine.kernels_exp import exp_row

TILE = 256
GAUSSIAN, LAPLACE = 0, 1
SAME = 1e-14  # e that is less, in units of ‖m_v‖²/2 + ‖m_w‖²/2, is rounding of equal vectors


class Words(NamedTuple):
    """Vectors so extended that e = x_v·y_w: x = (m, −‖m‖²/2, 1), y = (m, 1, −‖m‖²/2), float64 (V, r + 2).

    scales: float64 (widths,), what e (Gaussian) or √(−2e) (Laplace) is multiplied by for each width; family: GAUSSIAN
    or LAPLACE.
    """

    x: np.ndarray
    y: np.ndarray
    scales: np.ndarray
    family: int


class Buffers(NamedTuple):
    """Of every lane: values, factors: float64 (lanes, TILE²); x, y, product: float64 (lanes, TILE, r + 2); z: float64
    (lanes, TILE)."""

    values: np.ndarray
    factors: np.ndarray
    x: np.ndarray
    y: np.ndarray
    product: np.ndarray
    z: np.ndarray


class Classes(NamedTuple):
    """Of the pass over all pairs of words. P: float64 (V, C), laws summed over the documents of a class; turned: its
    transpose; left: float64 (V, C), P times the coefficients of pairs. KP: float64 (lanes, V, C), 𝐊P; gradient: float64
    (lanes, V, r + 2), of which the last two columns mean nothing, or of length 0 if it is not asked for."""

    P: np.ndarray
    turned: np.ndarray
    left: np.ndarray
    KP: np.ndarray
    gradient: np.ndarray


class Documents(NamedTuple):
    """Of the pass over pairs of words within a document, CSR: indptr, indices, laws; factor: float64 (N,), what pairs
    of each count in the gradient; within: float64 (N,), pᵀ𝐊p; gradient: as in :class:`Classes`."""

    indptr: np.ndarray
    indices: np.ndarray
    laws: np.ndarray
    factor: np.ndarray
    within: np.ndarray
    gradient: np.ndarray


@kernel
def fill_tile(words, x, y, same, buffers):
    """Kernel values of rows x against rows y, and the factor f of their derivative, ∂k/∂m_v = f (m_w − m_v).

    same: whether both are the same words; buffers: (values, factors, z), of which the first two come back as matrices.
    Of a Gaussian of one width both are the same.
    """
    values, factors, z = buffers
    rows, columns, scales, family = len(x), len(y), words.scales, words.family
    wide = x.shape[1]
    E = values[: rows * columns].reshape(rows, columns)
    F = factors[: rows * columns].reshape(rows, columns)
    np.dot(x, y.T, E)
    plain = family == GAUSSIAN and len(scales) == 1
    total, factor = np.empty(columns), np.empty(columns)
    for i in range(rows):
        e = E[i]
        for j in range(columns):
            e[j] = min(e[j], 0.0)
        if same:
            e[i] = 0.0
        if family == LAPLACE:  # takes the root of what may be rounding
            for j in range(columns):
                if e[j] >= SAME * (x[i, wide - 2] + y[j, wide - 1]):
                    e[j] = 0.0
        if plain:
            exp_row(e, z[:columns])
        else:
            mixture_row(e, F[i], (scales, family), (total, factor, z[:columns]))
    return E, E if plain else F


@kernel
def mixture_row(e, f, kind, work):
    """Values, in place of e, and factors of a row, averaged over widths, or of a Laplace kernel."""
    scales, family = kind
    total, factor, z = work
    n, weight = len(e), 1.0 / len(scales)
    total[:] = 0.0
    factor[:] = 0.0
    if family == LAPLACE:
        for j in range(n):
            e[j] = -np.sqrt(-2.0 * e[j])
    for s in scales:
        for j in range(n):
            f[j] = e[j] * s
        exp_row(f, z)
        for j in range(n):
            total[j] += weight * f[j]
            factor[j] += weight * s * f[j]
    for j in range(n):
        if family == GAUSSIAN:
            f[j] = factor[j]
        else:
            f[j] = factor[j] / -e[j] if e[j] < 0.0 else 0.0
        e[j] = total[j]


@kernel
def weigh_tile(left, turned, F):
    """W_vw = f_vw Σ_c left_vc P_wc, in place of F; turned: Pᵀ."""
    rows, columns = F.shape
    sums = np.empty(columns)
    for i in range(rows):
        row = F[i]
        sums[:] = 0.0
        for c in range(len(turned)):
            weight, law = left[i, c], turned[c]
            for j in range(columns):
                sums[j] += weight * law[j]
        for j in range(columns):
            row[j] *= sums[j]


@kernel
def add_gradient_rows(W, x, y, gradient, product):
    """gradient_v += 2 Σ_w W_vw (m_w − m_v); x: of v, y: of w, so that Wy holds Wm and, beside it, the sums of W."""
    out = product[: len(x)]
    np.dot(W, y, out)
    sums = x.shape[1] - 2
    for i in range(len(x)):
        total = out[i, sums]
        for k in range(sums):
            gradient[i, k] += 2.0 * (out[i, k] - total * x[i, k])


@parallel_kernel()
def add_tiles(words, classes, tiles, part, buffers, chunk):
    """Add the tiles part[0] … part[1] − 1 of all pairs of words to 𝐊P and to the gradient of Σ_vw A_vw k_vw, A = left
    Pᵀ.

    tiles: int64 (n, 2), where each begins among rows and columns, rows ≤ columns; tile t is in lane t mod lanes.
    """
    lanes = len(buffers.z)
    for lane in range(chunk[0], chunk[1]):
        for t in range(part[0] + (lane - part[0]) % lanes, part[1], lanes):
            add_tile(words, classes, (tiles[t, 0], tiles[t, 1]), lane, buffers)


@kernel
def add_tile(words, classes, tile, lane, buffers):
    """One of them, and, since 𝐊 is symmetric, its transpose."""
    n, a0, b0 = len(words.x), tile[0], tile[1]
    a1, b1 = min(a0 + TILE, n), min(b0 + TILE, n)
    work = (buffers.values[lane], buffers.factors[lane], buffers.z[lane])
    E, F = fill_tile(words, words.x[a0:a1], words.y[b0:b1], a0 == b0, work)
    P, KP = classes.P, classes.KP[lane]
    KP[a0:a1] += np.dot(E, P[b0:b1])
    if a0 != b0:
        KP[b0:b1] += np.dot(E.T, P[a0:a1])
    if len(classes.gradient) == 0:
        return
    weigh_tile(classes.left[a0:a1], classes.turned[:, b0:b1], F)
    gradient, product = classes.gradient[lane], buffers.product[lane]
    add_gradient_rows(F, words.x[a0:a1], words.y[b0:b1], gradient[a0:a1], product)
    if a0 != b0:
        add_gradient_rows(F.T, words.x[b0:b1], words.y[a0:a1], gradient[b0:b1], product)


@parallel_kernel()
def add_documents(words, documents, part, buffers, chunk):
    """pᵀ𝐊p of the documents part[0] … part[1] − 1, and what factor · pᵀ𝐊p adds to the gradient; document d is in lane
    d mod lanes."""
    lanes = len(buffers.z)
    for lane in range(chunk[0], chunk[1]):
        for d in range(part[0] + (lane - part[0]) % lanes, part[1], lanes):
            add_document(words, documents, d, lane, buffers)


@kernel
def add_document(words, documents, d, lane, buffers):
    """One of them."""
    start, end = documents.indptr[d], documents.indptr[d + 1]
    total = 0.0
    for a0 in range(start, end, TILE):
        for b0 in range(a0, end, TILE):
            total += add_within(words, documents, d, (a0, b0), lane, buffers)
    documents.within[d] = total


@kernel
def add_within(words, documents, d, tile, lane, buffers):
    """A tile of the pairs of words of document d; returns what it adds to pᵀ𝐊p."""
    a0, b0 = tile
    end = documents.indptr[d + 1]
    rows, columns = documents.indices[a0 : min(a0 + TILE, end)], documents.indices[b0 : min(b0 + TILE, end)]
    p, q = documents.laws[a0 : a0 + len(rows)], documents.laws[b0 : b0 + len(columns)]
    x, y = buffers.x[lane], buffers.y[lane]
    gather(words.x, rows, x)
    gather(words.y, columns, y)
    work = (buffers.values[lane], buffers.factors[lane], buffers.z[lane])
    E, F = fill_tile(words, x[: len(rows)], y[: len(columns)], a0 == b0, work)
    total = 0.0
    for i in range(len(rows)):
        for j in range(len(columns)):
            total += p[i] * q[j] * E[i, j]
    if len(documents.gradient):
        factor = documents.factor[d]
        for i in range(len(rows)):
            for j in range(len(columns)):
                F[i, j] *= factor * p[i] * q[j]
        gradient, product = documents.gradient[lane], buffers.product[lane]
        np.dot(F, y[: len(columns)], product[: len(rows)])
        scatter(product, x, rows, gradient)
        if a0 != b0:
            gather(words.y, rows, y)
            gather(words.x, columns, x)
            np.dot(F.T, y[: len(rows)], product[: len(columns)])
            scatter(product, x, columns, gradient)
    return total if a0 == b0 else 2.0 * total


@kernel
def gather(table, rows, out):
    """The rows of a table, one below the other."""
    for i in range(len(rows)):
        out[i] = table[rows[i]]


@kernel
def scatter(product, x, rows, gradient):
    """Add 2 (W m − (sum of W) m_v) to the gradient of each v in rows; product: Wy, as in :func:`add_gradient_rows`."""
    sums = x.shape[1] - 2
    for i in range(len(rows)):
        total, out = product[i, sums], gradient[rows[i]]
        for k in range(sums):
            out[k] += 2.0 * (product[i, k] - total * x[i, k])


@parallel_kernel()
def fill_columns(words, first, last, columns, buffers, chunk):
    """𝐊 of all words against the words first … last − 1, at most TILE of them: columns, float64 (V, last − first)."""
    n, lanes = len(words.x), len(buffers.z)
    for lane in range(chunk[0], chunk[1]):
        for a0 in range(lane * TILE, n, lanes * TILE):
            a1 = min(a0 + TILE, n)
            work = (buffers.values[lane], buffers.factors[lane], buffers.z[lane])
            E, _ = fill_tile(words, words.x[a0:a1], words.y[first:last], False, work)
            columns[a0:a1] = E


@parallel_kernel()
def add_to_gram(by_document, by_word, first, columns, row, gram, chunk):
    """Add to G the part of these columns.

    by_document, by_word: (indptr, indices, data) of the laws in CSR and CSC; row: float64 (lanes, columns).
    """
    lanes = len(row)
    for lane in range(chunk[0], chunk[1]):
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
