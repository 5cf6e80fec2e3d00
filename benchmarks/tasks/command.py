"""What features are worth: Section 5.1 of the AISTATS paper on RateBeer, and two classifications, by every method.

Sections: "authors" (Table 1, Figure 3: 1,233 authors; averages of three held-out reviews and single ones, cosine and
Euclidean distance, fewer authors, only prolific ones), "ratings" (Table 2: five scores at 0 to 5, and ABV; elastic
net), "newsgroups" and "polarity" (linear SVM); "authors-idf" and "ratings-idf": features weighted as the paper does.

Every method's candidate (λ, temperature, size) and regularisation are chosen on documents beside the test. The paper's
numbers stand beside ours, with a verdict on each of its claims. Dictionaries and finished sections are kept in --work,
and not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from benchmarks.tasks.tables import show
from benchmarks.tasks.targets import authors, newsgroups, polarity, ratings
from cflengine.engine import finite, threads

SECTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "authors": authors,
    "ratings": ratings,
    "newsgroups": newsgroups,
    "polarity": polarity,
    "authors-idf": partial(authors, weighting="idf"),
    "ratings-idf": partial(ratings, weighting="idf"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--sections", default=",".join(SECTIONS), metavar="A,B", help="(default: %(default)s)")
    work = Path.home() / ".cache" / "cflengine" / "tasks"
    parser.add_argument("--work", default=str(work), metavar="DIR", help="what is kept (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="do finished sections again; dictionaries are kept")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, list(SECTIONS))
    if not chosen:
        return 2
    work = Path(arguments.work) / ("quick" if arguments.quick else "full")
    results: dict[str, Any] = {}
    options = {name: getattr(arguments, name) for name in ("sections", "quick")}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        for name in chosen:
            found = None if arguments.fresh else _kept(work / f"{name}.json")
            if found is None:
                began = time.perf_counter()
                try:
                    found = SECTIONS[name](arguments.data, work, quick=arguments.quick, n_threads=arguments.threads)
                except FileNotFoundError as error:
                    say(f"{name}: left out, {error}")
                    continue
                found["seconds"] = time.perf_counter() - began
                _keep(work / f"{name}.json", found)
            results[name] = found
            print(f"\n{show(name, found)}", flush=True)
            if arguments.json:
                write_json(arguments.json, "tasks", facts, options, results)
    return 0 if results else 2


def _kept(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _keep(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(finite(found), default=float), encoding="utf-8")
    os.replace(beside, path)
