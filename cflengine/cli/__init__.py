"""The command ``cflengine``: the engine without a browser.

Exit codes: 0, also for a run that was stopped by Ctrl-C and kept its best solution; 2 for bad usage or input,
with one line on standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cflengine._version import __version__
from cflengine.cli import compress, path, sentences, train_crf, train_logistic
from cflengine.cli.terminal import Parser

_DESCRIPTION = """\
See what a text is made of.

cflengine chooses the word sequences (K-grams) that store a corpus most cheaply: every document is rebuilt from
pointers into a dictionary, a pointer costs λ, a dictionary entry its number of words. What it finds are features
for any later task, found without labels. Every number it prints is certified: next to the cost of the solution
stands a proved lower bound on the cost of the best one.
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line, in one place."""
    usage = "cflengine [-h] [--version] COMMAND ..."
    parser = Parser(
        prog="cflengine", usage=usage, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"cflengine {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND ...", prog="cflengine")
    compress.add_command(commands)
    path.add_command(commands)
    sentences.add_command(commands)
    train_logistic.add_command(commands)
    train_crf.add_command(commands)
    return parser


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
