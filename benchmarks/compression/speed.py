"""Compression: seconds from file to certified bound, cost of a step against a memory copy, bytes a token.

Per corpus: reading, tokenising, indexing; the relaxation to a certified bound within 0.2 % of the LP
value; one step of linearised ADMM at zeta = 0 and at zeta > 0; peak memory in fresh processes. On
request the whole homotopy, and how a step grows with the corpus.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import cflengine
from benchmarks.corpora import SAMPLE, present
from benchmarks.measure import copy_of, in_turns, memory_of, timed
from benchmarks.report import Figure, Section, machine, machine_line, say, table, write_json
from cflengine.compression import (
    HomotopySettings,
    LinearisedAdmm,
    PointerLayout,
    RhoRule,
    StorageCosts,
    solve_homotopy,
    storage_costs,
)
from cflengine.engine import Progress, threads
from cflengine.text import KGramIndex, Tokenizer, index_kgrams

RELAXATION_GAP = 0.002
ZETA = 0.5  # of the steps at ζ > 0, whose work does not depend on it
COPIED_BYTES = 12  # a pointer; see README.md
FRACTIONS = (0.1, 0.3, 1.0)

SECTIONS = (
    Section(
        "size",
        "tokens: words and punctuation; pointers: m, a K-gram at a position; K-grams: the distinct ones",
        (
            Figure("documents", "documents", "{:,}"),
            Figure("tokens", "tokens", "{:,}"),
            Figure("pointers", "pointers", "{:,}"),
            Figure("kgrams", "K-grams", "{:,}"),
        ),
    ),
    Section(
        "seconds from file to certified bound",
        "each once, kernels warm, imports not counted; the relaxation ends when value / bound - 1 is at\n"
        "most 0.2 %, proved, and includes laying out and the certificate; total: reading + tokenising +\n"
        "indexing + relaxation",
        (
            Figure("read_s", "reading the file", "{:.2f}"),
            Figure("tokenise_s", "tokenising", "{:.2f}"),
            Figure("index_s", "indexing K-grams", "{:.2f}"),
            Figure("layout_s", "laying out pointers", "{:.2f}"),
            Figure("relaxation_s", "relaxation", "{:.2f}"),
            Figure("total_s", "total", "{:.2f}", "< 60 (20news_bydate, 2 cores)"),
            Figure("relaxation_steps", "steps", "{:,}"),
            Figure("bound", "certified bound", "{:,.1f}", "within 0.2 % of the LP value"),
            Figure("value", "value of a feasible point", "{:,.1f}"),
            Figure("relaxation_gap", "gap between them", "{:.3%}", "<= 0.2 %"),
        ),
    ),
    Section(
        "one step",
        "median of 15 or more after warm-up; copies: against numpy's copy of 12 bytes a pointer, in turns\n"
        "with the steps; where that fits into the processor's cache (small corpora) it says little;\n"
        "cores it had: processor time over time; far below the threads, other work got in the way",
        (
            Figure("zero_ms", "zeta = 0, milliseconds", "{:.2f}"),
            Figure("zero_ns", "zeta = 0, nanoseconds a pointer", "{:.2f}"),
            Figure("zero_copies", "zeta = 0, copies", "{:.2f}", "<= 8, aim 4"),
            Figure("zero_cores", "zeta = 0, cores it had", "{:.2f}"),
            Figure("positive_ms", "zeta > 0, milliseconds", "{:.2f}"),
            Figure("positive_ns", "zeta > 0, nanoseconds a pointer", "{:.2f}"),
            Figure("positive_copies", "zeta > 0, copies", "{:.2f}", "<= 16"),
            Figure("positive_cores", "zeta > 0, cores it had", "{:.2f}"),
            Figure("copy_ms", "the copy, milliseconds", "{:.2f}"),
        ),
    ),
    Section(
        "peak memory, bytes a token",
        "file to certificate with a few steps, each in a fresh process; above: without the resident memory\n"
        "of an interpreter that has imported and warmed the package, which small corpora cannot outweigh",
        (
            Figure("relaxation_bytes_total", "relaxation only, in total", "{:,.1f}"),
            Figure("relaxation_bytes", "relaxation only, above", "{:,.1f}", "< 120"),
            Figure("homotopy_bytes_total", "with homotopy steps, in total", "{:,.1f}"),
            Figure("homotopy_bytes", "with homotopy steps, above", "{:,.1f}", "< 160"),
            Figure("baseline_mb", "that interpreter, MB", "{:,.0f}"),
        ),
    ),
    Section(
        "whole homotopy, the paper's settings",
        "ratio: objective over the value of a feasible point of the relaxation; gap: objective over the\n"
        "certified bound - 1; the LP value lies between the two, so the true ratio between ratio and 1 + gap",
        (
            Figure("homotopy_s", "seconds", "{:,.1f}"),
            Figure("homotopy_steps", "steps", "{:,}"),
            Figure("objective", "objective", "{:,.1f}"),
            Figure("homotopy_ratio", "ratio to the LP value", "{:.4f}"),
            Figure("homotopy_gap", "certified gap", "{:.3%}"),
        ),
    ),
    Section(
        "growth with the corpus: a tenth, three tenths, all",
        "nested random subsets of the documents, measured in turns; growth: time of a step on all over that\n"
        "on a tenth, corrected to exactly 10 times the tokens",
        (
            Figure("linear_tokens", "tokens", "{:,}"),
            Figure("linear_zero_ms", "zeta = 0, milliseconds", "{:.2f}"),
            Figure("linear_zero_growth", "zeta = 0, growth", "{:.2f}", "<= 11"),
            Figure("linear_positive_ms", "zeta > 0, milliseconds", "{:.2f}"),
            Figure("linear_positive_growth", "zeta > 0, growth", "{:.2f}", "<= 11"),
        ),
    ),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument(
        "--corpora", default=f"{SAMPLE},20news_bydate,ratebeer,imdb", metavar="A,B",
        help="names; absent ones are left out, saying so (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--max-gram", type=int, default=3, metavar="K", help="longest K-gram in words (default: 3)")
    parser.add_argument("--lam", type=float, default=1.0, metavar="λ", help="cost of a pointer (default: 1)")
    parser.add_argument("--homotopy", action="store_true", help="also the whole homotopy (long)")
    parser.add_argument("--linear", action="store_true", help="also steps on a tenth and three tenths of the corpus")


@dataclass(frozen=True)
class Case:
    """One corpus and how it is compressed. limit: only the first documents; threads: None for all cores."""

    source: str
    limit: int | None
    max_gram: int
    lam: float
    threads: int | None
    quick: bool

    @property
    def repeats(self) -> dict[str, float]:
        """How often a step is repeated (``in_turns``)."""
        return {"turns": 1, "seconds": 0.0} if self.quick else {"turns": 5, "seconds": 1.0}


def run(arguments: argparse.Namespace) -> int:
    """Measure every corpus that is there and print the table; 2 if there is none."""
    found, missing = present(arguments.corpora.split(","), arguments.data)
    for sentence in missing:
        say(sentence)
    if not found:
        return 2
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
        print(machine_line(facts), flush=True)
        cflengine.warm_up()
        names = ("max_gram", "lam", "quick")
        options = {name: getattr(arguments, name) for name in names}
        results: dict[str, dict[str, Any]] = {}
        for name, path in found.items():
            case = Case(str(path), 300 if arguments.quick else None, threads=arguments.threads, **options)
            results[name] = {}
            for what, figures in _parts(case, homotopy=arguments.homotopy, linear=arguments.linear):
                say(f"{name}: {what} done")
                results[name] |= figures
            if arguments.json:
                write_json(arguments.json, "compression", facts, options, results)
    quick = "; quick: too little for the figures to mean anything" if arguments.quick else ""
    print(f"K = {arguments.max_gram}, lam = {arguments.lam:g}{quick}\n")
    print(table(SECTIONS, results))
    return 0


def _parts(case: Case, *, homotopy: bool, linear: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "peak memory", memory(case)
    index, costs, figures = file_to_bound(case)
    yield "file to bound", figures
    yield "steps", steps(case, index, costs)
    if linear:
        yield "growth", growth(case, index)
    if homotopy:
        yield "homotopy", whole_homotopy(case, index, costs)


def _costs(case: Case, index: KGramIndex) -> StorageCosts:
    return storage_costs(index.gram_of, index.lengths(), case.lam)


def file_to_bound(case: Case) -> tuple[KGramIndex, StorageCosts, dict[str, Any]]:
    """Seconds of each stage up to the certified bound; the index and costs for what follows."""
    corpus, read_s = timed(cflengine.read_corpus, case.source, text_column="text", limit=case.limit)
    tokens, tokenise_s = timed(Tokenizer(), corpus.texts)
    index, index_s = timed(index_kgrams, tokens.tokens, tokens.doc_ptr, case.max_gram)
    _, layout_s = timed(PointerLayout.of, index)
    settings = HomotopySettings(last_zeta=0, relaxation_gap=RELAXATION_GAP)
    (costs, result), relaxation_s = timed(_solve, case, index, settings)
    return index, costs, {
        "documents": len(corpus),
        "tokens": index.n_tokens,
        "pointers": index.n_pointers,
        "kgrams": index.n_grams,
        "read_s": read_s,
        "tokenise_s": tokenise_s,
        "index_s": index_s,
        "layout_s": layout_s,
        "relaxation_s": relaxation_s,
        "total_s": read_s + tokenise_s + index_s + relaxation_s,
        "relaxation_steps": result.n_iterations,
        "bound": result.lower_bound,
        "value": result.relaxation_upper,
        "relaxation_gap": result.relaxation_upper / result.lower_bound - 1,
    }  # fmt: skip


def _solve(case: Case, index: KGramIndex, settings: HomotopySettings) -> tuple[StorageCosts, Any]:
    costs = _costs(case, index)
    return costs, solve_homotopy(index, costs, settings, n_threads=case.threads)


def _solver(index: KGramIndex, costs: StorageCosts) -> LinearisedAdmm:
    """The solver at its starting point, with the default rule for ρ."""
    default = HomotopySettings()
    rule = RhoRule(1.0 / index.max_gram, default.rho_factor, default.rho_window, default.rho_ratio)
    return LinearisedAdmm(index, costs, rule)


def _take_steps(solvers: list[LinearisedAdmm], zeta: float, n_steps: int) -> None:
    for solver in solvers:
        progress = Progress()
        for _ in range(n_steps):
            solver.step(zeta, progress)


def _stages(solvers: list[LinearisedAdmm], quick: bool) -> Iterator[tuple[str, float]]:
    """(prefix of the figures' keys, ζ), the solvers warm for it: 20 steps in, w is as sparse as later."""
    for prefix, zeta, warm_up in (("zero", 0.0, 20), ("positive", ZETA, 5)):
        _take_steps(solvers, zeta, 1 if quick else warm_up)
        yield prefix, zeta


def steps(case: Case, index: KGramIndex, costs: StorageCosts) -> dict[str, float]:
    """One step at ζ = 0 and at ζ > 0, in milliseconds, nanoseconds a pointer and copies."""
    solver, copy = _solver(index, costs), copy_of(COPIED_BYTES * index.n_pointers)
    figures = {}
    for prefix, zeta in _stages([solver], case.quick):
        times = in_turns({"copy": copy, "step": partial(solver.step, zeta, Progress())}, **case.repeats)
        step = times["step"]
        figures[f"{prefix}_ms"] = 1e3 * step.median
        figures[f"{prefix}_ns"] = 1e9 * step.median / index.n_pointers
        figures[f"{prefix}_copies"] = step.over(times["copy"])
        figures[f"{prefix}_cores"] = step.cores
        figures["copy_ms"] = 1e3 * times["copy"].median
    return figures


def memory(case: Case) -> dict[str, float]:
    """Peak bytes a token of the relaxation alone and with homotopy steps."""
    figures = {}
    for name, last_zeta in (("relaxation", 0.0), ("homotopy", 0.1)):
        facts = memory_of(
            "benchmarks.compression.speed:compress_briefly", source=case.source, limit=case.limit,
            max_gram=case.max_gram, lam=case.lam, n_threads=case.threads, last_zeta=last_zeta,
        )  # fmt: skip
        figures[f"{name}_bytes_total"] = facts["peak"] / facts["tokens"]
        figures[f"{name}_bytes"] = (facts["peak"] - facts["baseline"]) / facts["tokens"]
        figures["baseline_mb"] = facts["baseline"] / 1e6
    return figures


def compress_briefly(
    source: str, limit: int | None, max_gram: int, lam: float, n_threads: int | None, last_zeta: float
) -> dict[str, int]:
    """File to certificate with three steps at each ζ, keeping nothing that the solver does not need."""
    texts = cflengine.read_corpus(source, text_column="text", limit=limit).texts
    tokens = Tokenizer()(texts)
    del texts
    index = index_kgrams(tokens.tokens, tokens.doc_ptr, max_gram)
    del tokens
    gc.collect()
    # a gap out of reach: every check of the relaxation is made, none ends it
    settings = HomotopySettings(
        relaxation_iterations=3, stage_iterations=3, bound_every=2, relaxation_gap=1e-9, last_zeta=last_zeta
    )
    solve_homotopy(index, storage_costs(index.gram_of, index.lengths(), lam), settings, n_threads=n_threads)
    return {"tokens": index.n_tokens}


def whole_homotopy(case: Case, index: KGramIndex, costs: StorageCosts) -> dict[str, Any]:
    """Every stage up to ζ = 1."""
    brief = {"relaxation_iterations": 20, "stage_iterations": 2} if case.quick else {}
    result = solve_homotopy(index, costs, HomotopySettings(**brief), n_threads=case.threads)
    return {
        "homotopy_s": result.seconds,
        "homotopy_steps": result.n_iterations,
        "objective": result.objective,
        "homotopy_ratio": result.objective / result.relaxation_upper,
        "homotopy_gap": result.gap,
    }


def growth(case: Case, index: KGramIndex) -> dict[str, Any]:
    """Milliseconds of a step on nested subsets of the corpus."""
    subsets = [index_kgrams(*subset, case.max_gram) for subset in nested_subsets(index.tokens, index.doc_ptr)]
    solvers = [_solver(subset, _costs(case, subset)) for subset in subsets]
    sizes = [subset.n_tokens for subset in subsets]
    figures: dict[str, Any] = {"linear_tokens": sizes}
    for prefix, zeta in _stages(solvers, case.quick):
        actions = {str(i): partial(solver.step, zeta, Progress()) for i, solver in enumerate(solvers)}
        times = list(in_turns(actions, **case.repeats).values())
        figures[f"linear_{prefix}_ms"] = [1e3 * t.median for t in times]
        figures[f"linear_{prefix}_growth"] = times[-1].over(times[0]) * 10 * sizes[0] / sizes[-1]
    return figures


def nested_subsets(tokens: np.ndarray, doc_ptr: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(tokens, doc_ptr) of the first tenth, three tenths and all of the documents in one random order.

    Random, since corpora come sorted by class or author. Cut after the document that completes the fraction
    of tokens.
    """
    order = np.random.default_rng(0).permutation(len(doc_ptr) - 1)
    shuffled = np.concatenate([tokens[doc_ptr[d] : doc_ptr[d + 1]] for d in order])
    borders = np.concatenate([[0], np.cumsum(np.diff(doc_ptr)[order])])
    for fraction in FRACTIONS:
        last = int(np.searchsorted(borders, fraction * len(tokens)))
        yield shuffled[: borders[last]], borders[: last + 1]
