"""``cflengine erm``: a linear model with any convex piecewise linear-quadratic loss, under linear constraints."""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from typing import Any

from cflengine.cli.options import (
    Clock,
    add_counting,
    add_labels,
    add_limits,
    add_output,
    add_reading,
    results,
    run_facts,
    text_pipeline,
)
from cflengine.cli.reading import read
from cflengine.cli.reports import guess_line, write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine
from cflengine.cli.values import number, penalty_values
from cflengine.engine import InputError, locked_folder, many, output_path

_ERM = """\
Learn a class or a number from texts, with the loss and the constraints of your choice (Dai & Qiu, NeurIPS 2023).

INPUT as for cflengine compress. What is minimised is C times the sum of the losses, plus |w|²/2; a fit ends when it is
proved to be within the gap asked for, at coefficients that meet the constraints to 1e-9.

losses for classes      hinge (the SVM), squared_hinge, smoothed_hinge
losses for numbers      quantile:0.9, expectile:0.9, huber:1.35, epsilon_insensitive:0.1,
                        squared_epsilon_insensitive:0.1, absolute, squared; without a number it is 0.5 of quantile and
                        expectile, 1 of huber, 0.1 of the others
losses of your own      drawn:-2,3/0,0/1,2 (the lower convex hull of these points x,y, of the error, predicted minus
                        true); drawn_margin:-1,2/1,0 for classes (of the margin, positive where the class is right)
constraints             nonnegative; box:-1:1; monotone:bad,good,great (coefficients ascend in this order; decreasing:
                        they descend); fair:COLUMN:0.01 (the covariance of the score with the column, of numbers or of
                        two values, is at most that)

Written to DIR:
  model.cflm          the model, from a text to its prediction: for cflengine predict, and cflengine.load_model
  weights.csv         a row a coefficient: class, feature, weight
  documents.csv       a row a document: split, label or value, what is predicted, score or residual
  path.csv            with --path, a row a C: what it is worth, objective, bound, gap
  trace.csv           a row an event: passes over the data, seconds, objective, bound, gap
  proof.npz           training data and dual points, which prove the gaps (see cflengine verify)
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         certified objectives, bounds and gaps, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine erm reviews.csv --loss hinge --label-column sentiment --test-split 0.2 --out svm
  cflengine erm reviews.csv --loss quantile:0.9 --label-column rating --features cfl --constraint nonnegative --out q90
  cflengine erm reviews.csv --loss hinge --label-column sentiment --path 0.01,0.1,1 --dev-split 0.2 --out path
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "erm",
        help="classes or numbers from texts, by any loss and under constraints",
        description=_ERM,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_reading(command, r"\w+; of cfl \w+|[^\w\s]")
    data = add_labels(command, dev=False)
    data.add_argument("--dev-split", metavar="S", help="chooses C of a --path (without one: left out); as --test-split")
    model = command.add_argument_group("model")
    model.add_argument("--loss", required=True, metavar="LOSS", help="see above")
    model.add_argument("--constraint", action="append", default=[], metavar="K", help="see above (repeatable)")
    cost = model.add_mutually_exclusive_group()
    cost.add_argument(
        "--C", type=number(float, 1e-300, 1e300), default=1.0, metavar="C",
        help="weight of the losses against the penalty (default: 1)",
    )  # fmt: skip
    cost.add_argument("--path", type=penalty_values, metavar="C,C", help="every one of these; --dev-split chooses")
    model.add_argument(
        "--l1-ratio", type=number(float, 0, 1 - 1e-9), default=0.0, metavar="ρ",
        help="share of the ℓ1 penalty, which leaves few features (default: 0)",
    )  # fmt: skip
    model.add_argument("--no-intercept", action="store_true", help="scores of 0 where a text has no feature")
    model.add_argument(
        "--features", choices=("words", "cfl"), default="words",
        help="cfl: K-grams as cflengine compress finds them in the training documents (default: words)",
    )  # fmt: skip
    model.add_argument("--max-gram", type=number(int, 1, 8), default=3, metavar="K", help="of cfl (default: 3)")
    model.add_argument("--lam", type=number(float, 0), default=1.0, metavar="λ", help="of cfl (default: 1)")
    add_counting(model)
    model.add_argument(
        "--weighting", choices=("binary", "count", "tf-idf"), default="tf-idf", help="of the features (default: tf-idf)"
    )
    solver = command.add_argument_group("solver")
    solver.add_argument(
        "--gap", type=number(float, 1e-12, 1), default=1e-4, metavar="G",
        help="proved relative gap at which a fit ends (default: 0.0001)",
    )  # fmt: skip
    solver.add_argument(
        "--check-every", type=number(int, 1), default=20, metavar="N",
        help="passes between two proofs of the gap, unless one is worth it earlier (default: 20)",
    )  # fmt: skip
    add_limits(solver)
    add_output(command)


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    from cflengine.plq import DescentSettings, RiskComparison, fairness, named_loss, risk_report, warm_up, write_risk

    began = time.perf_counter()
    loss = named_loss(arguments.loss)
    if loss.of == "residual" and arguments.classes:
        raise InputError(f"--classes is for losses of classes; {arguments.loss} is one for numbers.")
    if arguments.path and not arguments.dev_split:
        raise InputError("--path needs documents to choose by: give --dev-split.")
    constraints, sensitive = fairness(arguments.constraint)
    corpus = read(arguments, clock)
    with locked_folder(out):
        show = load_engine(warm_up, quiet=arguments.quiet)
        risk = RiskComparison.of(
            corpus.texts, corpus.metadata, arguments.label_column, text_pipeline(arguments, clock),
            numbers=loss.of == "residual", classes=arguments.classes, dev=arguments.dev_split,
            test=arguments.test_split, random_state=arguments.seed, sensitive=sensitive,
        )  # fmt: skip
        with TerminalProgress(sys.stderr, show=show, ends=clock.solving_ends) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the summary says why it ended
            settings = DescentSettings(
                tol=arguments.gap, max_iter=1_000_000, time_limit=clock.left, check_every=arguments.check_every
            )
            model = risk.estimator(
                arguments.loss, C=arguments.C, constraints=constraints, l1_ratio=arguments.l1_ratio,
                fit_intercept=not arguments.no_intercept, settings=settings, n_threads=arguments.threads,
                listeners=(progress,),
            )  # fmt: skip
            models = risk.path(model, arguments.path) if arguments.path else [risk.fit(model)]
        path = risk.path_frame(models) if arguments.path else None
        best = models[0 if path is None else risk.best(path)]
        report = risk_report(risk, best, path, corpus, run_facts(arguments), time.perf_counter() - began)
        with results(out) as folder:
            write_risk(folder, risk, models, best, path, corpus, report)
            write_left_out(folder, corpus)
    if not arguments.quiet:
        _summary(risk, best, report, out)
    return 0


def _summary(risk: Any, model: Any, report: dict[str, Any], out: Any) -> None:
    from cflengine.text import printable

    comparison = risk.comparison
    print(
        f"{many(len(comparison.train), 'document')} to learn from, {len(comparison.test):,} to judge by; "
        f"{many(len(comparison.names), 'feature')}"
    )
    without = comparison.labels.n_unlabelled - risk.n_unread
    if without:
        value = "one of these classes" if report["arguments"].get("classes") else "a value"
        print(f"left aside: {many(without, 'document')} without {value} in {comparison.labels.column}")
    if risk.n_unread:
        print(f"left aside: {many(risk.n_unread, 'document')} whose {comparison.labels.column} is no number")
    if report["loss_constant"]:
        print(f"the loss is never below {report['loss_constant']:g}, which is in the objective for every document")
    if report["path"]:
        print(f"chosen of {len(report['path'])}: C = {model.C:g}")
    for result, name in zip(model.results_, report["fits"], strict=True):
        gap = f"proved gap {result.gap:.1e}"
        if not result.is_proved:
            gap = f"not proved: the constraints fail by {result.violation:.1e}"
        if result.is_proved and math.isinf(result.gap):  # the bound is 0, and so is the optimum, or nearly
            gap = f"proved at most {result.objective - result.lower_bound:.1e} above the optimum"
        what = printable(name["class"]) or model.loss_.name
        print(
            f"{what:<20} objective {result.objective:,.6g}  {gap}  {result.reason}: "
            f"{result.n_passes:,.0f} passes, {result.seconds:.1f} s"
        )
    shares = report.get("accuracy")
    if shares:
        print(guess_line(comparison, 20))
    for part, worth in (shares or report["mean_loss"]).items():
        print(f"{part:<20} " + (f"{100 * worth:.1f} % right" if shares else f"mean loss {worth:.4g}"))
    print(f"written to           {out}")
