"""How often a document uses each K-gram of a dictionary: three ways to count.

    pointers      the pointers of its cheapest encoding (the paper's, §2). Of two encodings that cost nearly the same
                  one is taken and the other counts for nothing: a small change of a text may change many counts.
    occurrences   every place where the K-gram's words stand, overlapping ones too.
    soft          expected pointers over all encodings without overlap, an encoding E weighted by e^(−cost(E)/T):

        count(s) = Σ_{(k,i) stands for s} F(i) e^(−1/T) B(i+k) / F(n)
        F(i) = Σ_k F(i−k) e^(−1/T)  over the lengths k with a K-gram of the dictionary at i−k,  F(0) = 1,

    and B likewise from the end: forward-backward in O(Kn). A pointer costs 1 whatever λ was; a word that is no K-gram
    of the dictionary by itself passes as a literal, at ``literal_cost``, which is counted nowhere. T → 0 counts the
    encodings with the fewest pointers, T → ∞ weighs all encodings alike.

Shapes: features int32 (K, n), the entry of the dictionary that stands at each token by length, -1 for none.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import sparse

from cflengine.compression.kernels import count as kernels
from cflengine.compression.model.problem import SOFT_LITERAL
from cflengine.engine.checks import InputError, check_choice, is_number
from cflengine.text.kgrams import KGramIndex

COUNTINGS = ("pointers", "occurrences", "soft")
_CHUNK_TOKENS = 1 << 20


def counted_as(counting: str) -> str:
    """Which documents are said to have a feature: those with a pointer to it, or those where it occurs, which soft
    counts are of as well."""
    return "pointers" if counting == "pointers" else "occurrences"


def check_counting(counting: str, temperature: float, literal_cost: float | None = None) -> None:
    """ValueError for a way to count that is none of COUNTINGS, a temperature that is not above 0 and finite, or a cost
    of literals that is no finite number of 0 or more."""
    check_choice(counting, "counting", COUNTINGS)
    if not (is_number(temperature) and 0 < temperature < np.inf):
        raise InputError(f"temperature must be a number above 0, not {temperature!r}.")
    if literal_cost is not None and not (is_number(literal_cost) and 0 <= literal_cost < np.inf):
        raise InputError(f"literal_cost must be a number of at least 0 or None, not {literal_cost!r}.")


def places_of(index: KGramIndex, gram_ids: np.ndarray) -> np.ndarray:
    """Which of some K-grams of an index stands at each token, by length.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    gram_ids : int32 ndarray
        Their numbers there.

    Returns
    -------
    int32 ndarray (K, n)
        Positions in ``gram_ids``, −1 for none.
    """
    entry_of = np.full(index.n_grams + 1, -1, dtype=np.int32)  # the last one for what crosses a document's end
    entry_of[gram_ids] = np.arange(len(gram_ids), dtype=np.int32)
    return entry_of[index.gram_of]


def count_places(
    features: np.ndarray,
    doc_ptr: np.ndarray,
    n_features: int,
    counting: str,
    temperature: float,
    literal_cost: float | None,
) -> sparse.csr_matrix:
    """By ``counting``, "occurrences" or "soft"; literal_cost: None for SOFT_LITERAL."""
    if counting == "occurrences":
        return count_occurrences(features, doc_ptr, n_features)
    literal = SOFT_LITERAL if literal_cost is None else float(literal_cost)
    return count_softly(features, doc_ptr, n_features, float(temperature), literal)


def count_occurrences(features: np.ndarray, doc_ptr: np.ndarray, n_features: int) -> sparse.csr_matrix:
    """Where each K-gram stands, counted.

    Parameters
    ----------
    features : int32 ndarray (K, n)
        As :func:`places_of` gives them.
    doc_ptr : int64 ndarray (N+1,)
        Where documents begin.
    n_features : int
        K-grams of the dictionary.

    Returns
    -------
    int64 CSR matrix (N, n_features)
        Occurrences, overlapping ones too.
    """
    parts = []
    for first, last in _chunks(doc_ptr):
        here = features[:, doc_ptr[first] : doc_ptr[last]]
        parts.append(_gathered(here, doc_ptr[first : last + 1], n_features, np.ones_like(here, dtype=np.int64)))
    return _stacked(parts, n_features, np.int64)


def count_softly(
    features: np.ndarray, doc_ptr: np.ndarray, n_features: int, temperature: float, literal_cost: float = SOFT_LITERAL
) -> sparse.csr_matrix:
    """float64 CSR (N, n_features): expected uses. Every K-gram that occurs has an entry, however small."""
    parts = []
    for first, last in _chunks(doc_ptr):
        here = np.ascontiguousarray(features[:, doc_ptr[first] : doc_ptr[last]])
        ptr = doc_ptr[first : last + 1] - doc_ptr[first]
        work, value = np.empty((3, here.shape[1] + len(ptr) - 1)), np.empty(here.shape)
        kernels.expected_uses(here, ptr, (float(literal_cost), float(temperature)), work, value, (0, len(ptr) - 1))
        parts.append(_gathered(here, ptr, n_features, value))
    return _stacked(parts, n_features, np.float64)


def _chunks(doc_ptr: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of documents of about so many tokens, so that what is gathered stays small."""
    n_chunks = max(1, -(-int(doc_ptr[-1]) // _CHUNK_TOKENS))
    cuts = np.searchsorted(doc_ptr, np.linspace(0, int(doc_ptr[-1]), n_chunks + 1)[1:-1]).tolist()
    borders = sorted({0, *cuts, len(doc_ptr) - 1})
    return list(itertools.pairwise(borders))


def _gathered(features: np.ndarray, doc_ptr: np.ndarray, n_features: int, value: np.ndarray) -> sparse.csr_matrix:
    """Values summed by document and entry; doc_ptr may begin anywhere."""
    length, place = np.nonzero(features >= 0)
    document = np.repeat(np.arange(len(doc_ptr) - 1), np.diff(doc_ptr))[place]
    where = (document, features[length, place])
    matrix = sparse.csr_matrix((value[length, place], where), shape=(len(doc_ptr) - 1, n_features))
    matrix.sum_duplicates()
    return matrix


def _stacked(parts: list[sparse.csr_matrix], n_features: int, kind: type) -> sparse.csr_matrix:
    if not parts:
        return sparse.csr_matrix((0, n_features), dtype=kind)
    return parts[0] if len(parts) == 1 else sparse.csr_matrix(sparse.vstack(parts, format="csr"))
