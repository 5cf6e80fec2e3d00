"""Word-level MMD: the statistic's speed against V × V evaluations, and what networks gain by it.

Sections: "speed" (value and gradient, r = 100, float64, width given, against numpy and JAX with V × V matrices and
against the product of the vectors alone), "ce-t1" and "flat" (Chile earthquake tweets: four networks, six penalties,
five seeds; accuracy over λ), "bbc" (BBC News, the article's networks), "bbc-100" (its convolution with vectors of 100
numbers), "bbc-rest" (the other penalties on it), "bbc-bilstm" (the other network), "english" (movie polarity and
pairs of newsgroups, from random vectors and from GloVe).

Half of the documents are for testing, as in the article; λ is chosen on a fifth of the others of the first seed, by
which no seed is tested. Words are \\w+, lower-cased, of five occurrences or more; texts are cut at 256 words. Every
training of this code and these texts is kept in --work and not done again; --workers of them run at a time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.corpora import present
from benchmarks.embedding.speed import speed
from benchmarks.embedding.tables import show
from benchmarks.embedding.training import VECTORS, Trainings, bbc, bbc_100, bbc_bilstm, bbc_rest, ce_t1, english, flat
from benchmarks.keeping import digest_of
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine.engine import threads

TRAININGS: dict[str, Callable[..., dict[str, Any]]] = {
    "ce-t1": ce_t1,
    "flat": flat,
    "bbc": bbc,
    "bbc-100": bbc_100,
    "bbc-rest": bbc_rest,
    "bbc-bilstm": bbc_bilstm,
    "english": english,
}
SECTIONS = ("speed", *TRAININGS)

CORPORA = ("ce_t1", "bbc_news", "movie_polarity_v2", "20news_bydate")
#: what trainings depend on
CODE = ("benchmarks/embedding", *(f"cflengine/{name}" for name in ("engine", "text", "linear", "embedding")))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--sections", default=",".join(SECTIONS), metavar="A,B", help="(default: %(default)s)")
    work = Path.home() / ".cache" / "cflengine" / "embedding"
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="trainings at a time (default: %(default)s)"
    )
    parser.add_argument("--work", default=str(work), metavar="DIR", help="what is kept (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 for a wrong name or where there is nothing to measure."""
    chosen = chosen_sections(arguments.sections, SECTIONS)
    if not chosen:
        return 2
    work = Path(arguments.work) / ("quick" if arguments.quick else "full")
    corpora, _ = present(list(CORPORA), arguments.data)
    vectors, _ = present([VECTORS[0]], arguments.data, VECTORS[1])
    files = [*corpora.values(), *vectors.values()]
    kept = Trainings(work / "trainings.jsonl", digest_of(CODE, files), max(1, arguments.workers))
    results: dict[str, Any] = {}
    options = {name: getattr(arguments, name) for name in ("sections", "quick")}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        for name in chosen:
            began, kept.seconds = time.perf_counter(), 0.0
            try:
                if name == "speed":
                    found = speed(quick=arguments.quick, n_threads=arguments.threads)
                else:
                    found = TRAININGS[name](arguments.data, kept, quick=arguments.quick)
            except FileNotFoundError as error:
                say(f"{name}: left out, {error}")
                continue
            except ImportError as error:
                say(f"{name}: left out, {error}")
                continue
            # of all trainings, those that were kept included
            results[name] = found | {"seconds": kept.seconds or time.perf_counter() - began}
            print(f"\n{show(name, results[name])}", flush=True)
            if arguments.json:
                write_json(arguments.json, "embedding", facts, options, results)
    return 0 if results else 2
