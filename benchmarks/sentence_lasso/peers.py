"""The same objectives by other solvers: cvxpy with SCS and Clarabel, scikit-learn's saga and liblinear.

cvxpy: seconds from the problem in its language to the solution, at rising precision of its solver; the first solution
within a gap of the optimum, which ours has proved, counts. scikit-learn: fits at falling ``tol``, each certified by us;
the first that reaches a gap counts. liblinear regularises the bias; we do not.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.sentence_lasso.solvers import gap_cells, gap_head, reached
from benchmarks.sentence_lasso.tasks import science
from cflengine.linear import class_signs
from cflengine.sentence_lasso import MajoriseSettings, Penalty, SentenceProblem, TrainingData, certify, solve

GAPS = (1e-2, 1e-3, 1e-4)


def measure(data: str | None, limit: float, quick: bool, say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """case -> solver -> seconds to each gap, and the objective at the end."""
    comparison = science(data, say)
    if comparison is None:
        return {}
    whole, (y,) = comparison.data, class_signs(comparison.y[comparison.train], 2)
    small, small_y = first_documents(comparison, y, 60)
    sentence = Penalty("sentence", lam_sen=0.1, lam_las=0.5)
    elastic = Penalty("elastic", lam_las=1.0, lam_rid=0.1)
    results = {
        "sentence, 60 documents": _sentence(small, small_y, sentence, ("CLARABEL", "SCS"), limit, say),
        "elastic net": _scikit(whole, y, elastic, limit, say),
    }
    if not quick:
        results["sentence, all documents"] = _sentence(whole, y, sentence, ("SCS",), limit, say)
        results["lasso"] = _scikit(whole, y, Penalty("lasso", lam_las=1.0), limit, say)
    return results


def first_documents(comparison: Any, y: np.ndarray, n: int) -> tuple[TrainingData, np.ndarray]:
    """The first n/2 training documents of each class, and the words that they hold."""
    chosen = np.sort(np.concatenate([np.flatnonzero(y == sign)[: n // 2] for sign in (-1.0, 1.0)]))
    table = comparison.part(comparison.train[chosen]).table
    used = np.unique(table.counts.indices)
    return TrainingData(table.by_document()[:, used], table.counts[:, used]), y[chosen]


def _ours(data: TrainingData, y: np.ndarray, penalty: Penalty) -> dict[str, Any]:
    return reached(solve(data.start(y, penalty), MajoriseSettings(tol=1e-8)), GAPS)


def _sentence(data, y, penalty, solvers, limit, say) -> dict[str, Any]:
    figures: dict[str, Any] = {"ours": _ours(data, y, penalty)}
    problem = data.problem(y, penalty)
    groups = problem.groups
    say(f"{problem.X.shape[0]} documents, {groups.n_groups} groups, {len(groups.feature)} entries: {figures}")
    for name in solvers:
        found = _reached(_cvxpy(problem, name, limit), figures["ours"]["objective"]) if find_spec("cvxpy") else None
        figures[f"cvxpy + {name}"] = found
        say(f"cvxpy + {name}: {found}")
    return figures


def _cvxpy(problem: SentenceProblem, solver: str, limit: float) -> Iterator[tuple[float, float, np.ndarray]]:
    """(seconds, objective, w) at rising precision."""
    import cvxpy as cp

    groups, n_features = problem.groups, problem.n_features
    precisions = {"SCS": [{"eps": eps} for eps in (1e-2, 1e-3, 1e-4, 1e-5)], "CLARABEL": [{}]}[solver]
    for precision in precisions:
        began = time.perf_counter()
        w, b = cp.Variable(n_features), cp.Variable()
        scores = problem.X @ w + b
        loss = cp.sum(cp.logistic(cp.multiply(-problem.y, scores)))
        # one matrix for all norms: a row a group, padded with zeros to the longest
        longest = int(np.diff(groups.ptr).max())
        place = groups.group * longest + (np.arange(len(groups.feature)) - groups.ptr[groups.group])
        shape = (groups.n_groups * longest, n_features)
        copies = sparse.csr_matrix((np.sqrt(groups.count), (place, groups.feature)), shape=shape)
        padded = cp.reshape(copies @ w, (groups.n_groups, longest), order="C")
        penalty = problem.lam_las * cp.norm1(w) + problem.lam_sen * (groups.weight @ cp.norm(padded, 2, axis=1))
        kind = {"time_limit_secs": limit} if solver == "SCS" else {"time_limit": limit}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                cp.Problem(cp.Minimize(loss + penalty)).solve(solver=solver, **kind, **precision)
            except cp.SolverError:
                return
        seconds = time.perf_counter() - began
        if w.value is None:
            return
        yield seconds, problem.objective(w.value, float(b.value)), w.value
        if seconds > limit:
            return


def _reached(runs: Iterator[tuple[float, float, np.ndarray]], optimum: float) -> dict[str, Any] | None:
    """Seconds of the first run within each gap of the optimum (which ours has proved), the last run's objective."""
    seconds: list[float | None] = [None] * len(GAPS)
    objective = None
    for taken, objective, _ in runs:
        for i, gap in enumerate(GAPS):
            if seconds[i] is None and objective <= optimum * (1 + gap):
                seconds[i] = taken
    return None if objective is None else {"seconds": seconds, "objective": objective, "gap": objective / optimum - 1}


def _scikit(data: TrainingData, y: np.ndarray, penalty: Penalty, limit: float, say) -> dict[str, Any]:
    figures: dict[str, Any] = {"ours": _ours(data, y, penalty)}
    problem = data.problem(y, penalty)
    names = ("saga",) if penalty.kind == "elastic" else ("saga", "liblinear")
    say(f"{penalty.kind}: ours {figures['ours']}")
    for name in names:
        figures[f"scikit-learn {name}"] = _fits(problem, penalty, name, limit)
        say(f"{penalty.kind} {name}: {figures[f'scikit-learn {name}']}")
    return figures


def _fits(problem: SentenceProblem, penalty: Penalty, solver: str, limit: float) -> dict[str, Any]:
    """Fits at falling tol until the certified gap of each of ``GAPS`` is reached, or one takes longer than allowed."""
    from sklearn.linear_model import LogisticRegression

    lam, ridge = penalty.lam_las, 2.0 * penalty.lam_rid  # scikit-learn: ‖w‖₁ and ½‖w‖²
    seconds: list[float | None] = [None] * len(GAPS)
    for tol in 10.0 ** -np.arange(2, 9):
        model = LogisticRegression(
            C=1.0 / (lam + ridge), l1_ratio=lam / (lam + ridge), solver=solver, tol=tol, max_iter=100_000,
            intercept_scaling=1.0,
        )  # fmt: skip
        began = time.perf_counter()
        model.fit(problem.X, problem.y)
        taken = time.perf_counter() - began
        found = certify(problem, model.coef_.ravel(), np.zeros(0), float(model.intercept_[0]))
        for i, gap in enumerate(GAPS):
            if seconds[i] is None and found.gap <= gap:
                seconds[i] = taken
        if seconds[-1] is not None or taken > limit:
            break
    return {"seconds": seconds, "objective": found.objective, "gap": found.gap}


def show(results: dict[str, dict[str, Any]]) -> str:
    """A table for each case, with ratios to ours."""
    lines = []
    for title, figures in results.items():
        lines.append(f"{title:<26}" + gap_head(GAPS) + "       objective")
        for name, one in figures.items():
            if one is None:
                lines.append(f"{name:<26}  absent, or no solution")
                continue
            cells = gap_cells(one["seconds"], figures["ours"]["seconds"])
            lines.append(f"{name:<26}{cells}  {one['objective']:.6f}")
        lines.append("")
    return "\n".join(lines)
