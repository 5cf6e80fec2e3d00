"""The best combination of two covers, by trying every one."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise, product

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex
from naive.cover import covers, pointers_of
from naive.moves import plain_prices


def segments(first: np.ndarray, second: np.ndarray, doc_ptr: np.ndarray) -> list[tuple[int, int]]:
    """Tokens a .. b-1 between two neighbouring cuts, wherever the covers differ; a cut is where no pointer of either
    spans the border before the token."""
    pointers = pointers_of(first) + pointers_of(second)
    cuts = [
        j
        for j in range(len(first) + 1)
        if j in doc_ptr or not any(covers(pointer, j - 1) and covers(pointer, j) for pointer in pointers)
    ]
    return [(a, b) for a, b in pairwise(cuts) if not np.array_equal(first[a:b], second[a:b])]


def stored(cover: np.ndarray, index: KGramIndex) -> set[int]:
    """The K-grams of a cover's pointers."""
    return {int(index.gram_of[k - 1, i]) for k, i in pointers_of(cover)}


def objective(cover: np.ndarray, index: KGramIndex, costs: StorageCosts, always: Collection[int] = ()) -> float:
    """The value of (1): every pointer's d, and c of every K-gram that has one; those of ``always`` are paid anyway."""
    price = plain_prices(index, costs)
    grams = stored(cover, index).union(always)
    return sum(price[pointer] for pointer in pointers_of(cover)) + float(sum(costs.dictionary[g] for g in grams))


def combinations(first: np.ndarray, second: np.ndarray, doc_ptr: np.ndarray) -> list[np.ndarray]:
    """Every way to take each segment from the one cover or the other; 2 ** segments."""
    found = []
    pieces = segments(first, second, doc_ptr)
    for choice in product((False, True), repeat=len(pieces)):
        cover = first.copy()
        for (a, b), other in zip(pieces, choice, strict=True):
            if other:
                cover[a:b] = second[a:b]
        found.append(cover)
    return found


def best_combination(
    first: np.ndarray, second: np.ndarray, index: KGramIndex, costs: StorageCosts
) -> tuple[float, float]:
    """The objective of the cheapest, and the same if what both covers store is paid in any case.

    They differ where a K-gram that both store is dropped: by taking its segments of the first from the second, and
    those of the second from the first. No minimum cut can see that, since it is no submodular function.
    """
    found = combinations(first, second, index.doc_ptr)
    both = stored(first, index) & stored(second, index)
    return min(objective(m, index, costs) for m in found), min(objective(m, index, costs, both) for m in found)
