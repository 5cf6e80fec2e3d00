"""The lower bound of parts that are bounded by trees, and of the rest by dual prices.

What ties parts together is the dictionary, and pointers across the borders of windows. So for disjoint parts P and any
division of these costs among them and the rest, Σ_P c_P(s) + c_rest(s) ≤ c(s) and Σ_P d_P + d_rest ≤ d, the optima at
the divided costs add up to a lower bound of problem (1), and so do lower bounds of them: a tree's for each part
(branching.py), Σ α of dual prices for the rest (certificate.py). Recomputed in float64 numpy and rounded outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cflengine.compression.model.branching import Branching, tree_bound
from cflengine.compression.model.certificate import (
    Certificate,
    Excesses,
    excesses_of,
    least_shrink,
    shrunk,
)
from cflengine.compression.model.local_problem import costs_at, local_problem, with_shares
from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.gaps import EPSILON, relative_gap, sum_above

_AT_ONCE = 1 << 17  # tokens


@dataclass(frozen=True)
class Lifted:
    """What is left once parts are bounded by their trees. bound: theirs, added up and rounded down; lifts: float64, by
    part, how much that is above Σ α of its tokens; rest: float64 (n,), α with nothing in the parts. What parts may
    spend on what they share, rounded up: spent, float64 (G,), on each K-gram; paid, float64 (P,), on the pointers
    across their borders, at these places, int64, ascending."""

    bound: float
    lifts: np.ndarray
    rest: np.ndarray
    spent: np.ndarray
    places: np.ndarray
    paid: np.ndarray

    def excesses(self, gram_of: np.ndarray, costs: StorageCosts) -> Excesses:
        """Both sides of the bound of the rest, which pays for a pointer what parts do not. Raises ValueError where
        they pay more than it costs."""
        found = excesses_of(self.rest, gram_of, costs)
        if not len(self.places):
            return found
        K, d = len(gram_of), costs_at(costs, self.places)
        if np.any(self.paid > d):
            raise ValueError("the branchings spend more on a pointer than it costs.")
        token, k = np.divmod(self.places, K)
        prices = np.concatenate([np.maximum(self.rest, 0.0), np.zeros(K)])
        x = np.where(np.arange(K) <= k[:, None], prices[token[:, None] + np.arange(K)], 0.0).sum(axis=1)
        left = np.maximum(d - self.paid, 0.0)
        slack = EPSILON * (K + 4)  # as many roundings as a sum has terms, and differences
        over = x * (1.0 + slack) > left
        gram, x, left, d = gram_of[k, token][over], x[over], left[over], d[over]
        # by how much more than found, which took them for d
        more = np.maximum(x - left, 0.0) - np.maximum(x - d, 0.0) + slack * (x + d)
        np.add.at(found.by_gram, gram, more)
        np.minimum.at(found.ratio, gram, left / (x * (1.0 + slack)))
        found.by_gram[np.unique(gram)] *= 1.0 + EPSILON * (len(gram) + 1)
        return found


def lift_parts(
    alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, counts: np.ndarray, branchings: Sequence[Branching]
) -> Lifted:
    """Bound the parts; counts: as for :func:`~cflengine.compression.model.local_problem.local_problem`. Raises
    ValueError for parts that share a token, or that are none, and for whatever is wrong with one."""
    _check_spans(branchings, gram_of.shape[1])
    rest, spent = np.array(alpha, dtype=np.float64), np.zeros(len(costs.dictionary))
    bounds, lifts = 0.0, np.zeros(len(branchings))
    places, paid = [], []
    for i, one in enumerate(branchings):
        local = with_shares(local_problem(one.spans, gram_of, costs, counts), one.grams, one.share, one.across)
        bound = tree_bound(one, local)
        bounds = -sum_above(-bounds, -bound)
        own = local.tokens[local.inside]
        lifts[i] = bound - float(rest[own].sum())
        rest[own] = 0.0
        spent[local.grams[local.at(one.grams)]] += one.share
        places.append(local.across)
        paid.append(one.across)
    across, number = np.unique(np.concatenate(places), return_inverse=True)
    by_place, terms = np.zeros(len(across)), np.bincount(number, minlength=len(across))
    np.add.at(by_place, number, np.concatenate(paid))
    return Lifted(
        bounds, lifts, rest, spent * (1.0 + EPSILON * len(branchings)), across, by_place * (1.0 + EPSILON * terms)
    )


def _check_spans(branchings: Sequence[Branching], n_tokens: int) -> None:
    """Raise ValueError unless the parts are spans of tokens, ascending in each, and apart."""
    for one in branchings:
        flat = one.spans.ravel()
        spans = one.spans.ndim == 2 and one.spans.shape[1] == 2 and len(flat)
        if not spans or flat[0] < 0 or flat[-1] > n_tokens or np.any(np.diff(flat) < 0):
            raise ValueError("the parts of the branchings are no spans of tokens.")
    every = np.concatenate([one.spans for one in branchings])
    every = every[np.argsort(every[:, 0], kind="stable")]
    if np.any(every[:, 0] == every[:, 1]) or np.any(every[1:, 0] < every[:-1, 1]):
        raise ValueError("the parts of the branchings are not disjoint.")


def lifted_bound(
    alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, branchings: Sequence[Branching]
) -> tuple[float, np.ndarray]:
    """The bound of parts by their trees and of the rest by ``alpha``, and float64, how much each tree lifts it. Θ(Kn)
    and the leaves. Raises ValueError as :func:`lift_parts` does, and where parts spend more than something costs."""
    counts = np.zeros(len(costs.dictionary), dtype=np.int32)
    for row in gram_of:
        for a in range(0, len(row), _AT_ONCE):
            piece = row[a : a + _AT_ONCE]
            np.add.at(counts, piece[piece >= 0], 1)
    lifted = lift_parts(alpha, gram_of, costs, counts, branchings)
    del counts  # before the peak of memory
    found = lifted.excesses(gram_of, costs)
    shrink = least_shrink(found.by_gram, found.ratio, left_of(costs.dictionary, lifted.spent))
    return -sum_above(-lifted.bound, -shrunk(found.total, shrink)[0]), lifted.lifts


def left_of(cost: np.ndarray, spent: np.ndarray) -> np.ndarray:
    """float64: c(s) less what parts may spend, rounded down. Raises ValueError where that is more than there is."""
    left = cost - spent
    if np.any(left < 0):
        raise ValueError("the branchings spend more on a K-gram than it costs.")
    return np.where(spent > 0, left * (1.0 - EPSILON), left)


def lift(
    proved: Certificate, alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, branchings: Sequence[Branching]
) -> Certificate:
    """What is proved by dual prices alone (``proved``) or by these and branchings, whichever is more; from the data."""
    if not len(branchings):
        return proved
    bound = max(proved.lower_bound, lifted_bound(alpha, gram_of, costs, branchings)[0])
    return replace(proved, lower_bound=bound, gap=relative_gap(proved.objective, bound))
