"""The relaxation of problem (1) as a linear programme for general solvers, and what their answers are worth.

    minimise  dᵀw + cᵀv   subject to   Xw ≥ 1,   v_s − w_i ≥ 0 for every pointer i of K-gram s,   0 ≤ w, v ≤ 1.

A K-gram that occurs once needs no v: its pointer costs d + c(s). The bounds by 1 change no optimum; first-order
solvers need them to state a valid bound.

An answer is judged by us, in the same way for every solver, from its w and its dual prices α of the rows Xw ≥ 1:

    lower bound   certificate.dual_bound of α itself, or of the prices that the engine repairs it to (kernels/bound.py:
                  an α that misses dual feasibility a little would otherwise be shrunk as a whole), the better one;
    value         the relaxed objective at w made feasible: scaled up where a token is covered by less than 1, or
                  with single words put there, the better one.

Shapes: m pointers in the order of gram_of (K, n) row by row; row j < n of the matrix is token j.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.compression import (
    Coder,
    DualBound,
    Groups,
    PointerLayout,
    StorageCosts,
    coverage_matrix,
    dual_bound,
    objective,
)
from cflengine.text import KGramIndex

_LEAST_COVER = 1e-3  # below it, scaling up costs more than it is worth


def linear_programme(index: KGramIndex, costs: StorageCosts) -> dict[str, np.ndarray]:
    """The arrays: the matrix (data, indices, indptr, shape, by columns), cost, row_lower; n_tokens as an int64 ().

    Row upper bounds are infinite, column bounds 0 and 1.
    """
    pointer = index.gram_of.ravel() >= 0
    gram = index.gram_of.ravel()[pointer]
    m, n = len(gram), index.n_tokens
    d = np.broadcast_to(costs.pointer_by_length[:, None], index.gram_of.shape)
    if costs.pointer_extra.size:
        d = d + costs.pointer_extra
    linked = index.counts() > 1
    column = np.cumsum(linked) - 1  # of v_s, counted from m
    rows = np.flatnonzero(linked[gram])
    cost = np.concatenate(
        [d.ravel()[pointer] + np.where(linked[gram], 0.0, costs.dictionary[gram]), costs.dictionary[linked]]
    )
    ones, count = np.ones(len(rows)), np.arange(len(rows))
    matrix = sparse.bmat(
        [
            [coverage_matrix(index.gram_of).tocsc()[:, np.flatnonzero(pointer)], None],
            [
                sparse.csr_matrix((-ones, (count, rows)), shape=(len(rows), m)),
                sparse.csr_matrix((ones, (count, column[gram[rows]])), shape=(len(rows), int(linked.sum()))),
            ],
        ],
        format="csc",
    )
    return {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int32),
        "indptr": matrix.indptr.astype(np.int32),
        "shape": np.array(matrix.shape),
        "cost": cost,
        "row_lower": np.concatenate([np.ones(n), np.zeros(len(rows))]),
        "n_tokens": np.array(n),
    }


def proved_bound(index: KGramIndex, costs: StorageCosts, alpha: np.ndarray) -> float:
    """The best lower bound that dual prices α, float64 (n,), prove."""
    lay = PointerLayout.of(index)
    coder = Coder(index, costs, lay.blocks)
    repaired = DualBound(coder, Groups(index, lay), costs)
    repaired.update(-np.maximum(alpha, 0.0).astype(np.float32))
    return max(dual_bound(prices, index.gram_of, costs)[0] for prices in (alpha, repaired.alpha()))


def proved_value(index: KGramIndex, costs: StorageCosts, w: np.ndarray) -> float:
    """The relaxed objective at a feasible point near w, float64 (m,)."""
    gram_of, (K, n) = index.gram_of, index.gram_of.shape
    dense = np.zeros((K, n))
    dense[gram_of >= 0] = np.clip(w, 0.0, 1.0)
    cover = _cover(dense)
    words = dense.copy()
    words[0] += np.maximum(1.0 - cover, 0.0)
    values = [objective(words, gram_of, costs)]
    if cover.min(initial=1.0) > _LEAST_COVER:
        short = 1.0 / np.minimum(cover, 1.0)
        factor = np.ones(n)
        for k in range(K):
            factor[: n - k] = np.maximum(factor[: n - k], short[k:])
            # a window that leaves the document belongs to no pointer
            dense[k] *= factor
        values.append(objective(dense, gram_of, costs))
    return min(values)


def _cover(w: np.ndarray) -> np.ndarray:
    """Xw for w (K, n), zero where there is no pointer."""
    cover = np.zeros(w.shape[1])
    for k, row in enumerate(w):
        for j in range(k + 1):
            cover[j:] += row[: len(row) - j]
    return cover
