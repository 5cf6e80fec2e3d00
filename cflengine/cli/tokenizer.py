"""``cflengine tokenizer``: a subword vocabulary of a size, and what no other of its size can undercut."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.cli.options import Clock, add_documents, add_limits, add_output, results, run_facts
from cflengine.cli.reading import counted, read
from cflengine.cli.reports import write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine, percent, short_of
from cflengine.cli.values import number
from cflengine.engine import frame_csv, locked_folder, many, output_path, replaced

_TOKENIZER = """\
Choose the subword vocabulary of a size that cuts a corpus into the fewest tokens, with a proof of how close to the
best it is.

INPUT as for cflengine compress. Texts are cut into words by a pattern, words into pieces of the vocabulary, each into
as few as possible. The bound holds for every vocabulary of as many pieces of at most --longest units.

Written to DIR:
  tokenizer.json      loads in Hugging Face's tokenizers and encodes as it does here
  pieces.csv          a row a piece: id, piece, how often it occurs in the words, whether it was chosen
  vocab.txt           the pieces as SentencePiece lists them (only of characters)
  proof.npz           pieces, and the prices that prove the bound, for cflengine verify
  trace.csv           a row an event: tokens, bound, gap
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         all numbers, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine tokenizer reviews.csv --vocab-size 4000 --out tokenizer
  cflengine tokenizer 'posts/*.csv' --vocab-size 16000 --unit character --normalise nfc --min-count 2 --out tokenizer
  cflengine tokenizer dna.txt --vocab-size 512 --pattern none --longest 8 --special '<pad>' --out dna
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "tokenizer",
        help="a subword vocabulary of a size, proved close to the best",
        description=_TOKENIZER,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_documents(command, min_words=0)  # marks and emoji are cut, too
    words = command.add_argument_group("words")
    words.add_argument("--unit", choices=("byte", "character"), default="byte", help="of pieces (default: byte)")
    words.add_argument(
        "--pattern", default="gpt2", metavar="P",
        help="what words are: gpt2, gpt4, whitespace, none (texts whole), or a regular expression (default: gpt2)",
    )  # fmt: skip
    words.add_argument(
        "--normalise", action="append", choices=("nfc", "lowercase"), default=[],
        help="texts first, in the order given (default: as they are)",
    )  # fmt: skip
    pieces = command.add_argument_group("vocabulary")
    pieces.add_argument(
        "--vocab-size", type=number(int, 1), default=8000, metavar="N",
        help="all entries: special tokens, units and pieces chosen (default: 8000)",
    )  # fmt: skip
    pieces.add_argument(
        "--longest", type=number(int, 1, 32), default=16, metavar="K", help="units of a piece at most (default: 16)"
    )
    pieces.add_argument(
        "--min-count", type=number(int, 1), default=1, metavar="N", help="how often a piece has to occur (default: 1)"
    )
    for name, said in (
        ("require", "a piece it must have, if the corpus has it within a word"),
        ("forbid", "a piece it must not have"),
    ):
        pieces.add_argument(f"--{name}", action="append", default=[], metavar="PIECE", help=f"{said}; may be repeated")
    pieces.add_argument(
        "--special", action="append", default=[], metavar="TOKEN", help="an entry that no text is cut into"
    )
    solver = command.add_argument_group("solver")
    solver.add_argument(
        "--gap", type=number(float, 1e-9), default=1e-3, metavar="G",
        help="end at this proved distance from the best (default: 0.001)",
    )  # fmt: skip
    add_limits(solver)
    add_output(command)


def run(arguments: argparse.Namespace) -> int:
    """Read, choose, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    from cflengine.tokenizer import SubwordTokenizer, warm_up

    began = time.perf_counter()
    model = SubwordTokenizer(
        arguments.vocab_size, unit=arguments.unit, normalisation=tuple(arguments.normalise),
        pattern=None if arguments.pattern == "none" else arguments.pattern, longest=arguments.longest,
        min_count=arguments.min_count, required=tuple(arguments.require), forbidden=tuple(arguments.forbid),
        special_tokens=tuple(arguments.special), tol=arguments.gap, n_threads=arguments.threads,
    )  # fmt: skip
    model.cutting()  # a bad pattern is said before a long read
    corpus = read(arguments, clock)
    with locked_folder(out):
        show = load_engine(warm_up, quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show, ends=clock.solving_ends) as progress:
            model.set_params(time_limit=clock.left, listeners=(progress,))
            model.fit(counted(corpus.texts, progress))
        with results(out) as folder:
            _write(folder, model, corpus, arguments, time.perf_counter() - began)
    if not arguments.quiet:
        _summary(model, corpus, out)
    return 0


def _write(folder: Path, model: Any, corpus: Any, arguments: argparse.Namespace, seconds: float) -> None:
    """All files, report.json last."""
    from cflengine.engine import peak_bytes, write_report

    model.save_tokenizer_json(folder / "tokenizer.json")
    if model.unit == "character":
        model.save_sentencepiece_vocab(folder / "vocab.txt")
    (folder / "pieces.csv").write_bytes(frame_csv(model.pieces_frame()))
    with replaced(folder / "proof.npz") as file:
        np.savez_compressed(file, **model.result_.arrays())
    (folder / "trace.csv").write_bytes(frame_csv(model.result_.trace))
    write_left_out(folder, corpus)
    facts = {"n_documents": len(corpus), "seconds": seconds, "peak_bytes": peak_bytes()}
    found = model.result_
    rates = {
        "tokens_per_word": found.tokens_per_word, "least_tokens_per_word": found.least_tokens_per_word,
        "vocab_size": len(model.pieces_), "solver_seconds": found.seconds,
    }  # fmt: skip
    write_report(folder, found.to_dict() | rates | facts | run_facts(arguments))


def _summary(model: Any, corpus: Any, out: Any) -> None:
    found = model.result_
    print(f"{many(len(corpus), 'document')}, {many(found.n_running, 'word')}, {found.n_words:,} of them distinct")
    print(f"vocabulary   {len(model.pieces_):,} entries, {found.size:,} of them pieces of two {model.unit}s or more")
    print(f"tokens       {found.objective:,.0f}, {found.tokens_per_word:.4f} a word")
    print(
        f"proved       at least {found.lower_bound:,.0f}, {found.least_tokens_per_word:.4f} a word, with any such "
        f"of pieces up to {model.longest} units"
    )
    short = short_of(found.gap, model.tol, found.reason)
    print(f"gap          {percent(found.gap)}  ({found.reason}, {found.seconds:.1f} s{short})")
    print(f"written to   {out}")
