"""Table 3's work: a binary solution of whole corpora by homotopy, iterative reweighting and the guided solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.compression.peers.cases import Case, Context, facts_of, quick_case
from benchmarks.compression.peers.ours import TARGET_GAP
from benchmarks.report import Figure, Section, table

TITLE = "binary solutions"
SOLVERS = ("homotopy", "reweighting", "guided")
GUIDED_GAP = 0.001  # what the guided solver is asked for

CASES = [
    Case(f"{name} K={max_gram}", corpus, max_gram)
    for name, corpus in (("20news", "20news_bydate"), ("ratebeer", "ratebeer"), ("imdb", "imdb"))
    for max_gram in (3, 5)
]
QUICK = [quick_case(2)]


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one corpus after the other."""
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        figures: dict[str, Any] = {"tokens": tokens.n_tokens, "limit": context.limit, "solvers": {}}
        file = context.corpus_file(case, tokens)
        del tokens
        for solver in SOLVERS:
            task = "benchmarks.compression.peers.ours:compress"
            answer = context.run(task, file, solver=solver, gap=GUIDED_GAP)
            figures["solvers"][solver] = facts_of(answer)
            context.say(f"{case.name}, {solver}: {answer.status} {answer.note}".rstrip())
        yield case.name, figures


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table."""
    cells: dict[str, dict[str, str]] = {}
    for column, figures in results.items():
        row = cells[column] = {"tokens": f"{figures['tokens']:,}"}
        guided = figures["solvers"].get("guided", {}).get("target_s")
        for name, found in figures["solvers"].items():
            for key, (_, _, form) in _ROWS.items():
                value = found.get(key)
                row[f"{name} {key}"] = form.format(value) if value is not None else found["status"] or "–"
            if "gap" in found and found["target_s"] is None:
                row[f"{name} target_s"] = f"> {found['seconds']:.0f}"
            if guided and found.get("target_s") and name != "guided":
                row[f"{name} ratio"] = f"{found['target_s'] / guided:.1f}"
    return table(_sections(), cells)


_ROWS = {
    "seconds": ("seconds", "from index to certificate; the limit for each is in the first lines", "{:,.2f}"),
    "steps": ("steps", "of its iteration; they are not of one price", "{:,}"),
    "objective": ("objective", "problem (1), lam = 1", "{:,.1f}"),
    "lower_bound": ("lower bound", "proved", "{:,.1f}"),
    "gap": ("certified gap", f"objective / bound - 1; guided is asked for {GUIDED_GAP:.2%}", "{:.3%}"),
    "target_s": (f"seconds to a gap of {TARGET_GAP}", "first event at which that was proved", "{:.2f}"),
    "peak_mb": ("peak memory, MB", "above the interpreter with its imports", "{:,.0f}"),
    "reason": ("why it ended", "", "{}"),
}


def _sections() -> list[Section]:
    def rows(key: str, names: tuple[str, ...] = SOLVERS) -> tuple[Figure, ...]:
        return tuple(Figure(f"{name} {key}", f"  {name}", "{}") for name in names)

    shown = [Section("corpus", "", (Figure("tokens", "tokens", "{}"),))]
    for key, (title, legend, _) in _ROWS.items():
        shown.append(Section(title, legend, rows(key)))
        if key == "target_s":
            legend = "times as long as guided takes to that gap; goals: homotopy 20, reweighting 30"
            shown.append(Section("over guided's seconds", legend, rows("ratio", SOLVERS[:2])))
    return shown
