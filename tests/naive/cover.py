"""Coverage, its adjoint and the encoding programme by definition.

A pointer is a pair (k, i): length k, first token i. ``prices`` maps every pointer that exists to its price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, pairwise
from math import inf

import numpy as np

Pointer = tuple[int, int]
Prices = Mapping[Pointer, float]


def covers(pointer: Pointer, token: int) -> bool:
    k, i = pointer
    return i <= token < i + k


def coverage(w: Mapping[Pointer, float], n_tokens: int) -> np.ndarray:
    """Xw: how much w covers each token."""
    return np.array([sum(value for pointer, value in w.items() if covers(pointer, j)) for j in range(n_tokens)])


def pointers_of(cover: np.ndarray) -> list[Pointer]:
    """Bit k-1 of cover[i] is the pointer (k, i)."""
    return [(k, i) for i, bits in enumerate(cover.tolist()) for k in range(1, 33) if bits >> (k - 1) & 1]


def prices_from(cost: np.ndarray) -> dict[Pointer, float]:
    """The finite entries of an array (K, n) by length and start."""
    return {(int(k) + 1, int(i)): float(cost[k, i]) for k, i in zip(*np.nonzero(np.isfinite(cost)), strict=True)}


def cheapest_by_trying_all(prices: Prices, n_tokens: int) -> float:
    """The price of the cheapest set of pointers that covers every token; 2 ** len(prices) sets."""
    pointers = list(prices)
    best = inf
    for chosen in chain.from_iterable(combinations(pointers, size) for size in range(len(pointers) + 1)):
        if all(any(covers(pointer, j) for pointer in chosen) for j in range(n_tokens)):
            best = min(best, sum(prices[pointer] for pointer in chosen))
    return best


def cheapest(prices: Prices, n_tokens: int) -> float:
    """The same by asking, from the right, which pointer covers the first token that is still uncovered."""
    rest = [inf] * n_tokens + [0.0]
    for j in range(n_tokens - 1, -1, -1):
        for k, i in prices:
            if covers((k, i), j):
                rest[j] = min(rest[j], prices[k, i] + rest[i + k])
    return rest[0]


def cheapest_cover(prices: Prices, n_tokens: int, max_gram: int) -> list[Pointer]:
    """The paper's recursion (§3.1) with the promised choice among equals: the longest pointer, then no overlap.

    R(i) = min_k [ d(i, k) + min_{j ≤ k} R(i − j) ], d(i, k) the price of the pointer that ends at token i.
    """
    R = [0.0] + [inf] * n_tokens
    step: dict[int, tuple[int, int]] = {}
    for i in range(1, n_tokens + 1):
        options = [
            (prices[k, i - k] + R[i - j], -k, -j)
            for k in range(1, min(max_gram, i) + 1)
            if (k, i - k) in prices
            for j in range(1, k + 1)
        ]
        if options:
            R[i], k, j = min(options)
            step[i] = (-k, -j)
    chosen = []
    i = n_tokens
    while i > 0:
        k, j = step[i]
        chosen.append((k, i - k))
        i -= j
    return sorted(chosen, key=lambda pointer: (pointer[1], pointer[0]))


def by_document(prices: Prices, doc_ptr: Sequence[int]) -> list[tuple[dict[Pointer, float], int]]:
    """The prices of each document, pointers counted from its own first token, with its length."""
    parts = []
    for a, b in pairwise(doc_ptr):
        parts.append(({(k, i - a): price for (k, i), price in prices.items() if a <= i < b}, int(b - a)))
    return parts
