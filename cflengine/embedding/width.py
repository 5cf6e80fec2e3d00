"""The width of a kernel from the data: the median of the squared distances of two words of different documents.

Every pair of words counts as often as two documents, drawn without replacement, show it at positions drawn at random;
distances of 0, of a word to itself, count. width² is that median, as in the authors' code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from cflengine.embedding import kernels, kernels_median
from cflengine.embedding.laws import WordLaws, drawn_median
from cflengine.embedding.pairs import LANES, scaled_words, tiles_of
from cflengine.embedding.problem import MOST_EXACT
from cflengine.embedding.settings import Kernel
from cflengine.engine.jit import one_blas_thread, threads
from cflengine.engine.progress import Poll, go_on

_BINS = 4_096
_PAIRS = 20_000_000  # of words within documents, in a call of a kernel
_MOST_ROUNDS, _NARROW = 10, 1e-4  # passes, and the interval, of its end, at which enough are made


def median_width(
    laws: WordLaws,
    M: np.ndarray,
    *,
    n_threads: int | None = None,
    seed: int = 0,
    rounds: int = 3,
    poll: Poll = lambda: True,
) -> float:
    """√ of the median; 0.0 where most pairs are of equal vectors. Above MOST_EXACT words, of 10⁶ pairs drawn with
    ``seed``. rounds: passes, each of which narrows the interval it is sought in by 4,096, and more where a few vectors
    are far from all others; the answer is the mean distance in the last one."""
    M = np.asarray(M, dtype=np.float64)
    if laws.laws.shape[1] > MOST_EXACT:
        return math.sqrt(drawn_median(laws.laws, M, seed))
    return math.sqrt(_exact(laws, M, n_threads, rounds, poll))


def _exact(laws: WordLaws, M: np.ndarray, n_threads: int | None, rounds: int, poll: Poll) -> float:
    words, _ = scaled_words(M, Kernel("gaussian", (1.0,)), far=math.inf)
    mass = np.asarray(laws.laws.sum(axis=0)).ravel()
    tiles = tiles_of(len(M))
    wide = words.x.shape[1]
    values, rows = np.empty((LANES, kernels.TILE**2)), np.empty((LANES, 2, kernels.TILE, wide))
    law = (laws.laws.indptr.astype(np.int64), laws.laws.indices.astype(np.int64), laws.laws.data)
    half_squares = -words.x[:, -2]
    low, high = 0.0, 8.0 * float(half_squares.max())  # ‖a − b‖² ≤ 4 max ‖m‖²
    largest = high
    if high == 0.0:
        return 0.0
    with threads(n_threads), one_blas_thread():
        for k in range(_MOST_ROUNDS):
            if k >= rounds and high - low <= _NARROW * high:
                break
            go_on(poll)
            sums = weights, moments = np.zeros((LANES, _BINS + 2)), np.zeros((LANES, _BINS + 2))
            span = (low, high * (1.0 + 1e-12) if high == largest else high)
            kernels_median.count_tiles((words.x, words.y), mass, tiles, span, sums, values, (0, LANES))
            for part in document_parts(law[0]):
                go_on(poll)
                kernels_median.uncount_documents((words.x, words.y), law, part, span, sums, values, rows, (0, LANES))
            weight, moment = weights.sum(axis=0), moments.sum(axis=0)
            half = 0.5 * weight.sum()
            at = 1 + int(np.argmax(np.cumsum(weight)[1:-1] > half * (1.0 + 1e-12)))
            step = (span[1] - low) / _BINS
            found = moment[at] / weight[at] if weight[at] > 0 else low
            low, high = low + (at - 1) * step, low + at * step
    usual = 8.0 * float(np.median(half_squares[half_squares > 0.0]))
    return 0.0 if found < 1e-12 * usual else float(found)


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
