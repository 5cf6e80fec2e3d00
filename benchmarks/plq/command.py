"""Piecewise linear-quadratic losses: primal-dual coordinate descent and its peers to the same proved gaps.

Every solver's coefficients are judged by one objective against one lower bound, our own at a gap of 1e-8 or what a
minute proves; a solver runs anew at tighter and tighter tolerances until it is within 1e-4 and 1e-6 of that bound,
and the time told is that of the run that was. No intercept. Medians of --repeats runs, those of a round one after the
other, so that a slow moment of the machine meets all of them. Sections: "dense" (scikit-learn's generators), "fair"
(a constraint, with a conic solver beside), "text" (20 Newsgroups, one group against the rest; ratings of RateBeer;
tf-idf), "scaling" (the cost of a pass over three decades, and the rate of convergence). Peers that are not installed
are left out, and said. scikit-learn's HuberRegressor (which also fits a scale) and QuantileRegressor (whose penalty is
ℓ1) solve other problems, and are not here; its SGD solves these, and is asked.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.plq.scaling import measure_scaling, show_scaling
from benchmarks.plq.tasks import Task, tasks
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine.engine import threads
from cflengine.plq import FEASIBLE, DescentSettings, PLQProblem, solve

SECTIONS = ("dense", "fair", "text", "scaling")
GAPS = (1e-4, 1e-6)
_LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_PATIENCE_S = 60.0  # a solver that takes longer is not asked again
_LOOSE = 1e-6  # what a peer may fail a constraint by, relative

Fit = Callable[[float], np.ndarray]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--sections", default=",".join(SECTIONS), metavar="A,B", help="(default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each (default: 3)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, SECTIONS)
    if not chosen:
        return 2
    results: dict[str, dict[str, Any]] = {}
    options = {name: getattr(arguments, name) for name in ("sections", "repeats", "quick")}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        for task in tasks(chosen, arguments):
            results[task.name] = contest(task, 1 if arguments.quick else arguments.repeats)
            print(f"\n{show(task, results[task.name])}", flush=True)
            if arguments.json:
                write_json(arguments.json, "plq", facts, options, results)
        if "scaling" in chosen:
            results["scaling"] = measure_scaling(quick=arguments.quick)
            print(f"\n{show_scaling(results['scaling'])}", flush=True)
            if arguments.json:
                write_json(arguments.json, "plq", facts, options, results)
    return 0 if results else 2


def contest(task: Task, repeats: int) -> dict[str, Any]:
    """Solver -> gap -> seconds, None where it was not reached."""
    problem = task.problem()
    solve(task.problem(slice(0, 200)), DescentSettings(max_iter=3))  # kernels are loaded
    best = solve(problem, DescentSettings(tol=1e-8, max_iter=10**6, time_limit=_PATIENCE_S))
    figures: dict[str, Any] = {"lower_bound": best.lower_bound, "gap_of_bound": best.gap}
    fits, times = dict(_solvers(task, problem)), {}
    for _ in range(repeats):
        for name, fit in fits.items():
            if name in times and not any(times[name].values()):
                continue  # it reached nothing in the first round
            own = times.setdefault(name, {f"{gap:g}": [] for gap in GAPS})
            for gap, seconds in _climb(fit, problem, best.lower_bound).items():
                own[gap].append(seconds)
    for name, own in times.items():
        whole = {gap: float(np.median(seconds)) if len(seconds) == repeats else None for gap, seconds in own.items()}
        figures[name] = whole
        say(f"{task.name}: {name}: {whole}")
    return figures


def _solvers(task: Task, problem: PLQProblem) -> Iterator[tuple[str, Fit]]:
    yield "ours", lambda tol: solve(problem, DescentSettings(tol=tol, max_iter=10**6, time_limit=_PATIENCE_S)).w
    if task.liblinear:
        yield "liblinear", _liblinear(task)
    if task.sgd is not None:
        yield "SGD", _sgd(task)
    yield from _rehline(task, problem)
    if task.conic:
        yield from _conic(problem)


def _liblinear(task: Task) -> Fit:
    from sklearn.svm import LinearSVC

    def fit(tol: float) -> np.ndarray:
        model = LinearSVC(loss=task.liblinear, C=task.C, tol=tol, fit_intercept=False, max_iter=10**6, dual=True)
        return model.fit(task.X, task.y).coef_[0]

    return fit


def _sgd(task: Task) -> Fit:
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    kind = SGDClassifier if task.loss.endswith("hinge") else SGDRegressor
    alpha = 1.0 / (task.C * len(task.y))  # it divides the objective by C n

    def fit(tol: float) -> np.ndarray:
        model = kind(
            **(task.sgd or {}), alpha=alpha, fit_intercept=False, average=True, tol=tol, max_iter=200, random_state=0
        )
        return np.ravel(model.fit(task.X, task.y).coef_)

    return fit


def _rehline(task: Task, problem: PLQProblem) -> Iterator[tuple[str, Fit]]:
    try:
        from rehline import plqERM_Ridge
    except ImportError:
        say("rehline is not installed: it is left out")
        return
    bounds = problem.constraints
    own = [{"name": "custom", "A": bounds.A.toarray(), "b": bounds.b}] if len(bounds) else []

    def fit(tol: float) -> np.ndarray:
        model = plqERM_Ridge(loss=task.rehline, constraint=own, C=task.C, tol=tol, max_iter=10**6)
        return model.fit(task.X, task.y).coef_

    yield "rehline", fit


def _conic(problem: PLQProblem) -> Iterator[tuple[str, Fit]]:
    try:
        import clarabel  # noqa: F401
        import cvxpy as cp
    except ImportError:
        say("cvxpy or clarabel is not installed: they are left out")
        return
    bounds, loss = problem.constraints, problem.loss

    def fit(tol: float) -> np.ndarray:
        beta = cp.Variable(problem.shape[1])
        slack = cp.Variable(problem.shape[0], nonneg=True)
        inside = [slack >= cp.multiply(loss.U[:, 0], problem.X @ beta) + loss.V[:, 0], bounds.A @ beta + bounds.b >= 0]
        whole = cp.Problem(cp.Minimize(cp.sum(slack) + 0.5 * cp.sum_squares(beta)), inside)
        whole.solve(solver="CLARABEL", tol_gap_rel=min(tol, 1e-4), tol_gap_abs=1e-12, tol_feas=1e-9)
        return np.asarray(beta.value)

    yield "Clarabel", fit


def _climb(fit: Fit, problem: PLQProblem, bound: float) -> dict[str, float]:
    """Gap -> seconds of the first run, of ever tighter tolerances, that was within it, and all but feasible."""
    found: dict[str, float] = {}
    for tol in _LADDER:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = fit(tol)
        seconds = time.perf_counter() - began
        gap = problem.objective(w) / bound - 1.0
        feasible = problem.constraints.violation(w) <= max(_LOOSE, FEASIBLE)
        for wanted in GAPS:
            if gap <= wanted and feasible:
                found.setdefault(f"{wanted:g}", seconds)
        if len(found) == len(GAPS) or seconds > _PATIENCE_S:
            break
    return found


def show(task: Task, figures: dict[str, Any]) -> str:
    """A table of one task."""
    lines = [f"{task.name} (C = {task.C:g}); the bound is proved to {figures['gap_of_bound']:.0e}"]
    lines.append(f"  {'':<12}" + "".join(f"{f'to {gap:g}':>12}" for gap in GAPS))
    for name, times in figures.items():
        if isinstance(times, dict):
            cells = (f"{seconds:.3f} s" if seconds is not None else "–" for seconds in times.values())
            lines.append(f"  {name:<12}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)
