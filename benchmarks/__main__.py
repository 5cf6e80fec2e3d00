"""``python -m benchmarks NAME``: run a benchmark, print its table, write its figures as JSON if asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"

# A benchmark is a module of this package: its docstring is its help, its first line the one in the list;
# add_options(parser) adds to the common options, run(arguments) returns the exit code.
BENCHMARKS = {
    "compression": "benchmarks.compression.speed",
    "compression-peers": "benchmarks.compression.peers.command",
    "ablations": "benchmarks.compression.ablations",
    "scale": "benchmarks.compression.scale",
    "sentences": "benchmarks.sentence_lasso.command",
    "loglinear": "benchmarks.loglinear.command",
    "plq": "benchmarks.plq.command",
    "tasks": "benchmarks.tasks.command",
    "embedding": "benchmarks.embedding.command",
    "tokenizers": "benchmarks.tokenizers.command",
    "app": "benchmarks.app",
    "report": "benchmarks.evidence.command",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark that is named on the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, path in BENCHMARKS.items():
        module = import_module(path)
        command = names.add_parser(
            name,
            help=module.__doc__.splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common_options(command)
        module.add_options(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    if arguments.save:
        if arguments.quick:
            parser.error("--save keeps a full run as evidence; --quick is none.")
        RESULTS.mkdir(exist_ok=True)
        arguments.json = str(RESULTS / f"{arguments.save_as or arguments.name}.json")
    return arguments.run(arguments)


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", help="folder of real corpora (default: $CFLENGINE_DATA, see README)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the compiled kernels (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="few documents, few repeats: does it run, not how fast")
    parser.add_argument(
        "--save", action="store_true", help="write them to benchmarks/results/NAME.json, with commit and date: evidence"
    )
    parser.add_argument("--save-as", metavar="NAME", help="with --save: another name, for some of the sections")
    parser.add_argument("--json", metavar="FILE", help="also write all figures there, anew after each corpus")


if __name__ == "__main__":
    sys.exit(main())
