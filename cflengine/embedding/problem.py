"""Word-level maximum mean discrepancy (wMMD), in plain numpy.

A document is a law over words: of a word at a position drawn at random, p_i = n_i / |n_i|. Word v has the vector M_v,
row v of M. With P_c = Σ_{i in c} p_i, N_c documents of class c and kernel k, 𝐊_vw = k(M_v, M_w),

    wMMD²(M) = E k(M_X, M_X' | a, a) − 2 E k(M_X, M_X' | a, b) + E k(M_X, M_X' | b, b)

of two words from different documents of the classes named is estimated, without bias for M and widths that do not
depend on the documents, by

    [P_aᵀ𝐊P_a − Σ_{i in a} p_iᵀ𝐊p_i] / (N_a (N_a − 1)) − 2 P_aᵀ𝐊P_b / (N_a N_b) + the same as the first of b.

Source: Gao, Dai, JASA 2025, with documents of equal length, where this is their estimate. With unequal lengths a word
counts n_iv / |n_i|, not n_iv: the position is uniform within its document. For several classes: the sum over pairs.

Example: two classes of two documents, one word each, and k is 1 for the same word, else 0:

>>> import numpy as np
>>> laws = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
>>> wmmd2(laws, np.array([0, 0, 1, 1]), K=np.eye(2))
2.0
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

MOST_DOCUMENTS = 8_000  # whose kernel is kept as a matrix; the test of more is by random features
MOST_EXACT = 5_000  # words, beyond which the median distance is that of pairs which are drawn
DRAWN_PAIRS = 1_000_000
TEST_FEATURES = 512  # frequencies of the permutation test where documents are too many for a matrix of them
EPOCH_WORDS = 8_000  # up to which wMMD² of vectors in training is exact
EPOCH_FEATURES = 256  # frequencies beyond
_MOST_ROWS = 2_000_000  # of witness.csv


def kernel_matrix(A: np.ndarray, B: np.ndarray, family: str = "gaussian", widths: tuple[float, ...] = ()) -> np.ndarray:
    """float64 (a, b), k of rows A (a, r) and B (b, r): gaussian exp(−‖a − b‖² / (2 width²)), laplace
    exp(−‖a − b‖ / width), averaged over widths; linear aᵀb."""
    if family == "linear":
        return A @ B.T
    lengths = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    squared = np.maximum(lengths - 2.0 * A @ B.T, 0.0)
    squared[squared <= 1e-14 * lengths] = 0.0  # rounding of equal vectors, of which a Laplace kernel takes the root
    if family == "gaussian":
        return np.mean([np.exp(squared / (-2.0 * width**2)) for width in widths], axis=0)
    return np.mean([np.exp(-np.sqrt(squared) / width) for width in widths], axis=0)


def frequencies(family: str, widths: tuple[float, ...], r: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """float64 (r, n), drawn by the spectral law of a gaussian or laplace kernel: k(a, b) = E cos(wᵀ(a − b))."""
    drawn = rng.normal(size=(r, n)) / np.asarray(widths)[rng.integers(0, len(widths), n)]
    return drawn if family == "gaussian" else drawn / np.abs(rng.normal(size=n))


def pair_coefficients(sizes: np.ndarray, pairs: list[tuple[int, int]] | None = None) -> np.ndarray:
    """What P_aᵀ𝐊P_b counts in the sum over pairs of classes.

    Parameters
    ----------
    sizes : numpy.ndarray
        (C,), documents of each class.
    pairs : list[tuple[int, int]] or None, default: None
        The pairs in the sum, None for all.

    Returns
    -------
    numpy.ndarray
        float64 (C, C), symmetric; the diagonal is also, negative, what the pairs within one document count.
    """
    n_classes = len(sizes)
    coefficients = np.zeros((n_classes, n_classes))
    for a, b in combinations(range(n_classes), 2) if pairs is None else pairs:
        coefficients[a, b] = coefficients[b, a] = -1.0 / (sizes[a] * sizes[b])
        for c in (a, b):
            coefficients[c, c] += 1.0 / (sizes[c] * (sizes[c] - 1.0))
    return coefficients


def wmmd2(laws: np.ndarray, y: np.ndarray, K: np.ndarray) -> float:
    """The estimate, summed over pairs of classes; laws: (N, V), rows that sum to 1; y: (N,), classes from 0; K: (V, V),
    a matrix as no large vocabulary has it: for examples and tests."""
    n_classes = int(y.max()) + 1
    P = np.stack([laws[y == c].sum(axis=0) for c in range(n_classes)])
    coefficients = pair_coefficients(np.bincount(y).astype(np.float64))
    within = np.einsum("iv,vw,iw->i", laws, K, laws)
    return float((coefficients * (P @ K @ P.T)).sum() - (coefficients.diagonal()[y] * within).sum())


def most_words(n_classes: int) -> int:
    """How many words of each pair of so many classes are written down as its witness: of many the first."""
    return max(1_000, _MOST_ROWS * 2 // (n_classes * (n_classes - 1)))
