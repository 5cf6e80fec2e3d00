"""wMMD² of a batch as a penalty: its value, and its gradient by the vectors, which pulls classes apart.

Words of a batch alone take part; classes with one document in it do not; where fewer than two are left, or the median
distance is 0, the penalty is 0. The width is the median of the batch and is held fixed in the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from cflengine.embedding.laws import Pairs, WordLaws
from cflengine.embedding.pairs import FarVectorError, pair_sums
from cflengine.embedding.problem import EPOCH_FEATURES, EPOCH_WORDS
from cflengine.embedding.random_features import feature_sums
from cflengine.embedding.settings import Kernel
from cflengine.embedding.width import median_width

#: (numbers of documents, M float (V, r)) -> wMMD², its gradient float64 (V, r)
Penalty = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class BatchPenalty:
    """counts: CSR (documents, V); y: classes; kept: bool (V,), the words that count (no stop words)."""

    counts: sparse.csr_matrix = field(repr=False)
    y: np.ndarray = field(repr=False)
    kept: np.ndarray = field(repr=False)
    n_threads: int | None = None

    def __call__(self, documents: np.ndarray, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalty of a batch."""
        gradient = np.zeros(M.shape)
        found = batch_laws(self.counts[documents], self.y[documents], self.kept)
        if found is None:
            return 0.0, gradient
        laws, words = found
        value, own_gradient = _wmmd2(laws, M[words], self.n_threads)
        gradient[words] = own_gradient
        return value, gradient


@dataclass(frozen=True)
class StructuredPenalty:
    """The sum over groups of words, bool (V,) each, of wMMD² of the documents' words in that group."""

    parts: tuple[BatchPenalty, ...]

    def __call__(self, documents: np.ndarray, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalty of a batch."""
        found = [part(documents, M) for part in self.parts]
        return sum(value for value, _ in found), np.sum([gradient for _, gradient in found], axis=0)


@dataclass(frozen=True)
class BigramPenalty:
    """Of pairs of words beside each other, with their vectors joined. counts: CSR (documents, bigrams); first, second:
    int64 (bigrams,), their words."""

    counts: sparse.csr_matrix = field(repr=False)
    y: np.ndarray = field(repr=False)
    first: np.ndarray = field(repr=False)
    second: np.ndarray = field(repr=False)
    n_threads: int | None = None

    def __call__(self, documents: np.ndarray, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The penalty of a batch."""
        gradient = np.zeros(M.shape)
        found = batch_laws(self.counts[documents], self.y[documents], np.ones(len(self.first), dtype=bool))
        if found is None:
            return 0.0, gradient
        laws, bigrams = found
        first, second = self.first[bigrams], self.second[bigrams]
        value, own_gradient = _wmmd2(laws, np.hstack([M[first], M[second]]), self.n_threads)
        np.add.at(gradient, first, own_gradient[:, : M.shape[1]])
        np.add.at(gradient, second, own_gradient[:, M.shape[1] :])
        return value, gradient


def bigram_penalty(ids: np.ndarray, y: np.ndarray, kept: np.ndarray, n_threads: int | None) -> BigramPenalty:
    """From ids int32 (documents, L), −1 where there is no word; kept: bool (V,)."""
    fine = (ids[:, :-1] >= 0) & (ids[:, 1:] >= 0)
    fine &= kept[np.maximum(ids[:, :-1], 0)] & kept[np.maximum(ids[:, 1:], 0)]
    document, at = np.nonzero(fine)
    codes = ids[document, at].astype(np.int64) * len(kept) + ids[document, at + 1]
    bigrams, number = np.unique(codes, return_inverse=True)
    counts = sparse.coo_matrix((np.ones(len(codes)), (document, number)), shape=(len(ids), len(bigrams))).tocsr()
    return BigramPenalty(counts, y, bigrams // len(kept), bigrams % len(kept), n_threads)


def batch_laws(counts: sparse.csr_matrix, y: np.ndarray, kept: np.ndarray) -> tuple[WordLaws, np.ndarray] | None:
    """Laws over the words that occur, and which those are; None where fewer than two classes have two documents."""
    fine = kept[counts.indices]
    rows = np.repeat(np.arange(len(y)), np.diff(counts.indptr))[fine]
    words, column = np.unique(counts.indices[fine], return_inverse=True)
    matrix = sparse.csr_matrix((counts.data[fine], (rows, column)), shape=(len(y), len(words)))
    used = np.flatnonzero(np.diff(matrix.indptr) > 0)
    sizes = np.bincount(y[used], minlength=int(y.max(initial=0)) + 1)
    used = used[sizes[y[used]] >= 2]
    classes, number = np.unique(y[used], return_inverse=True)
    if len(classes) < 2:
        return None
    return WordLaws.of(matrix[used], number, len(classes)), words


def _wmmd2(laws: WordLaws, M: np.ndarray, n_threads: int | None) -> tuple[float, np.ndarray]:
    width = median_width(laws, M, n_threads=n_threads, rounds=2)
    if width == 0.0:
        return 0.0, np.zeros(M.shape)
    try:
        sums = pair_sums(laws, M, Kernel("gaussian", (width,)), gradient=True, n_threads=n_threads)
    except FarVectorError:
        return math.nan, np.zeros(M.shape)  # which ends the training, and is said
    assert sums.gradient is not None
    return sums.total(), sums.gradient


def word_discrepancy(
    laws: WordLaws, M: np.ndarray, n_threads: int | None = None, pairs: Pairs | None = None
) -> tuple[float, float]:
    """wMMD², summed over pairs of classes, at the median width, NaN for a width of 0, and its standard error: by random
    features where words are many, else 0. pairs: see :func:`median_width`."""
    width = median_width(laws, M, n_threads=n_threads, rounds=2, pairs=pairs)
    if width == 0.0:
        return math.nan, math.nan
    kernel = Kernel("gaussian", (width,))
    if len(M) > EPOCH_WORDS:
        found = feature_sums(laws, M, kernel, EPOCH_FEATURES)
        return found.sums.total(), found.standard_error
    try:
        return pair_sums(laws, M, kernel, n_threads=n_threads).total(), 0.0
    except FarVectorError:
        return math.nan, math.nan


def group_masks(groups: Sequence[Sequence[str]], words: Sequence[str]) -> list[np.ndarray]:
    """bool (V,) for each group of words."""
    return [np.isin(np.asarray(words, dtype=object), np.asarray(list(group), dtype=object)) for group in groups]
