"""What each part of the guided solver is worth: the solver as it is, and with one part off or otherwise.

Every variant is a setting of ``GuidedSettings``; each runs on the same corpus for the same number of seconds, in
turns, so that a machine that slows down slows all. What stands in docs/experiments.md is measured by this.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.corpora import corpus_path
from benchmarks.report import machine, machine_line, say, write_json
from cflengine import GuidedSettings, read_corpus, warm_up
from cflengine.compression import GuidedSolver, storage_costs
from cflengine.engine import threads
from cflengine.text import KGramIndex, Tokenizer, index_kgrams

#: name -> what is otherwise than by default
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "without over-relaxation": {"over": 1.0},
    "without the search before annealing": {"early": False},
    "without annealing": {"annealings": 0},
    "one annealing": {"annealings": 1},
    "annealing with ε = 4": {"epsilon": 4.0},
    "annealing with ε = 8": {"epsilon": 8.0},
    "annealing with ε = 0.5": {"epsilon": 0.5},
    "twice as many steps between reweightings": {"anneal_steps": 80},
    "half as many steps between reweightings": {"anneal_steps": 20},
    "without taking up the relaxation again": {"tighten": False},
    "less patience in recombination": {"patience": 1},
    "ρ = 1": {"rho": 1.0},
    "ρ = 0.05": {"rho": 0.05},
}
MARKS = (0.02, 0.01, 0.005, 0.002)  # gaps whose first proof is timed


def add_options(parser: argparse.ArgumentParser) -> None:
    """The corpus and the limit."""
    parser.add_argument("--corpus", default="20news_bydate", metavar="NAME", help="(default: 20news_bydate)")
    parser.add_argument("--documents", type=int, default=3000, metavar="N", help="the first N (default: 3000)")
    parser.add_argument("--max-gram", type=int, default=3, metavar="K", help="the longest K-gram (default: 3)")
    parser.add_argument("--limit", type=float, default=30.0, metavar="S", help="seconds a variant (default: 30)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="in turns (default: 3)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 where the corpus is absent."""
    try:
        path = corpus_path(arguments.corpus, arguments.data)
    except FileNotFoundError as error:
        say(str(error))
        return 2
    documents, repeats = (200, 1) if arguments.quick else (arguments.documents, arguments.repeats)
    limit = 1.0 if arguments.quick else arguments.limit
    options = {"corpus": arguments.corpus, "documents": documents, "max_gram": arguments.max_gram, "limit": limit,
               "repeats": repeats}  # fmt: skip
    warm_up("guided")
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        table = Tokenizer()(read_corpus(path, limit=documents).texts)
        index = index_kgrams(table.tokens, table.segment_ptr, arguments.max_gram)
        found = measure(index, limit, repeats, arguments.threads)
    print(f"\n{show(found)}", flush=True)
    if arguments.json:
        write_json(arguments.json, "ablations", facts, options, {"tokens": index.n_tokens, "variants": found})
    return 0


def measure(index: KGramIndex, limit: float, repeats: int, n_threads: int | None) -> dict[str, dict[str, Any]]:
    """Variant -> the medians over the repeats: objective, lower_bound, gap, steps, and seconds to each mark."""
    costs = storage_costs(index.gram_of, index.lengths())
    # the relaxation ends as it does by default: at 0 it would take all the time there is
    plain = GuidedSettings(tol=0.0, relaxation_gap=0.25 * GuidedSettings().tol, time_limit=limit)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
    # a run that does not count: the first one touches memory that later ones find at hand
    GuidedSolver(index, n_threads=n_threads, once=True).solve(costs, replace(plain, time_limit=min(limit, 5.0)))
    for turn in range(repeats):
        for name, changes in VARIANTS.items():
            solver = GuidedSolver(index, n_threads=n_threads, once=True)
            result = solver.solve(costs, replace(plain, **changes))
            gaps, at = result.trace["gap"].to_numpy(), result.trace["elapsed_s"].to_numpy()
            first = {f"{mark:g}": float(at[gaps <= mark][0]) if (gaps <= mark).any() else None for mark in MARKS}
            rows[name].append(
                {"objective": result.objective, "lower_bound": result.lower_bound, "gap": result.gap,
                 "steps": int(result.trace["iteration"].max()), "seconds_to": first}
            )  # fmt: skip
            say(f"turn {turn + 1}: {name}: gap {result.gap:.5f}")
    return {name: _medians(own) for name, own in rows.items()}


def _medians(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        key: float(np.median([row[key] for row in rows])) for key in ("objective", "lower_bound", "gap", "steps")
    }
    found["seconds_to"] = {}
    for mark in rows[0]["seconds_to"]:
        times = [row["seconds_to"][mark] for row in rows]
        found["seconds_to"][mark] = None if None in times else float(np.median(times))
    return found


def show(found: dict[str, dict[str, Any]]) -> str:
    """A line a variant."""
    head = ["", *(f"to {100 * mark:g} %" for mark in MARKS), "gap", "objective", "bound", "steps"]
    lines = [head]
    for name, row in found.items():
        times = [f"{t:.1f} s" if t is not None else "–" for t in row["seconds_to"].values()]
        numbers = [f"{100 * row['gap']:.3f} %", f"{row['objective']:,.0f}", f"{row['lower_bound']:,.0f}"]
        lines.append([name, *times, *numbers, f"{row['steps']:,.0f}"])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )
