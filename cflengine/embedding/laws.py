"""Documents as laws over words: what a word at a position drawn at random is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from cflengine.embedding.problem import DRAWN_PAIRS
from cflengine.engine.checks import InputError

_LONGEST = 1e70  # an entry, whose fourth power is a number
_AT_ONCE = 65_536  # pairs of words


@dataclass(frozen=True)
class WordLaws:
    """The laws of the words of N documents.

    Parameters
    ----------
    laws : csr_matrix
        float64 (N, V), p_i = n_i / |n_i| by rows.
    y : ndarray
        int64 (N,), classes from 0.
    n_classes : int
        C.
    lengths : ndarray
        float64 (N,), |n_i|.
    """

    laws: sparse.csr_matrix = field(repr=False)
    y: np.ndarray = field(repr=False)
    n_classes: int
    lengths: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, counts: sparse.csr_matrix, y: np.ndarray, n_classes: int | None = None) -> WordLaws:
        """From counts (N, V). Raises ValueError for a document without words."""
        laws = sparse.csr_matrix(counts, dtype=np.float64, copy=True)
        laws.sum_duplicates()
        laws.eliminate_zeros()
        lengths = np.asarray(laws.sum(axis=1)).ravel()
        if not (lengths > 0).all():
            raise InputError(f"document {int(np.argmin(lengths > 0))} has no words: it has no law.")
        laws.data /= np.repeat(lengths, np.diff(laws.indptr))
        y = np.asarray(y, dtype=np.int64)
        return cls(laws, y, int(y.max()) + 1 if n_classes is None else n_classes, lengths)

    @property
    def n_documents(self) -> int:
        """N."""
        return len(self.y)

    @cached_property
    def sizes(self) -> np.ndarray:
        """float64 (C,): documents of each class."""
        return np.bincount(self.y, minlength=self.n_classes).astype(np.float64)

    @cached_property
    def sums(self) -> np.ndarray:
        """float64 (V, C): P, the laws of a class's documents, summed."""
        member = sparse.csr_matrix(
            (np.ones(len(self.y)), self.y, np.arange(len(self.y) + 1)), (len(self.y), self.n_classes)
        )
        return np.ascontiguousarray((self.laws.T @ member).toarray())

    def only(self, documents: np.ndarray) -> WordLaws:
        """Some of the documents, by number."""
        return WordLaws(self.laws[documents], self.y[documents], self.n_classes, self.lengths[documents])

    def of_pair(self, a: int, b: int) -> WordLaws:
        """The documents of two classes, which become 0 and 1."""
        chosen = np.flatnonzero((self.y == a) | (self.y == b))
        y = np.where(self.y[chosen] == a, 0, 1)
        return WordLaws(self.laws[chosen], y, 2, self.lengths[chosen])

    def restricted(self, words: np.ndarray) -> tuple[WordLaws, np.ndarray]:
        """Laws over some of the words, by number, of the documents that have any; and which documents those are."""
        laws = sparse.csr_matrix(self.laws[:, words])
        masses = np.asarray(laws.sum(axis=1)).ravel()
        kept = np.flatnonzero(masses > 0)
        laws = laws[kept]
        laws.data /= np.repeat(masses[kept], np.diff(laws.indptr))
        return WordLaws(laws, self.y[kept], self.n_classes, self.lengths[kept] * masses[kept]), kept


@dataclass(frozen=True)
class DocumentKernel:
    """G of documents: as a matrix (N, N), or as features (N, D) whose products it is."""

    gram: np.ndarray | None = field(repr=False, default=None)
    features: np.ndarray | None = field(repr=False, default=None)

    @property
    def diagonal(self) -> np.ndarray:
        """float64 (N,)."""
        if self.gram is not None:
            return self.gram.diagonal()
        assert self.features is not None
        return (self.features**2).sum(axis=1)

    def times(self, Z: np.ndarray) -> np.ndarray:
        """G Z, float64 (N, B)."""
        if self.gram is not None:
            return self.gram @ Z
        assert self.features is not None
        return self.features @ (self.features.T @ Z)

    def of(self, documents: np.ndarray) -> DocumentKernel:
        """Of some of them."""
        if self.gram is not None:
            return DocumentKernel(gram=self.gram[np.ix_(documents, documents)])
        assert self.features is not None
        return DocumentKernel(features=self.features[documents])


def centred(laws: sparse.csr_matrix, M: np.ndarray) -> np.ndarray:
    """Vectors less the mean of the documents' mean vectors.

    Of the linear kernel wMMD² stays what it is; but a witness pulls to a class from there, and not from wherever 0 was,
    and digits that all vectors have in common are not lost.

    Parameters
    ----------
    laws : csr_matrix
        float64 (N, V), p_i by rows.
    M : ndarray
        (V, r).

    Returns
    -------
    ndarray
        float64 (V, r).

    Raises
    ------
    InputError
        For vectors so long that products of products are no numbers.
    """
    M = np.asarray(M, dtype=np.float64)
    if float(np.abs(M).max(initial=0.0)) > _LONGEST:
        raise InputError("the vectors are so long that their products are no numbers: divide them all by some number.")
    return M - (laws @ M).mean(axis=0)


#: integers (n,) and (n,): two words each
Pairs = tuple[np.ndarray, np.ndarray]


def drawn_median(laws: sparse.csr_matrix, M: np.ndarray, seed: int) -> float:
    """The median of the squared distances of two words of two different documents, of pairs drawn at random; laws: CSR
    (N, V), rows that sum to 1."""
    return median_of_pairs(M, drawn_pairs(laws, seed))


def drawn_pairs(laws: sparse.csr_matrix, seed: int, n: int = DRAWN_PAIRS) -> Pairs:
    """n pairs of words, of two different documents each, drawn by their laws."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, laws.shape[0], n)
    second = (first + rng.integers(1, laws.shape[0], n)) % laws.shape[0]  # another one
    return _drawn_words(laws, first, rng), _drawn_words(laws, second, rng)


def median_of_pairs(M: np.ndarray, pairs: Pairs) -> float:
    """Of their squared distances."""
    squared = squared_distances(M, pairs)
    return float(np.partition(squared, len(squared) // 2)[len(squared) // 2])


def squared_distances(M: np.ndarray, pairs: Pairs) -> np.ndarray:
    """float64 (n,), of n pairs of words."""
    a, b = pairs
    squared = np.empty(len(a))
    for start in range(0, len(a), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        squared[part] = ((M[a[part]] - M[b[part]]) ** 2).sum(axis=1)
    return squared


def _drawn_words(laws: sparse.csr_matrix, documents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A word of each of these documents, drawn by its law."""
    ends, indptr = np.concatenate([[0.0], np.cumsum(laws.data)]), laws.indptr
    at = ends[indptr[documents]] + rng.random(len(documents)) * (ends[indptr[documents + 1]] - ends[indptr[documents]])
    place = np.searchsorted(ends, at, side="right") - 1
    return laws.indices[np.clip(place, indptr[documents], indptr[documents + 1] - 1)]
