"""A better lower bound than the relaxation's: integer bounds of parts of the corpus, each proved by a branching tree.

The dictionary is all that ties documents together. So for disjoint sets of documents P and any division of each
dictionary cost among them and the rest, Σ_P c_P(s) + c_rest(s) ≤ c(s), the optima at the divided costs add up to a
lower bound of problem (1), and so do lower bounds of them. The rest is bounded by dual prices (certificate.py); a part
by a tree that decides, K-gram by K-gram, whether the part stores it (t_s = 1) or not (t_s = 0). At a leaf with prices
α ≥ 0 such that e_s := Σ_{i ∈ J_P(s)} ((Xᵀα)_i − d_i)₊ ≤ c_P(s) for every K-gram that is not excluded,

    Σ α + Σ_{s stored} (c_P(s) − e_s)                                                            (leaf)

is a lower bound on the part's solutions with these decisions: in the proof of certificate.py, what is excluded has
w = 0, and what is stored pays c_P(s) whether or not its pointers do. Every solution meets the decisions of one leaf, so
the least of all leaves bounds the part. Everything is recomputed from the data in float64 numpy and rounded outward;
this module imports no kernel and no solver.

Worked example: "c b c a a" at K = 2 and λ = 1 costs 7.5 with halves of four K-grams and 8 without
(tests/compression/model/test_branching.py): a tree of two leaves proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from cflengine.compression.model.certificate import (
    Certificate,
    certify,
    excesses_of,
    least_shrink,
    shrunk,
)
from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.gaps import EPSILON, lower_sum, relative_gap, sum_above


@dataclass(frozen=True)
class Branching:
    """A part and the tree that bounds it.

    documents: int32 (D,), ascending; the index's documents, K-grams being within them. A K-gram is named by a place
    where it stands in the part, (length − 1) · n_P + token, whatever its number is. grams, share: int64 and float64
    (S,), of the K-grams that stand elsewhere too, what the part may spend on them (none: nothing); what stands in the
    part alone is the part's. Leaves: fixed, stored: int64 and uint8 (F,), the decisions on the way to each, leaf_ptr:
    int64 (L+1,); prices: float64 (L, n_P).
    """

    documents: np.ndarray
    grams: np.ndarray = field(repr=False)
    share: np.ndarray = field(repr=False)
    leaf_ptr: np.ndarray = field(repr=False)
    fixed: np.ndarray = field(repr=False)
    stored: np.ndarray = field(repr=False)
    prices: np.ndarray = field(repr=False)

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_ptr) - 1

    def decisions(self, local: LocalProblem) -> list[list[tuple[int, int]]]:
        """Of each leaf, from the root on: (number of a K-gram of the part, 1 for stored or 0)."""
        every = list(zip(local.at(self.fixed).tolist(), (self.stored > 0).tolist(), strict=True))
        ends = self.leaf_ptr.tolist()
        if not ends or ends[0] != 0 or ends[-1] != len(every) or any(np.diff(ends) < 0):
            raise ValueError("the leaves of a branching are damaged.")
        return [[(gram, int(kind)) for gram, kind in every[a:e]] for a, e in pairwise(ends)]


@dataclass(frozen=True)
class LocalProblem:
    """A part by itself: its K-grams numbered anew. grams: int32 (G_P,), their numbers in the index, ascending; gram_of:
    int32 (K, n_P); costs: its pointers', and its dictionary budgets."""

    grams: np.ndarray
    gram_of: np.ndarray
    costs: StorageCosts

    def at(self, places: np.ndarray) -> np.ndarray:
        """int64: the K-grams at these places. Raises ValueError where there is none."""
        if np.any((places < 0) | (places >= self.gram_of.size)) or np.any(self.gram_of.ravel()[places] < 0):
            raise ValueError("a branching names a K-gram that its part does not have.")
        return self.gram_of.ravel()[places].astype(np.int64)


def tokens_of(documents: np.ndarray, doc_ptr: np.ndarray) -> np.ndarray:
    """int64: the tokens of some documents, one after the other."""
    first, size = doc_ptr[documents], doc_ptr[documents + 1] - doc_ptr[documents]
    return np.repeat(first - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))


def local_problem(tokens: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, counts: np.ndarray) -> LocalProblem:
    """Of the part with these tokens, which may spend all on what stands nowhere else, and nothing on what does. counts:
    int (G,), how often each K-gram occurs in the corpus."""
    own = gram_of[:, tokens]
    inside = own >= 0
    every, number = np.unique(own[inside], return_inverse=True)
    local = np.full(own.shape, -1, dtype=np.int32)
    local[inside] = number
    alone = np.bincount(number, minlength=len(every)) == counts[every]
    extra = costs.pointer_extra[:, tokens] if costs.pointer_extra.size else costs.pointer_extra
    budget = np.where(alone, costs.dictionary[every], 0.0)
    return LocalProblem(every, local, StorageCosts(costs.pointer_by_length, extra, budget))


def with_shares(local: LocalProblem, places: np.ndarray, share: np.ndarray) -> LocalProblem:
    """The same with what it may spend on K-grams that stand elsewhere, too; places, share: as in
    :class:`Branching`. Raises ValueError for what the part has to itself, or twice."""
    grams = local.at(places)
    budget = local.costs.dictionary.copy()
    if len(np.unique(grams)) < len(grams) or np.any(budget[grams] > 0) or not np.all(share >= 0):
        raise ValueError("a branching divides costs of K-grams that its part does not share.")
    budget[grams] = share
    return replace(local, costs=replace(local.costs, dictionary=budget))


def tree_bound(branching: Branching, local: LocalProblem) -> float:
    """The lower bound of a part at its budgets, rounded down. Raises ValueError where the leaves are no whole tree."""
    decisions = branching.decisions(local)
    if branching.prices.shape != (len(decisions), local.gram_of.shape[1]) or not whole_tree(decisions):
        raise ValueError("the leaves of a branching are not those of a whole tree.")
    if not np.all(np.isfinite(branching.prices)):
        raise ValueError("the prices of a branching are no numbers.")
    least = np.inf
    for path, prices in zip(decisions, branching.prices, strict=True):
        stored, excluded = (
            np.array(sorted({gram for gram, decided in path if decided == kind}), dtype=np.int64) for kind in (1, 0)
        )
        least = min(least, _leaf_bound(prices, local, stored, excluded))
    return float(least)


def _leaf_bound(prices: np.ndarray, local: LocalProblem, stored: np.ndarray, excluded: np.ndarray) -> float:
    found, budget = excesses_of(prices, local.gram_of, local.costs), local.costs.dictionary
    paid = np.ones(len(budget), dtype=bool)
    paid[excluded] = False
    shrink = least_shrink(found.by_gram[paid], found.ratio[paid], budget[paid])
    bound, _ = shrunk(found.total, shrink)
    # excesses are rounded up, and prices that are shrunk have smaller ones
    left = np.maximum(budget[stored] - found.by_gram[stored], 0.0) * (1.0 - EPSILON)
    return -sum_above(-bound, -lower_sum(left))


def whole_tree(leaves: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether every way to decide meets one of these leaves: at each node one K-gram is stored on one side and not on
    the other, down to single leaves."""
    waiting = [(list(leaves), 0)]
    while waiting:
        paths, depth = waiting.pop()
        if len(paths) == 1 and len(paths[0]) == depth:
            continue
        if any(len(path) <= depth for path in paths) or len({path[depth][0] for path in paths}) != 1:
            return False
        waiting.extend(([path for path in paths if path[depth][1] == kind], depth + 1) for kind in (0, 1))
    return True


@dataclass(frozen=True)
class Lifted:
    """What is left once parts are bounded by their trees. bound: theirs, added up and rounded down; lifts: float64, by
    part, how much that is above Σ α of its tokens; rest: float64 (n,), α with nothing in the parts; spent: float64
    (G,), what the parts may spend on each K-gram that stands elsewhere too, rounded up."""

    bound: float
    lifts: np.ndarray
    rest: np.ndarray
    spent: np.ndarray


def lift_parts(
    alpha: np.ndarray,
    gram_of: np.ndarray,
    costs: StorageCosts,
    doc_ptr: np.ndarray,
    counts: np.ndarray,
    branchings: Sequence[Branching],
) -> Lifted:
    """Bound the parts; counts: as for :func:`local_problem`. Raises ValueError for parts that share a document, or that
    are none, and for whatever is wrong with one."""
    every = np.concatenate([branching.documents for branching in branchings])
    if len(every) == 0 or every.min() < 0 or every.max() >= len(doc_ptr) - 1 or len(np.unique(every)) < len(every):
        raise ValueError("the parts of the branchings are no disjoint sets of documents.")
    rest, spent = np.array(alpha, dtype=np.float64), np.zeros(len(costs.dictionary))
    bounds, lifts = 0.0, np.zeros(len(branchings))
    for i, branching in enumerate(branchings):
        tokens = tokens_of(branching.documents, doc_ptr)
        local = with_shares(local_problem(tokens, gram_of, costs, counts), branching.grams, branching.share)
        bound = tree_bound(branching, local)
        bounds = -sum_above(-bounds, -bound)
        lifts[i] = bound - float(rest[tokens].sum())
        rest[tokens] = 0.0
        spent[local.grams[local.at(branching.grams)]] += branching.share
    return Lifted(bounds, lifts, rest, spent * (1.0 + EPSILON * len(branchings)))


def lifted_bound(
    alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts, doc_ptr: np.ndarray, branchings: Sequence[Branching]
) -> tuple[float, np.ndarray]:
    """The bound of parts by their trees and of the rest by ``alpha``, and float64, how much each tree lifts it. Θ(Kn)
    and the leaves. Raises ValueError as :func:`lift_parts` does, and where parts spend more than a K-gram costs."""
    counts = np.zeros(len(costs.dictionary), dtype=np.int32)
    for row in gram_of:
        for a in range(0, len(row), _AT_ONCE):
            piece = row[a : a + _AT_ONCE]
            np.add.at(counts, piece[piece >= 0], 1)
    lifted = lift_parts(alpha, gram_of, costs, doc_ptr, counts, branchings)
    del counts  # before the peak of memory
    found = excesses_of(lifted.rest, gram_of, costs)
    shrink = least_shrink(found.by_gram, found.ratio, left_of(costs.dictionary, lifted.spent))
    return -sum_above(-lifted.bound, -shrunk(found.total, shrink)[0]), lifted.lifts


def left_of(cost: np.ndarray, spent: np.ndarray) -> np.ndarray:
    """float64: c(s) less what parts may spend, rounded down. Raises ValueError where that is more than there is."""
    left = cost - spent
    if np.any(left < 0):
        raise ValueError("the branchings spend more on a K-gram than it costs.")
    return np.where(spent > 0, left * (1.0 - EPSILON), left)


def certify_lifted(
    cover: np.ndarray,
    alpha: np.ndarray,
    gram_of: np.ndarray,
    costs: StorageCosts,
    doc_ptr: np.ndarray,
    branchings: Sequence[Branching],
) -> Certificate:
    """The certificate of a binary solution, of dual prices and of branchings, from the data alone: the better of the
    bounds without these and with them."""
    proved = certify(cover, alpha, gram_of, costs)
    if not len(branchings):
        return proved
    bound = max(proved.lower_bound, lifted_bound(alpha, gram_of, costs, doc_ptr, branchings)[0])
    return replace(proved, lower_bound=bound, gap=relative_gap(proved.objective, bound))


_AT_ONCE = 1 << 17  # tokens
PREFIX = "branching_"  # of the names of arrays in files
_ARRAYS = ("documents", "grams", "share", "leaf_ptr", "fixed", "stored", "prices")


def to_arrays(branchings: Sequence[Branching]) -> dict[str, np.ndarray]:
    """Branchings as arrays for a file: each of theirs, one after the other, and where they end; none for none."""
    found = {}
    for name in _ARRAYS if len(branchings) else ():
        each = [np.ravel(getattr(branching, name)) for branching in branchings]
        found[f"{PREFIX}{name}"] = np.concatenate(each)
        found[f"{PREFIX}{name}_ptr"] = np.cumsum([0, *map(len, each)])
    return found


def from_arrays(arrays: Mapping[str, np.ndarray]) -> tuple[Branching, ...]:
    """The other way; () where there are none. Raises ValueError for arrays that are not whole."""
    if PREFIX + _ARRAYS[0] not in arrays:
        return ()
    pieces = []
    for name in _ARRAYS:
        try:
            values, ends = arrays[f"{PREFIX}{name}"], arrays[f"{PREFIX}{name}_ptr"]
        except KeyError as error:
            raise ValueError(f"the branchings lack {error.args[0]}.") from error
        kind = "f" if name in ("share", "prices") else "iu"
        whole = values.ndim == ends.ndim == 1 and values.dtype.kind in kind and ends.dtype.kind in "iu" and len(ends)
        if not whole or ends[0] != 0 or ends[-1] != len(values) or np.any(np.diff(ends) < 0):
            raise ValueError("the branchings are damaged.")
        pieces.append(np.split(values, ends[1:-1]))
    if len({len(piece) for piece in pieces}) != 1:
        raise ValueError("the branchings are damaged.")
    return tuple(_joined(*one) for one in zip(*pieces, strict=True))


def _joined(*arrays: np.ndarray) -> Branching:
    """Of the arrays in their order, each with one dimension."""
    found = Branching(**dict(zip(_ARRAYS, arrays, strict=True)))
    if found.n_leaves < 1 or len(found.prices) % found.n_leaves:
        raise ValueError("the branchings are damaged.")
    return replace(found, prices=found.prices.reshape(found.n_leaves, -1))
