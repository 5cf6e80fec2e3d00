"""Branching trees for the parts of a corpus where a bound is not tight (model/branching.py says what they prove).

Most of what lies between a good solution and the relaxation's bound lies in few documents (analysis/gap.py), and there
in few words: three phrases that overlap, each stored by half. A tree of some leaves decides them, where a tree for the
whole corpus would multiply the leaves of all such places. So documents, and windows of long ones, that share K-grams
with a gap are put together into small parts; a part's budgets are what its pointers spend at the dual prices and its
share of what is left of each K-gram; and each part is branched on by itself: best bound first, on the K-gram whose
storing is least decided, with HiGHS's dual simplex for the linear programmes (search/node_programs.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cflengine.compression.analysis.gap import GapAttribution
from cflengine.compression.model.branching import Branching, tree_bound
from cflengine.compression.model.certificate import excesses_of
from cflengine.compression.model.linear_program import IntegerProgram, index_of
from cflengine.compression.model.local_problem import LocalProblem, costs_at, local_problem, with_shares
from cflengine.compression.model.problem import StorageCosts, unit_of
from cflengine.compression.passes.binary import count_uses
from cflengine.compression.search.node_programs import Decision, NodeOptimum, node_program
from cflengine.engine.progress import Poll
from cflengine.text.kgrams import KGramIndex

PART_TOKENS = 1_000  # of documents, or windows of them, that are put together
WINDOW_TOKENS = 250  # of longer documents
TOGETHER_TOKENS = 4_000_000  # of a corpus whose documents are put together; larger ones are verified in parts
_OCCURRENCES = 64  # K-grams that stand more often tie nothing together
_NODE_TOKENS, _FEWEST_NODES, _MOST_NODES = 150_000, 15, 200
_FEASIBLE = 1e-10  # of a budget: kept back, for roundings of sums over parts
_ROUNDED = 1e-14  # of a pointer's cost: its parts are few, and what they spend on K-grams grows by all of these
_UNDECIDED = 1e-6  # of a cost: how much of a K-gram may be open at a leaf that is done
_LEAST = 1e-9  # of Σ α: a lift worth keeping
_BINARY = 1e-6  # how far from 0 or 1 a pointer of a binary w may be, by HiGHS's roundings


@dataclass(order=True)
class _Node:
    """A linear programme that is solved: its value, and what was decided on the way to it."""

    value: float
    number: int
    decided: tuple[Decision, ...] = field(compare=False)
    optimum: NodeOptimum = field(compare=False)


class Branched(NamedTuple):
    """tree: None where it does not lift the bound; lift: by how much it does; better: tokens, int64, and their part of
    a cover, which costs the part less than the solution does, where the tree ended in one."""

    tree: Branching | None
    lift: float
    better: tuple[np.ndarray, np.ndarray] | None


class Brancher:
    """Makes trees for the parts of a corpus, from dual prices that prove a bound and a solution.

    alpha: float64 (n,), dual feasible; cover: uint8 (n,).
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, cover: np.ndarray, alpha: np.ndarray) -> None:
        self.index, self.costs, self.cover, self.alpha = index, costs, cover, alpha
        self.unit = unit_of(costs, index.lengths())  # HiGHS's tolerances are absolute
        self.counts, self.uses = index.counts(), count_uses(index, cover, np.int32)
        spent = excesses_of(alpha, index.gram_of, costs).by_gram
        self.unspent = np.maximum(costs.dictionary - spent, 0.0)
        self.spent: dict[int, float] = {}  # by trees, on K-grams that they share

    def branch(
        self, spans: np.ndarray, poll: Poll, *, most_nodes: int | None = None, enough: float = np.inf
    ) -> Branched:
        """A tree for the part with these spans, apart from those of trees before. poll: asked between nodes; if it
        says no, the tree so far is a complete one. most_nodes: None for fewer the larger the part; enough: a bound, in
        the user's unit, that is not raised any further."""
        part = self._part(spans)
        local, inside = part.local, part.local.inside
        leaves, whole = _leaves(part.program, most_nodes or part.most_nodes, poll, enough / self.unit)
        better = None if whole is None else part.cover_of(whole, self.cover)
        if not leaves:
            return Branched(None, 0.0, better)
        ends = np.cumsum([0, *(len(leaf.decided) for leaf in leaves)])
        decided = np.array([step for leaf in leaves for step in leaf.decided], dtype=np.int64).reshape(-1, 2)
        prices = self.unit * np.array([leaf.optimum.prices[inside] for leaf in leaves])
        found = Branching(
            spans, part.places[part.shared], part.share, part.across, ends,
            part.places[decided[:, 0]], decided[:, 1].astype(np.uint8), prices,
        )  # fmt: skip
        base = float(self.alpha[local.tokens[inside]].sum())
        lift = tree_bound(found, local) - base
        if lift <= _LEAST * max(base, self.unit):
            return Branched(None, 0.0, better)
        for gram, share in zip(local.grams[part.shared].tolist(), part.share.tolist(), strict=True):
            self.spent[gram] = self.spent.get(gram, 0.0) + share
        return Branched(found, lift, better)

    def _part(self, spans: np.ndarray) -> _Part:
        """The part by itself, with what it may spend."""
        local = local_problem(spans, self.index.gram_of, self.costs, self.counts)
        grams, places, none = local.grams, local.places(), np.zeros(0, dtype=np.int64)
        across = self._paid_across(local)
        prices = np.where(local.inside, self.alpha[local.tokens], 0.0)
        local = with_shares(local, none, np.zeros(0), across)
        spent = excesses_of(prices, local.gram_of, local.costs).by_gram
        # a pointer across a border is of the part where it begins
        ours = (local.gram_of >= 0) & local.inside
        marked = (self.cover[local.tokens] >> np.arange(local.K, dtype=np.uint8)[:, None] & 1).astype(bool)
        uses, counts = (np.bincount(local.gram_of[flags], minlength=len(grams)) for flags in (ours & marked, ours))
        used = self.uses[grams]
        fraction = np.where(used > 0, uses / np.maximum(used, 1), counts / self.counts[grams])
        shared = np.flatnonzero(~local.alone)
        share = ((spent + fraction * self.unspent[grams]) * (1.0 - _FEASIBLE))[shared]
        # what pointers spend is rounded up: of a K-gram that costs little or nothing, to more than there is
        named = grams[shared]
        before = np.array([self.spent.get(gram, 0.0) for gram in named.tolist()])
        share = np.minimum(share, np.maximum(self.costs.dictionary[named] * (1.0 - _FEASIBLE) - before, 0.0))
        local = with_shares(local, places[shared], share, across)
        program = IntegerProgram(index_of(local), local.costs.in_unit(self.unit), local.inside)
        return _Part(local, places, shared, share, across, program)

    def _paid_across(self, local: LocalProblem) -> np.ndarray:
        """float64: of each pointer across a border, as much of its cost as its tokens there have of its tokens' prices:
        then both sides together spend on its K-gram what it spent."""
        k, column = np.divmod(local.cells(local.across), len(local.tokens))
        within = np.arange(local.K) <= k[:, None]
        at = np.minimum(column[:, None] + np.arange(local.K), len(local.tokens) - 1)
        tokens = np.maximum(self.alpha[local.tokens[at]], 0.0) * within
        part, every = (tokens * local.inside[at]).sum(axis=1), tokens.sum(axis=1)
        fraction = np.divide(part, every, out=np.zeros(len(k)), where=every > 0)
        return costs_at(self.costs, local.across) * fraction * (1.0 - _ROUNDED)


@dataclass(frozen=True)
class _Part:
    """A part with its costs. places: int64 (G_P,), where each K-gram stands; shared: int64 (H,), those of its K-grams
    that stand elsewhere, too, and its share; across: of the cost of pointers across its borders."""

    local: LocalProblem
    places: np.ndarray
    shared: np.ndarray
    share: np.ndarray
    across: np.ndarray
    program: IntegerProgram

    def cover_of(self, optimum: NodeOptimum, cover: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Tokens of the part and their part of the cover, where w is binary, within the part, and costs less there than
        the solution ``cover``."""
        local, program, w = self.local, self.program, optimum.w
        given = np.where(local.inside, cover[local.tokens], 0).astype(cover.dtype)
        if not np.all(
            np.minimum(np.abs(w), np.abs(1.0 - w)) < _BINARY
        ) or optimum.value >= program.cost @ program.point(given):
            return None
        starts, lengths = program.starts[w > 0.5], program.lengths[w > 0.5]
        outside = np.cumsum(np.append(0, ~local.inside))
        if np.any(outside[starts + lengths + 1] > outside[starts]):
            return None
        found = np.zeros(len(local.tokens), dtype=cover.dtype)
        np.bitwise_or.at(found, starts, (1 << lengths).astype(cover.dtype))
        return local.tokens[local.inside], found[local.inside]

    @property
    def most_nodes(self) -> int:
        return min(max(_NODE_TOKENS // max(len(self.local.tokens), 1), _FEWEST_NODES), _MOST_NODES)


def _leaves(
    program: IntegerProgram, most_nodes: int, poll: Poll, enough: float
) -> tuple[list[_Node], NodeOptimum | None]:
    """Branch until the best bound is a binary solution's, the second of the answer, or ``enough``, or there are so many
    nodes."""
    cost = program.cost[program.n_pointers :]
    kinds = np.flatnonzero(program.shared)
    nodes = node_program(program) if len(cost) else None
    found = nodes.solve(()) if nodes else None
    if nodes is None or found is None:
        return [], None
    waiting, made = [_Node(found.value, 0, (), found)], 1
    while made < most_nodes and waiting[0].value < enough:
        best = waiting[0]
        levels = best.optimum.levels
        undecided = np.minimum(levels, 1.0 - levels) * cost
        if undecided.max() <= _UNDECIDED * cost.max():
            return waiting, best.optimum
        gram = int(kinds[np.argmax(undecided)])
        branches = [(*best.decided, (gram, kind)) for kind in (0, 1)]
        children = [nodes.solve(decided, best.optimum) for decided in branches]
        if not poll() or None in children:
            break
        heapq.heappop(waiting)
        for number, (decided, child) in enumerate(zip(branches, children, strict=True), made):
            assert child is not None
            heapq.heappush(waiting, _Node(max(child.value, best.value), number, decided, child))
        made += 2
    return waiting, None


def units_of(index: KGramIndex, cover: np.ndarray) -> np.ndarray:
    """int64 (U+1,): the borders of what parts are made of: documents, and windows of those of more than PART_TOKENS,
    cut where no pointer of the solution lies across."""
    K, borders = index.max_gram, [index.doc_ptr]
    sizes = np.diff(index.doc_ptr)
    for d in np.flatnonzero(sizes > PART_TOKENS).tolist():
        a, e = index.doc_ptr[d], index.doc_ptr[d + 1]
        reach = np.zeros(e - a, dtype=np.int64)  # how far pointers reach that begin at a token, or before
        for k in range(K):
            np.maximum(reach, np.arange(1, e - a + 1) + k, out=reach, where=(cover[a:e] >> k & 1) > 0)
        free = 1 + np.flatnonzero(np.maximum.accumulate(reach) <= np.arange(1, e - a + 1))
        wanted = np.linspace(0, e - a, -(-(e - a) // WINDOW_TOKENS) + 1)[1:-1]
        at = free[np.minimum(np.searchsorted(free, wanted), len(free) - 1)]
        borders.append(a + at)
    return np.unique(np.concatenate(borders)).astype(np.int64)


def parts_with_gap(
    gap: GapAttribution, index: KGramIndex, units: np.ndarray, most: int | None = None
) -> Iterator[np.ndarray]:
    """Parts as spans, int64 (S, 2), those with most of the gap a token first. gap: by unit. A corpus of few tokens is
    one part; else units are put together that share K-grams with a gap, as long as they have at most ``most`` tokens
    (None: as many as a tree has)."""
    of_unit, sizes = gap.documents["gap"].to_numpy(), np.diff(units)
    most = PART_TOKENS if most is None else most
    if index.n_tokens <= most:
        yield units[[0, -1]][None]
        return
    root = _tied(gap, index, units, most) if index.n_tokens <= TOGETHER_TOKENS else np.arange(len(sizes))
    of_part = np.bincount(root, of_unit, minlength=len(sizes))
    in_part = np.bincount(root, sizes, minlength=len(sizes))
    members = np.argsort(root, kind="stable")
    first = np.searchsorted(root[members], np.arange(len(sizes) + 1))
    # what a tree takes goes with tokens
    for part in np.argsort(-of_part / np.maximum(in_part, 1), kind="stable").tolist():
        if in_part[part] and of_part[part] > 0:
            own = members[first[part] : first[part + 1]]
            begins, ends = units[own], units[own + 1]
            apart = begins[1:] != ends[:-1]
            yield np.column_stack([begins[np.append(True, apart)], ends[np.append(apart, True)]])


def _tied(gap: GapAttribution, index: KGramIndex, units: np.ndarray, most: int) -> np.ndarray:
    """int64 (U,): the part of each unit, by its first unit; K-grams with more of the gap tie first."""
    sizes = np.diff(units)
    grams = gap.grams.sort_values("gap", ascending=False, kind="stable")
    least = 1e-4 * max(gap.total, 0.0) / max(len(grams), 1)
    chosen = grams["gram"].to_numpy()[grams["gap"].to_numpy() > least]
    chosen = chosen[index.counts()[chosen] <= _OCCURRENCES]
    rank = np.full(index.n_grams + 1, -1, dtype=np.int32)  # the last entry is for no K-gram
    rank[chosen] = np.arange(len(chosen))
    places = [np.flatnonzero(rank[row] >= 0) for row in index.gram_of]
    number = np.concatenate([rank[row[at]] for row, at in zip(index.gram_of, places, strict=True)])
    unit = np.searchsorted(units, np.concatenate(places), side="right") - 1
    pairs = np.unique(number.astype(np.int64) * len(sizes) + unit)
    number, unit = np.divmod(pairs, len(sizes))
    parent, tokens = list(range(len(sizes))), sizes.tolist()

    def find(d: int) -> int:
        while parent[d] != d:
            parent[d] = parent[parent[d]]
            d = parent[d]
        return d

    for group in np.split(unit, np.flatnonzero(np.diff(number)) + 1):
        roots = sorted({find(d) for d in group.tolist()})
        if len(roots) > 1 and sum(tokens[d] for d in roots) <= most:
            for other in roots[1:]:
                parent[other] = roots[0]
                tokens[roots[0]] += tokens[other]
    return np.array([find(d) for d in range(len(sizes))], dtype=np.int64)
