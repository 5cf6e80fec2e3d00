"""The best combination of two solutions of problem (1) by a minimum cut.

Two covers of a document have a common cut at token i when no pointer of either spans it. Between consecutive common
cuts lies a *segment*; where the covers differ there, either may be taken, whatever is taken elsewhere. What ties
segments together is the dictionary: a K-gram that only solution A stores is paid for as long as any segment takes A's
cover with it, one that only B stores as soon as any takes B's. That is

    minimise over x_s ∈ {A, B}   Σ_s pointer cost(s, x_s)
                               + Σ_{g only in A} c(g)·[some s with g takes A] + Σ_{g only in B} c(g)·[some s takes B],

a minimum cut (minimum_cut.py) in a graph with a node for each segment and each such K-gram: of 2^segments combinations
the cheapest, in a time that on text is negligible. What both store counts as paid: a mixture that happens to need it no
longer is not looked for, but gains from it when it is re-encoded. So a solution that was improved in one place and
spoilt in a thousand others still gives its one improvement. (Partition crossover, which Whitley and others use for the
travelling salesman, takes whole connected components; the cut also goes through them. On all of 20 Newsgroups it gained
a third more.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cflengine.compression.kernels import crossover as kernels
from cflengine.compression.kernels.arrays import Pairs, Segments
from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.minimum_cut import minimum_cut
from cflengine.text.kgrams import KGramIndex

_SEGMENTS = 1 << 16  # segments listed at a time


@dataclass(frozen=True)
class Differences:
    """Where two covers differ: int32 first, last (S,), tokens first .. last-1; float64 delta (S,), pointer cost of the
    second minus the first; int32 segment, gram (P,): segment uses a K-gram that only one dictionary has."""

    first: np.ndarray
    last: np.ndarray
    delta: np.ndarray
    segment: np.ndarray
    gram: np.ndarray

    @classmethod
    def of(
        cls, index: KGramIndex, costs: StorageCosts, cover_a: np.ndarray, cover_b: np.ndarray, only_one: np.ndarray
    ) -> Differences:
        """Compare two covers; only_one: uint8 (G,)."""
        ints, floats = np.int32, np.float64
        buffers = [np.empty(_SEGMENTS, kind) for kind in (ints, ints, floats)]
        buffers += [np.empty(2 * index.max_gram * _SEGMENTS, ints) for _ in range(2)]
        pieces = [[buffer[:0].copy() for buffer in buffers]]
        token = listed = 0
        while token < index.n_tokens:
            before = token
            token, count, n_pairs = kernels.list_segments(
                index.gram_of,
                costs.pointer,
                token,
                cover_a,
                cover_b,
                only_one,
                Segments(*buffers[:3]),
                Pairs(*buffers[3:]),
            )
            if token == before:  # a segment of more pairs than there is space for
                buffers[3:] = [np.empty(2 * len(buffer), ints) for buffer in buffers[3:]]
            sizes = (count, count, count, n_pairs, n_pairs)
            piece = [buffer[:size].copy() for buffer, size in zip(buffers, sizes, strict=True)]
            piece[3] = piece[3] + listed
            listed += count
            pieces.append(piece)
        return cls(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def combine(
    index: KGramIndex,
    costs: StorageCosts,
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    poll: Callable[[], bool] = lambda: True,
) -> np.ndarray:
    """cover, uint8 (n,), of the cheapest combination of two solutions.

    A solution: (cover uint8 (n,), used uint8 (G,), exactly the K-grams of its pointers). poll: asked a few times a
    second whether to go on; where it says no, the first solution's cover is the answer.
    """
    (cover_a, used_a), (cover_b, used_b) = first, second
    only_one = ((used_a > 0) != (used_b > 0)).astype(np.uint8)
    differences = Differences.of(index, costs, cover_a, cover_b, only_one)
    grams = np.flatnonzero(only_one)
    cover = cover_a.copy()
    if len(differences.first):
        take = choose_segments(differences, grams, costs.dictionary[grams], used_a[grams] > 0, poll)
        apply_segments(differences, take, cover_b, cover)
    return cover


def apply_segments(differences: Differences, take: np.ndarray, source: np.ndarray, cover: np.ndarray) -> None:
    """Give ``cover`` (uint8 (n,)) the segments flagged in ``take`` (bool (S,)) of another one, ``source``."""
    kernels.copy_segments(differences.first[take], differences.last[take], source, cover)


def choose_segments(
    differences: Differences, grams: np.ndarray, cost: np.ndarray, in_first: np.ndarray, poll: Callable[[], bool]
) -> np.ndarray:
    """bool (S,): the segments that take the second cover, none where it was stopped. Source side: the first solution.

    Of ``differences`` only ``delta`` and the pairs are looked at. grams: int64, ascending, the K-grams that only one
    solution stores; cost float64, in_first bool by K-gram.
    """
    n_segments = len(differences.delta)
    delta, number = differences.delta, np.searchsorted(grams, differences.gram)
    source, sink, segments = 0, 1, 2 + np.arange(n_segments)
    nodes = 2 + n_segments + np.arange(len(grams))
    user, stored = segments[differences.segment], nodes[number]
    a_pair = in_first[number]
    costlier, cheaper = delta > 0, delta < 0
    a, b = in_first, ~in_first
    edges = [
        # a segment that takes the second cover, or the first, pays what that costs more
        (np.full(int(costlier.sum()), source), segments[costlier], delta[costlier]),
        (segments[cheaper], np.full(int(cheaper.sum()), sink), -delta[cheaper]),
        # a K-gram of the first solution is paid on the source side, one of the second on the sink side
        (nodes[a], np.full(int(a.sum()), sink), cost[a]),
        (np.full(int(b.sum()), source), nodes[b], cost[b]),
        # and is there whenever a segment uses it
        (user[a_pair], stored[a_pair], np.full(int(a_pair.sum()), np.inf)),
        (stored[~a_pair], user[~a_pair], np.full(int((~a_pair).sum()), np.inf)),
    ]
    tail, head, capacity = (np.concatenate(column) for column in zip(*edges, strict=True))
    _, where = np.unique(tail * np.int64(2 + n_segments + len(grams)) + head, return_index=True)
    tail, head, capacity = tail[where], head[where], capacity[where]
    side = minimum_cut(tail, head, capacity, 2 + n_segments + len(grams), poll)
    return np.zeros(n_segments, dtype=bool) if side is None else ~side[segments]
