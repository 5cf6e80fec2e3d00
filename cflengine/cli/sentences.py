"""``cflengine sentences``: a classifier that says which sentences it goes by, beside the usual ones."""

from __future__ import annotations

import argparse
import math
import os
import sys
import threading
import time
from typing import Any

from cflengine.cli.options import (
    Clock,
    add_labels,
    add_limits,
    add_output,
    add_reading,
    gram_features,
    results,
    run_facts,
)
from cflengine.cli.reading import read
from cflengine.cli.reports import guess_line, write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine
from cflengine.cli.values import number, penalty_values, penalty_values_or_0
from cflengine.engine import InputError, locked_folder, many, output_path

_SENTENCES = """\
Learn to predict labels, with one group of words for every training sentence (Yogatama & Smith, ICML 2014).

INPUT as for cflengine compress. Regularisation is chosen by accuracy on a development set; of equally accurate models
the smallest is kept. A fit ends when its relative duality gap is proved to be small enough.

Written to DIR:
  models.csv          a row a model: accuracy on test and development set, size, proved gap, seconds, parameters
  sentences.csv       a row a sentence, or what --groups says: document, split, place, label, selected, group_norm,
                      log-odds by model, text
  weights.csv         a row a weight: model, class, feature, weight, occurrences
  documents.csv       a row a document: split, label, predicted class and its probability
  grid.csv            a row a model that was tried
  MODEL.cflm          each model, from a text to its prediction: for cflengine predict, and cflengine.load_model
  proof.npz           weights and dual points, which prove the gaps (see cflengine verify)
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         certified objectives, bounds and gaps, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine sentences reviews.csv --label-column sentiment --dev-split 0.2 --test-split 0.2 --out run
  cflengine sentences posts.jsonl --label-column group --classes med,space --test-split split=test --out run
  cflengine sentences posts.jsonl --label-column group --lam-sen 0.1 --lam-las 1 --models sentence --out one
"""

MODELS = ("sentence", "frequency", "elastic", "ridge", "lasso")


def models(text: str) -> list[str]:
    """Names out of MODELS, separated by commas, in that order."""
    wanted = text.split(",")
    unknown = [name for name in wanted if name not in MODELS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(MODELS)}")
    return [name for name in MODELS if name in wanted]


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "sentences",
        help="a classifier that says which sentences it goes by",
        description=_SENTENCES,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_reading(command, r"\w+; of kgrams \w+|[^\w\s]")
    data = add_labels(command, dev=True)
    data.add_argument("--language", default="en", metavar="CODE", help="of the texts, to find sentences (default: en)")
    model = command.add_argument_group("model")
    model.add_argument(
        "--models", type=models, default="sentence,frequency,elastic,ridge,lasso", metavar="M,M",
        help="which, of sentence, frequency, elastic, ridge, lasso (default: all)",
    )  # fmt: skip
    model.add_argument(
        "--grid", type=penalty_values, default="0.01,0.1,1,10,100,1000", metavar="λs",
        help="values tried for every parameter (default: %(default)s)",
    )  # fmt: skip
    for name, of, values in (
        ("sen", "of the sentences", penalty_values),
        ("las", "of the ℓ1 penalty; 0 for sentences alone", penalty_values_or_0),
        ("rid", "of the quadratic penalty", penalty_values),
    ):
        what = f"regularisation parameter {of} (default: --grid)"
        model.add_argument(f"--lam-{name}", type=values, metavar="λs", help=what)
    model.add_argument(
        "--features", choices=("words", "kgrams"), default="words",
        help="kgrams: as cflengine compress finds them in the training documents (default: words)",
    )  # fmt: skip
    model.add_argument("--max-gram", type=number(int, 1, 8), default=3, metavar="K", help="of kgrams (default: 3)")
    model.add_argument(
        "--groups", choices=("sentence", "clause", "paragraph", "document"), default="sentence", metavar="UNIT",
        help="what the words of a group stand in: sentence (default), clause, paragraph or document",
    )  # fmt: skip
    model.add_argument(
        "--group-weights", choices=("equal", "length"), default="equal",
        help="length: λ_sen √n for a group of n tokens (default: equal)",
    )  # fmt: skip
    solver = command.add_argument_group("solver")
    solver.add_argument(
        "--solver", choices=("majorise", "admm"), default="majorise",
        help="of the sentence model: majorise (default), or the paper's, stopped early by its own rule",
    )  # fmt: skip
    solver.add_argument("--rho", type=number(float, 1e-9), metavar="ρ", help="admm: its ρ (default: 1)")
    solver.add_argument(
        "--gap", type=number(float, 1e-12, 1), default=1e-4, metavar="G",
        help="proved relative gap at which the chosen models end (default: 0.0001)",
    )  # fmt: skip
    add_limits(solver)
    add_output(command)


class SearchProgress(TerminalProgress):
    """One line for all the solves of a grid; the first Ctrl-C, or the time limit, keeps the models so far."""

    def __init__(self, stream: Any, *, show: bool, ends: float | None) -> None:
        super().__init__(stream, show=show, ends=ends)
        self.name, self.total, self.done, self.best = "", 0, 0, math.nan
        self._lock = threading.Lock()

    def begin(self, name: str, total: int) -> None:
        """A model's grid begins."""
        self.name, self.total, self.done, self.best = name, total, 0, math.nan

    @property
    def over(self) -> bool:
        """Whether the search is to end with what it has."""
        return self.stop or self.late

    def poll(self) -> bool:
        return not (self.over and self.done)

    def __call__(self, stats: Any) -> bool:
        return self.poll()

    def on_point(self, point: Any) -> bool:
        """A model of the grid is there."""
        with self._lock:
            self.done += 1
            self.best = max(point.accuracy, 0.0 if math.isnan(self.best) else self.best)
            if self.show:
                head = f"{self.name}  {self.done} of {self.total} models  best {100 * self.best:.1f} %"
                self.stream.write(f"\r\033[K{head} on the development set")
                self.stream.flush()
        return not self.over


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    if arguments.rho is not None and arguments.solver != "admm":
        raise InputError("--rho is for --solver admm.")
    _refuse_unused(arguments)
    from cflengine.linear import read_labels, split_documents
    from cflengine.sentence_lasso import sentence_report, write_sentences

    began = time.perf_counter()
    corpus = read(arguments, clock)
    labels = read_labels(corpus.metadata, arguments.label_column, arguments.classes)
    split = split_documents(
        labels, corpus.metadata, dev=arguments.dev_split, test=arguments.test_split, random_state=arguments.seed
    )
    with locked_folder(out):
        comparison = _comparison(arguments, corpus, labels, split)
        models, ended = _find_best(arguments, comparison, clock)
        seconds = time.perf_counter() - began
        report = sentence_report(comparison, models, corpus, run_facts(arguments), seconds)
        with results(out) as folder:
            write_sentences(folder, comparison, models, corpus, report)
            write_left_out(folder, corpus)
    if not arguments.quiet:
        _summary(comparison, models, labels)
        if ended:
            print(ended)
        print(f"written to {out}")
    return 0


def _refuse_unused(arguments: argparse.Namespace) -> None:
    """InputError for parameters that none of the models has."""
    from cflengine.sentence_lasso import PENALTIES

    usual: dict[str, Any] = {
        name: None
        for name in ("lam_sen", "lam_las", "lam_rid")
        if not any(name in PENALTIES[kind] for kind in arguments.models)
    }
    if "sentence" not in arguments.models:
        usual |= {"group_weights": "equal", "solver": "majorise", "rho": None}
    models = ", ".join(arguments.models)
    if 0.0 in (arguments.lam_las or ()) and arguments.models != ["sentence"]:
        raise InputError("--lam-las 0 is for --models sentence: the other models are nothing without it.")
    for name, value in usual.items():
        if getattr(arguments, name) != value:
            raise InputError(f"--{name.replace('_', '-')} plays no part with --models {models}: leave it out.")


def _comparison(arguments: argparse.Namespace, corpus: Any, labels: Any, split: Any) -> Any:
    from cflengine.sentence_lasso import GramFeatures, prepare
    from cflengine.text import WORD_PATTERN

    features = None
    if arguments.features == "kgrams":
        features = GramFeatures(gram_features(arguments))
    return prepare(
        corpus.texts, labels, split, features=features, language=arguments.language,
        groups=arguments.groups, group_weights=arguments.group_weights,
        token_pattern=arguments.token_pattern or WORD_PATTERN, lowercase=not arguments.keep_case,
    )  # fmt: skip


def _find_best(arguments: argparse.Namespace, comparison: Any, clock: Clock) -> tuple[list[Any], str]:
    """Every model's search, until the time is up or the user says stop, and what was left out then, for people; the
    first is always there."""
    from cflengine.sentence_lasso import PENALTIES, ADMMSettings, warm_up

    show = load_engine(lambda: warm_up("majorise", arguments.solver), quiet=arguments.quiet)
    models: list[Any] = []
    with SearchProgress(sys.stderr, show=show, ends=clock.solving_ends) as progress:
        for kind in arguments.models:
            if models and progress.over:
                break
            values = {name: getattr(arguments, name) or arguments.grid for name in PENALTIES[kind]}
            progress.begin(kind, math.prod(map(len, values.values())))
            admm = kind == "sentence" and arguments.solver == "admm"
            settings = ADMMSettings(rho=arguments.rho or 1.0) if admm else None
            models.append(
                comparison.find_best(
                    kind, values, tol=arguments.gap, settings=settings, listeners=(progress,),
                    on_point=progress.on_point, n_threads=arguments.threads or os.cpu_count() or 1,
                )
            )  # fmt: skip
        whole = len(models) == len(arguments.models) and progress.done == progress.total
    if whole:
        return models, ""
    missing = arguments.models[len(models) :]
    cut = f"{progress.done} of {progress.total} models of the grid for {progress.name}"
    return (
        models,
        f"not all was tried: {cut}{', none for ' + ', '.join(missing) if missing else ''} ({progress.cut_by})",
    )


def _summary(comparison: Any, models: list[Any], labels: Any) -> None:
    skipped = f" ({labels.n_unlabelled:,} without one of the classes)" if labels.n_unlabelled else ""
    sizes = (len(comparison.train), len(comparison.dev), len(comparison.test))
    parts = "{:,} to learn from, {:,} to choose by, {:,} to judge by".format(*sizes)
    print(f"{many(len(comparison.documents), 'document')}{skipped}: {parts}")
    print(
        f"{comparison.data.counts.shape[0]:,} training {comparison.groups}s, {many(len(comparison.names), 'feature')}"
    )
    print(guess_line(comparison, 10))
    for best in models:
        parameters = "  ".join(f"{name} {value:g}" for name, value in best.penalty.parameters.items())
        test = "" if math.isnan(best.test_accuracy) else f"test {100 * best.test_accuracy:5.1f} %  "
        size = f"{best.model.size:>7,} features"
        gap = f"gap {best.gap:.1e}" if math.isfinite(best.gap) else "gap: none proved"
        early = "  (stopped early)" if any(result.early_stopped for result in best.results) else ""
        print(f"{best.penalty.kind:<10} {test}dev {100 * best.dev_accuracy:5.1f} %  {size}  {gap}  {parameters}{early}")
