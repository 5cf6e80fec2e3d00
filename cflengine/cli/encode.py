"""``cflengine encode``: the features that a saved dictionary finds in other documents, however many."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from cflengine.cli.options import Clock, add_documents, add_output, results, run_facts
from cflengine.cli.reading import read
from cflengine.cli.terminal import TerminalWatch, is_shown
from cflengine.cli.values import number
from cflengine.engine import InputError, locked_folder, many, output_path

_ENCODE = """\
Encode other documents with a dictionary that cflengine compress has found: features of the same names.

MODEL is the model.cflm of a run of cflengine compress. INPUT as for cflengine compress; several are read one after the
other, and encoded in parts of some four million tokens, so that there may be any number of them. One of several that
cannot be read is passed over, and listed in report.json (not_read); the exit code is then 2.

Written to DIR:
  features-00000.parquet …   document, source, row in it, feature, count (or weight)
  left_out.csv               the records of INPUT that are no documents, and why (only if there are any)
  report.json                documents, tokens, seconds, tokens a second and core
"""

_EXAMPLES = """\
examples:
  cflengine encode run/model.cflm new.csv --out features
  cflengine encode run/model.cflm 'posts/*.csv' --out features --cluster local
  cflengine encode run/model.cflm 's3://bucket/posts-*.parquet' --out features --cluster tcp://HOST:8786
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "encode",
        help="features of other documents by a saved dictionary",
        description=_ENCODE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    command.add_argument("model", metavar="MODEL", help="a saved dictionary")
    add_documents(command)
    work = command.add_argument_group("work")
    work.add_argument(
        "--cluster", metavar="ADDRESS",
        help="encode parts side by side: local (this machine's cores) or a Dask scheduler, tcp://HOST:8786 (needs the "
        "extra cluster)",
    )  # fmt: skip
    work.add_argument("--threads", type=number(int, 1), metavar="N", help="without --cluster; default: all cores")
    add_output(command)


def run(arguments: argparse.Namespace) -> int:
    """Read, encode, write, part after part."""
    out = output_path(arguments.out, [arguments.model, *arguments.input])
    from cflengine.compression import encode_parts
    from cflengine.engine import finite, versions, write_report

    model, header = _dictionary(arguments)
    began = time.perf_counter()
    with locked_folder(out), results(out) as folder:
        totals = _Totals()
        with TerminalWatch(sys.stderr, show=is_shown(quiet=arguments.quiet)) as watch:
            documents = _documents(arguments, totals)
            for i, part in enumerate(encode_parts(model, documents, cluster=arguments.cluster)):
                totals.write(part, folder / f"features-{i:05d}.parquet")
                watch.begin(f"{many(totals.n_documents, 'document')}, {many(totals.n_tokens, 'token')}")
        totals.warn_of_repeated()
        totals.write_left_out(folder / "left_out.csv")
        report = totals.facts() | {
            "seconds": time.perf_counter() - began, "versions": versions(),
            "model": {"gap": finite(model.duality_gap_), "about": header.get("about")},
        }  # fmt: skip
        write_report(folder, report | run_facts(arguments))
    if not arguments.quiet:
        print(
            f"{many(report['n_documents'], 'document')}, {many(report['n_tokens'], 'token')}, "
            f"{many(report['n_values'], 'feature')}"
        )
        print(f"{report['seconds']:.1f} s, {report['tokens_per_core_second']:,.0f} tokens a second and core")
        print(f"written to   {out} ({report['n_parts']} parts)")
    if not totals.not_read:
        return 0
    one = len(totals.not_read) == 1
    print(
        f"cflengine encode: {len(totals.not_read)} {'input' if one else 'inputs'} could not be read, and "
        f"{'its' if one else 'their'} documents are not among these: see not_read in report.json", file=sys.stderr,
    )  # fmt: skip
    return 2


def _dictionary(arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The model, and what its file says. Raises InputError for a model of another kind."""
    from cflengine.compression import CompressiveFeatures
    from cflengine.linear import load_with_header

    if arguments.cluster is not None and arguments.threads is not None:
        raise InputError("--threads is for work in this process; a cluster's workers have their own.")
    model, header = load_with_header(arguments.model)
    if not isinstance(model, CompressiveFeatures):
        said = "a model that predicts: see cflengine predict" if hasattr(model, "predict") else type(model).__name__
        raise InputError(f"'{arguments.model}' holds no dictionary of K-grams, but {said}.")
    return model.set_params(n_threads=arguments.threads), header


def _documents(arguments: argparse.Namespace, totals: _Totals) -> Iterator[Any]:
    """The documents of all inputs in parts, of which one input is on disk or in memory at a time. One of several that
    cannot be read is said, and passed over: parts that are done are not thrown away for it."""
    from cflengine.compression import in_parts
    from cflengine.text import CorpusError, EmptyCorpusError, expanded

    first, limit, clock = 0, arguments.limit, Clock(None)
    inputs = expanded(arguments.input)
    for name in inputs:
        left = None if limit is None else limit - first
        if left is not None and left <= 0:
            return
        own = argparse.Namespace(**vars(arguments) | {"input": [name], "limit": left})
        try:
            corpus = read(own, clock)
        except CorpusError as error:
            if name == inputs[-1] and not totals.read:
                raise
            totals.pass_over(name, error, empty=isinstance(error, EmptyCorpusError))
            continue
        totals.take(name, corpus)
        yield from in_parts(corpus, name, first)
        first += len(corpus)


class _Totals:
    """Writes parts and adds up what they say, and what was left out."""

    def __init__(self) -> None:
        self.n_parts = self.n_documents = self.n_tokens = self.n_values = 0
        self.core_seconds = 0.0
        self.read: list[tuple[str, Any]] = []
        self.digests: list[str] = []
        self.warnings: list[str] = []
        self.not_read: list[tuple[str, str]] = []

    def take(self, name: str, corpus: Any) -> None:
        """One more input, as it was read."""
        self.read.append((name, corpus.report))
        self.digests.append(corpus.digest)
        self.warnings += [f"{name}: {warning}" for warning in corpus.report.warnings]

    def pass_over(self, name: str, error: Exception, *, empty: bool) -> None:
        """An input without documents, or that cannot be read."""
        self._warn(f"passed over: {error}")
        if not empty:
            self.not_read.append((name, str(error)))

    def warn_of_repeated(self) -> None:
        """Inputs that hold the same documents."""
        from cflengine.text import repeated

        for sentence in repeated(self.digests, [name for name, _ in self.read]):
            self._warn(sentence)

    def _warn(self, sentence: str) -> None:
        self.warnings.append(sentence)
        print(f"cflengine encode: {sentence}", file=sys.stderr)

    def write(self, part: Any, path: Path) -> None:
        """One more part, to its file."""
        import pyarrow.parquet as pa_parquet

        with open(path, "wb") as file:
            pa_parquet.write_table(part.table, file, compression="zstd")
        self.n_parts += 1
        self.n_documents += part.n_documents
        self.n_tokens += part.n_tokens
        self.n_values += part.table.num_rows
        self.core_seconds += part.seconds * part.n_threads

    def write_left_out(self, path: Path) -> None:
        """A row for each record that is no document, with its input; no file where there is none."""
        import pandas as pd

        from cflengine.engine import frame_csv
        from cflengine.text import whole_characters

        frames = [report.left_out_frame().assign(source=whole_characters(name)[0]) for name, report in self.read]
        frame = pd.concat(frames, ignore_index=True)[["source", "record", "why"]]
        if len(frame):
            path.write_bytes(frame_csv(frame))

    def facts(self) -> dict[str, Any]:
        """For the report."""
        from cflengine.text import MAX_EXAMPLES

        rate = self.n_tokens / self.core_seconds if self.core_seconds else 0.0
        examples = ([name, *example] for name, report in self.read for example in report.left_out)
        return {
            "n_records": sum(report.n_records for _, report in self.read),
            "n_left_out": sum(report.n_left_out for _, report in self.read),
            "left_out": list(islice(examples, MAX_EXAMPLES)),
            "warnings": self.warnings, "not_read": self.not_read,
            "n_parts": self.n_parts, "n_documents": self.n_documents, "n_tokens": self.n_tokens,
            "n_values": self.n_values, "tokens_per_core_second": rate,
        }  # fmt: skip
