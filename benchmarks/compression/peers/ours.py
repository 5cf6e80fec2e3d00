"""The engine itself, as a task of the runner: run like any peer, in a process of its own.

The corpus comes as ``tokens`` int32 (n,), ``doc_ptr`` int64 (N+1,), ``max_gram`` and ``lam``. Building the K-gram index
is no part of the seconds, as building a matrix is no part of a peer's; laying out, bounds and certificate are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import cflengine
from cflengine.compression import SOLVERS, StorageCosts, storage_costs
from cflengine.text import KGramIndex, index_kgrams

Facts = tuple[dict[str, Any], dict[str, np.ndarray]]

TARGET_GAP = 0.006  # what the homotopy's paper reached, and every solver is timed to
NEAR, JUMP = 0.02, 10  # above the bound: a good solution; steps of a round in which it may fall back
_REHEARSAL_TOKENS = 2000


def warm_up() -> None:
    """Compile or load the kernels; the runner calls it before anything is measured."""
    cflengine.warm_up()


def relaxation(corpus: dict[str, np.ndarray], solver: str, gap: float, limit: float, n_threads: int) -> Facts:
    """The relaxation alone, to a proved relative gap; alpha, the dual prices. solver: "guided" or "homotopy"."""
    if solver == "homotopy":
        # residuals must not end it before the gap does
        options = {"last_zeta": 0.0, "relaxation_gap": gap, "residual_tol": 1e-9}
    else:
        options = {"relaxation_only": True, "relaxation_gap": gap, "relaxation_iterations": 10**9}
    (index, costs), solve = _problem(corpus), _solver(solver, n_threads, limit, options)
    _rehearse(solve, corpus)
    began = time.perf_counter()
    result = solve(index, costs)
    facts = {
        "seconds": time.perf_counter() - began,
        "iterations": result.n_iterations,
        "reason": str(result.reason),
        "value": result.relaxation_upper,
        "claimed_gap": result.relaxation_upper / result.lower_bound - 1.0 if result.lower_bound > 0 else None,
    }
    return facts, {"alpha": result.alpha}


def compress(
    corpus: dict[str, np.ndarray], solver: str, limit: float, n_threads: int, gap: float | None = None
) -> Facts:
    """A binary solution by "homotopy", "reweighting" or "guided", the last to a proved ``gap`` if given; cover, the
    pointers."""
    options = {"tol": gap} if solver == "guided" and gap is not None else {}
    (index, costs), solve = _problem(corpus), _solver(solver, n_threads, limit, options)
    _rehearse(solve, corpus)
    began = time.perf_counter()
    result = solve(index, costs)
    seconds = time.perf_counter() - began
    reached = result.trace.loc[result.trace["gap"] <= TARGET_GAP, "elapsed_s"]
    return _facts(result) | {
        "seconds": seconds,
        "target_s": float(reached.iloc[0]) if len(reached) else None,
    }, {"cover": result.cover}  # fmt: skip


def path(corpus: dict[str, np.ndarray], lams: list[float], limit: float, n_threads: int) -> Facts:
    """The λ-path with its default settings; ``limit`` seconds a value."""
    from cflengine.compression import PATH_SETTINGS, solve_path

    settings = replace(PATH_SETTINGS, time_limit=limit)
    index, _ = _problem(corpus)
    _rehearse(lambda index, costs: solve_path(index, lams[:2], settings=settings, n_threads=n_threads), corpus)
    began = time.perf_counter()
    points = solve_path(index, lams, settings=settings, n_threads=n_threads)
    seconds = time.perf_counter() - began
    values = [
        _facts(point.result) | {"lam": point.lam, "seconds": point.seconds, "shares": point.shares.tolist()}
        for point in points
    ]
    return {"seconds": seconds, "points": values, "n_grams": index.n_grams}, {}


def trial(corpus: dict[str, np.ndarray], solver: str, limit: float, n_threads: int) -> Facts:
    """ "homotopy" or "reweighting" with the paper's settings, and the marks of Figure 4 on its way."""
    (index, costs), solve = _problem(corpus), _solver(solver, n_threads, limit, {})
    _rehearse(solve, corpus)
    result = solve(index, costs)
    marks = marks_of(result.trace, result.lower_bound)
    return _facts(result) | marks | {"seconds": result.seconds, "relaxation": result.relaxation_upper}, {}


def marks_of(trace: pd.DataFrame, bound: float) -> dict[str, Any]:
    """The first binary solution met, the step at which ζ leaves 0, rounds and how far each falls back, and when the
    best solution came near the bound; objectives over the bound. Of columns that a solver has not, nothing."""
    steps = trace[trace["iteration"] > 0]
    met = steps[steps["objective"].notna()].iloc[0]
    near = steps[steps["best_objective"] <= (1.0 + NEAR) * bound]
    found: dict[str, Any] = {
        "start": met["objective"] / bound, "start_s": met["elapsed_s"],
        "near_s": float(near["elapsed_s"].iloc[0]) if len(near) else None,
    }  # fmt: skip
    if "round" in trace:
        rounds = steps[steps["round"].notna()]
        jumps = [
            float((one["objective"].iloc[:JUMP] / one["best_objective"].iloc[0]).max())
            for _, one in rounds.groupby("round") if len(one)
        ]  # fmt: skip
        return found | {"rounds": len(jumps), "jumps": jumps[1:]}
    first, then = steps[steps["stage"] == "relaxation"], steps[steps["stage"] == "homotopy"]
    if not len(then):
        return found | {"left_zeta": None}
    seconds = [float(np.median(np.diff(part["elapsed_s"]))) if len(part) > 1 else None for part in (first, then)]
    return found | {
        "left_zeta": int(then["iteration"].iloc[0]), "left_zeta_s": float(then["elapsed_s"].iloc[0]),
        "s_per_step": seconds,
    }  # fmt: skip


def _problem(corpus: dict[str, np.ndarray]) -> tuple[KGramIndex, StorageCosts]:
    index = index_kgrams(corpus["tokens"], corpus["doc_ptr"], int(corpus["max_gram"]))
    return index, storage_costs(index.gram_of, index.lengths(), float(corpus["lam"]))


def _solver(name: str, n_threads: int, limit: float, options: dict[str, Any]) -> Callable[..., Any]:
    """(index, costs) -> result by the solver of that name."""
    solver = SOLVERS.find(name)
    settings = solver.settings(time_limit=limit, **options)
    return lambda index, costs: solver.solve(index, costs, settings, n_threads=n_threads)


def _rehearse(solve: Callable[..., Any], corpus: dict[str, np.ndarray]) -> None:
    """The same on the first few documents: kernels that the warm-up does not know are compiled here."""
    documents = max(1, int(np.searchsorted(corpus["doc_ptr"], _REHEARSAL_TOKENS)) - 1)
    end = int(corpus["doc_ptr"][documents])
    part = {"tokens": corpus["tokens"][:end], "doc_ptr": corpus["doc_ptr"][: documents + 1]}
    solve(*_problem(corpus | part))


def _facts(result: Any) -> dict[str, Any]:
    return {
        "steps": result.n_iterations,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "dictionary_size": result.dictionary_size,
        "reason": str(result.reason),
    }
