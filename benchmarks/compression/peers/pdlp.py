"""OR-tools PDLP: the primal-dual hybrid gradient method with restarts and scaling (arXiv 2106.04756).

Without Glop's presolve, its default: on these programmes that removes nothing, and takes a minute on the largest.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from ortools.pdlp import solve_log_pb2, solvers_pb2
from ortools.pdlp.python import pdlp
from scipy import sparse


def solve(
    problem: dict[str, np.ndarray], tolerance: float, limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """To relative residuals and gap of ``tolerance``, or for ``limit`` seconds; x and the rows' duals y."""
    parts = (problem["data"], problem["indices"], problem["indptr"])
    matrix = sparse.csc_matrix(parts, shape=tuple(problem["shape"]))
    programme = pdlp.QuadraticProgram()
    programme.resize_and_initialize(matrix.shape[1], matrix.shape[0])
    programme.objective_vector = problem["cost"]
    programme.constraint_matrix = matrix
    programme.constraint_lower_bounds = problem["row_lower"]
    programme.constraint_upper_bounds = np.full(matrix.shape[0], np.inf)
    programme.variable_lower_bounds = np.zeros(matrix.shape[1])
    programme.variable_upper_bounds = np.ones(matrix.shape[1])
    settings = solvers_pb2.PrimalDualHybridGradientParams()
    optimality = settings.termination_criteria.simple_optimality_criteria
    optimality.eps_optimal_absolute = optimality.eps_optimal_relative = tolerance
    settings.termination_criteria.time_sec_limit = limit
    settings.num_threads = n_threads
    began = time.perf_counter()
    result = pdlp.primal_dual_hybrid_gradient(programme, settings)
    seconds = time.perf_counter() - began
    log = result.solve_log
    claims = log.solution_stats.convergence_information
    facts = {
        "seconds": seconds,
        "iterations": log.iteration_count,
        "reason": solve_log_pb2.TerminationReason.Name(log.termination_reason),
        "claimed_gap": _gap(claims[0]) if claims else None,
    }
    return facts, {"x": result.primal_solution, "y": result.dual_solution}


def _gap(claims: Any) -> float | None:
    """Its value over its corrected dual bound, which is -inf where it knows none."""
    bound = claims.corrected_dual_objective
    return claims.primal_objective / bound - 1.0 if np.isfinite(bound) and bound > 0 else None
