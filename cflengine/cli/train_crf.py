"""``cflengine train-crf``: a linear-chain CRF from a column file."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from cflengine.cli.options import Clock, add_encoding, add_limits, add_output, results, run_facts
from cflengine.cli.reading import noted
from cflengine.cli.terminal import TerminalProgress, load_engine
from cflengine.cli.train_logistic import add_solver, solver_settings
from cflengine.cli.values import number
from cflengine.engine import InputError, locked_folder, many, output_path

_CRF = """\
Learn to label the tokens of sentences by a linear-chain conditional random field.

TRAIN has a token a line, columns between white space, the label last, and a blank line after every sentence (CoNLL).
Attributes come from a template as CRF++ has them; without one they are the current word, the previous word and the
second column of the current word, if there is one. Objective, c1 and c2 are those of python-crfsuite.

Written to DIR:
  model.cflm          the model: a ZIP of JSON and arrays, for cflengine.ChainCRF.load
  weights.csv         a row a weight: state features (attribute, label) and transitions (before, after)
  evaluation.csv      precision, recall and F1 of every --test file by kind of entity, as conlleval counts them
  NAME.predicted      the tokens of every --test file with the predicted label as one more column
  trace.csv           a row an iteration: passes over the data, seconds, objective, bound, gap
  proof.npz           other weights, where those prove the gap (see cflengine verify)
  report.json         certified objective, bound and gap, settings, sizes, seconds, memory, versions
"""

_TEMPLATE_BYTES = 1_000_000

_EXAMPLES = """\
examples:
  cflengine train-crf train.conll --test test.conll --out run
  cflengine train-crf train.conll --test dev.conll --test test.conll --template ner.template --c2 0.1 --out run
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "train-crf",
        help="a tagger of tokens from a column file, with a proved gap",
        description=_CRF,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    source = command.add_argument_group("reading")
    source.add_argument("input", metavar="TRAIN", help="column file to learn from")
    source.add_argument(
        "--test", action="append", default=[], metavar="FILE", help="column file to judge by (repeatable)"
    )
    source.add_argument("--limit", type=number(int, 1), metavar="N", help="only the first N training sentences")
    add_encoding(source)
    model = command.add_argument_group("model")
    model.add_argument(
        "--template", metavar="FILE", help="CRF++ template (default: word, previous word, second column, if any)"
    )
    model.add_argument(
        "--scheme",
        choices=("IOB1", "IOB2", "BIOES"),
        help="turn the labels into this scheme (default: as they are)",
    )
    model.add_argument("--c1", type=number(float, 0, 1e300), default=0.0, metavar="C", help="of ℓ1 (default: 0)")
    model.add_argument("--c2", type=number(float, 0, 1e300), default=1.0, metavar="C", help="of ℓ2 (default: 1)")
    model.add_argument("--all-states", action="store_true", help="also (attribute, label) pairs never seen in training")
    model.add_argument("--all-transitions", action="store_true", help="also label pairs never seen in training")
    solver = command.add_argument_group("solver")
    add_solver(solver, ("lbfgs", "clustered"), "lbfgs", 1e-4)
    add_limits(solver)
    add_output(command)


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, tag, write."""
    sources = [arguments.input, *arguments.test, *([arguments.template] if arguments.template else [])]
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, sources)
    solver_settings(arguments)
    from cflengine.loglinear import ChainCRF, TaggedFile, tagging_report, warm_up, write_tagger
    from cflengine.text import parse_template, reading_until, usual_template

    began = time.perf_counter()
    template = None if arguments.template is None else _template_text(arguments.template)
    if template is not None:
        parse_template(template)
    with reading_until(clock.ends):
        train, *tests = (
            TaggedFile.read(
                path,
                scheme=arguments.scheme,
                limit=limit,
                encoding=arguments.encoding,
                say=noted("train-crf", Path(path).name),
            )
            for path, limit in [(arguments.input, arguments.limit), *((path, None) for path in arguments.test)]
        )
    for test in tests:
        test.require_columns(train)
    template = template or usual_template(len(train.rows[0][0]))
    with locked_folder(out):
        show = load_engine(lambda: warm_up("chain"), quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the summary says why it ended
            model = ChainCRF(
                arguments.solver, c1=arguments.c1, c2=arguments.c2, template=template,
                settings=solver_settings(arguments, clock.left),
                all_possible_states=arguments.all_states, all_possible_transitions=arguments.all_transitions,
                n_threads=arguments.threads, listeners=(progress,),
            ).fit(train.rows, train.labels)  # fmt: skip
        with results(out) as folder:
            scores = write_tagger(folder, model, tests)
            seconds = time.perf_counter() - began
            report = tagging_report(folder, model, train, tests, scores, run_facts(arguments), seconds)
    if not arguments.quiet:
        _summary(model, train, scores, report, out)
    return 0


def _template_text(path: str) -> str:
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"the template {path} is no file of text.")
    with open(path, "rb") as file:
        text = file.read(_TEMPLATE_BYTES + 1)
    if len(text) > _TEMPLATE_BYTES:
        raise InputError(f"the template {path} is larger than a template can sensibly be.")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the template {path} is not UTF-8 text.") from error


def _summary(model: Any, train: Any, scores: Any, report: dict[str, Any], out: Any) -> None:
    result = model.result_
    print(f"{many(len(train.rows), 'sentence')}, {many(report['n_tokens'], 'token')}, {len(model.classes_)} labels")
    print(f"{len(model.attributes_):,} attributes, {len(model.coef_):,} weights")
    print(
        f"objective {result.objective:,.6g}  bound {result.lower_bound:,.6g}  proved gap {result.gap:.1e}\n"
        f"{result.reason} after {many(result.n_iterations, 'step')}, {result.n_passes:,.0f} passes, "
        f"{result.seconds:.1f} s"
    )
    if len(scores):
        print(f"{'test':<20} {'entity':<8} {'precision':>9} {'recall':>7} {'F1':>7}")
        for row in scores.itertuples():
            kind = row.kind or "all"
            print(f"{row.file:<20} {kind:<8} {row.precision:9.4f} {row.recall:7.4f} {row.f1:7.4f}")
    print(f"written to {out}")
