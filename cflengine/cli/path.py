"""``cflengine path``: the same corpus at a sequence of λ."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from cflengine.cli.options import (
    Clock,
    add_limits,
    add_model,
    add_output,
    add_reading,
    gram_features,
    results,
    run_facts,
)
from cflengine.cli.reading import read
from cflengine.cli.reports import document_table, path_report, write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine, percent
from cflengine.cli.values import number
from cflengine.engine import InputError, locked_folder, output_path

_PATH = """\
Compress a corpus at a sequence of pointer costs λ, each solved from its neighbours.

INPUT as for cflengine compress.

Written to DIR:
  path.csv            a row a λ: objective, certified bound and gap, dictionary size, pointers, the share of
                      pointers of each length, seconds
  lam-<λ>/            for each λ the features (features.npz, feature_names.txt, dictionary.csv), where pointers stand
                      (pointers.parquet), the dictionary for cflengine encode (model.cflm), and dual prices, which
                      prove its bound (proof.npz, see cflengine verify)
  documents.csv       each document's row in INPUT, its tokens, its other columns
  report.json         the path, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine path reviews.csv --lams 0.01:3:10 --out path     (10 values from 0.01 to 3, evenly spaced in ratio)
  cflengine path reviews.csv --lams 0.1,0.3,1 --max-gram 5 --out path5
"""


def lams_of(text: str) -> list[float]:
    """``first:last:count`` or values separated by commas; argparse's error for anything else."""
    from cflengine.compression import check_lam, path_lams

    try:
        if ":" not in text:
            return sorted({check_lam(float(value)) for value in text.split(",")})
        first, last, count = text.split(":")
        if int(count) > 1000:
            raise InputError("more than 1000 values")
        return path_lams(float(first), float(last), int(count))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither FIRST:LAST:COUNT, such as 0.01:3:10, nor values such as 0.1,0.3,1"
        ) from None


def add_command(commands: Any) -> None:
    """The command's options."""
    path = commands.add_parser(
        "path",
        help="the same corpus at a sequence of λ",
        description=_PATH,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    path.set_defaults(run=run)
    add_reading(path)
    model = path.add_argument_group("model")
    model.add_argument(
        "--lams", type=lams_of, default="0.01:3:10", metavar="λs",
        help="FIRST:LAST:COUNT, or values with commas (default: %(default)s)",
    )  # fmt: skip
    add_model(model)
    solver = path.add_argument_group("solver")
    solver.add_argument(
        "--gap", type=number(float, 0), default=1e-3, metavar="G", help="proved gap to reach at each λ (default: 0.001)"
    )
    add_limits(solver)
    add_output(path)


def run(arguments: argparse.Namespace) -> int:
    """Read, solve, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    from cflengine.compression import GuidedSettings, warm_up, write_path

    began = time.perf_counter()
    corpus = read(arguments, clock)
    with locked_folder(out):
        show = load_engine(lambda: warm_up("guided"), quiet=arguments.quiet)
        progress = TerminalProgress(sys.stderr, show=show, show_lam=True, ends=clock.solving_ends)
        with progress, corpus.columns_aside():
            path = gram_features(
                arguments,
                weighting=arguments.weighting,
                listeners=(progress,),
                n_threads=arguments.threads,
                settings=GuidedSettings(tol=arguments.gap),
            ).path(corpus.texts, arguments.lams)
        solved = set(path.frame["lam"])
        missing = [lam for lam in arguments.lams if lam not in solved]
        report = path_report(path, corpus, time.perf_counter() - began, run_facts(arguments))
        report |= {"lams_not_solved": missing}
        with results(out) as folder:
            write_path(folder, path, document_table(path, corpus), report)
            write_left_out(folder, corpus)
    if not arguments.quiet:
        for row in path.frame.itertuples():
            size = f"{row.dictionary_size:>9,} K-grams"
            print(f"λ {row.lam:<8g} objective {row.objective:>14,.1f}  gap {percent(row.gap):>9}  {size}")
        if missing:
            print(f"not solved: λ {', '.join(f'{lam:g}' for lam in missing)} ({progress.cut_by})")
        print(f"written to {out}")
    return 0
