"""Features counted and weighted again, in numpy: occurrences, expected uses over all encodings, idf and the like.

Shapes: places int64 (K, n), the entry of the dictionary that stands at each token by length, -1 for none; doc_ptr int64
(N+1,).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.compression.model.problem import SOFT_LITERAL
from cflengine.verify.findings import require


def gathered(places: np.ndarray, value: np.ndarray, doc_ptr: np.ndarray, n_entries: int) -> sparse.csr_matrix:
    """float64 CSR (N, n_entries): values (K, n) summed by document and entry."""
    length, token = np.nonzero(places >= 0)
    document = np.repeat(np.arange(len(doc_ptr) - 1), np.diff(doc_ptr))[token]
    where = (document, places[length, token])
    counts = sparse.csr_matrix((value[length, token], where), shape=(len(doc_ptr) - 1, n_entries))
    counts.sum_duplicates()
    return counts


def expected_uses(places: np.ndarray, doc_ptr: np.ndarray, temperature: float, literal_cost: float) -> np.ndarray:
    """float64 (K, n): expected uses of every pointer over all encodings without overlap, one of cost c weighted by
    e^(-c/temperature); a pointer costs 1. All documents step by step side by side. What is summed is e^(-excess/T), of
    the cost over the least, piece by piece, so that no temperature is too low."""
    max_gram, sizes = places.shape[0], np.diff(doc_ptr)
    longest = int(sizes.max(initial=0))
    least, log_forward, log_backward = (
        np.full(int(doc_ptr[-1]) + len(sizes), start) for start in (np.inf, -np.inf, -np.inf)
    )
    base = doc_ptr[:-1] + np.arange(len(sizes))  # where a document's sums begin: one more than it has tokens
    least[base], log_forward[base], log_backward[base + sizes] = 0.0, 0.0, 0.0

    def piece(k: int, start: np.ndarray) -> np.ndarray:
        """The cost of each of these tokens and the k - 1 behind it as one piece, inf where they are none."""
        return np.where(places[k - 1, start] >= 0, 1.0, literal_cost if k == 1 else np.inf)

    def excess(k: int, start: np.ndarray, place: np.ndarray) -> np.ndarray:
        """-(what a piece costs more than need be)/T."""
        with np.errstate(over="ignore"):
            return -np.maximum(least[place] + piece(k, start) - least[place + k], 0.0) / temperature

    for i in range(1, longest + 1):
        of = np.flatnonzero(sizes >= i)
        costs = [least[base[of] + i - k] + piece(k, doc_ptr[of] + i - k) for k in range(1, min(max_gram, i) + 1)]
        least[base[of] + i] = np.min(costs, axis=0)
    for i in range(1, longest + 1):
        for sums, forward in ((log_forward, True), (log_backward, False)):
            of = np.flatnonzero(sizes >= i)
            here = base[of] + (i if forward else sizes[of] - i)
            total = np.full(len(of), -np.inf)
            for k in range(1, min(max_gram, i) + 1):
                start = doc_ptr[of] + (i - k if forward else sizes[of] - i)
                before = sums[here - k if forward else here + k]
                total = np.logaddexp(total, before + excess(k, start, here - k if forward else here))
            sums[here] = total
    value = np.zeros(places.shape)
    document = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(document)) + document
    for k in range(1, max_gram + 1):
        token = np.flatnonzero(places[k - 1] >= 0)
        whole = log_forward[base[document[token]] + sizes[document[token]]]
        extra = excess(k, token, place[token])
        value[k - 1, token] = np.exp(log_forward[place[token]] + extra + log_backward[place[token] + k] - whole)
    return value


def count_places(
    places: np.ndarray, doc_ptr: np.ndarray, n_entries: int, settings: Mapping[str, Any]
) -> sparse.csr_matrix:
    """float64 CSR (N, n_entries): documents counted by occurrences or softly, as the settings of a run or a model say.
    Raises FalseResult for another way."""
    counting, literal = settings.get("counting"), settings.get("literal_cost")
    if counting == "occurrences":
        return gathered(places, np.ones(places.shape), doc_ptr, n_entries)
    require(counting == "soft", f"features were counted in an unknown way, {counting!r}.")
    cost = SOFT_LITERAL if literal is None else float(literal)
    return gathered(places, expected_uses(places, doc_ptr, float(settings["temperature"]), cost), doc_ptr, n_entries)


def weighted(counts: sparse.csr_matrix, weighting: str) -> sparse.csr_matrix:
    """Counts as the report says that they were weighted."""
    n, expected = counts.shape[0], sparse.csr_matrix(counts, dtype=np.float64, copy=True)
    if weighting in ("tf", "tf-idf"):
        totals = np.asarray(counts.sum(axis=1)).ravel()
        expected = sparse.diags(1.0 / np.where(totals > 0, totals, 1.0)) @ expected
    if weighting == "damped":
        expected = expected.sqrt()
    if weighting in ("idf", "tf-idf", "damped"):
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        expected = expected @ sparse.diags(np.log((1.0 + n) / (1.0 + frequency)) + 1.0)
    if weighting == "damped":
        lengths = np.sqrt(np.asarray(expected.multiply(expected).sum(axis=1)).ravel())
        expected = sparse.diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ expected
    return sparse.csr_matrix(expected)
