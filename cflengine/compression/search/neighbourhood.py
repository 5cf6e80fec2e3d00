"""Exact search where the gap lies: small parts of a corpus are solved anew, with all else fixed.

In a part (documents, or windows of long ones, that share K-grams with a gap) problem (1) is that of the whole, but for
what it costs to store K-grams: those that pointers outside use are stored anyway, and free. Its optimum, by HiGHS's
branch and cut, replaces the part of the solution where it costs less; whether it is one is not relied on. A corpus of
few tokens is one part. With highspy a stop is heard within a moment; without, scipy's HiGHS is not asked on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from cflengine.compression.model.highs import NO_SUBPROBLEMS, has_highspy, load_highspy, start_highs
from cflengine.compression.model.linear_program import IntegerProgram, index_of
from cflengine.compression.model.local_problem import LocalProblem, local_problem
from cflengine.compression.model.problem import StorageCosts, unit_of
from cflengine.compression.passes.binary import count_uses
from cflengine.engine.progress import Poll
from cflengine.text.kgrams import KGramIndex

NEIGHBOURHOOD_TOKENS = 3_000
WHOLE_TOKENS = 20_000  # of a corpus that is one part
_NODES = 100  # of a branch and cut
_BINARY = 1e-6  # how far from 0 or 1 a pointer may be, by HiGHS's roundings
_LEAST = 1e-9  # of a part's cost: what is worth changing it for


class Neighbourhoods:
    """A solution that is improved part by part. cover: unsigned (n,), changed in place; costs: the user's."""

    def __init__(self, index: KGramIndex, costs: StorageCosts, cover: np.ndarray) -> None:
        self.index, self.costs, self.cover = index, costs, cover
        self.unit = unit_of(costs, index.lengths())  # HiGHS's tolerances are absolute
        self.counts, self.uses = index.counts(), count_uses(index, cover, np.int32)

    def improve(self, spans: np.ndarray, poll: Poll, seconds: float = np.inf) -> float:
        """Solve the part with these spans, int64 (S, 2), across whose borders no pointer of the solution lies; by how
        much the solution is cheaper, in the user's unit. seconds: for the branch and cut."""
        local = self._local(spans)
        inside, within = local.inside, local.gram_of >= 0
        marked = within & (self.cover[local.tokens] >> _bits(self.cover, local.K) & 1 > 0)
        here = np.bincount(local.gram_of[marked], minlength=len(local.grams))
        stored = np.where(self.uses[local.grams] > here, 0.0, self.costs.dictionary[local.grams])
        local = replace(local, costs=replace(local.costs, dictionary=stored))
        program = IntegerProgram(index_of(local), local.costs.in_unit(self.unit), inside)
        before = float(program.cost @ program.point(np.where(inside, self.cover[local.tokens], 0)))
        found = _solve(program, poll, seconds)
        if found is None:
            return 0.0
        saved = before - float(program.cost @ program.point(found))
        if saved <= _LEAST * before or not _covers(found, inside):
            return 0.0
        after = within & (found >> _bits(found, local.K) & 1 > 0)
        there = np.bincount(local.gram_of[after], minlength=len(local.grams))
        self.uses[local.grams] += (there - here).astype(self.uses.dtype)
        self.cover[local.tokens[inside]] = found[inside]
        return self.unit * saved

    def _local(self, spans: np.ndarray) -> LocalProblem:
        """The part without pointers across its borders."""
        local = local_problem(spans, self.index.gram_of, self.costs, self.counts)
        local.gram_of.ravel()[local.cells(local.across)] = -1
        return local


def _bits(cover: np.ndarray, K: int) -> np.ndarray:
    return np.arange(K, dtype=cover.dtype)[:, None]


def _solve(program: IntegerProgram, poll: Poll, seconds: float) -> np.ndarray | None:
    """The cover of a good solution, as HiGHS says; None where it has none."""
    found = _by_highspy(program, poll, seconds) if has_highspy() else _by_scipy(program, seconds)
    if found is None:
        return None
    w = found[: program.n_pointers]
    if np.abs(w - np.rint(w)).max(initial=0.0) > _BINARY:
        w = _vertex(program, found[program.n_pointers :])
    used = w > 0.5
    cover = np.zeros(program.index.n_tokens, dtype=program.index.no_cover().dtype)
    np.bitwise_or.at(cover, program.starts[used], (1 << program.lengths[used]).astype(cover.dtype))
    return cover


def _vertex(program: IntegerProgram, v: np.ndarray) -> np.ndarray:
    """float64 (m,), binary: the cheapest pointers to the K-grams that a solution stores. A vertex of the linear
    programme in w is binary, but branch and cut may end between vertices."""
    m, stored = program.n_pointers, np.ones(len(program.shared), dtype=bool)
    stored[program.shared] = v > 0.5
    allowed = np.flatnonzero(stored[program.grams])
    covered = program.rows[: program.index.n_tokens, allowed]
    found = linprog(program.cost[allowed], A_ub=-covered, b_ub=-1.0 * program.wanted, method="highs-ds")
    w = np.zeros(m)
    if found.x is not None:
        w[allowed] = found.x
    return w


def _by_scipy(program: IntegerProgram, seconds: float) -> np.ndarray | None:
    m = program.n_pointers
    found = milp(
        program.cost, integrality=np.repeat([0, 1], [m, len(program.cost) - m]),
        bounds=Bounds(0.0, np.repeat([np.inf, 1.0], [m, len(program.cost) - m])),
        constraints=LinearConstraint(program.rows, program.lower, np.inf),
        options={"node_limit": _NODES, "time_limit": seconds, "mip_rel_gap": 0.0},
    )  # fmt: skip
    values: np.ndarray | None = found.x
    return values


def _by_highspy(program: IntegerProgram, poll: Poll, seconds: float) -> np.ndarray | None:
    options = {**NO_SUBPROBLEMS, "mip_max_nodes": _NODES, "mip_rel_gap": 0.0, "time_limit": seconds}
    highs = start_highs(program, options | {"mip_abs_gap": max(1e-6, 0.99 * program.step)}, integral=True)
    asking = load_highspy().cb.HighsCallbackType.kCallbackMipInterrupt

    def ask(event: Any, message: str, out: Any, into: Any, data: None) -> None:
        if into is not None and not poll():
            into.user_interrupt = True

    highs.setCallback(ask, None)
    highs.startCallback(asking)
    highs.run()
    values = np.array(highs.getSolution().col_value)
    return values if len(values) else None


def _covers(cover: np.ndarray, inside: np.ndarray) -> bool:
    """Whether every token of the part has a pointer over it, and no pointer ends outside."""
    reach = np.zeros(len(cover) + 1, dtype=np.int64)
    for k in range(8 * cover.dtype.itemsize):
        begins = np.flatnonzero(cover >> cover.dtype.type(k) & 1)
        if len(begins):
            np.add.at(reach, begins, 1)
            np.add.at(reach, begins + k + 1, -1)
    covered = np.cumsum(reach[:-1]) > 0
    return bool(np.array_equal(covered, inside))
