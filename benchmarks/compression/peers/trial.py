"""Figure 4: the homotopy and iterative reweighting, step by step on one corpus, with the paper's settings and marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.compression.peers.cases import Case, Context, facts_of, quick_case

TITLE = "the two papers' solvers on their way"
SOLVERS = ("homotopy", "reweighting")
CASES = [Case("ratebeer K=3, 10,000 reviews", "ratebeer", 3, documents=10_000)]
QUICK = [quick_case(2)]


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one corpus after the other."""
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        file = context.corpus_file(case, tokens)
        figures: dict[str, Any] = {"tokens": tokens.n_tokens, "solvers": {}}
        for solver in SOLVERS:
            answer = context.run("benchmarks.compression.peers.ours:trial", file, solver=solver)
            figures["solvers"][solver] = facts_of(answer)
            context.say(f"{case.name}, {solver}: {answer.status} {answer.note}".rstrip())
        yield case.name, figures


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a solver: where it begins, where it ends, and what the paper marks."""
    lines = []
    for name, figures in results.items():
        lines.append(f"{name}, {figures['tokens']:,} tokens; objectives over the proved bound")
        for solver, one in figures["solvers"].items():
            if "seconds" not in one:
                lines.append(f"  {solver}: {one['status']} {one['note']}".rstrip())
                continue
            near = f"{one['near_s']:.1f} s" if one["near_s"] is not None else "never"
            line = f"  {solver}: {one['start']:.3f} after {one['start_s']:.2f} s, {1 + one['gap']:.4f} in the end, "
            line += f"{one['steps']:,} steps and {one['seconds']:.1f} s ({one['reason']}); within 2 % after {near}"
            if one.get("left_zeta"):
                line += f"; ζ leaves 0 at step {one['left_zeta']:,}"
            if "jumps" in one:
                line += f"; {one['rounds']} rounds, each at worst {', '.join(f'{jump:.3f}' for jump in one['jumps'])}"
            lines.append(line)
    return "\n".join(lines)
