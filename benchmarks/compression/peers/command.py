"""Compression beside its peers: LP solvers, the papers' solvers, the lam path, tokenisers and phrase finders.

Six sections, each printed as soon as it is done. Every solver and every tool runs in a process of its own
and is told to stop after --limit seconds. Peers that are not installed are shown as absent; they are the optional
dependencies "peers" (OR-tools and highspy cannot be imported into one process, hence the processes).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import cflengine
from benchmarks.compression.peers import lam_path, relaxation, sample, solvers, trial, vocabularies
from benchmarks.compression.peers.cases import Context
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine.engine import threads

SECTIONS = {
    "lp": relaxation, "solvers": solvers, "path": lam_path, "trial": trial, "vocabularies": vocabularies,
    "sample": sample,
}  # fmt: skip
QUICK_LIMIT = 20.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument(
        "--sections", default=",".join(SECTIONS), metavar="A,B", help="which of them (default: %(default)s)"
    )
    parser.add_argument(
        "--limit", type=float, default=600.0, metavar="SECONDS", help="for each solve of each solver (default: 600)"
    )
    parser.add_argument(
        "--cases", default="", metavar="A,B", help="only corpora whose column's name contains one of these"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print the sections; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, SECTIONS)
    if not chosen:
        return 2
    parts = [part for part in arguments.cases.split(",") if part]
    limit = min(arguments.limit, QUICK_LIMIT) if arguments.quick else arguments.limit
    options = {"sections": chosen, "limit": limit, "cases": parts, "quick": arguments.quick}
    results: dict[str, dict[str, Any]] = {}
    with threads(arguments.threads) as n_threads, tempfile.TemporaryDirectory() as folder:
        facts = machine(n_threads)
        print(machine_line(facts))
        quick = "; quick: too little for the figures to mean anything" if arguments.quick else ""
        print(f"lam = 1 where nothing else is said; {limit:g} s for each solve{quick}", flush=True)
        cflengine.warm_up()
        context = Context(
            data=arguments.data,
            n_threads=n_threads,
            limit=limit,
            quick=arguments.quick,
            wanted=lambda name: not parts or any(part in name for part in parts),
            say=say,
            folder=Path(folder),
        )
        for name in chosen:
            section, measured = SECTIONS[name], {}
            for column, figures in section.columns(context):
                measured[column] = figures
                results[f"{name}: {column}"] = figures
                if arguments.json:
                    write_json(arguments.json, "compression-peers", facts, options, results)
            if measured:
                print(f"\n== {section.TITLE} ==\n\n{section.show(measured)}", flush=True)
    return 0 if results else 2
