"""``cflengine verify``: a run checked from its files and the input, without the engine that made it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from cflengine.cli.terminal import TerminalWatch, is_shown, percent
from cflengine.engine import InputError

_VERIFY = """\
Check the results in DIR from its files and the input alone.

Tokens are cut again, K-grams found again, every document decoded, and objective and bound recomputed by plain numpy,
rounded outward; none of the compiled engine is used. A saved model has to make the features that it was learnt
from, and to hold the weights that are proved. Says "verified" and what was not checked (exit code 0), what is wrong
(exit code 1), or why the run cannot be checked (exit code 2).

DIR is the output folder of cflengine compress, path, sentences, train-logistic, train-crf, erm, embed, tokenizer or
tokenizer-report. INPUT is what that run read; by default the path that its report.json names.
"""

_EXAMPLES = """\
examples:
  cflengine compress reviews.csv --out run && cflengine verify run
  cflengine verify run elsewhere/reviews.csv
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "verify",
        help="check a run from its files and the input",
        description=_VERIFY,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    command.add_argument("folder", metavar="DIR", help="output folder of a run")
    command.add_argument("input", metavar="INPUT", nargs="*", help="what it read (default: as report.json says)")
    command.add_argument("--quiet", action="store_true", help="only the verdict")


def run(arguments: argparse.Namespace) -> int:
    """Read, recompute, compare."""
    from cflengine.verify import FalseResult, verify_run

    began = time.perf_counter()
    if Path(arguments.folder).is_file():
        raise InputError(f"'{arguments.folder}' is a file: name the folder of the run.")
    try:
        with TerminalWatch(sys.stderr, show=is_shown(quiet=arguments.quiet)) as watch:
            findings = verify_run(Path(arguments.folder), arguments.input, watch)
    except FalseResult as wrong:
        print(f"cflengine verify: not verified: {wrong}", file=sys.stderr)
        return 1
    if not arguments.quiet:
        for finding in findings:
            numbers = f"objective {finding.objective:,.10g}, at least {finding.lower_bound:,.10g}"
            print(f"{finding.name}: {finding.summary or f'{numbers}, gap {percent(finding.gap)}'}")
            for line in finding.checked:
                print(f"  checked: {line}")
            for line in finding.notes:
                print(f"  not verified: {line}")
        print(
            "not checked: seconds, memory and versions; solver, settings, steps and why it ended; the way in trace.csv;"
            " options that leave no trace in the files"
        )
    print(f"verified ({time.perf_counter() - began:.1f} s)")
    return 0
