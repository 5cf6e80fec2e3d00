"""``cflengine compress``: text in, certified dictionary and features out."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cflengine.cli.options import (
    Clock,
    add_model,
    add_output,
    add_reading,
    add_solver,
    gram_features,
    results,
    run_facts,
    solver_settings,
)
from cflengine.cli.reading import read
from cflengine.cli.reports import document_table, gap_report, run_report, write_left_out
from cflengine.cli.terminal import TerminalProgress, TerminalWatch, load_engine, percent, short_of
from cflengine.cli.values import number
from cflengine.engine import (
    ClusterLostError,
    InputError,
    locked_folder,
    many,
    output_path,
    relative_gap,
    remove_unfinished,
)

_COMPRESS = """\
Compress a corpus and write its features.

INPUT is a CSV, TSV, JSONL, Parquet, Excel or TXT file (each also .gz), a ZIP or folder of .txt files, or a word:
sample (reviews written for this project), 20newsgroups (fetched by scikit-learn). A document is a row, a line (TXT) or
a file.

Written to DIR:
  features.csv        document, feature, count (long form; formulas defused for spreadsheets; in pandas
                      read_csv(..., keep_default_na=False), or a K-gram "nan" or "null" is taken for a gap)
  features.npz        the same as a sparse matrix (scipy.sparse.load_npz), columns in feature_names.txt
  feature_names.txt   a K-gram a line
  dictionary.csv      K-gram, length, count of pointers, documents, storage cost
  documents.csv       each document's row in INPUT, its tokens and pointers, what it costs, its share of the gap, its
                      other columns
  pointers.parquet    document, start token, length, start and end character, K-gram
  trace.csv           every event of the solver: objective, best, relaxation, lower bound, gap, stage
  model.cflm          the dictionary, for other documents (see cflengine encode)
  proof.npz           what proves the bound: the dual price of every token, and branching trees of passages where
                      these leave a gap (see cflengine verify)
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         objective, certified bound and gap and where it lies, settings, sizes, seconds, memory, versions

The bound holds for dictionaries of phrases of up to K words at these costs.
"""

CHECKPOINT, INDEX = ".cflengine-best.npz", ".cflengine-index.npz"
RESUMABLE = ("guided", "sharded")

_EXAMPLES = """\
examples:
  cflengine compress sample --out run
  cflengine compress reviews.csv --text-column text --out run
  cflengine compress posts.jsonl.gz --lam 0.3 --max-gram 5 --out run5
  cflengine compress letters/ --gap 0.01 --out quick          (proved to one per cent: fast)
  cflengine compress letters/ --solver homotopy --out paper   (the algorithm of the paper)
  cflengine compress posts.csv --shards 8 --out large         (more than memory holds)
  cflengine compress posts.csv --shards 8 --out large --resume
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    compress = commands.add_parser(
        "compress",
        help="text in, certified dictionary and features out",
        description=_COMPRESS,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compress.set_defaults(run=run)
    add_reading(compress)
    model = compress.add_argument_group("model")
    model.add_argument(
        "--lam",
        type=number(float, 0, 1e6),
        default=1.0,
        metavar="λ",
        help="cost of a pointer; higher: longer K-grams (default: 1)",
    )
    add_model(model)
    add_solver(compress)
    add_output(compress).add_argument(
        "--resume", action="store_true",
        help="go on from where a run into the same DIR was killed (guided, sharded; its index is kept, and its best "
            "solution every minute)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Read, solve, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    from cflengine.compression import gap_of, warm_up, write_run

    if arguments.resume and arguments.solver not in RESUMABLE:
        raise InputError(f"--resume is for --solver {' or '.join(RESUMABLE)}, not {arguments.solver}.")
    solver_settings(arguments)  # what is wrong with them is said before anything is read
    began = time.perf_counter()
    with locked_folder(out):
        corpus = read(arguments, clock)
        show = load_engine(lambda: warm_up(arguments.solver), quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show) as progress:
            model = gram_features(
                arguments,
                lam=arguments.lam,
                solver=arguments.solver,
                weighting=arguments.weighting,
                listeners=(progress,),
                n_threads=arguments.threads,
            )

            def indexed() -> None:
                model.set_params(settings=solver_settings(arguments, clock.left))  # what is left by now

            with TerminalWatch(sys.stderr, show=show) as watch, corpus.columns_aside():
                checkpoint = fit_with_checkpoints(model, corpus.texts, out, arguments.resume, watch, indexed)
        features = model.features()
        gap = gap_of(model)
        report = run_report(model, corpus, time.perf_counter() - began, run_facts(arguments))
        report |= {"gap_lies_in": gap_report(model, corpus, gap)}
        try:
            with results(out) as folder:
                write_run(folder, model, features, document_table(model, corpus, gap), report)
                write_left_out(folder, corpus)
        except InputError as error:  # a full disk; what was written of the results is gone again
            if checkpoint is not None and checkpoint.keep(model.result_.cover, model.result_.alpha):
                raise InputError(f"{error} The solution is kept: --resume goes on from it.") from error
            raise
        for name in (CHECKPOINT, INDEX):
            (out / name).unlink(missing_ok=True)
    if not arguments.quiet:
        _summary(report, out)
    return 0


def fit_with_checkpoints(
    model: Any, texts: Sequence[str], out: Path, resume: bool, watch: Any, indexed: Callable[[], None]
) -> Any:
    """Fit ``model``, keeping its index and the best so far in files of ``out``, from which ``resume`` goes on; indexed:
    called before the solver begins. Returns what keeps it; None for a solver that cannot go on."""
    from cflengine.compression import Checkpoint, read_checkpoint
    from cflengine.text import IndexFile, index_kgrams

    def before_solving(make: Callable[..., Any]) -> Callable[..., Any]:
        def found(*arguments: Any, **named: Any) -> Any:
            index = make(*arguments, **named)
            indexed()
            return index

        return found

    def say(what: str) -> None:
        print(f"cflengine compress: {what}", file=sys.stderr)

    table = model.tokenize(texts, watch)
    if model.solver not in RESUMABLE:
        model.fit_tokens(table, watch=watch, indexer=before_solving(index_kgrams))
        return None
    digest, best = table.digest(int(model.max_gram)), out / CHECKPOINT
    if not resume:  # of a run before this one, maybe on another corpus
        best.unlink(missing_ok=True)
    index = IndexFile(out / INDEX, digest, say)
    known = read_checkpoint(best, digest) if resume and best.exists() else None
    if resume and known is None and best.exists():
        say(f"{best} is damaged, and not used")
    elif resume and known is None and not index.path.exists():
        say(f"there is nothing in {out} to go on from: beginning anew")
    remove_unfinished(best)
    checkpoint = Checkpoint(best, digest, say=say)
    model.set_params(listeners=(*model.listeners, checkpoint))
    try:
        model.fit_tokens(table, known, watch, before_solving(index.read_or_make if resume else index.make))
    except ClusterLostError as error:
        if not best.exists():
            raise
        raise InputError(f"{error} The best solution until then is kept: --resume goes on from it.") from error
    return checkpoint


def _summary(report: dict[str, Any], out: Path) -> None:
    left_out = report["corpus"]["n_records"] - report["corpus"]["n_kept"]
    note = f" ({many(left_out, 'record')} left out, see left_out.csv)" if left_out else ""
    ending = f"{report['reason']} after {many(report['n_iterations'], 'step')}, {report['seconds']:.1f} s"
    print(f"{many(report['n_documents'], 'document')}, {many(report['n_tokens'], 'token')}{note}")
    print(f"dictionary   {many(report['dictionary_size'], 'K-gram')}, {many(report['n_pointers'], 'pointer')}")
    print(f"objective    {report['objective']:,.1f}")
    scope = f"of phrases of up to {report['compression']['max_gram']} words"
    print(f"lower bound  {report['lower_bound']:,.1f}  (proved: no dictionary {scope} is cheaper)")
    optimal = "; optimal: all costs are multiples of one number, and less is open" if report["optimal"] else ""
    short = "" if optimal else short_of(report["gap"], report["settings"].get("tol"), report["reason"])
    print(f"gap          {percent(report['gap'])}  ({ending}{optimal}{short})")
    if "gap_lies_in" in report:
        _say_where(report)
    word = report.get("unverified_bound")
    if word is not None and math.isfinite(word):
        gap = percent(max(relative_gap(report["objective"], word), 0.0))
        print(f"HiGHS says   {word:,.1f}  (its branch and bound, to its tolerances, not verified: gap {gap})")
    print(f"written to   {out}")


def _say_where(report: dict[str, Any]) -> None:
    """The documents that have most of the gap, and those that look like no text."""
    where, n = report["gap_lies_in"], report["n_documents"]
    if report["gap"] > 0 and not report["optimal"] and math.isfinite(report["gap"]) and n > 1:
        print(
            f"it lies in   {where['documents_with_99_percent']:,} of {many(n, 'document')}, 99 % of it (documents.csv)"
        )
    odd = where["no_text"]
    if odd["n_documents"]:
        first = ", ".join(map(str, odd["documents"])) + (", …" if odd["n_documents"] > len(odd["documents"]) else "")
        which = f"document {first} looks" if odd["n_documents"] == 1 else f"documents {first} look"
        share = percent(odd["cost"] / report["objective"])
        print(f"no text?     {which} like encoded data or tables: {share} of the cost")
