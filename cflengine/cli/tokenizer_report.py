"""``cflengine tokenizer-report``: how far a given tokenizer is from the best of its size on a corpus."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.cli.options import Clock, add_documents, add_limits, add_output, results, run_facts
from cflengine.cli.reading import counted, read
from cflengine.cli.reports import write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine, percent, short_of
from cflengine.cli.values import number
from cflengine.engine import frame_csv, locked_folder, many, output_path, replaced

_REPORT = """\
Proves how many more tokens a tokenizer needs for a corpus than the best one of its size could, and names the pieces
that it wastes there.

TOKENIZER is a tokenizer.json of Hugging Face (BPE, Unigram or WordPiece) or a SentencePiece model; it needs
pip install "cflengine[foreign]". INPUT as for cflengine compress. Words are what the tokenizer takes them to be; the
best vocabulary has as many pieces of two units or more (characters, or bytes where its pieces are of bytes), of at most
--longest units, and every single unit.

Written to DIR, if one is given:
  pieces.csv          a row a piece: occurrences, how often it is used, how many tokens it saves
  lacking.csv         pieces of the better vocabulary that it has not, and how many tokens each would save
  proof.npz           the better vocabulary, and the prices that prove the bound, for cflengine verify
  trace.csv           a row an event: tokens, bound, gap
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         all numbers, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine tokenizer-report gpt2/tokenizer.json reviews.csv
  cflengine tokenizer-report llama.model 'posts/*.csv' --time-limit 120 --out report
"""
_NAMED = 8  # pieces that the summary names


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "tokenizer-report",
        help="how far a given tokenizer is from the best of its size, proved",
        description=_REPORT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    command.add_argument("tokenizer", metavar="TOKENIZER", help="file of the tokenizer")
    add_documents(command, min_words=0)  # marks and emoji are cut, too
    solver = command.add_argument_group("solver")
    solver.add_argument(
        "--longest", type=number(int, 2, 32), metavar="K",
        help="units of a piece at most (default: 16, or more where it uses longer ones, at most 32)",
    )  # fmt: skip
    solver.add_argument(
        "--gap", type=number(float, 1e-9), default=1e-3, metavar="G",
        help="end once the better vocabulary is proved this close to the best (default: 0.001)",
    )  # fmt: skip
    add_limits(solver)
    add_output(command, required=False)


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, tell."""
    clock = Clock(arguments.time_limit)
    out = output_path(arguments.out, [*arguments.input, arguments.tokenizer]) if arguments.out else None
    from cflengine.tokenizer import ForeignTokenizer, VocabularySettings, tokenizer_report, warm_up

    began = time.perf_counter()
    tokenizer = ForeignTokenizer.open(arguments.tokenizer)
    corpus = read(arguments, clock)
    with locked_folder(out) if out else nullcontext():
        show = load_engine(warm_up, quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show, ends=clock.solving_ends) as progress:
            settings = VocabularySettings(tol=arguments.gap, time_limit=clock.left)
            report = tokenizer_report(
                tokenizer, counted(corpus.texts, progress), settings, longest=arguments.longest, listeners=(progress,),
                n_threads=arguments.threads,
            )  # fmt: skip
        if out:
            with results(out) as folder:
                _write(folder, report, corpus, arguments, time.perf_counter() - began)
    if not arguments.quiet or not out:
        _summary(report, corpus, arguments.tokenizer, out)
    return 0


def _write(folder: Path, report: Any, corpus: Any, arguments: argparse.Namespace, seconds: float) -> None:
    """All files, report.json last."""
    from cflengine.engine import peak_bytes, write_report

    for name, frame in (("pieces", report.pieces), ("lacking", report.lacking), ("trace", report.result.trace)):
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    with replaced(folder / "proof.npz") as file:
        np.savez_compressed(file, **report.result.arrays())
    write_left_out(folder, corpus)
    own = {
        "n_documents": len(corpus), "seconds": seconds, "peak_bytes": peak_bytes(),
        "solver_seconds": report.result.seconds, "tokenizer_path": str(Path(arguments.tokenizer).resolve()),
    }  # fmt: skip
    write_report(folder, report.result.to_dict() | report.to_dict() | own | run_facts(arguments))


def _summary(report: Any, corpus: Any, source: str, out: Any) -> None:
    found, said = report.result, f"{report.size:,} of them pieces of two units or more"
    print(f"tokenizer    {Path(source).name}: {report.kind}, {report.entries:,} entries, {said}")
    print(
        f"corpus       {many(len(corpus), 'document')}, {many(found.n_running, 'word')}, "
        f"{found.n_words:,} of them distinct"
    )
    if report.left_out > found.n_running:
        print("caution      it does not know most words of this corpus: what follows is of the others alone")
    rows = (
        ("tokens", report.tokens, "as it encodes them"),
        ("", report.shortest, "with the same pieces, as few as possible"),
        ("", found.objective, "with the best vocabulary found"),
        (
            "proved",
            found.lower_bound,
            f"at least, with any vocabulary of its size, of at most {report.longest} units a piece",
        ),
    )
    for name, tokens, what in rows:
        print(f"{name:<12} {tokens:>14,.0f}  {tokens / found.n_running:.4f} a word, {what}")
    if report.tokens < found.lower_bound:
        fewer, pieces = percent(-report.above_at_most), f"pieces of at most {report.longest} units"
        print(
            f"distance     {fewer} fewer than with any vocabulary of {pieces}: longer ones would have to be allowed for"
        )
    elif report.tokens <= found.objective:
        print(f"distance     {percent(report.above_at_most)} above the best of its size at most; none better was found")
    else:
        least, most = percent(report.above_at_least), percent(report.above_at_most)
        print(f"distance     {least} to {most} above the best of its size")
    short = short_of(found.gap, found.settings["tol"], found.reason)
    print(f"gap          {percent(found.gap)} between found and proved  ({found.reason}, {found.seconds:.1f} s{short})")
    occurring = len(report.pieces) - report.n_absent
    print(
        f"wasted       {report.n_wasted:,} of {many(len(report.pieces), 'piece')} save nothing here; "
        f"{occurring:,} occur"
    )
    lacking = ", ".join(repr(piece) for piece in report.lacking["piece"][:_NAMED])
    print(f"it lacks     {lacking or 'nothing'}")
    if report.longer:
        beyond = f"more than {report.longest} units, which the bound does not allow for"
        print(f"beyond       {many(report.longer, 'piece')} that it uses have {beyond}")
    if report.left_out:
        print(f"left out     {many(report.left_out, 'word')} that hold what it does not know")
    if out:
        print(f"written to   {out}")
