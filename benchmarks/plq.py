"""Piecewise linear-quadratic losses: primal-dual coordinate descent, rehline and scikit-learn to the same proved gaps.

Every contestant's coefficients are judged by one objective against one lower bound, our own at a gap of 1e-8 or what a
minute proves; a contestant runs anew at tighter and tighter tolerances until it is within 1e-4 and 1e-6 of that bound,
and the time told is that of the run that was. No intercept. Medians of --repeats runs. Sections: "dense"
(scikit-learn's generators), "text" (20 Newsgroups, one group against the rest, tf-idf). rehline is shown as absent
where it is not installed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.corpora import corpus_path
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine.engine.jit import threads
from cflengine.plq.descent import solve
from cflengine.plq.losses import named_loss
from cflengine.plq.problem import PLQProblem, no_constraints
from cflengine.plq.settings import DescentSettings

SECTIONS = ("dense", "text")
GAPS = (1e-4, 1e-6)
_LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_PATIENCE_S = 60.0  # a contestant that takes longer is not asked again


@dataclass(frozen=True)
class Task:
    """Data, a loss by name and C; peers: what rehline and LinearSVC call the loss, "" where they have it not."""

    name: str
    X: Any
    y: np.ndarray
    loss: str
    C: float
    rehline: dict[str, Any]
    liblinear: str = ""

    def problem(self, rows: slice = slice(None)) -> PLQProblem:
        """The problem, or that of some rows."""
        own = named_loss(self.loss).for_data(self.y[rows], self.C)
        return PLQProblem(self.X[rows], own, no_constraints(self.X.shape[1]))


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
        for task in _tasks(chosen, arguments):
            results[task.name] = contest(task, 1 if arguments.quick else arguments.repeats)
            print(f"\n{show(task, results[task.name])}", flush=True)
            if arguments.json:
                write_json(arguments.json, "plq", facts, options, results)
    return 0 if results else 2


def _tasks(chosen: list[str], arguments: argparse.Namespace) -> Iterator[Task]:
    quick = arguments.quick
    if "dense" in chosen:
        yield from _dense(2_000 if quick else None)
    if "text" in chosen:
        yield from _text(arguments.data, 500 if quick else None)


def _dense(limit: int | None) -> Iterator[Task]:
    from sklearn.datasets import make_classification, make_regression

    for n, d, C in ((200_000, 18, 1e-3), (20_000, 100, 1e-2)):
        n = min(n, limit or n)
        X, y = make_classification(n, d, n_informative=min(d // 2, 30), random_state=0)
        y = 2.0 * y - 1.0
        where = f"{n:,} × {d}"
        yield Task(f"SVM, {where}", X, y, "hinge", C, {"name": "svm"}, "hinge")
        yield Task(f"smoothed SVM, {where}", X, y, "smoothed_hinge", C, {"name": "sSVM"})
    n = min(100_000, limit or 100_000)
    X, y = make_regression(n, 50, noise=20.0, random_state=0)
    y = (y + np.random.default_rng(0).standard_t(2, n) * 20.0) / 100.0
    yield Task(f"Huber, {n:,} × 50", X, y, "huber:0.5", 1e-2, {"name": "huber", "tau": 0.5})
    yield Task(f"quantile 0.9, {n:,} × 50", X, y, "quantile:0.9", 1e-3, {"name": "QR", "qt": 0.9})


def _text(data: str | None, limit: int | None) -> Iterator[Task]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        path = corpus_path("20news_bydate", data)
    except FileNotFoundError as error:
        say(str(error))
        return
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines][:limit]
    X = sparse.csr_matrix(TfidfVectorizer(min_df=2).fit_transform([one["text"] for one in documents]))
    groups = np.array([one["label"] for one in documents])
    y = np.where(groups == groups[0], 1.0, -1.0)
    where = f"20 Newsgroups ({X.shape[0]:,} × {X.shape[1]:,})"
    yield Task(f"SVM, {where}", X, y, "hinge", 1.0, {"name": "svm"}, "hinge")
    yield Task(f"squared SVM, {where}", X, y, "squared_hinge", 1.0, {"name": "squared svm"}, "squared_hinge")
    yield Task(f"smoothed SVM, {where}", X, y, "smoothed_hinge", 1.0, {"name": "sSVM"})


def contest(task: Task, repeats: int) -> dict[str, Any]:
    """Contestant -> gap -> seconds, None where it was not reached."""
    problem = task.problem()
    solve(task.problem(slice(0, 200)), DescentSettings(max_iter=3))  # kernels are loaded
    best = solve(problem, DescentSettings(tol=1e-8, max_iter=10**6, time_limit=_PATIENCE_S))
    figures: dict[str, Any] = {"lower_bound": best.lower_bound, "gap_of_bound": best.gap}
    for name, fit in _contestants(task, problem):
        times: dict[str, list[float]] = {}
        for _ in range(repeats):
            for gap, seconds in _climb(fit, problem, best.lower_bound).items():
                times.setdefault(gap, []).append(seconds)
        found = {f"{gap:g}": times.get(f"{gap:g}") for gap in GAPS}
        figures[name] = {gap: float(np.median(seconds)) if seconds else None for gap, seconds in found.items()}
        say(f"{task.name}: {name}: {figures[name]}")
    return figures


def _contestants(task: Task, problem: PLQProblem) -> Iterator[tuple[str, Callable[[float], np.ndarray]]]:
    yield "ours", lambda tol: solve(problem, DescentSettings(tol=tol, max_iter=10**6, time_limit=_PATIENCE_S)).w
    if task.liblinear:
        from sklearn.svm import LinearSVC

        def liblinear(tol: float) -> np.ndarray:
            model = LinearSVC(loss=task.liblinear, C=task.C, tol=tol, fit_intercept=False, max_iter=10**6, dual=True)
            return model.fit(task.X, task.y).coef_[0]

        yield "liblinear", liblinear
    try:
        from rehline import plqERM_Ridge
    except ImportError:
        say("rehline is not installed: it is left out")
        return
    yield (
        "rehline",
        lambda tol: plqERM_Ridge(loss=task.rehline, C=task.C, tol=tol, max_iter=10**6).fit(task.X, task.y).coef_,
    )


def _climb(fit: Callable[[float], np.ndarray], problem: PLQProblem, bound: float) -> dict[str, float]:
    """Gap -> seconds of the first run, of ever tighter tolerances, that was within it."""
    found: dict[str, float] = {}
    for tol in _LADDER:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w = fit(tol)
        seconds = time.perf_counter() - began
        gap = problem.objective(w) / bound - 1.0
        for wanted in GAPS:
            if gap <= wanted:
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
