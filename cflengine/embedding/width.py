"""The width of a kernel from the data: the median of the squared distances of two words of different documents.

Every pair of words counts as often as two documents, drawn without replacement, show it at positions drawn at random;
distances of 0, of a word to itself, count. width² is that median, as in the authors' code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from cflengine.embedding import kernels, kernels_median
from cflengine.embedding.laws import Pairs, WordLaws, drawn_pairs, median_of_pairs, squared_distances
from cflengine.embedding.pairs import LANES, scaled_words, tiles_of
from cflengine.embedding.problem import MOST_EXACT
from cflengine.embedding.settings import Kernel
from cflengine.engine.jit import one_blas_thread, threads
from cflengine.engine.progress import Poll, go_on

_BINS = 4_096
_PAIRS = 20_000_000  # of words within documents, in a call of a kernel
_FEW_WORDS, _DRAWN, _DEVIATIONS = 1_000, 8_192, 4.5
_MOST_ROUNDS, _NARROW = 10, 1e-4  # passes, and the interval, of its end, at which enough are made


def median_width(
    laws: WordLaws,
    M: np.ndarray,
    *,
    n_threads: int | None = None,
    seed: int = 0,
    rounds: int = 3,
    pairs: Pairs | None = None,
    poll: Poll = lambda: True,
) -> float:
    """√ of the median; 0.0 where most pairs are of equal vectors. Above MOST_EXACT words, of 10⁶ pairs drawn with
    ``seed``, or of ``pairs``, which were drawn so before. rounds: passes, each of which narrows the interval it is
    sought in by 4,096 (or, the first, to what some pairs make all but certain), and more where a few vectors are far
    from all others; the answer is the mean distance in the last one."""
    M = np.asarray(M, dtype=np.float64)
    if is_drawn(laws):
        return math.sqrt(median_of_pairs(M, drawn_pairs(laws.laws, seed) if pairs is None else pairs))
    return math.sqrt(_exact(laws, M, n_threads, rounds, poll))


def is_drawn(laws: WordLaws) -> bool:
    """Whether words are so many that the median is of pairs drawn at random."""
    return laws.laws.shape[1] > MOST_EXACT


def _exact(laws: WordLaws, M: np.ndarray, n_threads: int | None, rounds: int, poll: Poll) -> float:
    words, _ = scaled_words(M, Kernel("gaussian", (1.0,)), far=math.inf)
    mass = np.asarray(laws.laws.sum(axis=0)).ravel()
    tiles = tiles_of(len(M))
    wide = words.x.shape[1]
    values, rows = np.empty((LANES, kernels.TILE**2)), np.empty((LANES, 2, kernels.TILE, wide))
    law = (laws.laws.indptr.astype(np.int64), laws.laws.indices.astype(np.int64), laws.laws.data)
    half_squares = -words.x[:, -2]
    whole = (0.0, 8.0 * float(half_squares.max()) * (1.0 + 1e-12))  # ‖a − b‖² ≤ 4 max ‖m‖²
    if whole[1] == 0.0:
        return 0.0
    span, k = _likely(laws.laws, M), 1
    if span is None:
        span, k = whole, 0
    with threads(n_threads), one_blas_thread():
        while k < rounds or (k < _MOST_ROUNDS and span[1] - span[0] > _NARROW * span[1]):
            go_on(poll)
            sums = weights, moments = np.zeros((LANES, _BINS + 2)), np.zeros((LANES, _BINS + 2))
            kernels_median.count_tiles((words.x, words.y), mass, tiles, span, sums, values, (0, LANES))
            for part in document_parts(law[0]):
                go_on(poll)
                kernels_median.uncount_documents((words.x, words.y), law, part, span, sums, values, rows, (0, LANES))
            weight, moment = weights.sum(axis=0), moments.sum(axis=0)
            at = int(np.argmax(np.cumsum(weight) > 0.5 * weight.sum() * (1.0 + 1e-12)))
            if k == 1 and not 0 < at <= _BINS:  # not where it was likely to be
                span, k = whole, 0
                continue
            at = min(max(at, 1), _BINS)
            low, step = span[0], (span[1] - span[0]) / _BINS
            found = moment[at] / weight[at] if weight[at] > 0 else low
            span, k = (low + (at - 1) * step, low + at * step), k + 1
    usual = 8.0 * float(np.median(half_squares[half_squares > 0.0]))
    return 0.0 if found < 1e-12 * usual else float(found)


def _likely(laws: sparse.csr_matrix, M: np.ndarray) -> tuple[float, float] | None:
    """An interval of squared distances which, by pairs drawn at random, is all but certain to hold the median; None
    where all pairs are soon counted, or too many are equally far apart."""
    if len(M) < _FEW_WORDS:
        return None
    squared = np.sort(squared_distances(M, drawn_pairs(laws, 0, _DRAWN)))
    far = int(_DEVIATIONS * 0.5 * math.sqrt(_DRAWN))
    low, high = squared[_DRAWN // 2 - far], squared[_DRAWN // 2 + far]
    return (float(low), float(high)) if low > 0.0 and high - low > _NARROW * high else None


def document_parts(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of documents, of about as many pairs of words each."""
    pairs = np.cumsum(np.diff(indptr).astype(np.float64) ** 2)
    last_pair = float(pairs[-1]) if len(pairs) else 0.0
    ends = np.searchsorted(pairs, np.arange(_PAIRS, last_pair + _PAIRS, _PAIRS), side="right")
    first = 0
    for end in [*ends.tolist(), len(pairs)]:
        last = min(max(end, first + 1), len(pairs))
        if last > first:
            yield first, last
        first = max(first, last)
