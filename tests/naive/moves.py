"""What a change of the dictionary is worth, by encoding documents again, and the choice of moves that stand apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex
from naive.cover import Pointer, Prices, by_document, cheapest


def plain_prices(index: KGramIndex, costs: StorageCosts) -> dict[Pointer, float]:
    """d of every pointer that exists."""
    extra = costs.pointer_extra
    return {
        (int(k) + 1, int(i)): float(costs.pointer_by_length[k] + (float(extra[k, i]) if extra.size else 0.0))
        for k, i in np.argwhere(index.gram_of >= 0)
    }


def dictionary_prices(index: KGramIndex, costs: StorageCosts, present: np.ndarray) -> dict[Pointer, float]:
    """What the dictionary ``present`` offers: its K-grams at d, and every other single word at d + c."""
    prices = {}
    for (k, i), price in plain_prices(index, costs).items():
        g = index.gram_of[k - 1, i]
        if present[g]:
            prices[k, i] = price
        elif k == 1:
            prices[k, i] = price + float(costs.dictionary[g])
    return prices


def corpus_cost(prices: Prices, doc_ptr: Sequence[int]) -> float:
    """The cheapest cover of all documents."""
    return sum(cheapest(part, n) for part, n in by_document(prices, doc_ptr))


def pointer_worths(index: KGramIndex, costs: StorageCosts, present: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """float64 (K, n): by how much the cheapest cover of its document gets

    - cheaper, if this one pointer of an absent K-gram is offered at d and nothing else changes;
    - costlier, if this one pointer that ``cover`` uses is taken away (inf: no cover is left);
    0 for pointers of the dictionary that are not used, and where there is no pointer.
    """
    worth = np.zeros(index.gram_of.shape)
    plain = plain_prices(index, costs)
    doc_ptr = index.doc_ptr.tolist()
    parts = by_document(dictionary_prices(index, costs, present), doc_ptr)
    for a, (part, n) in zip(doc_ptr, parts, strict=False):
        now = cheapest(part, n)
        for i in range(n):
            for k in range(1, min(index.max_gram, n - i) + 1):
                if cover[a + i] >> (k - 1) & 1:
                    without = {pointer: price for pointer, price in part.items() if pointer != (k, i)}
                    worth[k - 1, a + i] = cheapest(without, n) - now
                elif not present[index.gram_of[k - 1, a + i]]:
                    worth[k - 1, a + i] = now - cheapest(part | {(k, i): plain[k, a + i]}, n)
    return worth


def gram_worths(index: KGramIndex, worth: np.ndarray) -> np.ndarray:
    """float64 (G,): sums over J(s)."""
    total = np.zeros(index.n_grams)
    for k, i in np.argwhere(index.gram_of >= 0):
        total[index.gram_of[k, i]] += worth[k, i]
    return total


@dataclass(frozen=True)
class Move:
    """A K-gram of ``length`` words that costs ``cost`` to store, and its places: (first token, worth)."""

    length: int
    cost: float
    places: tuple[tuple[int, float], ...]

    def widened(self, place: int, margin: int) -> set[int]:
        """The tokens of a place and those within ``margin`` of it."""
        return set(range(place - margin, place + self.length + margin))


def choose_apart(moves: Sequence[Move], *, adding: bool, margin: int, n_tokens: int) -> list[bool]:
    """Moves in order, best first: an addition is chosen if its places in free text still pay for it, a removal if all
    its places are free; a chosen one takes the text around all its places."""
    text = set(range(n_tokens))
    taken: set[int] = set()
    chosen = []
    for move in moves:
        free = [worth for place, worth in move.places if not taken & text & move.widened(place, margin)]
        chosen.append(sum(free) > move.cost if adding else len(free) == len(move.places))
        if chosen[-1]:
            for place, _ in move.places:
                taken |= move.widened(place, margin)
    return chosen
