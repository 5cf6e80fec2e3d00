"""Kernels between words and between documents, in plain numpy: exact, some rows at a time, or by random features."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy import sparse

from cflengine.embedding.laws import drawn_median
from cflengine.embedding.problem import MOST_EXACT, frequencies, kernel_matrix, pair_coefficients
from cflengine.verify.findings import require, with_progress

_ROWS = 512
_AT_ONCE = 64  # frequencies
_BINS = 4_096
_ROUNDS = 10
_WIDE = 2e-4  # of a squared median distance: the interval in which it is sought ends at half of that
_Z = 1.959963984540054

Pairs = list[tuple[int, int]] | None  # of classes, None for all


class WordKernel:
    """𝐊, some rows at a time."""

    def __init__(self, M: np.ndarray, family: str, widths: tuple[float, ...]) -> None:
        self.M, self.family, self.widths = M - M.mean(axis=0) if family != "linear" else M, family, widths

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows in with_progress([*_row_blocks(len(self.M))], "the kernel of all words", f"blocks of {_ROWS:,}"):
            values = kernel_matrix(self.M[rows], self.M, self.family, self.widths)
            if self.family != "linear":
                own = np.arange(rows.stop - rows.start)
                values[own, own + rows.start] = 1.0
            yield rows, values


@dataclass(frozen=True)
class Products:
    """KP: float64 (V, C), 𝐊P; within: float64 (N,), p_iᵀ𝐊p_i. By random features also error, the standard error of the
    statistic, and features, float64 (N, 2 frequencies)."""

    laws: sparse.csr_matrix = field(repr=False)
    y: np.ndarray = field(repr=False)
    KP: np.ndarray = field(repr=False)
    within: np.ndarray = field(repr=False)
    error: float = 0.0
    features: np.ndarray | None = field(repr=False, default=None)

    @property
    def scale(self) -> float:
        """At which sums are compared."""
        return float(np.abs(self.KP).max())

    def statistic(self, pairs: Pairs = None) -> float:
        """The estimate: Σ_ab C_ab P_aᵀ𝐊P_b − Σ_i C_cc p_iᵀ𝐊p_i."""
        coefficients = pair_coefficients(np.bincount(self.y).astype(np.float64), pairs)
        within = (coefficients.diagonal()[self.y] * self.within).sum()
        return float((coefficients * self._between()[1]).sum() - within)

    def _between(self) -> tuple[np.ndarray, np.ndarray]:
        """p_iᵀ𝐊P_c (N, C), and P_aᵀ𝐊P_b."""
        towards = self.laws @ self.KP
        return towards, np.stack([towards[self.y == c].sum(axis=0) for c in range(self.KP.shape[1])])

    def interval(self, pairs: Pairs = None) -> tuple[float, float]:
        """By leaving out a document at a time, from the kernel sums of each document with each class."""
        y, n = self.y, np.bincount(self.y).astype(np.float64)
        chosen = list(combinations(range(len(n)), 2)) if pairs is None else pairs
        if min(n[c] for pair in chosen for c in pair) < 3:
            return math.nan, math.nan
        towards, between = self._between()
        inner, values = np.bincount(y, self.within), np.zeros(len(y))
        for pair in chosen:
            for c, other in (pair, pair[::-1]):
                mine = np.flatnonzero(y == c)
                own = between[c, c] - inner[c] - 2.0 * (towards[mine, c] - self.within[mine])
                values[mine] += own / ((n[c] - 1.0) * (n[c] - 2.0))
                values[mine] -= 2.0 * (between[c, other] - towards[mine, other]) / ((n[c] - 1.0) * n[other])
        variance = 0.0
        for c in {c for pair in chosen for c in pair}:
            mine = values[y == c]
            variance += (n[c] - 1.0) / n[c] * float(((mine - mine.mean()) ** 2).sum())
        middle = self.statistic(pairs)
        return middle - _Z * math.sqrt(variance), middle + _Z * math.sqrt(variance)


def _row_blocks(n: int) -> Iterator[slice]:
    return (slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS))


def class_sums(laws: sparse.csr_matrix, y: np.ndarray) -> np.ndarray:
    """P (V, C): the laws of a class's documents, summed."""
    return np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() for c in range(int(y.max()) + 1)], axis=1)


def products(laws: sparse.csr_matrix, y: np.ndarray, K: WordKernel) -> Products:
    """From all of 𝐊."""
    P, within = class_sums(laws, y), np.zeros(laws.shape[0])
    KP = np.empty(P.shape)
    for rows, values in K:
        KP[rows] = values @ P
        towards = laws @ values.T  # (N, rows): p_iᵀ𝐊
        within += np.asarray(laws[:, rows].multiply(towards).sum(axis=1)).ravel()
    return Products(laws, y, KP, within)


def feature_products(
    laws: sparse.csr_matrix, y: np.ndarray, K: WordKernel, M: np.ndarray, n: int, seed: int
) -> Products:
    """From n frequencies, drawn again as the run drew them; M: the vectors, which K has moved to their middle."""
    w = frequencies(K.family, K.widths, M.shape[1], n, np.random.default_rng(seed))
    coefficients = pair_coefficients(np.bincount(y).astype(np.float64))
    KP, features, estimates = np.zeros((len(M), len(coefficients))), np.empty((laws.shape[0], 2 * n)), np.empty(n)
    for first in with_progress(range(0, n, _AT_ONCE), "random features", f"blocks of {_AT_ONCE}"):
        angles = M @ w[:, first : first + _AT_ONCE]
        waves = np.hstack([np.cos(angles), np.sin(angles)])
        means = laws @ waves
        sums = np.stack([means[y == c].sum(axis=0) for c in range(len(coefficients))])
        each = np.einsum("ck,cd,dk->k", sums, coefficients, sums) - coefficients.diagonal()[y] @ means**2
        half = angles.shape[1]
        estimates[first : first + half] = each[:half] + each[half:]
        KP += waves @ sums.T / n
        features[:, 2 * first : 2 * (first + half)] = means / math.sqrt(n)
    return Products(laws, y, KP, (features**2).sum(axis=1), float(estimates.std(ddof=1) / math.sqrt(n)), features)


def check_median(laws: sparse.csr_matrix, M: np.ndarray, width: float, seed: int) -> None:
    """FalseResult unless width² is the median of the squared distances of two words of different documents."""
    if len(M) > MOST_EXACT:
        squared = drawn_median(laws, M, seed)
        good = math.isclose(width**2, squared, rel_tol=1e-9)
    else:
        below, up_to, whole = 0.0, 0.0, 0.0
        for squares, weights in _distances(laws, M):
            below += float(weights[squares < width**2 * (1.0 - _WIDE)].sum())
            up_to += float(weights[squares <= width**2 * (1.0 + _WIDE)].sum())
            whole += float(weights.sum())
        good = below <= 0.5 * whole * (1.0 + 1e-9) and up_to >= 0.5 * whole * (1.0 - 1e-9)
    require(good, f"the width {width!r} is not the median distance of two words.")


def median_discrepancy(laws: sparse.csr_matrix, y: np.ndarray, M: np.ndarray, most_words: int, n: int) -> list[float]:
    """wMMD² of a Gaussian kernel as wide as the median distance, that is, between which two numbers it is, as the run
    had the median to within ``_WIDE``; [] where that is 0. Of more than most_words words by n frequencies."""
    squared = drawn_median(laws, M, 0) if len(M) > MOST_EXACT else _median(laws, M)
    if not squared:
        return []
    kernels = [WordKernel(M, "gaussian", (math.sqrt(squared * wider),)) for wider in (1.0 - _WIDE, 1.0 + _WIDE)]
    if len(M) > most_words:
        found = [feature_products(laws, y, K, M, n, 0) for K in kernels]
    else:
        found = [products(laws, y, K) for K in kernels]
    slack = 1e-10 * max(one.scale for one in found)
    values = [one.statistic() for one in found]
    return [min(values) - slack, max(values) + slack]


def _distances(laws: sparse.csr_matrix, M: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Squared distances of words, some rows of all at a time, and how likely two documents show them."""
    X, mass = M - M.mean(axis=0), np.asarray(laws.sum(axis=0)).ravel()
    lengths = (X**2).sum(axis=1)
    for rows in with_progress([*_row_blocks(len(X))], "distances of words", f"blocks of {_ROWS:,}"):
        sizes = lengths[rows, None] + lengths
        squared = np.maximum(sizes - 2.0 * X[rows] @ X.T, 0.0)
        squared[squared <= 1e-14 * sizes] = 0.0
        yield squared, np.outer(mass[rows], mass) - (laws[:, rows].T @ laws).toarray()


def _median(laws: sparse.csr_matrix, M: np.ndarray) -> float:
    """The middle of an interval that holds the median, narrowed until it is short; 0.0 for a median of 0."""
    low, high = 0.0, 4.0 * float(((M - M.mean(axis=0)) ** 2).sum(axis=1).max()) * (1.0 + 1e-9)
    for _ in range(_ROUNDS):
        if high - low <= 0.01 * _WIDE * high:
            break
        below, whole, counts = 0.0, 0.0, np.zeros(_BINS)
        for squared, weights in _distances(laws, M):
            below += float(weights[squared < low].sum())
            whole += float(weights.sum())
            counts += np.histogram(squared, _BINS, (low, high), weights=weights)[0]
        at = int(np.argmax(below + np.cumsum(counts) > 0.5 * whole * (1.0 + 1e-12)))
        step = (high - low) / _BINS
        low, high = low + at * step, low + (at + 1) * step
    return 0.5 * (low + high) if low > 0.0 else 0.0
