"""HiGHS: dual simplex, interior points without crossover, and its own primal-dual hybrid gradient method."""

from __future__ import annotations

import time
from typing import Any

import highspy
import numpy as np

_METHODS = {
    "simplex": {"solver": "simplex"},
    # without crossover: a vertex is not asked for, only a bound and a value
    "ipm": {"solver": "ipm", "run_crossover": "off"},
    "pdlp": {"solver": "pdlp"},
}


def solve(
    problem: dict[str, np.ndarray], method: str, tolerance: float, limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """To ``tolerance`` or for ``limit`` seconds; x and the rows' duals y."""
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = (int(size) for size in problem["shape"])
    model.col_cost_ = problem["cost"]
    model.col_lower_, model.col_upper_ = np.zeros(model.num_col_), np.ones(model.num_col_)
    model.row_lower_, model.row_upper_ = problem["row_lower"], np.full(model.num_row_, highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = problem["indptr"], problem["indices"]
    model.a_matrix_.value_ = problem["data"]
    solver = highspy.Highs()
    options = {"output_flag": False, "time_limit": limit, "threads": n_threads, **_METHODS[method]}
    if method != "simplex":  # which ends at a vertex, whatever the tolerance
        # not the tolerance of the method alone: those of feasibility would stay at 1e-7 and decide
        options["kkt_tolerance"] = tolerance
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    began = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - began
    solution, info = solver.getSolution(), solver.getInfo()
    counts = (info.simplex_iteration_count, info.ipm_iteration_count, info.pdlp_iteration_count)
    facts = {
        "seconds": seconds,
        "iterations": max(counts),
        "reason": solver.modelStatusToString(solver.getModelStatus()),
        "claimed_gap": info.primal_dual_objective_error,
    }
    return facts, {"x": np.array(solution.col_value), "y": np.array(solution.row_dual)}
