"""The relaxation to a proved gap: the engine against general solvers of linear programmes.

Every solver is run at its own tolerances, loose to tight, each a run of its own, until the gap that lp.py proves from
its answer is as small as wanted; what counts is the fastest run that reached it. A solver that gave nothing useful
within the limit on one corpus is not tried on a larger one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.peers import lp
from benchmarks.compression.peers.cases import LETTERS, Case, Context, megabytes, problem_of, quick_case, why_not
from benchmarks.compression.peers.runner import ABSENT, Answer
from benchmarks.report import Figure, Section, table
from cflengine.compression import StorageCosts
from cflengine.text import KGramIndex, TokenTable

TITLE = "LP relaxation"
TARGETS = (1e-3, 1e-4)
LADDER = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5)

OURS = {"guided": "ours, guided", "homotopy": "ours, the paper's ADMM"}
PEERS: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "OR-tools PDLP": ("benchmarks.compression.peers.pdlp:solve", {}, LADDER),
    # ends at an optimal vertex or not at all
    "HiGHS simplex": ("benchmarks.compression.peers.highs:solve", {"method": "simplex"}, LADDER[-1:]),
    "HiGHS IPM": ("benchmarks.compression.peers.highs:solve", {"method": "ipm"}, LADDER),
    "HiGHS PDLP": ("benchmarks.compression.peers.highs:solve", {"method": "pdlp"}, LADDER),
}
NAMES = (*OURS.values(), *PEERS)

CASES = [
    Case("20news 3k", "20news_bydate", 3, documents=3000, tokens=3_000),
    Case("20news 30k", "20news_bydate", 3, documents=3000, tokens=30_000),
    Case("20news 300k", "20news_bydate", 3, documents=3000, tokens=300_000),
    Case("20news 1.3M", "20news_bydate", 3, documents=3000),
    Case("bbc K=5", "bbc_news", 5, pattern=LETTERS),
]
QUICK = [quick_case(2)]


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one corpus after the other."""
    exhausted: set[str] = set()
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        yield case.name, _column(context, case, tokens, exhausted)


def _column(context: Context, case: Case, tokens: TokenTable, exhausted: set[str]) -> dict[str, Any]:
    index, costs = problem_of(case, tokens)
    problem, corpus = context.folder / "programme.npz", context.corpus_file(case, tokens)
    programme = lp.linear_programme(index, costs)
    np.savez(problem, allow_pickle=False, **programme)
    figures: dict[str, Any] = {
        "tokens": index.n_tokens,
        "rows": int(programme["shape"][0]),
        "columns": int(programme["shape"][1]),
        "nonzeros": len(programme["data"]),
        "limit": context.limit,
        "solvers": {},
    }
    del programme
    for solver, name in OURS.items():
        targets = TARGETS[:1] if context.quick else TARGETS
        tries = [(target, {"solver": solver, "gap": target}) for target in targets]
        task = "benchmarks.compression.peers.ours:relaxation"
        figures["solvers"][name] = _tries(context, name, task, corpus, tries, index, costs)
    for name, (task, options, ladder) in PEERS.items():
        if name in exhausted:
            figures["solvers"][name] = {"runs": [], "status": "not tried", "note": "out of time on a smaller corpus"}
            continue
        ladder = ladder[-1:] if context.quick else ladder
        tries = [(tolerance, options | {"tolerance": tolerance}) for tolerance in ladder]
        found = figures["solvers"][name] = _tries(context, name, task, problem, tries, index, costs)
        if found["status"] in ("out of time", "killed"):
            exhausted.add(name)
    return figures


def _tries(
    context: Context,
    name: str,
    task: str,
    file: Path,
    tries: list[tuple[float, dict[str, Any]]],
    index: KGramIndex,
    costs: StorageCosts,
) -> dict[str, Any]:
    """Runs from loose to tight until the tightest target is reached, the time is up or the solver fails."""
    runs: list[dict[str, Any]] = []
    status = note = ""
    for tolerance, options in tries:
        answer = context.run(task, file, **options)
        if not answer.done:
            context.say(f"{name}, tolerance {tolerance:g}: {answer.status} {answer.note}".rstrip())
            status, note = why_not(answer), answer.note
            if answer.status != ABSENT:
                runs.append({"tolerance": tolerance, "status": answer.status, **answer.facts})
            break
        runs.append(_judged(answer, tolerance, index, costs))
        context.say(f"{name}, tolerance {tolerance:g}: {runs[-1]['seconds']:.1f} s, gap {runs[-1]['gap']:.1e}")
        if runs[-1]["gap"] <= min(TARGETS):
            break
        if runs[-1]["seconds"] >= context.limit:
            status = "out of time"
            break
    return {"runs": runs, "status": status, "note": note}


def _judged(answer: Answer, tolerance: float, index: KGramIndex, costs: StorageCosts) -> dict[str, Any]:
    """A run's figures; value and bound proved by us, ``claimed_gap`` the solver's own."""
    if "alpha" in answer.arrays:  # ours: w stays inside; the value is that of the same repair, see kernels/bound.py
        alpha, value = answer.arrays["alpha"], answer.facts["value"]
    else:
        x, y = answer.arrays["x"], answer.arrays["y"]
        # a solver that was stopped early may have no dual, or none that is finite
        alpha = np.nan_to_num(y[: index.n_tokens]) if len(y) else np.zeros(index.n_tokens)
        x = np.nan_to_num(x[: index.n_pointers]) if len(x) else np.zeros(index.n_pointers)
        value = lp.proved_value(index, costs, x)
    bound = lp.proved_bound(index, costs, alpha)
    gap = value / bound - 1 if bound > 0 else float("inf")
    own = dict(answer.facts) | {"peak_mb": megabytes(answer)}
    return own | {"tolerance": tolerance, "value": value, "bound": bound, "gap": gap}


def best_seconds(solver: Mapping[str, Any], target: float) -> float | None:
    """Seconds of the fastest run whose proved gap is at most ``target``."""
    return min((run["seconds"] for run in solver["runs"] if run.get("gap", np.inf) <= target), default=None)


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table."""
    cells: dict[str, dict[str, str]] = {}
    for column, figures in results.items():
        row = cells[column] = {key: f"{figures[key]:,}" for key in ("tokens", "rows", "columns", "nonzeros")}
        for name, solver in figures["solvers"].items():
            for target in TARGETS:
                seconds = best_seconds(solver, target)
                row[f"{name} {target}"] = f"{seconds:.2f}" if seconds is not None else _reason(solver, figures["limit"])
                ours = _ours(figures["solvers"], target)
                if name in PEERS and ours is not None:
                    row[f"{name} ratio {target}"] = _ratio(solver, seconds, ours, figures["limit"])
            judged = [run for run in solver["runs"] if "gap" in run]
            if judged:
                tight = min(judged, key=lambda run: run["gap"])
                row[f"{name} gap"] = f"{tight['gap']:.1e}"
                row[f"{name} claim"] = _claim(tight)
            peaks = [run["peak_mb"] for run in judged if run["peak_mb"] is not None]
            if peaks:
                row[f"{name} peak"] = f"{max(peaks):,.0f}"
    return table(_sections(), cells)


def _ours(solvers: Mapping[str, Any], target: float) -> float | None:
    """The engine's own time: the guided solver's, the homotopy's first stage where that gave none."""
    times = (best_seconds(solvers[name], target) for name in OURS.values() if name in solvers)
    return next((seconds for seconds in times if seconds is not None), None)


def _reason(solver: Mapping[str, Any], limit: float) -> str:
    if solver["status"] in ("out of time", "killed"):
        return f"> {limit:.0f}"
    return solver["status"] or "not reached"


def _ratio(solver: Mapping[str, Any], seconds: float | None, ours: float, limit: float) -> str:
    if seconds is not None:
        return f"{seconds / ours:.1f}"
    return f"> {limit / ours:.0f}" if solver["status"] in ("out of time", "killed") else "–"


def _claim(run: Mapping[str, Any]) -> str:
    claim = run["claimed_gap"]
    return "none" if claim is None or not np.isfinite(claim) else f"{claim:.1e}"


def _sections() -> list[Section]:
    def rows(key: str, names: tuple[str, ...] = NAMES) -> tuple[Figure, ...]:
        return tuple(Figure(f"{name} {key}", f"  {name}", "{}") for name in names)

    programme = (("tokens", "tokens"), ("rows", "rows"), ("columns", "columns"), ("nonzeros", "non-zeros"))
    shown = [
        Section(
            "linear programme",
            "as the peers get it, K-grams that occur once folded into their pointers",
            tuple(Figure(key, label, "{}") for key, label in programme),
        )
    ]
    reached = (
        "value / bound - 1, both proved by us from the solver's own primal and dual; presolve included,\n"
        "building index or matrix not; the fastest of the solver's tolerances that reached it"
    )
    against = "seconds over the guided solver's, or over the paper's ADMM where that has none"
    shown += [Section(f"seconds to a gap of {target:g}", reached, rows(str(target))) for target in TARGETS]
    shown += [Section(f"times ours, gap {t:g}", against, rows(f"ratio {t}", tuple(PEERS))) for t in TARGETS]
    return [
        *shown,
        Section("peak memory, MB", "above the interpreter with its imports; problem included", rows("peak")),
        Section("best gap reached", "proved by us", rows("gap")),
        Section("its own claim there", "the relative gap that the solver reports, not checked", rows("claim")),
    ]
