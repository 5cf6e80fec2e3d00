"""The sentence regulariser: the paper's tables, solvers and peers on its objective, 2.5 million sentences.

Sections, each printed as soon as it is done: "tables" (Tables 1 and 2 for the tasks whose data is there, every model's
grid in full, over seeds), "alone" (the regulariser without a lasso, section 5.3, beside three others), "groups"
(clauses, paragraphs and documents in the place of sentences, λ by length), "solvers" (majorise and the paper's ADMM at
several rho to the same certified gaps), "peers" (cvxpy with SCS and Clarabel, scikit-learn's saga and liblinear; those
not installed are shown as absent), "scale" (a generated corpus of the size of the paper's bills task).
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from benchmarks.sentence_lasso import groups as sentence_groups
from benchmarks.sentence_lasso import peers as sentence_peers
from benchmarks.sentence_lasso import scale as sentence_scale
from benchmarks.sentence_lasso import solvers as sentence_solvers
from benchmarks.sentence_lasso import tables as sentence_tables
from benchmarks.sentence_lasso.tables import PAPER_GRID, RHOS, WITH_ALONE, Grid
from cflengine.engine import threads
from cflengine.sentence_lasso import warm_up

SECTIONS = ("tables", "alone", "groups", "solvers", "peers", "scale")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--sections", default=",".join(SECTIONS), metavar="A,B", help="(default: %(default)s)")
    parser.add_argument("--tasks", default="", metavar="A,B", help="tables, alone, groups: only these (default: all)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="tables, alone: how many (default: 5)")
    parser.add_argument(
        "--admm", choices=("none", "one", "full"), default="one",
        help="tables: ADMM's 100 steps with no rho, rho = 1, or the paper's five (default: one)",
    )  # fmt: skip
    parser.add_argument("--admm-seeds", type=int, default=1, metavar="N", help="tables: ADMM on so many (default: 1)")
    parser.add_argument("--limit", type=float, default=300.0, metavar="S", help="for each solve (default: 300)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, SECTIONS)
    if not chosen:
        return 2
    results: dict[str, dict[str, Any]] = {}
    options = {name: getattr(arguments, name) for name in ("sections", "tasks", "seeds", "admm", "limit", "quick")}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        warm_up("majorise", "admm")
        for name in chosen:
            measured, text = _section(name, arguments)
            results |= {f"{name}: {key}": figures for key, figures in measured.items()}
            if measured:
                print(f"\n== {name} ==\n\n{text}", flush=True)
            if arguments.json:
                write_json(arguments.json, "sentences", facts, options, results)
    return 0 if results else 2


def _section(name: str, arguments: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], str]:
    quick, data = arguments.quick, arguments.data
    tasks = [task for task in arguments.tasks.split(",") if task]
    if name == "groups":
        measured = sentence_groups.measure(tasks, data, arguments.limit, quick, say)
        return measured, sentence_groups.show(measured)
    if name in ("tables", "alone"):
        values, rhos = (1.0,) if quick else PAPER_GRID, {"none": (), "one": (1.0,), "full": RHOS}[arguments.admm]
        seeds = range(1 if quick else arguments.seeds)
        grid = Grid(values, rhos, arguments.admm_seeds) if name == "tables" else Grid(values, models=WITH_ALONE)
        measured = sentence_tables.measure(tasks, data, seeds, grid, say)
        return measured, sentence_tables.show(measured)
    if name == "scale":
        measured = sentence_scale.measure(quick)
        return measured, sentence_scale.show(measured)
    section = {"solvers": sentence_solvers, "peers": sentence_peers}[name]
    measured = section.measure(data, arguments.limit, quick, say)
    return measured, section.show(measured)
