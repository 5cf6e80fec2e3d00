"""Problem (1) on a part of the corpus: some tokens, with what the part may spend on pointers and K-grams it shares.

A part is made of spans of tokens; a document may lie in it as a whole or by windows. A pointer that lies across a
span's border stands on both sides as independent copies, w_i^P and w_i^rest instead of one w_i, and its cost is divided
between them, d_i^P + d_i^rest ≤ d_i; likewise the cost of every K-gram that stands on both sides. Any solution of the
whole is one of the parts with equal copies, so the parts' optima add up to a lower bound (branching.py, lifting.py).

A pointer of length k at token j of the corpus is named by its *place*, j · K + k − 1, and a K-gram by the place of
a pointer to it, whatever its number is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cflengine.compression.model.problem import StorageCosts


@dataclass(frozen=True)
class LocalProblem:
    """A part by itself, its K-grams numbered anew.

    tokens: int64 (n_P,), of the corpus, ascending: those of the part and up to K − 1 on either side of each span, which
    pointers across a border begin or end in; inside: bool (n_P,), those of the part. grams: int32 (G_P,), the K-grams'
    numbers in the index, ascending; alone: bool (G_P,), those that stand nowhere else; gram_of: int32 (K, n_P), −1
    where a pointer touches nothing of the part; across: int64 (P,), the places of those that also touch what is
    outside, ascending; costs: what the part may spend.
    """

    tokens: np.ndarray
    inside: np.ndarray
    grams: np.ndarray
    alone: np.ndarray
    gram_of: np.ndarray
    across: np.ndarray
    costs: StorageCosts = field(repr=False)

    @property
    def K(self) -> int:
        return len(self.gram_of)

    def at(self, places: np.ndarray) -> np.ndarray:
        """int64: the K-grams at these places. Raises ValueError where there is none."""
        gram = self.gram_of.ravel()[self.cells(places)]
        if np.any(gram < 0):
            raise ValueError("a branching names a K-gram that its part does not have.")
        return gram.astype(np.int64)

    def cells(self, places: np.ndarray) -> np.ndarray:
        """int64: where in ``gram_of``, row by row, these places stand. Raises ValueError for tokens of no part."""
        token, k = np.divmod(places, self.K)
        column = np.minimum(np.searchsorted(self.tokens, token), len(self.tokens) - 1)
        if np.any(self.tokens[column] != token):
            raise ValueError("a branching names a K-gram that its part does not have.")
        return k * len(self.tokens) + column

    def places(self) -> np.ndarray:
        """int64 (G_P,): where each K-gram stands."""
        cells = np.flatnonzero(self.gram_of.ravel() >= 0)
        k, column = np.divmod(cells, len(self.tokens))
        found = np.zeros(len(self.grams), dtype=np.int64)
        found[self.gram_of.ravel()[cells]] = self.tokens[column] * self.K + k
        return found


def tokens_of(spans: np.ndarray) -> np.ndarray:
    """int64: the tokens of spans (int64 (S, 2), first and last + 1), one span after the other."""
    size = spans[:, 1] - spans[:, 0]
    return np.repeat(spans[:, 0] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))


def local_problem(spans: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, counts: np.ndarray) -> LocalProblem:
    """Of the part with these spans (int64 (S, 2), ascending and apart), which may spend all on what stands nowhere
    else, and nothing on what does. counts: int (G,), how often each K-gram occurs in the corpus."""
    K, n = gram_of.shape
    wide = np.column_stack([np.maximum(spans[:, 0] - (K - 1), 0), np.minimum(spans[:, 1] + (K - 1), n)])
    wide[1:, 0] = np.maximum(wide[1:, 0], wide[:-1, 1])
    tokens = tokens_of(wide)
    inside = np.isin(tokens, tokens_of(spans), assume_unique=True)
    until = np.concatenate([[0], np.cumsum(inside)])
    last = np.minimum(np.arange(len(tokens)) + np.arange(1, K + 1)[:, None], len(tokens))
    touched = until[last] - until[:-1]  # (K, n_P): how many of a pointer's tokens are the part's
    own = gram_of[:, tokens]
    ours = (own >= 0) & (touched > 0)
    across = ours & (touched <= np.arange(K)[:, None])
    every, number = np.unique(own[ours], return_inverse=True)
    local = np.full(own.shape, -1, dtype=np.int32)
    local[ours] = number
    alone = np.bincount(local[ours & ~across], minlength=len(every)) == counts[every]
    extra = costs.pointer_extra[:, tokens] if costs.pointer_extra.size else costs.pointer_extra
    budget = np.where(alone, costs.dictionary[every], 0.0)
    k, column = np.nonzero(across)
    places = np.sort(tokens[column] * K + k)
    return LocalProblem(
        tokens, inside, every, alone, local, places, StorageCosts(costs.pointer_by_length, extra, budget)
    )


def with_shares(local: LocalProblem, places: np.ndarray, share: np.ndarray, across: np.ndarray) -> LocalProblem:
    """The same with what it may spend on K-grams that stand elsewhere, too, and on pointers across its borders: as
    ``grams``, ``share`` and ``across`` of :class:`~cflengine.compression.model.branching.Branching`. Raises ValueError
    for what the part has to itself, or twice."""
    grams = local.at(places)
    budget = local.costs.dictionary.copy()
    if len(np.unique(grams)) < len(grams) or np.any(local.alone[grams]) or not np.all(share >= 0):
        raise ValueError("a branching divides costs of K-grams that its part does not share.")
    if across.shape != local.across.shape or not np.all(across >= 0):
        raise ValueError("a branching divides costs of other pointers than those across its borders.")
    budget[grams] = share
    costs = replace(local.costs, dictionary=budget)
    if len(across):
        each = pointer_costs(costs, local.gram_of.shape)
        each.ravel()[local.cells(local.across)] = across
        costs = StorageCosts(np.zeros(local.K), each, budget)
    return replace(local, costs=costs)


def pointer_costs(costs: StorageCosts, shape: tuple[int, ...]) -> np.ndarray:
    """d: float64 (K, n), of every pointer of a small corpus."""
    each = np.broadcast_to(costs.pointer_by_length[:, None], shape).astype(np.float64)
    return each + costs.pointer_extra if costs.pointer_extra.size else each


def costs_at(costs: StorageCosts, places: np.ndarray) -> np.ndarray:
    """d: float64, of the pointers at these places of the corpus."""
    token, k = np.divmod(places, len(costs.pointer_by_length))
    d = costs.pointer_by_length[k]
    return d + costs.pointer_extra[k, token].astype(np.float64) if costs.pointer_extra.size else d
