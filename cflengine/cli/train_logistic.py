"""``cflengine train-logistic``: logistic regression of texts, certified."""

from __future__ import annotations

import argparse
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
from cflengine.cli.values import number
from cflengine.engine import InputError, locked_folder, many, output_path

_LOGISTIC = """\
Learn to tell labels apart by logistic regression with a ridge penalty (Mathur & Chakrabarti, ICDM 2006).

INPUT as for cflengine compress. The objective is a sum of losses over documents plus |w|²/(2C); a fit ends when it is
proved to be within the gap asked for. "auto" takes the solver that is fastest for the data, and says why.

Written to DIR:
  model.cflm          the model: a ZIP of JSON and arrays, for cflengine.load_model
  weights.csv         a row a weight: class, feature, weight, cluster (of solver clustered)
  documents.csv       a row a document: split, label, predicted class and its probability
  trace.csv           a row an iteration: passes over the data, seconds, objective, bound, gap
  proof.npz           training data and dual points, which prove the gaps (see cflengine verify)
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         certified objectives, bounds and gaps, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine train-logistic posts.csv --label-column group --test-split 0.2 --out run
  cflengine train-logistic posts.csv --label-column group --solver clustered --rounds 2 --out run
"""


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "train-logistic",
        help="logistic regression of texts, with a proved gap",
        description=_LOGISTIC,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_reading(command, r"\w+; of kgrams \w+|[^\w\s]")
    add_labels(command, dev=False)
    model = command.add_argument_group("model")
    model.add_argument(
        "--C", "--sigma2", type=number(float, 1e-300, 1e300), default=1.0, metavar="C",
        help="weight of the losses against the penalty, the paper's σ² (default: 1)",
    )  # fmt: skip
    model.add_argument(
        "--l1-ratio", type=number(float, 0, 1), default=0.0, metavar="ρ",
        help="share of the ℓ1 penalty, which leaves few features (default: 0)",
    )  # fmt: skip
    model.add_argument(
        "--multiclass", choices=("ovr", "multinomial"), default="ovr",
        help="three or more classes: one against the rest (default), or all at once",
    )  # fmt: skip
    model.add_argument(
        "--features", choices=("words", "kgrams"), default="words",
        help="kgrams: as cflengine compress finds them in the training documents (default: words)",
    )  # fmt: skip
    model.add_argument("--max-gram", type=number(int, 1, 8), default=3, metavar="K", help="of kgrams (default: 3)")
    add_counting(model)
    model.add_argument(
        "--weighting", choices=("binary", "count", "tf-idf"), default="binary", help="of the features (default: binary)"
    )
    solver = command.add_argument_group("solver")
    add_solver(solver, ("auto", "lbfgs", "clustered", "newton-cg", "dual"), "auto", 1e-4)
    add_limits(solver)
    add_output(command)


def add_solver(solver: Any, names: tuple[str, ...], default: str, gap: float) -> None:
    """The solver, its gap, and what is for "clustered" alone."""
    solver.add_argument("--solver", choices=names, default=default, help=f"(default: {default})")
    solver.add_argument(
        "--gap", type=number(float, 1e-12, 1), default=gap, metavar="G",
        help=f"proved relative gap at which a fit ends (default: {gap:g})",
    )  # fmt: skip
    solver.add_argument("--memory", type=number(int, 1), metavar="M", help="lbfgs, clustered: pairs kept (default: 20)")
    solver.add_argument("--rounds", type=number(int, 0), metavar="N", help="clustered: fine-coarse rounds (default: 2)")
    solver.add_argument("--fine-iter", type=number(int, 0), metavar="N", help="clustered: fine steps (default: 5)")
    solver.add_argument(
        "--cluster-factor", type=number(float, 1), metavar="F", help="clustered: weights to a cluster (default: 15)"
    )
    solver.add_argument(
        "--clustering", choices=("chunks", "kmeans", "trajectories"), help="clustered: how (default: chunks)"
    )


def solver_settings(arguments: argparse.Namespace, time_limit: float | None = None) -> Any:
    """Settings of the chosen solver, with so many seconds. Raises ValueError for an option that is another solver's."""
    from cflengine.loglinear import SOLVERS

    own = {"memory": ("lbfgs", "clustered")}
    given = {}
    for name in ("memory", "rounds", "fine_iter", "cluster_factor", "clustering"):
        value = getattr(arguments, name)
        if value is not None:
            owners = own.get(name, ("clustered",))
            if arguments.solver not in owners:
                raise InputError(f"--{name.replace('_', '-')} is for --solver {' or '.join(owners)}.")
            given[name] = value
    return SOLVERS[arguments.solver].settings(tol=arguments.gap, time_limit=time_limit, **given)


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    solver_settings(arguments)
    from cflengine.linear import ModelComparison, read_labels, split_documents
    from cflengine.loglinear import LogisticClassifier, logistic_report, warm_up, write_logistic

    began = time.perf_counter()
    corpus = read(arguments, clock)
    labels = read_labels(corpus.metadata, arguments.label_column, arguments.classes)
    split = split_documents(labels, corpus.metadata, dev=None, test=arguments.test_split, random_state=arguments.seed)
    with locked_folder(out):
        show = load_engine(warm_up, quiet=arguments.quiet)
        comparison = ModelComparison.of(corpus.texts, labels, split, text_pipeline(arguments, clock))
        with TerminalProgress(sys.stderr, show=show) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the summary says why it ended
            model = LogisticClassifier(
                arguments.solver, C=arguments.C, l1_ratio=arguments.l1_ratio, multiclass=arguments.multiclass,
                settings=solver_settings(arguments, clock.left), n_threads=arguments.threads, listeners=(progress,),
            ).fit(comparison.X[comparison.train], comparison.classes[comparison.y[comparison.train]])  # fmt: skip
        report = logistic_report(comparison, model, corpus, run_facts(arguments), time.perf_counter() - began)
        with results(out) as folder:
            write_logistic(folder, comparison, model, corpus, report)
            write_left_out(folder, corpus)
    if not arguments.quiet:
        _summary(comparison, model, report, out)
    return 0


def _summary(comparison: Any, model: Any, report: dict[str, Any], out: Any) -> None:
    counts = f"{many(len(comparison.train), 'document')} to learn from, {len(comparison.test):,} to judge by"
    without = report["corpus"]["n_kept"] - len(comparison.train) - len(comparison.test)
    note = f" ({without:,} without a label are left out)" if without else ""
    print(f"{counts}{note}; {many(len(comparison.names), 'feature')}")
    why = f" ({model.why_})" if model.why_ else ""
    print(f"solver       {model.solver}{why}")
    for result, name in zip(model.results_, report["fits"], strict=True):
        print(
            f"{name['class'] or 'all classes':<12} objective {result.objective:,.6g}  proved gap {result.gap:.1e}  "
            f"{result.reason}: {many(result.n_iterations, 'step')}, {result.n_passes:,.0f} passes, "
            f"{result.seconds:.1f} s"
        )
    print(guess_line(comparison, 12))
    for part, accuracy in report["accuracy"].items():
        if accuracy is not None:
            print(f"{part:<12} {100 * accuracy:.1f} % right")
    print(f"written to   {out}")
