"""A better lower bound than the relaxation's: integer bounds of parts of the corpus, each proved by a branching tree.

A part (local_problem.py) is some documents, or windows of them, with costs c_P(s) and d_P that it may spend on what
it shares with the rest. It is bounded by a tree that decides, K-gram by K-gram, whether the part stores it (t_s = 1) or
not (t_s = 0). At a leaf with prices α ≥ 0 such that e_s := Σ_{i ∈ J_P(s)} ((Xᵀα)_i − d_i)₊ ≤ c_P(s) for every K-gram
that is not excluded,

    Σ α + Σ_{s stored} (c_P(s) − e_s)                                                            (leaf)

is a lower bound on the part's solutions with these decisions: in the proof of certificate.py, what is excluded has
w = 0, and what is stored pays c_P(s) whether or not its pointers do. Every solution meets the decisions of one leaf, so
the least of all leaves bounds the part. What parts and the rest prove together: lifting.py. Everything is recomputed
from the data in float64 numpy and rounded outward; this module imports no kernel and no solver.

Examples
--------
"c b c a a" at K = 2 and λ = 1 costs 7.5 with halves of four K-grams and 8 without
(tests/compression/model/test_branching.py): a tree of two leaves proves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from cflengine.compression.model.certificate import excesses_of, least_shrink, shrunk
from cflengine.compression.model.local_problem import LocalProblem
from cflengine.engine.gaps import EPSILON, lower_sum, sum_above

PREFIX = "branching_"  # of the names of arrays in files
_ARRAYS = ("spans", "grams", "share", "across", "leaf_ptr", "fixed", "stored", "prices")


@dataclass(frozen=True)
class Branching:
    """A part and the tree that bounds it.

    spans: int64 (S, 2), the first token of each and the one behind its last, ascending and apart. A K-gram is named by
    a place where it stands in the part (local_problem.py). grams, share: int64 and float64 (H,), of the K-grams that
    stand elsewhere too, what the part may spend on them (none: nothing); what stands in the part alone is the part's.
    across: float64, what it may spend on each pointer across its borders, in the order of places. Leaves: fixed,
    stored: int64 and uint8 (F,), the decisions on the way to each, leaf_ptr: int64 (L+1,); prices: float64 (L, n), of
    the part's tokens.
    """

    spans: np.ndarray
    grams: np.ndarray = field(repr=False)
    share: np.ndarray = field(repr=False)
    across: np.ndarray = field(repr=False)
    leaf_ptr: np.ndarray = field(repr=False)
    fixed: np.ndarray = field(repr=False)
    stored: np.ndarray = field(repr=False)
    prices: np.ndarray = field(repr=False)

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_ptr) - 1

    def moved(self, tokens: int, max_gram: int) -> Branching:
        """The same in a corpus that begins so many tokens later."""
        by = tokens * max_gram
        return replace(self, spans=self.spans - tokens, grams=self.grams - by, fixed=self.fixed - by)

    def decisions(self, local: LocalProblem) -> list[list[tuple[int, int]]]:
        """Of each leaf, from the root on: (number of a K-gram of the part, 1 for stored or 0)."""
        every = list(zip(local.at(self.fixed).tolist(), (self.stored > 0).tolist(), strict=True))
        ends = self.leaf_ptr.tolist()
        if not ends or ends[0] != 0 or ends[-1] != len(every) or any(np.diff(ends) < 0):
            raise ValueError("the leaves of a branching are damaged.")
        return [[(gram, int(kind)) for gram, kind in every[a:e]] for a, e in pairwise(ends)]


def tree_bound(branching: Branching, local: LocalProblem) -> float:
    """The lower bound of a part at its budgets, rounded down. Raises ValueError where the leaves are no whole tree."""
    decisions = branching.decisions(local)
    if branching.prices.shape != (len(decisions), int(local.inside.sum())) or not whole_tree(decisions):
        raise ValueError("the leaves of a branching are not those of a whole tree.")
    if not np.all(np.isfinite(branching.prices)):
        raise ValueError("the prices of a branching are no numbers.")
    least, prices = np.inf, np.zeros(len(local.tokens))
    for path, own in zip(decisions, branching.prices, strict=True):
        prices[local.inside] = own
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
        kind = "f" if name in ("share", "across", "prices") else "iu"
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
    if found.n_leaves < 1 or len(found.prices) % found.n_leaves or len(found.spans) % 2:
        raise ValueError("the branchings are damaged.")
    return replace(found, spans=found.spans.reshape(-1, 2), prices=found.prices.reshape(found.n_leaves, -1))
