"""What features are worth: Section 5.1 of the AISTATS paper on RateBeer, and two classifications, by every method.

Sections: "authors" (Table 1, Figure 3: 1,233 authors; averages of three held-out reviews and single ones, cosine and
Euclidean distance, fewer authors, only prolific ones), "ratings" (Table 2: five scores at 0 to 5, and ABV; elastic
net), "newsgroups" and "polarity" (linear SVM); "authors-idf" and "ratings-idf": features weighted as the paper does.

Every method's candidate (λ, temperature, size) and regularisation are chosen on documents beside the test. The paper's
numbers stand beside ours, with a verdict on each of its claims. Dictionaries, and finished sections of the same code
and data, are kept in --work, and not done again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpora import corpus_path
from benchmarks.keeping import Kept, digest_of
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from benchmarks.tasks.tables import show
from benchmarks.tasks.targets import authors, newsgroups, polarity, ratings
from cflengine.engine import threads

SECTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "authors": authors,
    "ratings": ratings,
    "newsgroups": newsgroups,
    "polarity": polarity,
    "authors-idf": partial(authors, weighting="idf"),
    "ratings-idf": partial(ratings, weighting="idf"),
}
CORPORA = dict.fromkeys(SECTIONS, "ratebeer") | {"newsgroups": "20news_bydate", "polarity": "movie_polarity_v2"}
#: what figures depend on
CODE = (
    *(f"cflengine/{name}" for name in ("engine", "text", "linear", "compression", "plq", "experiments")),
    "benchmarks/tasks",
)


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
            try:
                results[name] = _section(name, work, arguments)
            except FileNotFoundError as error:
                say(f"{name}: left out, {error}")
                continue
            print(f"\n{show(name, results[name])}", flush=True)
            if arguments.json:
                write_json(arguments.json, "tasks", facts, options, results)
    return 0 if results else 2


def _section(name: str, work: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """A section's figures, now or before."""
    basis = digest_of(CODE, [corpus_path(CORPORA[name], arguments.data)])
    kept = Kept(work / "sections.jsonl", basis, fresh=arguments.fresh)

    def measure() -> dict[str, Any]:
        began = time.perf_counter()
        found = SECTIONS[name](arguments.data, work, quick=arguments.quick, n_threads=arguments.threads)
        return found | {"seconds": time.perf_counter() - began}

    return kept.once({"section": name, "threads": arguments.threads}, measure)
