"""The linear programmes of a branching tree's nodes: all the same but for what is decided.

A decision changes bounds alone, so that the optimal basis of the node above stays dual feasible, and HiGHS's dual
simplex is some steps from the optimum. That takes highspy. Where it is missing scipy's HiGHS begins each node from
nothing, which takes several times as long (docs/experiments.md) and may end in another optimum of the same value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import linprog

from cflengine.compression.model.highs import has_highspy, load_highspy, start_highs
from cflengine.compression.model.linear_program import IntegerProgram

Decision = tuple[int, int]  # a K-gram, and whether it is stored


class NodeOptimum(NamedTuple):
    """value; w: float64 (m,), how far each pointer is used; prices: float64 (n,), at least 0, of tokens; levels:
    float64 (shared,), in 0 … 1, how far each K-gram that may be decided is stored; basis: HiGHS's, None where it cannot
    be had."""

    value: float
    w: np.ndarray
    prices: np.ndarray
    levels: np.ndarray
    basis: Any


class NodeProgram(Protocol):
    """Solves the relaxation of a part under decisions."""

    def solve(self, decided: Sequence[Decision], above: NodeOptimum | None = None) -> NodeOptimum | None:
        """The optimum; None where HiGHS has none. above: of the node whose decisions these are but for the last."""


def node_program(program: IntegerProgram) -> NodeProgram:
    """The quicker of the two that can be had."""
    return WarmProgram(program) if has_highspy() else ColdProgram(program)


class ColdProgram:
    """Every node from nothing, by scipy."""

    def __init__(self, program: IntegerProgram) -> None:
        self.program, self.columns = program, _columns(program)

    def solve(self, decided: Sequence[Decision], above: NodeOptimum | None = None) -> NodeOptimum | None:
        """See :class:`NodeProgram`."""
        program = self.program
        bounds = np.zeros((len(program.cost), 2))
        bounds[:, 1] = np.inf
        for gram, stored in decided:
            bounds[self.columns[gram]] = (1.0, np.inf) if stored else (0.0, 0.0)
        found = linprog(program.cost, A_ub=-program.rows, b_ub=-program.lower, bounds=bounds, method="highs-ds")
        if found.status != 0:
            return None
        return _optimum(program, found.fun, -found.ineqlin.marginals, found.x, basis=None)


class WarmProgram:
    """Every node from the basis of the node above it, by highspy."""

    def __init__(self, program: IntegerProgram) -> None:
        self.program, self.columns = program, _columns(program)
        self.decided: tuple[Decision, ...] = ()
        self.optimal = load_highspy().HighsModelStatus.kOptimal
        self.highs = start_highs(program, {"solver": "simplex"})

    def solve(self, decided: Sequence[Decision], above: NodeOptimum | None = None) -> NodeOptimum | None:
        """See :class:`NodeProgram`."""
        for gram, _ in self.decided:
            self.highs.changeColBounds(int(self.columns[gram]), 0.0, np.inf)
        for gram, stored in decided:
            self.highs.changeColBounds(int(self.columns[gram]), float(stored), np.inf if stored else 0.0)
        self.decided = tuple(decided)
        if above is not None:
            self.highs.setBasis(above.basis)
        self.highs.run()
        if self.highs.getModelStatus() != self.optimal:
            return None
        found = self.highs.getSolution()
        value = self.highs.getInfo().objective_function_value
        x, duals = np.array(found.col_value), np.array(found.row_dual)
        return _optimum(self.program, value, duals, x, basis=self.highs.getBasis())


def _columns(program: IntegerProgram) -> np.ndarray:
    """int64 (G,): where the variable of each K-gram stands that has one."""
    return program.n_pointers + np.cumsum(program.shared) - 1


def _optimum(program: IntegerProgram, value: float, duals: np.ndarray, x: np.ndarray, *, basis: Any) -> NodeOptimum:
    m, prices = program.n_pointers, np.maximum(np.asarray(duals)[: program.index.n_tokens], 0.0)
    return NodeOptimum(float(value), x[:m], prices, np.clip(x[m:], 0.0, 1.0), basis)
