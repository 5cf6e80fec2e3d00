"""What a K-gram of a solution saves, document by document, by encoding each anew without it (or with it)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex
from naive.cover import Pointer, cheapest_cover, covers, pointers_of


@dataclass(frozen=True)
class Otherwise:
    """saves_alone: nothing but the K-gram's own storage is refunded; saves: that of K-grams that fall out of use too.
    now, then: all pointers (k, i) of the corpus."""

    saves_alone: float
    saves: float
    entering: set[int]
    leaving: set[int]
    now: list[Pointer]
    then: list[Pointer]


def otherwise(index: KGramIndex, costs: StorageCosts, cover: np.ndarray, gram: int) -> Otherwise:
    def gram_at(pointer: Pointer) -> int:
        return int(index.gram_of[pointer[0] - 1, pointer[1]])

    def price_of(pointer: Pointer) -> float:
        k, i = pointer
        extra = float(costs.pointer_extra[k - 1, i]) if costs.pointer_extra.size else 0.0
        return float(costs.pointer_by_length[k - 1]) + extra

    c = costs.dictionary
    now = pointers_of(cover)
    dictionary = {gram_at(pointer) for pointer in now}
    present = gram in dictionary
    every = [(int(k) + 1, int(i)) for k, i in np.argwhere(index.gram_of >= 0)]
    allowed = dictionary - {gram} if present else dictionary | {gram}
    then: list[Pointer] = []
    entering: set[int] = set()
    change = 0.0
    for a, e in zip(index.doc_ptr[:-1].tolist(), index.doc_ptr[1:].tolist(), strict=True):
        before = [pointer for pointer in now if a <= pointer[1] < e]
        prices = {
            pointer: price_of(pointer) for pointer in every if a <= pointer[1] < e and gram_at(pointer) in allowed
        }
        uncovered = [t for t in range(a, e) if not any(covers(pointer, t) for pointer in prices)]
        if present and index.length(gram) == 1:
            prices |= {(1, t): price_of((1, t)) + c[gram] for t in range(a, e) if gram_at((1, t)) == gram}
        else:
            prices |= {(1, t): price_of((1, t)) for t in uncovered}
        local = {(k, i - a): price for (k, i), price in prices.items()}
        after = [(k, i + a) for k, i in cheapest_cover(local, e - a, index.max_gram)]
        if any(gram_at(pointer) == gram for pointer in (before if present else after)):
            change += sum(prices[pointer] for pointer in after) - sum(map(price_of, before))
            entering |= {gram_at(pointer) for pointer in after if pointer[1] in uncovered} - {gram}
            then += after
        else:
            then += before
    leaving = dictionary - {gram_at(pointer) for pointer in then} - {gram}
    if present:
        change += sum(c[g] for g in entering) - c[gram]
        alone, sign = change, 1.0
    else:
        alone, sign = -change - c[gram], -1.0
    return Otherwise(alone, alone - sign * sum(c[g] for g in leaving), entering, leaving, now, then)
