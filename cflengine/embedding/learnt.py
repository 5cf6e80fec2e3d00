"""Quick vectors from a user's own documents: positive pointwise mutual information, factorised.

PPMI(v, w) = max(0, ln[#(v, w) · # / (#(v) #(w))]) of words at most ``window`` apart; M = U √S of its truncated singular
value decomposition (Levy, Goldberg, Dagan, TACL 2015). Nothing is downloaded, and no label is looked at.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Poll, go_on

_PAIRS = 4_000_000  # are put together at once


def cooccurrences(
    tokens: np.ndarray, doc_ptr: np.ndarray, n_words: int, window: int, poll: Poll = lambda: True
) -> sparse.csr_matrix:
    """CSR float64 (V, V), symmetric: how often two words stand at most ``window`` apart in a document.

    tokens: int (n,), −1 for what is no word of the vocabulary (it keeps its place in the document).
    """
    document = np.repeat(np.arange(len(doc_ptr) - 1), np.diff(doc_ptr))
    total = sparse.csr_matrix((n_words, n_words))
    for distance in range(1, window + 1):
        for first in range(0, len(tokens) - distance, _PAIRS):
            go_on(poll)
            span = np.arange(first, min(first + _PAIRS, len(tokens) - distance))
            a, b = tokens[span], tokens[span + distance]
            kept = (document[span] == document[span + distance]) & (a >= 0) & (b >= 0)
            pairs = (np.ones(int(kept.sum())), (a[kept], b[kept]))
            total = total + sparse.coo_matrix(pairs, shape=(n_words, n_words)).tocsr()
    return sparse.csr_matrix(total + total.T)


def learn_vectors(
    tokens: np.ndarray,
    doc_ptr: np.ndarray,
    n_words: int,
    dimension: int = 50,
    *,
    window: int = 5,
    seed: int = 0,
    poll: Poll = lambda: True,
) -> np.ndarray:
    """float64 (V, dimension or V − 1 if that is less); zeros for a word that has no neighbour.

    Raises ValueError where fewer than three words occur beside others, MemoryLimitError before counting, and Stopped
    once ``poll`` says False.
    """
    from sklearn.utils.extmath import randomized_svd

    require_bytes(60 * window * len(tokens), "learning vectors", "take fewer documents, or give vectors.")
    counts = cooccurrences(tokens, doc_ptr, n_words, window, poll).tocoo()
    totals = np.asarray(counts.sum(axis=1)).ravel()
    if np.count_nonzero(totals) < 3:
        raise InputError("there are too few words beside each other to learn vectors from: give vectors.")
    information = np.log(counts.data * totals.sum() / (totals[counts.row] * totals[counts.col]))
    positive = sparse.csr_matrix((np.maximum(information, 0.0), (counts.row, counts.col)), shape=counts.shape)
    rank = min(dimension, n_words - 1)
    U, S, _ = randomized_svd(positive, rank, random_state=seed % 2**32)
    return np.asarray(U * np.sqrt(S))
