"""What a statistic of documents is worth: a permutation test, and an interval by the jackknife.

Under the hypothesis that classes have the same law, labels may be exchanged among documents, whatever vectors and width
were computed from the documents without their labels: p = (1 + #{permuted ≥ observed}) / (1 + permutations) is valid.
The interval leaves out one document at a time; close to 0, where the statistic is degenerate, it is too wide.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import sparse

from cflengine.embedding import kernels
from cflengine.embedding.laws import DocumentKernel, WordLaws
from cflengine.embedding.pairs import LANES, PairSums, make_buffers, scaled_words
from cflengine.embedding.problem import pair_coefficients
from cflengine.embedding.settings import Kernel
from cflengine.engine.jit import one_blas_thread, threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Poll, go_on

_COLUMNS = 128
_AT_ONCE = 128  # permutations in one product
_Z = 1.959963984540054  # 97.5 % of a standard normal distribution


def jackknife(sums: PairSums, pairs: list[tuple[int, int]] | None = None) -> float:
    """The standard error of the sum over pairs of classes (None: all); NaN where a class has fewer than 3 documents."""
    laws, n = sums.laws, sums.laws.sizes
    chosen = list(combinations(range(laws.n_classes), 2)) if pairs is None else pairs
    if min(n[c] for pair in chosen for c in pair) < 3:
        return float("nan")
    towards = laws.laws @ sums.KP  # (N, C): p_iᵀ𝐊P_c
    without = np.zeros(laws.n_documents)
    squares = sums.between.diagonal() - sums.within_sums
    change = 0.0
    for c in {c for pair in chosen for c in pair}:
        mine = np.flatnonzero(laws.y == c)
        for a, b in chosen:
            if c not in (a, b):
                continue
            other = b if c == a else a
            own = (squares[c] - 2.0 * (towards[mine, c] - sums.within[mine])) / ((n[c] - 1.0) * (n[c] - 2.0))
            cross = (sums.between[c, other] - towards[mine, other]) / ((n[c] - 1.0) * n[other])
            without[mine] += own - 2.0 * cross  # what stays the same has no part in the variance
        change += (n[c] - 1.0) / n[c] * float(((without[mine] - without[mine].mean()) ** 2).sum())
    return float(np.sqrt(change))


def interval(statistic: float, error: float) -> tuple[float, float]:
    """95 %, by the normal distribution."""
    return statistic - _Z * error, statistic + _Z * error


def document_gram(
    laws: WordLaws, M: np.ndarray, kernel: Kernel, *, n_threads: int | None = None, poll: Poll = lambda: True
) -> np.ndarray:
    """float64 (N, N): p_iᵀ𝐊p_j. Raises MemoryLimitError before it starts, Stopped once ``poll`` says False."""
    n = laws.n_documents
    require_bytes(
        12 * n * n + 8 * _COLUMNS * len(M), "a kernel between documents", "ask for random features, or for no test."
    )
    if kernel.family == "linear":
        means = laws.laws @ np.asarray(M, dtype=np.float64)
        return np.asarray(means @ means.T)
    words, _ = scaled_words(M, kernel)
    by_word = sparse.csc_matrix(laws.laws)
    arrays = [(one.indptr.astype(np.int64), one.indices.astype(np.int64), one.data) for one in (laws.laws, by_word)]
    gram = np.zeros((n, n))
    with threads(n_threads), one_blas_thread():
        buffers = make_buffers(words.x.shape[1])
        for first in range(0, len(words.x), _COLUMNS):
            go_on(poll)
            last = min(first + _COLUMNS, len(words.x))
            columns = np.empty((len(words.x), last - first))
            kernels.fill_columns(words, first, last, columns, buffers, (0, LANES))
            kernels.add_to_gram(*arrays, first, columns, np.empty((LANES, last - first)), gram, (0, LANES))
    return _mirrored(gram)


def _mirrored(gram: np.ndarray) -> np.ndarray:
    """The lower half on the upper one, in place."""
    for first in range(0, len(gram), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        square = gram[rows, rows]
        gram[rows, rows] = np.tril(square) + np.tril(square, -1).T
        gram[rows, first + _AT_ONCE :] = gram[first + _AT_ONCE :, rows].T
    return gram


def permuted_statistics(
    documents: DocumentKernel,
    y: np.ndarray,
    n_classes: int,
    n_permutations: int,
    seed: int = 0,
    poll: Poll = lambda: True,
) -> np.ndarray:
    """float64 (1 + n,): the statistic of the labels as they are, then of labels permuted; fewer once ``poll`` says
    False."""
    rng = np.random.default_rng(seed)
    coefficients = pair_coefficients(np.bincount(y, minlength=n_classes).astype(np.float64))
    diagonal, found = documents.diagonal, []
    for start in range(0, 1 + n_permutations, _AT_ONCE):
        if not poll():
            break
        count = min(_AT_ONCE, 1 + n_permutations - start)
        labels = np.stack([y if start + k == 0 else rng.permutation(y) for k in range(count)], axis=1)
        found.append(_statistics(documents.times, diagonal, labels, coefficients))
    return np.concatenate([*found, np.empty(0)])


def _statistics(
    times: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, labels: np.ndarray, coefficients: np.ndarray
) -> np.ndarray:
    """float64 (B,): of each column of labels (N, B)."""
    n_classes = len(coefficients)
    members = [(labels == c).astype(np.float64) for c in range(n_classes)]
    total = np.zeros(labels.shape[1])
    for a in range(n_classes):
        product = times(members[a])
        total += coefficients[a, a] * ((members[a] * product).sum(axis=0) - diagonal @ members[a])
        for b in range(a + 1, n_classes):
            total += 2.0 * coefficients[a, b] * (members[b] * product).sum(axis=0)
    return total


def tie_tolerance(diagonal: np.ndarray, n_classes: int = 2) -> float:
    """What two statistics may differ by that are equal but for rounding; diagonal: of the documents' kernel."""
    return float(1e-12 * n_classes**2 * np.abs(diagonal).max(initial=0.0))


def p_value(statistics: np.ndarray, tolerance: float = 0.0) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations); the first is the observed one; NaN without permutations."""
    if len(statistics) < 2 or not np.isfinite(statistics).all():
        return float("nan")
    return float((1 + np.count_nonzero(statistics[1:] >= statistics[0] - tolerance)) / len(statistics))
