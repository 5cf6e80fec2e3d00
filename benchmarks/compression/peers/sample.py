"""The shipped sample by each solver with its usual settings, as ``cflengine compress`` runs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.compression.peers.cases import Case, Context, facts_of, quick_case
from benchmarks.corpora import SAMPLE
from benchmarks.report import Figure, Section, table

TITLE = "the sample by every solver"
SOLVERS = ("guided", "homotopy", "relay", "reweighting")
CASES = [Case("sample K=3", SAMPLE, 3)]
QUICK = [quick_case(2)]
_ROWS = (
    Figure("gap", "certified gap", "{}"),
    Figure("seconds", "seconds", "{}"),
    Figure("reason", "why it ended", "{}"),
)


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one solver after the other."""
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        file = context.corpus_file(case, tokens)
        found = {
            solver: facts_of(context.run("benchmarks.compression.peers.ours:compress", file, solver=solver))
            for solver in SOLVERS
        }
        yield case.name, {"tokens": tokens.n_tokens, "solvers": found}


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table."""
    (figures,) = results.values()
    cells = {}
    for solver, found in figures["solvers"].items():
        measured = "gap" in found
        cells[solver] = {
            "gap": f"{found['gap']:.3%}" if measured else found["status"],
            "seconds": f"{found['seconds']:.1f}" if measured else "–",
            "reason": str(found.get("reason", "")),
        }
    return table([Section(f"{figures['tokens']:,} tokens", "", _ROWS)], cells)
