"""The K-gram index: every word sequence of up to K words, where it occurs, in Θ(Kn) time.

For documents of n tokens in all, a *pointer* is a pair (length k, start position i) that does not cross a document's
end; J(s) is the set of pointers of K-gram s (Paskov, Mitchell, Hastie 2014, §2). Where K-grams are to stay within
sentences, these are the index's documents. K-grams are numbered by length, then from the most frequent to the rarest,
then by first occurrence: K-grams that are worked on one after the other then have equally many pointers, which
processors like, and so do readers.

Shapes, with K = max_gram, m pointers, G distinct K-grams:

    gram_of   int32 (K, n)    gram_of[k-1, i] is the K-gram of length k that starts at i; -1 where it would
                              cross the document's end
    grp_ptr   int32 (G+1,)    |J(s)| = grp_ptr[s+1] - grp_ptr[s]: how often K-gram s occurs, as running sums
    len_ptr   int32 (K+1,)    the K-grams of length k are len_ptr[k-1] .. len_ptr[k]-1

J(s) itself is not stored: it is a scan of one row of gram_of away. State: 4K (gram_of) + 4 G/n (grp_ptr) bytes
a token beside the tokens' own 4; at K = 3 and a K-gram to every 1.8 tokens that is 18.2 (:func:`index_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.mapped import mapped_array
from cflengine.engine.progress import Watch
from cflengine.text.numbering import PASSES, Numbering
from cflengine.text.plain_grams import first_places
from cflengine.text.plain_grams import number_grams as sorted_grams

MAX_GRAM = 32
MOST_POINTERS = 2**31 - 1


def cover_type(max_gram: int) -> type[np.unsignedinteger[Any]]:
    """The type of covers, which have a bit for every length of a pointer. No third type for up to 16 words: two bytes a
    token are little beside as many costs as there are lengths, and all kernels would be compiled once more."""
    return np.uint8 if max_gram <= 8 else np.uint32


@dataclass(frozen=True)
class KGramIndex:
    """All K-grams of a corpus, of n tokens in N documents; build one with :func:`index_kgrams`.

    Parameters
    ----------
    tokens : ndarray
        int32 (n,), the words' numbers.
    doc_ptr : ndarray
        int64 (N+1,), document d is tokens doc_ptr[d] .. doc_ptr[d+1]-1.
    gram_of : ndarray
        int32 (K, n), the K-gram of length k that begins at token i in gram_of[k-1, i]; -1 for none.
    grp_ptr : ndarray
        int32 (G+1,), running sums of how often each K-gram occurs.
    len_ptr : ndarray
        int32 (K+1,), the K-grams of length k are len_ptr[k-1] .. len_ptr[k]-1.
    """

    tokens: np.ndarray
    doc_ptr: np.ndarray
    gram_of: np.ndarray
    grp_ptr: np.ndarray
    len_ptr: np.ndarray

    @property
    def max_gram(self) -> int:
        return len(self.len_ptr) - 1

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def n_documents(self) -> int:
        return len(self.doc_ptr) - 1

    @property
    def n_grams(self) -> int:
        return len(self.grp_ptr) - 1

    @property
    def n_pointers(self) -> int:
        return int(self.grp_ptr[-1])

    def no_cover(self) -> np.ndarray:
        """(n,), no pointers: bit k-1 of an entry is for the pointer of length k there (:func:`cover_type`)."""
        return np.zeros(self.n_tokens, dtype=cover_type(self.max_gram))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, tokens and document borders included."""
        arrays = (self.tokens, self.doc_ptr, self.gram_of, self.grp_ptr, self.len_ptr)
        return sum(array.nbytes for array in arrays)

    def lengths(self) -> np.ndarray:
        """int8 (G,): the length of each K-gram in words."""
        return np.repeat(np.arange(1, self.max_gram + 1, dtype=np.int8), np.diff(self.len_ptr))

    def counts(self) -> np.ndarray:
        """int32 (G,): how often each K-gram occurs."""
        return np.diff(self.grp_ptr)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """float64 (G,): the sum of ``values``, float (K, n), or (n,) for every length, over J(s); Θ(Kn)."""
        total = np.zeros(self.n_grams)
        for row, own in zip(self.gram_of, np.broadcast_to(values, self.gram_of.shape), strict=True):
            inside = row >= 0
            total += np.bincount(row[inside], own[inside], minlength=self.n_grams)
        return total

    def length(self, gram: int) -> int:
        """The number of words of a K-gram."""
        return int(np.searchsorted(self.len_ptr, gram, side="right"))

    def occurrences(self, gram: int) -> np.ndarray:
        """int64: the start positions J(s) of a K-gram, ascending; a scan of n entries."""
        return np.flatnonzero(self.gram_of[self.length(gram) - 1] == gram)

    def last_positions(self, grams: np.ndarray) -> np.ndarray:
        """int64: where each of ``grams`` occurs last; Θ(Kn)."""
        last = np.full(self.n_grams + 1, -1, dtype=np.int64)
        for row in self.gram_of:
            last[row] = np.arange(len(row))
        return np.asarray(last[grams])

    def first_positions(self, grams: np.ndarray) -> np.ndarray:
        """int64: where each of ``grams`` occurs first; Θ(Kn)."""
        first = np.full(self.n_grams + 1, -1, dtype=np.int64)
        for row in self.gram_of:
            first[row[::-1]] = np.arange(len(row) - 1, -1, -1)  # the last value that is assigned stays
        return np.asarray(first[grams])


Indexer = Callable[..., KGramIndex]  # with the parameters of index_kgrams


def check_pointers(n_tokens: int, max_gram: int) -> None:
    """InputError for more pointers than an index can number."""
    if n_tokens * max_gram > MOST_POINTERS:
        raise InputError(
            f"{n_tokens:,} tokens with K = {max_gram} make more than 2^31 pointers: take a smaller K or fewer "
            "documents."
        )


def index_bytes(n_tokens: int, max_gram: int, grams_per_token: float = 0.6) -> int:
    """Bytes of a finished index. ``grams_per_token``: distinct K-grams over tokens; 0.56 in newsgroup posts
    at K = 3, near K where nothing repeats."""
    return int(n_tokens * (4 + 4 * max_gram + 4 * grams_per_token))


def index_kgrams(
    tokens: np.ndarray,
    doc_ptr: np.ndarray,
    max_gram: int,
    *,
    on_disk: bool = False,
    folder: str | None = None,
    watch: Watch | None = None,
) -> KGramIndex:
    """Index all K-grams of up to ``max_gram`` words. Θ(Kn) expected time, by hashing
    (:mod:`~cflengine.text.numbering`).

    Parameters
    ----------
    tokens : int32 ndarray (n,)
        Ids, at least 0.
    doc_ptr : int64 ndarray (N+1,)
        Where documents begin.
    max_gram : int
        K, 1 to 32.
    on_disk : bool
        Whether ``gram_of`` lies in a file (:func:`~cflengine.engine.mapped.mapped_array`).
    folder : str, optional
        Of that file.
    watch : Watch, optional
        Told of the passes done, asked whether to go on.

    Returns
    -------
    KGramIndex
        K-grams numbered by length, then from the most frequent to the rarest.

    Raises
    ------
    InputError
        If ``max_gram`` is out of bounds, if a token id is negative, or if there are more than 2**31 - 1 pointers.
    """
    if not isinstance(max_gram, (int, np.integer)) or not 1 <= max_gram <= MAX_GRAM:
        raise InputError(f"max_gram must be an integer from 1 to {MAX_GRAM}, not {max_gram!r}.")
    tokens = np.ascontiguousarray(tokens, dtype=np.int32)
    doc_ptr = np.ascontiguousarray(doc_ptr, dtype=np.int64)
    n = len(tokens)
    check_pointers(n, max_gram)
    if n and tokens.min() < 0:
        raise InputError("token ids must not be negative.")
    shape = (max_gram, n)
    gram_of = mapped_array(shape, np.int32, folder) if on_disk else np.empty(shape, dtype=np.int32)
    watch = watch or Watch()
    watch.begin("indexing phrases", "passes", max_gram * PASSES)
    numbering = Numbering(tokens, doc_ptr, watch)
    counts_of_length, len_ptr = [], [0]
    parent = tokens
    for length in range(1, max_gram + 1):
        counts_of_length.append(numbering.number(length, parent, len_ptr[-1], gram_of[length - 1]))
        len_ptr.append(len_ptr[-1] + len(counts_of_length[-1]))
        parent = gram_of[length - 1]
    grp_ptr = np.zeros(len_ptr[-1] + 1, dtype=np.int32)
    np.cumsum(np.concatenate(counts_of_length), out=grp_ptr[1:])
    return KGramIndex(tokens, doc_ptr, gram_of, grp_ptr, np.array(len_ptr, dtype=np.int32))


def index_by_sorting(tokens: np.ndarray, doc_ptr: np.ndarray, max_gram: int) -> KGramIndex:
    """The same index as :func:`index_kgrams` makes, without compiled code: several times as slow, but at once there.

    Parameters
    ----------
    tokens : int32 ndarray (n,)
        Ids, at least 0.
    doc_ptr : int64 ndarray (N+1,)
        Where documents begin.
    max_gram : int
        K.

    Returns
    -------
    KGramIndex
        K-grams numbered by length, then from the most frequent to the rarest.
    """
    gram_of, lengths = sorted_grams(tokens, doc_ptr, max_gram)
    first = first_places(np.arange(len(lengths)), gram_of, len(lengths))
    counts = np.bincount(gram_of[gram_of >= 0], minlength=len(lengths))
    order = np.lexsort((first, -counts, lengths))
    number = np.empty(len(order) + 1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    number[-1] = -1  # of a K-gram that would cross its document's end
    grp_ptr = np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int32)
    len_ptr = np.searchsorted(lengths[order], np.arange(1, max_gram + 2)).astype(np.int32)
    return KGramIndex(tokens, doc_ptr, number[gram_of], grp_ptr, len_ptr)
