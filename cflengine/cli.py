"""The command ``cflengine``: the engine without a browser.

Exit codes: 0, also for a run that was stopped by Ctrl-C and kept its best solution; 2 for bad usage or input,
with one line on standard error.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from cflengine._version import __version__

_DESCRIPTION = """\
See what a text is made of.

cflengine chooses the word sequences (K-grams) that store a corpus most cheaply: every document is rebuilt from
pointers into a dictionary, a pointer costs λ, a dictionary entry its number of words. What it finds are features
for any later task, found without labels. Every number it prints is certified: next to the cost of the solution
stands a proved lower bound on the cost of the best one.
"""

_COMPRESS = """\
Compress a corpus and write its features.

INPUT is a CSV, TSV, JSONL, Parquet or TXT file (each also .gz), a ZIP or folder of .txt files, or the word
20newsgroups (fetched by scikit-learn). A document is a row, a line (TXT) or a file.

Written to DIR:
  features.csv        document, feature, count (long form; formulas defused for spreadsheets)
  features.npz        the same as a sparse matrix (scipy.sparse.load_npz), columns in feature_names.txt
  feature_names.txt   a K-gram a line
  dictionary.csv      K-gram, length, count of pointers, documents, storage cost
  documents.csv       each document's row in INPUT, its tokens and pointers, its other columns
  pointers.parquet    document, start token, length, start and end character, K-gram
  trace.csv           every step of the solver: objective, best, relaxation, lower bound, gap, zeta, rho
  report.json         objective, certified bound and gap, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine compress reviews.csv --text-column text --out run
  cflengine compress posts.jsonl.gz --lam 0.3 --max-gram 5 --out run5
  cflengine compress letters/ --last-zeta 0 --out quick      (the relaxation only, rounded: fast)
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line that says what is wrong and where help is, instead of argparse's usage dump."""
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def _number(kind: type, least: float, most: float = math.inf) -> Any:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {'a whole' if kind is int else 'a'} number") from None
        if not least <= value <= most:
            limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            raise argparse.ArgumentTypeError(f"{text} is not {limits}")
        return value

    return parse


def build_parser() -> argparse.ArgumentParser:
    """The command line, in one place."""
    parser = _Parser(prog="cflengine", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"cflengine {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    compress = commands.add_parser(
        "compress",
        help="text in, certified dictionary and features out",
        description=_COMPRESS,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compress.set_defaults(run=_compress)
    source = compress.add_argument_group("reading")
    source.add_argument("input", metavar="INPUT", help="file or folder (see above)")
    source.add_argument("--text-column", metavar="NAME", help="column that holds the text (default: found)")
    source.add_argument(
        "--documents",
        choices=("line", "paragraph"),
        default="line",
        help="TXT: what a document is (default: %(default)s)",
    )
    source.add_argument(
        "--min-words",
        type=_number(int, 1),
        default=1,
        metavar="N",
        help="leave out documents of fewer words (default: 1)",
    )
    source.add_argument("--limit", type=_number(int, 1), metavar="N", help="only the first N documents")
    source.add_argument("--token-pattern", metavar="REGEX", help=r"what a token is (default: \w+|[^\w\s])")
    source.add_argument("--keep-case", action="store_true", help="do not lower-case tokens")
    model = compress.add_argument_group("model")
    model.add_argument(
        "--lam",
        type=_number(float, 0, 1e6),
        default=1.0,
        metavar="λ",
        help="cost of a pointer; higher: longer K-grams (default: 1)",
    )
    model.add_argument(
        "--max-gram",
        type=_number(int, 1, 8),
        default=3,
        metavar="K",
        help="longest K-gram in words, 1 to 8 (default: 3)",
    )
    model.add_argument(
        "--weighting",
        choices=("count", "tf", "idf", "tf-idf"),
        default="count",
        help="of the features (default: count)",
    )
    solver = compress.add_argument_group("solver")
    solver.add_argument("--solver", choices=("homotopy",), default="homotopy", help="algorithm (default: homotopy)")
    solver.add_argument(
        "--last-zeta", type=_number(float, 0, 1), default=1.0, metavar="ζ", help="stop the homotopy here (default: 1)"
    )
    solver.add_argument(
        "--stage-iterations",
        type=_number(int, 1),
        default=150,
        metavar="N",
        help="steps at each ζ > 0, at most (default: 150)",
    )
    solver.add_argument(
        "--relaxation-gap", type=_number(float, 1e-12), metavar="G",
        help="end the relaxation at this proved relative gap (default: by the paper's residuals)",
    )  # fmt: skip
    solver.add_argument(
        "--time-limit", type=_number(float, 0.001), metavar="S", help="seconds; the best solution so far is kept"
    )
    solver.add_argument("--threads", type=_number(int, 1), metavar="N", help="default: all cores")
    compress.add_argument("--out", required=True, metavar="DIR", help="folder to write to (made if absent)")
    compress.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    return parser


class TerminalProgress:
    """A listener that keeps one line of a terminal up to date, and turns the first Ctrl-C into a clean stop."""

    def __init__(self, stream: Any, *, show: bool) -> None:
        self.stream, self.show = stream, show
        self.stop = False
        self._last = 0.0
        self._before: Any = None

    def __enter__(self) -> TerminalProgress:
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self.show:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def _interrupt(self, *_: object) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True

    def poll(self) -> bool:
        return not self.stop

    def __call__(self, stats: Any) -> bool:
        now = time.monotonic()
        if self.show and now - self._last > 0.1:
            self._last = now
            width = 20
            done = 0 if stats.zeta != stats.zeta else round(width * stats.zeta)
            bar = "█" * done + "·" * (width - done)
            gap = "" if math.isnan(stats.gap) else f"  gap ≤ {100 * stats.gap:.2f} %"
            bound = "" if math.isnan(stats.lower_bound) else f"  bound {stats.lower_bound:,.0f}"
            best = "" if math.isnan(stats.best_objective) else f"  best {stats.best_objective:,.0f}"
            head = f"ζ {stats.zeta:.1f} {bar} step {stats.iteration:,}  {stats.elapsed_s:.0f} s"
            self.stream.write(f"\r\033[K{head}{best}{bound}{gap}")
            self.stream.flush()
        return not self.stop


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    from cflengine.engine.memory import MemoryLimitError
    from cflengine.text.corpus import CorpusError

    arguments = build_parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except (CorpusError, MemoryLimitError, ValueError, OSError) as error:
        print(f"cflengine {arguments.command}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(
            f"cflengine {arguments.command}: interrupted, {str(interrupt) or 'nothing was written'}.", file=sys.stderr
        )
        return 130


def _compress(arguments: argparse.Namespace) -> int:
    out = Path(arguments.out)
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {arguments.out} is a file; give a folder.")
    from cflengine.compression.estimator import CompressiveFeatures
    from cflengine.compression.export import write_run
    from cflengine.compression.homotopy import HomotopySettings
    from cflengine.compression.warm import warm_up
    from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN

    settings = HomotopySettings(
        last_zeta=arguments.last_zeta,
        stage_iterations=arguments.stage_iterations,
        relaxation_gap=arguments.relaxation_gap,
        time_limit=arguments.time_limit,
    )
    began = time.perf_counter()
    corpus = _read(arguments)
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad path costs no time
    show = not arguments.quiet and sys.stderr.isatty()
    if show:
        # once after an installation this takes half a minute, and silence would look like a hang
        print("loading the engine (compiled on first use) …", end="", file=sys.stderr, flush=True)
    warm_up()
    with TerminalProgress(sys.stderr, show=show) as progress:
        model = CompressiveFeatures(
            lam=arguments.lam,
            max_gram=arguments.max_gram,
            solver=arguments.solver,
            token_pattern=arguments.token_pattern or DEFAULT_TOKEN_PATTERN,
            lowercase=not arguments.keep_case,
            weighting=arguments.weighting,
            listeners=(progress,),
            n_threads=arguments.threads,
            settings=settings,
        ).fit(corpus.texts)
    features = model.weigh(model.encoding_)
    report = run_report(model, corpus, time.perf_counter() - began, vars(arguments))
    try:
        write_run(out, model, features, document_table(model, corpus), report)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"and the files in {out} are incomplete") from None
    if not arguments.quiet:
        _summary(report, out)
    return 0


def _read(arguments: argparse.Namespace) -> Any:
    if arguments.input == "20newsgroups" and not Path(arguments.input).exists():
        from cflengine.text.newsgroups import load_newsgroups

        corpus = load_newsgroups()
        return corpus.head(arguments.limit) if arguments.limit else corpus
    from cflengine.text.readers import read_corpus

    return read_corpus(
        arguments.input,
        text_column=arguments.text_column,
        documents=arguments.documents,
        min_words=arguments.min_words,
        limit=arguments.limit,
    )


def document_table(model: Any, corpus: Any) -> Any:
    """A row a document: number, row in the source, tokens, pointers, and the corpus's other columns."""
    import numpy as np
    import pandas as pd

    table = pd.DataFrame(
        {
            "document": np.arange(len(corpus)),
            "row": corpus.rows,
            "tokens": np.diff(model.table_.doc_ptr),
            "pointers": np.diff(model.encoding_.ptr),
        }
    )
    return pd.concat([table, corpus.metadata.add_prefix("meta_").reset_index(drop=True)], axis=1)


def run_report(model: Any, corpus: Any, seconds: float, arguments: dict[str, Any]) -> dict[str, Any]:
    """What report.json says: the result, the corpus, time and memory."""
    from cflengine.engine.memory import peak_bytes

    result = model.result_
    plain = {key: value for key, value in arguments.items() if key not in ("run", "command")}
    return result.to_dict() | {
        "n_documents": len(corpus),
        "n_tokens": model.table_.n_tokens,
        "n_types": len(model.table_.vocabulary),
        "n_grams": model.index_.n_grams,
        "possible_pointers": model.index_.n_pointers,
        "seconds": seconds,
        "solver_seconds": result.seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
        "arguments": plain,
    }


def _summary(report: dict[str, Any], out: Path) -> None:
    left_out = report["corpus"]["n_records"] - report["corpus"]["n_kept"]
    note = f" ({left_out:,} records left out, see report.json)" if left_out else ""
    ending = f"{report['reason']} after {report['n_iterations']:,} steps, {report['seconds']:.1f} s"
    gap = f"{100 * report['gap']:.3f} %" if math.isfinite(report["gap"]) else "none proved"
    print(f"{report['n_documents']:,} documents, {report['n_tokens']:,} tokens{note}")
    print(f"dictionary   {report['dictionary_size']:,} K-grams, {report['n_pointers']:,} pointers")
    print(f"objective    {report['objective']:,.1f}")
    print(f"lower bound  {report['lower_bound']:,.1f}  (proved: no solution is cheaper)")
    print(f"gap          {gap}  ({ending})")
    print(f"written to   {out}")


if __name__ == "__main__":
    sys.exit(main())
