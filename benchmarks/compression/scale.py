"""Large corpora: what shards cost and what they save, and seconds, memory and gap against tokens.

Sections:
  shards   a real corpus, by the guided solver and in 1, 2, 4, 8 shards, with as many steps on the relaxation each:
           objective, bound, their ratio, bound by step, bytes exchanged, seconds; then on Dask clusters of 1 and 2
           workers, and on 2 of which one is killed in the middle, which must give the same answers
  sizes    generated corpora (generated.py), each from a CSV file to written features in a process of its own:
           seconds to read, cut into tokens, solve to --gap and write, peak memory a token; --shards N solves in
           shards, --cap GIB limits the process's data (RLIMIT_DATA, which does not count files that are mapped)
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from dataclasses import replace
from typing import Any

from benchmarks.compression.sizes import measure_sizes, show_sizes
from benchmarks.corpora import corpus_path
from benchmarks.report import chosen_sections, machine, machine_line, say, write_json
from cflengine import GuidedSettings, ShardedSettings, read_corpus, warm_up
from cflengine.compression import CompressionResult, GuidedSolver, solve_sharded, storage_costs
from cflengine.engine import MissingPackageError, local_cluster, threads
from cflengine.text import KGramIndex, Tokenizer, index_kgrams

SECTIONS = ("shards", "sizes")
COUNTS = (2, 4, 8)
MARKS = (25, 50, 100, 200)  # steps of the relaxation after which bounds are compared


def add_options(parser: argparse.ArgumentParser) -> None:
    """The corpora."""
    parser.add_argument("--sections", default="shards,sizes", metavar="A,B", help="(default: all)")
    parser.add_argument("--corpus", default="20news_bydate", metavar="NAME", help="shards: (default: 20news_bydate)")
    parser.add_argument("--documents", type=int, metavar="N", help="shards: the first N (default: all)")
    parser.add_argument(
        "--sizes", default="1e6,3e6,1e7,4e7", metavar="A,B", help="sizes: tokens (default: %(default)s)"
    )
    parser.add_argument(
        "--together", default="ratebeer,imdb,20news_bydate", metavar="A,B", help="sizes: real corpora read as one "
        "(default: %(default)s; '' for none)",
    )  # fmt: skip
    parser.add_argument("--gap", type=float, default=0.01, metavar="G", help="sizes: to prove (default: %(default)g)")
    parser.add_argument("--shards", type=int, default=1, metavar="N", help="sizes: (default: 1)")
    parser.add_argument("--cap", type=float, metavar="GIB", help="sizes: of the process's data (default: none)")
    parser.add_argument("--scratch", metavar="DIR", help="where shards wait")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 where something is absent."""
    sections = chosen_sections(arguments.sections, SECTIONS)
    if not sections:
        return 2
    found: dict[str, Any] = {}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        if "shards" in sections:
            try:
                path = corpus_path(arguments.corpus, arguments.data)
            except FileNotFoundError as error:
                say(str(error))
                return 2
            texts = read_corpus(path, limit=200 if arguments.quick else arguments.documents).texts
            table = Tokenizer()(texts)
            del texts
            warm_up("guided", "sharded")
            found["shards"] = measure_shards(index_kgrams(table.tokens, table.segment_ptr, 3), arguments)
            print(f"\n{show_shards(found['shards'])}", flush=True)
    if "sizes" in sections:
        sizes = [4_000, 12_000] if arguments.quick else [round(float(size)) for size in arguments.sizes.split(",")]
        arguments.together = "" if arguments.quick else arguments.together
        found["sizes"] = measure_sizes(sizes, arguments)
        print(f"\n{show_sizes(found['sizes'])}", flush=True)
    if arguments.json:
        own = {"shards": ("corpus", "documents"), "sizes": ("sizes", "together", "gap", "shards", "cap")}
        names = ["sections", *(name for section in sections for name in own[section])]
        write_json(arguments.json, "scale", facts, {name: getattr(arguments, name) for name in names}, found)
    return 0


def measure_shards(index: KGramIndex, arguments: argparse.Namespace) -> dict[str, Any]:
    """One annealing and the search after it, unsharded and sharded, with the same number of steps before it."""
    costs = storage_costs(index.gram_of, index.lengths())
    guided = GuidedSettings(tol=0.0, relaxation_gap=2.5e-4, annealings=1)
    if arguments.quick:
        guided = replace(guided, relaxation_iterations=60, anneal_rounds=1, patience=1)
    began = time.perf_counter()
    whole = GuidedSolver(index, n_threads=arguments.threads, once=True).solve(costs, guided)
    rows = {"guided": _row(whole, time.perf_counter() - began)}
    say(f"guided: {whole.objective:,.0f}, at least {whole.lower_bound:,.0f}, {whole.seconds:.0f} s")
    # the relaxation's steps; those between annealings are part of tightening, which ends by what it brings
    steps = int(whole.trace.query("stage == 'annealing'")["iteration"].min()) - 1
    settings = ShardedSettings(shards=1, tol=0.0, scratch=arguments.scratch, guided=guided)
    as_many = replace(guided, relaxation_iterations=max(steps, 1))
    runs = {"1 shard": settings} | {f"{n} shards": replace(settings, shards=n, guided=as_many) for n in COUNTS}
    for name, own in runs.items():
        began = time.perf_counter()
        result = solve_sharded(index, costs, own, n_threads=arguments.threads)
        rows[name] = _row(result, time.perf_counter() - began)
        say(f"{name}: {result.objective:,.0f}, at least {result.lower_bound:,.0f}, {result.seconds:.0f} s")
    on_workers = [(name, own) for name, own in runs.items() if own.shards > 1]
    for name, own in on_workers:
        rows[f"{name}, 1 worker"] = _on_workers(index, costs, own, 1)
        rows[f"{name}, 2 workers"] = _on_workers(index, costs, own, 2)
    rows["4 shards, 2 workers, one killed"] = _on_workers(index, costs, runs["4 shards"], 2, killing=True)
    return {"tokens": index.n_tokens, "k_grams": index.n_grams, "relaxation_steps": steps, "runs": rows}


def _on_workers(
    index: KGramIndex, costs: Any, settings: ShardedSettings, workers: int, *, killing: bool = False
) -> dict[str, Any] | None:
    """On a Dask cluster of this machine; None without Dask. killing: a worker's process, when annealing begins."""
    killed: list[int] = []

    def kill(stats: Any) -> None:
        if killing and stats.stage == "annealing" and not killed:
            killed.append(next(worker.pid for worker in cluster.workers.values()))
            os.kill(killed[0], signal.SIGKILL)

    try:
        with local_cluster(workers, max(1, 2 // workers)) as cluster:
            began = time.perf_counter()
            own = replace(settings, cluster=cluster.scheduler_address)
            result = solve_sharded(index, costs, own, listeners=[kill])
    except MissingPackageError:
        say("no Dask: pip install distributed")
        return None
    if killing and not killed:
        raise RuntimeError("the run ended before a worker could be killed")
    say(f"{settings.shards} shards, {workers} workers: {result.objective:,.0f}, {result.seconds:.0f} s")
    return _row(result, time.perf_counter() - began)


def _row(result: CompressionResult, seconds: float) -> dict[str, Any]:
    trace = result.trace
    relaxed = trace[trace["stage"] == "relaxation"]
    bounds = {}
    for mark in MARKS:
        before = relaxed[relaxed["iteration"] <= mark + 5]["lower_bound"].dropna()
        bounds[str(mark)] = float(before.iloc[-1]) if len(before) else None
    exchanged = trace["exchanged_bytes"].max() if "exchanged_bytes" in trace else 0.0
    return {
        "objective": result.objective, "lower_bound": result.lower_bound, "ratio": 1.0 + result.gap,
        "steps": result.n_iterations, "seconds": seconds, "exchanged_bytes": float(exchanged), "bounds": bounds,
    }  # fmt: skip


def show_shards(found: dict[str, Any]) -> str:
    """A line a run."""
    best = max(row["lower_bound"] for row in found["runs"].values() if row)
    lines = [
        f"shards: {found['tokens']:,} tokens, {found['k_grams']:,} K-grams; bounds over the best of all, by step",
        f"{'':32}{'objective':>12}{'ratio':>9}{'steps':>7}{'seconds':>9}{'exchanged':>11}  bound after "
        + ", ".join(map(str, MARKS)) + " steps, at the end",
    ]  # fmt: skip
    for name, row in found["runs"].items():
        if row is None:
            continue
        bounds = [row["bounds"][str(mark)] for mark in MARKS] + [row["lower_bound"]]
        shown = "  ".join("–" if bound is None else f"{bound / best:.5f}" for bound in bounds)
        lines.append(
            f"{name:32}{row['objective']:>12,.0f}{row['ratio']:>9.5f}{row['steps']:>7,}{row['seconds']:>9.1f}"
            f"{row['exchanged_bytes'] / 2**20:>8,.0f} MB  {shown}"
        )
    return "\n".join(lines)
