"""Problem (1) and its relaxation handed to HiGHS, with v_s ≥ w_i for every pointer i of K-gram s."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from cflengine.compression.model.certificate import Certificate, certify
from cflengine.compression.model.lifting import lift
from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex

Answer = TypeVar("Answer")


def once(solve: Callable[[KGramIndex, StorageCosts], Answer]) -> Callable[[KGramIndex, StorageCosts], Answer]:
    """Each programme is solved once in a process: more than half of those that tests ask for are asked for again."""
    known: dict[bytes, Answer] = {}

    @functools.wraps(solve)
    def remembered(index: KGramIndex, costs: StorageCosts) -> Answer:
        key = hashlib.sha256(str(index.gram_of.shape).encode())
        for numbers in (index.gram_of, costs.pointer_by_length, costs.pointer_extra, costs.dictionary):
            key.update(np.ascontiguousarray(numbers))
        if key.digest() not in known:
            known[key.digest()] = solve(index, costs)
        return known[key.digest()]

    return remembered


@dataclass(frozen=True)
class Relaxation:
    """Optimal value and the dual prices of the coverage constraints (n,)."""

    value: float
    prices: np.ndarray


def _matrices(index: KGramIndex, costs: StorageCosts):
    lengths, starts = np.nonzero(index.gram_of >= 0)
    grams = index.gram_of[lengths, starts]
    m = len(grams)
    d = costs.pointer_by_length[lengths].copy()
    if costs.pointer_extra.size:
        d += costs.pointer_extra[lengths, starts]
    tokens = [np.arange(i, i + k + 1) for k, i in zip(lengths, starts, strict=True)]
    columns = np.repeat(np.arange(m), lengths + 1)
    shape = (index.n_tokens, m)
    X = sparse.csr_matrix((np.ones(len(columns)), (np.concatenate(tokens), columns)), shape=shape)
    covered = sparse.hstack([X, sparse.csr_matrix((index.n_tokens, index.n_grams))]).tocsr()
    member = sparse.csr_matrix((np.ones(m), (np.arange(m), grams)), shape=(m, index.n_grams))
    epigraph = sparse.hstack([sparse.identity(m), -member]).tocsr()
    return np.concatenate([d, costs.dictionary]), covered, epigraph


def certificate_of(result, index: KGramIndex, costs: StorageCosts) -> Certificate:
    """What a result's prices and branching trees prove, from the data."""
    proved = certify(result.cover, result.alpha, index.gram_of, costs)
    return lift(proved, result.alpha, index.gram_of, costs, result.branchings)


@once
def solve_relaxation(index: KGramIndex, costs: StorageCosts) -> Relaxation:
    c, covered, epigraph = _matrices(index, costs)
    rows = sparse.vstack([-covered, epigraph]).tocsr()
    right = np.concatenate([-np.ones(covered.shape[0]), np.zeros(epigraph.shape[0])])
    solution = linprog(c, A_ub=rows, b_ub=right, bounds=(0, None), method="highs")
    assert solution.status == 0, solution.message
    return Relaxation(float(solution.fun), -solution.ineqlin.marginals[: covered.shape[0]])


@once
def solve_exactly(index: KGramIndex, costs: StorageCosts) -> float:
    """The optimum of (1)."""
    c, covered, epigraph = _matrices(index, costs)
    solution = milp(
        c,
        constraints=[LinearConstraint(covered, 1, np.inf), LinearConstraint(epigraph, -np.inf, 0)],
        integrality=np.ones(len(c)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    assert solution.status == 0, solution.message
    return float(solution.fun)
