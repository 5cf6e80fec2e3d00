"""``cflengine evaluate``: what compressive features are worth for a column of the user's own."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

from cflengine.cli.options import Clock, add_limits, add_output, add_reading, results, run_facts
from cflengine.cli.path import lams_of
from cflengine.cli.reading import noted, read
from cflengine.cli.reports import write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine
from cflengine.cli.values import number
from cflengine.engine import locked_folder, many, output_path

_EVALUATE = """\
Say what features are worth: learn columns of INPUT from words, from all K-grams, from compressive features of every λ
and from other tools' phrases, and judge all of them on the same held-out documents.

INPUT as for cflengine compress. A column of numbers is learnt by an elastic net; one of classes by a linear SVM (of
more than 50 classes by centroids), either with a penalty by feature where that is better; one of authors as Paskov,
Mitchell and Hastie did (AISTATS 2014, Section 5.1.1): three documents of each author are held out, and their average is
given to the nearest centroid, by the cosine (by the Euclidean distance beside it, in report.json). A column of which
four fifths are numbers, of five different ones or more, is one of numbers (--task says otherwise), and one of whole
numbers that is called author, user_id and the like one of authors or classes; the rest is left aside, and counted. λ,
the way to count and the regularisation are chosen on documents beside the test. K-grams are found once, without looking
at any label.

Which documents are judged: those that a column of the corpus (split: train, dev, test) sets apart for testing, if there
is one; else a random quarter; else, of fewer than 1,000 documents, all of them in five folds. --group and --time change
that.

Written to DIR:
  methods.csv         a row a target and method: accuracy and macro-F1, or mse and R², with 95 % intervals (empty where
                      fewer than six documents, groups or authors are judged), paired tests against unigrams and all
                      K-grams with the intervals of the gains, features, seconds, the λ chosen, proved gaps
  path.csv            a row a target, method and candidate (λ, temperature, size): development, and test with its 95 %
                      interval
  telling.csv         the K-grams of largest weight, with their direction
  predictions.csv     a row a judged document (or author): the truth, by unigrams, by compressive features
  learning_curve.csv  what a share of the training documents is worth
  model-COLUMN.cflm   the recommended model, from a text to its prediction, for cflengine predict: of the compressive
                      features that did best on the documents to choose by, also where words do better (none of
                      authors, nor of more than 50 classes, which go by their centroids)
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         an entry a target, in it one a method; the path; seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine evaluate reviews.csv --target sentiment --out worth
  cflengine evaluate reviews.csv --target overall taste abv --group beer --out scores
  cflengine evaluate reviews.csv --target author --task author --lams 0.01,0.1,1 --out authors
"""


def countings_of(text: str) -> tuple[str, ...]:
    """Ways to count separated by commas; argparse's error for anything else."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    from cflengine.compression import COUNTINGS as known

    wrong = next((name for name in names if name not in known), None)
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"{wrong!r} is no way to count: they are {', '.join(known)}")
    return names


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "evaluate",
        help="what the features are worth for a column of yours",
        description=_EVALUATE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_reading(command)
    target = command.add_argument_group("targets and splits")
    target.add_argument(
        "--target", required=True, nargs="+", action="extend", metavar="COLUMN", help="what to predict, one or several"
    )
    target.add_argument(
        "--task", choices=("auto", "class", "number", "author"), default="auto", help="of all targets (default: auto)"
    )
    split = "a share such as 0.2, or COLUMN=VALUE"
    target.add_argument("--test-split", metavar="S", help=f"to judge by: {split} (default: see above)")
    target.add_argument("--dev-split", metavar="S", help=f"to choose by: {split} (default: 0.2 of the rest)")
    target.add_argument("--folds", type=number(int, 2, 20), metavar="N", help="judge every document once, in N folds")
    target.add_argument("--group", metavar="COLUMN", help="documents of one value stay on one side of the split")
    target.add_argument("--time", metavar="COLUMN", help="judge by the latest documents")
    target.add_argument("--min-documents", type=number(int, 4), default=10, metavar="N", help="of an author (10)")
    target.add_argument("--held-out", type=number(int, 1), default=3, metavar="N", help="documents of an author (3)")
    target.add_argument("--seed", type=number(int, 0), default=0, metavar="N", help="of random splits (default: 0)")
    model = command.add_argument_group("features")
    model.add_argument(
        "--lams", type=lams_of, default="0.01:3:10", metavar="λs",
        help="FIRST:LAST:COUNT, or values with commas (default: %(default)s)",
    )  # fmt: skip
    model.add_argument(
        "--counting", type=countings_of, default="pointers,occurrences,soft", metavar="A,B",
        help="pointers (the paper's), occurrences, soft (default: all three)",
    )  # fmt: skip
    model.add_argument("--max-gram", type=number(int, 1, 8), default=3, metavar="K", help="longest K-gram (default: 3)")
    model.add_argument(
        "--weighting", choices=("damped", "idf", "tf-idf", "tf", "count"), default="damped",
        help="of all features; idf is the paper's (default: damped: √count × idf, scaled to length 1)",
    )  # fmt: skip
    model.add_argument(
        "--no-rivals", action="store_true", help="no tf-idf, no selected K-grams, no other tools' phrases"
    )
    model.add_argument("--cache", metavar="DIR", help="keep dictionaries there, by content, for the next evaluation")
    add_limits(command.add_argument_group("solver"))
    add_output(command)


def run(arguments: argparse.Namespace) -> int:
    """Read, evaluate, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, arguments.input)
    from cflengine.compression import warm_up
    from cflengine.experiments import (
        AuthorRules,
        AuthorTask,
        Budget,
        Evaluation,
        EvaluationSettings,
        evaluation_report,
        find,
        make_tasks,
        write_evaluation,
    )
    from cflengine.plq import warm_up as warm_learners

    began = time.perf_counter()
    own = {} if arguments.token_pattern is None else {"token_pattern": arguments.token_pattern}
    settings = EvaluationSettings(
        lams=tuple(arguments.lams), max_gram=arguments.max_gram, countings=arguments.counting,
        weighting=arguments.weighting, lowercase=not arguments.keep_case,
        sentence_borders=arguments.sentence_borders, rivals=not arguments.no_rivals,
        n_threads=arguments.threads, **own,
    )  # fmt: skip
    corpus = read(arguments, clock)
    rules = AuthorRules(min_documents=arguments.min_documents, held_out=arguments.held_out)
    tasks = make_tasks(
        corpus.texts, corpus.metadata, arguments.target, task=arguments.task, random_state=arguments.seed,
        rules=rules, n_threads=arguments.threads, test=arguments.test_split, dev=arguments.dev_split,
        folds=arguments.folds, group=arguments.group, time=arguments.time,
    )  # fmt: skip
    if rules != AuthorRules() and not any(isinstance(task, AuthorTask) for task in tasks):
        noted(arguments.command, corpus.report.source)(
            "no column is learnt as authors, so --min-documents and --held-out play no part"
        )
    with locked_folder(out):

        def warm() -> None:
            warm_up("guided", "counting")
            warm_learners()

        show = load_engine(warm, quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show, show_lam=True, ends=clock.solving_ends) as progress:
            line = _Line(show)
            evaluation = Evaluation(
                corpus.texts, tasks, settings, budget=Budget(clock.left, progress.poll), on_row=line.row,
                on_stage=line.stage, listeners=(progress,), folder=Path(arguments.cache) if arguments.cache else None,
            )  # fmt: skip
            evaluation.run()
            findings = [find(evaluation, standing) for standing in evaluation.standings]
            report = evaluation_report(evaluation, findings, corpus, run_facts(arguments), time.perf_counter() - began)
            with results(out) as folder:
                write_evaluation(folder, evaluation, findings, corpus, report)
                write_left_out(folder, corpus)
    if not arguments.quiet:
        for finding in findings:
            _summary(finding, arguments.task)
        for note in evaluation.notes:
            print(note)
        if evaluation.saved_seconds() >= 1.0:
            kept = "dictionaries that were kept" if evaluation.path.read else "features that are made once"
            print(f"{evaluation.saved_seconds():,.0f} s saved by {kept}")
        print(f"written to {out}")
    return 0


class _Line:
    """Keeps one line of the terminal up to date with what is being learnt."""

    def __init__(self, show: bool) -> None:
        self.show, self.what = show, ""

    def stage(self, what: str) -> None:
        """What is being done."""
        self.what = what
        self._write(what)

    def row(self, row: dict[str, Any]) -> None:
        """An outcome."""
        lam = f" at λ {row['lam']:.3g}" if "lam" in row else ""
        self._write(f"{self.what}: {row['target']} from {row['method']}{lam}, {row['test']:.4f}")

    def _write(self, text: str) -> None:
        if self.show:
            sys.stderr.write(f"\r\033[K{text[:110]}")
            sys.stderr.flush()


def _summary(finding: Any, asked: str) -> None:
    import pandas as pd

    task, table = finding.task, finding.table()
    facts = task.target.summary()
    print(f"{task.target.column} ({many(facts['n_documents'], 'document')}; {task.how}; {task.learner})")
    rare = "of authors with too few" if facts["task"] == "author" else "of rare classes"
    short = ("n_short", "of too few words")
    for name, of in (("n_missing", "without a value"), ("n_unread", "not numbers"), ("n_rare", rare), short):
        if facts.get(name):
            print(f"  {many(facts[name], 'document')} {of}: for the dictionary alone")
    classes = task.target.labels.classes
    if (
        asked == "auto"
        and facts["task"] == "class"
        and 2 < len(classes) < 5
        and pd.to_numeric(pd.Series(classes), errors="coerce").notna().all()
    ):
        print(f"  numbers of {many(len(classes), 'value')}, learnt as classes; --task number learns them as numbers")
    if not finding.methods:
        print("  stopped before the first method was judged")
        return
    percent = task.measure == "accuracy"
    for row in table.to_dict("records"):
        low, high = row[f"{task.measure}_interval"] if row["method"] != "baseline" else (None, None)
        shown = (lambda x: f"{100 * x:6.2f} %") if percent else (lambda x: f"{x:8.4g}")
        known = low is not None and not math.isnan(low)
        interval = f"  ({shown(low).strip()} to {shown(high).strip()})" if known else ""
        size = "" if low is None else f"  {int(row['features']):>9,} features"
        test = row.get("against_unigrams")
        p = f"  p {test['p']:.2g}" if isinstance(test, dict) else ""
        star = "  ← recommended" if row["method"] == finding.recommended else ""
        print(f"  {row['method']:<32} {shown(row[task.measure])}{interval}{size}{p}{star}")
    test = finding.methods.get(finding.recommended or "", {}).get("against_unigrams")
    if test and test["p"] < 0.05 and test["gain"] < 0:
        print(f"  words do better than the recommended features here (p {test['p']:.2g})")
    if names := finding.no_better_than_guessing():
        print(f"  no better than guessing, as far as these documents can tell: {', '.join(names)}")
    for note in finding.notes:
        print(f"  {note}")
