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
    """Of every lane: values, factors, weights: float64 (lanes, TILE²); product: float64 (lanes, TILE, r + 2)."""

    values: np.ndarray
    factors: np.ndarray
    weights: np.ndarray
    product: np.ndarray


class Classes(NamedTuple):
    """Of the pass over all pairs of words. P: float64 (V, C), laws summed over the documents of a class; left: float64
    (V, C), P times the coefficients of pairs. KP: float64 (lanes, V, C), 𝐊P; gradient: float64 (lanes, V, r + 2), of
    which the last two columns mean nothing, or of length 0 if it is not asked for."""

    P: np.ndarray
    left: np.ndarray
    KP: np.ndarray
    gradient: np.ndarray


class Documents(NamedTuple):
    """Of the pairs of words within a document.

    indices, laws: of CSR, sorted. block_ptr, of, starts, ends: where the words of block b = [b TILE, (b + 1) TILE)
    stand in each document that has some: those of the document of[k], block_ptr[b] ≤ k < block_ptr[b + 1], are
    starts[k] … ends[k] − 1 of indices. factor: float64 (N,), what pairs of each count in the gradient; within: float64
    (lanes, N), pᵀ𝐊p; place: int32 (lanes, N), scratch, −1.
    """

    indices: np.ndarray
    laws: np.ndarray
    block_ptr: np.ndarray
    of: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    factor: np.ndarray
    within: np.ndarray
    place: np.ndarray


@kernel
def fill_tile(words, x, y, same, buffers):
    """Kernel values of rows x against rows y, and the factor f of their derivative, ∂k/∂m_v = f (m_w − m_v).

    same: whether both are the same words; buffers: (values, factors), which come back as matrices.
    Of a Gaussian of one width both are the same.
    """
    values, factors = buffers
    rows, columns, scales, family = len(x), len(y), words.scales, words.family
    wide = x.shape[1]
    E = values[: rows * columns].reshape(rows, columns)
    F = factors[: rows * columns].reshape(rows, columns)
    np.dot(x, y.T, E)
    plain = family == GAUSSIAN and len(scales) == 1
    total, factor = np.empty(columns), np.empty(columns)
    for i in range(rows):
        e = E[i]
        if same:
            e[i] = 0.0
        if family == LAPLACE:  # takes the root of what may be rounding, and may be above 0
            for j in range(columns):
                if e[j] >= SAME * (x[i, wide - 2] + y[j, wide - 1]):
                    e[j] = 0.0
        if plain:
            exp_row(e)
        else:
            mixture_row(e, F[i], (scales, family), (total, factor))
    return E, E if plain else F


@kernel
def mixture_row(e, f, kind, work):
    """Values, in place of e, and factors of a row, averaged over widths, or of a Laplace kernel."""
    scales, family = kind
    total, factor = work
    n, weight = len(e), 1.0 / len(scales)
    total[:] = 0.0
    factor[:] = 0.0
    if family == LAPLACE:
        for j in range(n):
            e[j] = -np.sqrt(-2.0 * e[j])
    for s in scales:
        for j in range(n):
            f[j] = e[j] * s
        exp_row(f)
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
def weigh_tile(classes, documents, tile, lane, matrices):
    """W_vw = f_vw A_vw, A = left Pᵀ + Σ_i factor_i p_i p_iᵀ, in place of F, and pᵀ𝐊p of every document.

    tile: where it begins among rows and columns; matrices: (E, F) of :func:`fill_tile`, which may be one, and A.
    """
    (a0, b0), (E, F, A) = tile, matrices
    is_wanted = len(classes.gradient) > 0
    if is_wanted:
        np.dot(classes.left[a0 : a0 + E.shape[0]], classes.P[b0 : b0 + E.shape[1]].T, A)
    find_block(documents, b0 // TILE, lane, True)
    add_within(documents, tile, lane, (E, A), is_wanted)
    find_block(documents, b0 // TILE, lane, False)
    if is_wanted:
        for i in range(len(F)):
            for j in range(F.shape[1]):
                F[i, j] *= A[i, j]


@kernel
def add_within(documents, tile, lane, matrices, is_wanted):
    """What the pairs of a tile add to pᵀ𝐊p of every document, and, where it is wanted, to A."""
    (a0, b0), (E, A) = tile, matrices
    place, within, factor = documents.place[lane], documents.within[lane], documents.factor
    indices, laws, of, starts, ends = documents.indices, documents.laws, documents.of, documents.starts, documents.ends
    times = 1.0 if a0 == b0 else 2.0
    for k in range(documents.block_ptr[a0 // TILE], documents.block_ptr[a0 // TILE + 1]):
        d = of[k]
        if place[d] < 0:
            continue
        total, first, last = 0.0, starts[place[d]], ends[place[d]]
        for s in range(starts[k], ends[k]):
            e, a, p = E[indices[s] - a0], A[indices[s] - a0], laws[s]
            part, weight = 0.0, factor[d] * p
            for t in range(first, last):
                j = indices[t] - b0
                part += laws[t] * e[j]
                if is_wanted:
                    a[j] += weight * laws[t]
            total += p * part
        within[d] += times * total


@kernel
def find_block(documents, block, lane, is_there):
    """Store where each document's words of a block begin, or forget it."""
    place, of = documents.place[lane], documents.of
    for k in range(documents.block_ptr[block], documents.block_ptr[block + 1]):
        place[of[k]] = k if is_there else -1


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
def add_tiles(words, classes, documents, tiles, part, buffers, chunk):
    """Add the tiles part[0] … part[1] − 1 of all pairs of words to 𝐊P, to pᵀ𝐊p of the documents and to the gradient of
    Σ_vw A_vw k_vw, A = left Pᵀ + Σ_i factor_i p_i p_iᵀ.

    tiles: int64 (n, 2), where each begins among rows and columns, rows ≤ columns; tile t is in lane t mod lanes.
    """
    lanes = len(buffers.values)
    for lane in range(chunk[0], chunk[1]):
        for t in range(part[0] + (lane - part[0]) % lanes, part[1], lanes):
            add_tile(words, classes, documents, (tiles[t, 0], tiles[t, 1]), lane, buffers)


@kernel
def add_tile(words, classes, documents, tile, lane, buffers):
    """One of them, and, since 𝐊 is symmetric, its transpose."""
    n, a0, b0 = len(words.x), tile[0], tile[1]
    a1, b1 = min(a0 + TILE, n), min(b0 + TILE, n)
    work = (buffers.values[lane], buffers.factors[lane])
    E, F = fill_tile(words, words.x[a0:a1], words.y[b0:b1], a0 == b0, work)
    P, KP = classes.P, classes.KP[lane]
    KP[a0:a1] += np.dot(E, P[b0:b1])
    if a0 != b0:
        KP[b0:b1] += np.dot(E.T, P[a0:a1])
    A = buffers.weights[lane][: E.size].reshape(E.shape)
    weigh_tile(classes, documents, tile, lane, (E, F, A))
    if len(classes.gradient) == 0:
        return
    gradient, product = classes.gradient[lane], buffers.product[lane]
    add_gradient_rows(F, words.x[a0:a1], words.y[b0:b1], gradient[a0:a1], product)
    if a0 != b0:
        add_gradient_rows(F.T, words.x[b0:b1], words.y[a0:a1], gradient[b0:b1], product)


@parallel_kernel()
def fill_columns(words, first, last, columns, buffers, chunk):
    """𝐊 of all words against the words first … last − 1, at most TILE of them: columns, float64 (V, last − first)."""
    n, lanes = len(words.x), len(buffers.values)
    for lane in range(chunk[0], chunk[1]):
        for a0 in range(lane * TILE, n, lanes * TILE):
            a1 = min(a0 + TILE, n)
            work = (buffers.values[lane], buffers.factors[lane])
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
