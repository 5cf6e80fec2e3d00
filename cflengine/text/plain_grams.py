"""K-grams of a corpus by sorting, in plain numpy: which one stands at each token."""

from __future__ import annotations

import numpy as np


def number_grams(tokens: np.ndarray, doc_ptr: np.ndarray, max_gram: int) -> tuple[np.ndarray, np.ndarray]:
    """gram_of int32 (K, n), -1 where a K-gram would cross its document's end, and the length of each, int8 (G,).

    tokens: int32 (n,); doc_ptr: int64 (N+1,). Numbered by length, then by the K-gram one shorter and the last token:
    not as the index of :mod:`cflengine.text.kgrams` has them, which this does not depend on.
    """
    n = len(tokens)
    gram_of = np.full((max_gram, n), -1, dtype=np.int32)
    left = np.repeat(doc_ptr[1:], np.diff(doc_ptr)) - np.arange(n)  # tokens from here to the document's end
    parent = np.zeros(n, dtype=np.int64)
    lengths, offset = [], 0
    for k in range(1, max_gram + 1):
        starts = np.flatnonzero(left >= k)
        key = (parent[starts] << 32) | tokens[starts + k - 1].astype(np.int64)
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        fresh = np.ones(len(ordered), dtype=bool)
        fresh[1:] = ordered[1:] != ordered[:-1]
        number = np.empty(len(starts), dtype=np.int64)
        number[order] = np.cumsum(fresh) - 1
        gram_of[k - 1, starts] = number + offset
        parent = np.full(n, -1, dtype=np.int64)
        parent[starts] = number
        count = int(fresh.sum())
        lengths.append(np.full(count, k, dtype=np.int8))
        offset += count
    return gram_of, np.concatenate(lengths) if lengths else np.zeros(0, dtype=np.int8)


def first_places(grams: np.ndarray, gram_of: np.ndarray, n_grams: int) -> np.ndarray:
    """int64: where each of ``grams`` occurs first."""
    first = np.full(n_grams, -1, dtype=np.int64)
    for row in gram_of[::-1]:
        places = np.flatnonzero(row >= 0)[::-1]
        first[row[places]] = places
    return first[grams]
