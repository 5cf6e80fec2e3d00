"""``cflengine embed``: do classes of documents differ in their words' vectors, and vectors that keep them apart."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from cflengine.cli.options import Clock, add_limits, add_output, add_reading, results, run_facts
from cflengine.cli.reading import read
from cflengine.cli.reports import write_left_out
from cflengine.cli.terminal import TerminalProgress, load_engine
from cflengine.cli.values import names, number
from cflengine.engine import InputError, locked_folder, many, output_path

_EMBED = """\
Compare classes of documents by the law of their words' vectors (word-level maximum mean discrepancy, Gao & Dai, JASA
2025), and train a text classifier whose vectors keep the classes apart.

INPUT as for cflengine compress. The statistic wMMD² is estimated without bias for vectors and a width that do not
depend on the documents; a permutation test says whether classes differ, the witness which words tell them apart.
--vectors takes word2vec or GloVe text (also .gz) or npz; without it vectors are learnt from the documents. A network
needs JAX: pip install 'cflengine[neural]'; --network none needs nothing.

Written to DIR:
  statistic.json      wMMD², its 95 % interval, p value, width, and the same of the words themselves (M = identity)
  pairwise.csv        a row a pair of classes; null.csv: the statistics of permuted labels
  witness.csv         a row a word and pair of classes: which class it pulls to, how strongly, its share in either
  vectors.npz         words and vectors of the statistic; trained_words, trained_vectors, initial_vectors of the network
  vectors.txt         words and their vectors, as trained where a network was
  predictions.csv     a row a labelled document: split, label, predicted, probability
  trace.csv           a row an epoch: loss, accuracy, penalty, wMMD²
  model.cflm          the classifier, for cflengine predict
  left_out.csv        the records of INPUT that are no documents, and why (only if there are any)
  report.json         all numbers, settings, sizes, seconds, memory, versions
"""

_EXAMPLES = """\
examples:
  cflengine embed reviews.csv --label-column sentiment --network none --out apart
  cflengine embed reviews.csv --label-column sentiment --vectors glove.txt --network cnn --test-split 0.2 --out net
  cflengine embed news.csv --label-column topic --classes sport,tech --kernel laplace --stop-words english --out two
"""
_COMPARED = "compared"
_NAMED = 8  # classes in the summary
_AUTO = "mean where JAX is installed, else none"


def add_command(commands: Any) -> None:
    """The command's options."""
    command = commands.add_parser(
        "embed",
        help="do classes differ in their words, and vectors that keep them apart",
        description=_EMBED,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    add_reading(command, r"\w+", grams=False)
    data = command.add_argument_group("labels and splits")
    data.add_argument("--label-column", required=True, metavar="NAME", help="column that holds the classes")
    data.add_argument("--classes", metavar="A,B", type=names, help="classes to compare (default: all in the column)")
    split = "a share such as 0.2, or COLUMN=VALUE"
    data.add_argument(
        "--test-split", metavar="S", help=f"to judge the network by: {split}; none to learn from all (default: 0.5)"
    )
    data.add_argument("--dev-split", metavar="S", help=f"to stop training early by: {split} (default: none)")
    data.add_argument("--seed", type=number(int, 0), default=0, metavar="N", help="of everything drawn (default: 0)")
    _add_statistic(command.add_argument_group("statistic"))
    _add_network(command.add_argument_group("network"))
    add_limits(command.add_argument_group("limits"))
    add_output(command)


def _add_statistic(group: Any) -> None:
    group.add_argument("--vectors", metavar="FILE", help="word2vec or GloVe text, or npz (default: learnt)")
    group.add_argument(
        "--kernel", choices=("gaussian", "laplace", "linear"), default="gaussian",
        help="linear sees a difference of means alone (default: gaussian)",
    )  # fmt: skip
    group.add_argument(
        "--width", type=number(float, 1e-300, 1e300), action="append", metavar="W",
        help="of the kernel; several are averaged (default: the median distance)",
    )  # fmt: skip
    group.add_argument(
        "--permutations", type=number(int, 0), default=999, metavar="N", help="of the test (default: 999)"
    )  # fmt: skip
    group.add_argument(
        "--random-features", type=number(int, 2), metavar="D", help="by so many frequencies (default: exact)"
    )  # fmt: skip
    group.add_argument(
        "--stop-words", choices=("english",), help="leave them out of the statistic and of the penalty"
    )  # fmt: skip
    group.add_argument(
        "--min-count", type=number(int, 1), metavar="N",
        help="leave rarer words out (default: 1, all of them, of the statistic; 2 of the network)",
    )  # fmt: skip


def _add_network(group: Any) -> None:
    group.add_argument(
        "--network", choices=("auto", "none", "mean", "cnn", "gru", "bilstm"), default="auto", help=f"(auto: {_AUTO})"
    )  # fmt: skip
    group.add_argument(
        "--regulariser", default="wmmd", metavar="NAME",
        choices=("none", "l1", "dropout", "re-embedding", "group lasso", "wmmd", "structured wmmd", "bigram wmmd"),
        help="none, l1, dropout, re-embedding, group lasso, wmmd, structured wmmd, bigram wmmd (default: wmmd)",
    )  # fmt: skip
    group.add_argument(
        "--group", metavar="WORD,WORD", type=names, action="append",
        help="a group of words that structured wmmd separates by itself; repeat it for more groups",
    )  # fmt: skip
    group.add_argument("--lam", type=number(float, 0), metavar="λ", help="its factor (default: a usual one)")
    group.add_argument(
        "--initial", choices=("random", "learnt", _COMPARED),
        help="where its vectors begin: random, learnt from the documents it learns from, or those that were compared "
        "(default: random, or the --vectors if they are given)",
    )  # fmt: skip
    group.add_argument(
        "--dimension", type=number(int, 1), metavar="R", help="of vectors that begin otherwise (default: 20)"
    )
    group.add_argument(
        "--hidden", type=number(int, 1), default=100, metavar="N",
        help="filters of a width (cnn), units a direction (gru, bilstm) (default: 100)",
    )  # fmt: skip
    group.add_argument("--epochs", type=number(int, 1), default=30, metavar="N", help="(default: 30)")
    group.add_argument("--batch-size", type=number(int, 1), default=64, metavar="N", help="documents (default: 64)")
    group.add_argument(
        "--learning-rate", type=number(float, 1e-300), default=0.1, metavar="RATE", help="of Adam (default: 0.1)"
    )  # fmt: skip
    group.add_argument(
        "--patience", type=number(int, 1), metavar="N",
        help="epochs without a better accuracy on --dev-split, after which training ends (default: all epochs)",
    )  # fmt: skip
    group.add_argument(
        "--max-length", type=number(int, 5), default=256, metavar="N", help="words of a document (default: 256)"
    )  # fmt: skip
    group.add_argument(
        "--max-gradient", type=number(float, 0), metavar="G",
        help="longer gradients are cut to it; 1 keeps gru and bilstm from diverging on long documents (default: none)",
    )  # fmt: skip
    group.add_argument("--checkpoint", metavar="FILE", help="written after each epoch; the same run goes on from it")


def _sources(arguments: argparse.Namespace) -> list[str]:
    """What the run reads."""
    return [*arguments.input, *([arguments.vectors] if arguments.vectors else [])]


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, train, write."""
    clock, out = Clock(arguments.time_limit), output_path(arguments.out, _sources(arguments))
    from cflengine.embedding import EmbeddingAnalysis, embedding_report, require_neural, warm_up, write_embedding
    from cflengine.engine import MemoryLimitError, MissingPackageError, Stopped
    from cflengine.linear import read_labels, split_documents

    began, network, note = time.perf_counter(), arguments.network, ""
    try:
        if network != "none":
            require_neural()
        network = "mean" if network == "auto" else network
    except MissingPackageError as error:
        if network != "auto":
            raise
        network, note = "none", f"no network was trained: {error}"
    if arguments.test_split is None and network != "none":
        arguments.test_split = "0.5"  # as in the article
    elif arguments.test_split == "none":
        arguments.test_split = None
    if arguments.initial is None:
        arguments.initial = _COMPARED if arguments.vectors else "random"
    if network != "none":
        if arguments.initial == _COMPARED and arguments.dimension is not None:
            raise InputError("--dimension is that of the vectors which were compared: leave it out, or give --initial.")
        _model(arguments, network, clock, ()).check()  # what it refuses is said before the statistic
        if arguments.patience is not None and arguments.dev_split is None:
            raise InputError("--patience is for documents to stop early by: give --dev-split, too.")
    corpus = read(arguments, clock)
    labels = read_labels(corpus.metadata, arguments.label_column, arguments.classes)
    split = split_documents(
        labels, corpus.metadata, dev=arguments.dev_split, test=arguments.test_split, random_state=arguments.seed
    )  # fmt: skip
    with locked_folder(out):
        show = load_engine(warm_up, quiet=arguments.quiet)
        with TerminalProgress(sys.stderr, show=show, ends=clock.solving_ends) as progress:
            documents = np.flatnonzero(labels.y >= 0)
            found = _statistic(arguments, corpus, labels, documents, clock, progress)
            model, failure = None, None
            try:
                if network != "none" and progress.poll():
                    begin = arguments.vectors or (found.words.vectors.words, found.words.vectors.M)
                    begin = begin if arguments.initial == _COMPARED else None
                    model = _trained(_model(arguments, network, clock, (progress,)), corpus, labels, split, begin)
            except Stopped:  # while vectors were read or learnt: as if it had been before its first epoch was over
                pass
            except Exception as error:  # raised again once the statistic is written
                failure = error
            if model is None and network != "none":
                why = "the run was stopped" if progress.stop else "the time limit came"
                note = f"no network was trained: {failure or why + ' before its first epoch was over'}"
            analysis = EmbeddingAnalysis(
                corpus=corpus, labels=labels, documents=documents, comparison=found, split=split, model=model
            )  # fmt: skip
            report = embedding_report(analysis, run_facts(arguments), time.perf_counter() - began)
            if note:
                report["note"] = note
            kept = failure is not None and (out / "report.json").exists()  # an earlier run's, which had no failure
            if not kept:
                with results(out) as folder:
                    write_embedding(folder, analysis, report)
                    write_left_out(folder, corpus)
    if not arguments.quiet:
        _summary(report, labels.n_unlabelled, "" if failure else note, None if kept else out)
    if isinstance(failure, InputError | MemoryLimitError | MissingPackageError | OSError):
        done = f"{out} is as the run before left it" if kept else f"The statistic is written to {out}"
        raise InputError(f"{note} {done}.") from failure
    if failure is not None:
        raise failure
    return 0


def _cutting(arguments: Any) -> dict[str, Any]:
    """How texts are cut into words."""
    own = {} if arguments.token_pattern is None else {"token_pattern": arguments.token_pattern}
    return own | {"lowercase": not arguments.keep_case}


def _statistic(arguments: Any, corpus: Any, labels: Any, documents: Any, clock: Clock, progress: Any) -> Any:
    from cflengine.embedding import WordMMD
    from cflengine.engine import Stopped

    model = WordMMD(
        arguments.kernel, tuple(arguments.width) if arguments.width else None, n_permutations=arguments.permutations,
        random_features=arguments.random_features, stop_words=arguments.stop_words, min_count=arguments.min_count or 1,
        random_state=arguments.seed, n_threads=arguments.threads, time_limit=clock.left, listeners=(progress,),
        **_cutting(arguments),
    )  # fmt: skip
    texts = [corpus.texts[d] for d in documents.tolist()]
    try:
        return model.fit(texts, labels.of(documents), arguments.vectors).comparison_
    except Stopped:
        if not progress.stop:
            raise InputError("the time limit came before the statistic was known; nothing was written.") from None
        raise KeyboardInterrupt("nothing was written: it was stopped before the statistic was known") from None


def _model(arguments: Any, network: str, clock: Clock, listeners: tuple[Any, ...]) -> Any:
    from cflengine.embedding import WordMMDEmbedding

    own = {} if arguments.dimension is None else {"dimension": arguments.dimension}
    return WordMMDEmbedding(
        network, arguments.regulariser, arguments.lam, **own,
        initial="random" if arguments.initial == _COMPARED else arguments.initial,
        groups=arguments.group, stop_words=arguments.stop_words, min_count=arguments.min_count or 2,
        epochs=arguments.epochs, batch_size=arguments.batch_size, learning_rate=arguments.learning_rate,
        hidden=arguments.hidden, max_length=arguments.max_length, max_gradient=arguments.max_gradient,
        patience=arguments.patience, random_state=arguments.seed, checkpoint=arguments.checkpoint,
        n_threads=arguments.threads, time_limit=clock.left, listeners=listeners, **_cutting(arguments),
    )  # fmt: skip


def _trained(model: Any, corpus: Any, labels: Any, split: Any, begin: Any) -> Any:
    """The fitted model; None where not one epoch was whole, since its weights are those that were drawn. begin: its
    vectors as they begin, None as it says itself."""
    used = np.concatenate([split.train, split.dev])
    dev = np.arange(len(used)) >= len(split.train) if len(split.dev) else None
    model.fit([corpus.texts[d] for d in used.tolist()], labels.of(used), begin, dev=dev)
    return model if model.n_iter_ else None


def _summary(report: dict[str, Any], n_unlabelled: int, note: str, out: Any) -> None:
    from cflengine.text import printable

    found = report["statistic"]
    sizes = [f"{printable(name)} {n:,}" for name, n in found["classes"].items()]
    more = f" and {len(sizes) - _NAMED} more classes" if len(sizes) > _NAMED else ""
    print(f"{many(found['n_documents'], 'document')} ({', '.join(sizes[:_NAMED])}{more})")
    if n_unlabelled:
        print(f"left aside: {many(n_unlabelled, 'document')} without one of the classes")
    of = "all but stop words" if report["arguments"]["stop_words"] else "all"
    print(f"{many(found['n_words'], 'word')} with vectors, {100 * found['coverage']:.1f} % of {of}; {found['vectors']}")
    low, high = found["interval"]
    done, asked = found["n_permutations"], report["arguments"]["permutations"]
    of = f" of {asked:,}, stopped: no p of pairs of classes" if done < asked else ""
    p = f"p {found['p_value']:.2g} ({done:,} permutations{of})" if done else "no test" + (", stopped" if of else "")
    interval = f"95 %: {low:.5g} to {high:.5g}" if low == low else "no interval: a class has two documents"
    widths = ", ".join(f"{width:.4g}" for width in found["widths"])
    print(f"wMMD²        {found['statistic']:.5g}  ({interval})  {p}{f'; width {widths}' if widths else ''}")
    own = found["identity"]["width"]
    print(
        f"of the words {found['identity']['statistic']:.5g}  (M = identity{f', width {own:.4g}' if own == own else ''})"
    )
    if found["approximation_error"]:
        print(f"             by random features: standard error {found['approximation_error']:.2g}")
    if "training" in report:
        training = report["training"]
        shares = ", ".join(f"{part} {100 * worth:.1f} %" for part, worth in training["accuracy"].items())
        ended = "" if training["reason"] == "iteration limit" else f", ended by {training['reason']}"
        print(
            f"{training['network']:<12} {training['epochs']} epochs, {training['seconds']:.1f} s{ended}: right {shares}"
        )
        error = f" (standard error {training['wmmd_error']:.2g})" if training["wmmd_error"] > 0 else ""
        before, after = (f"{training[name]:.4g}" for name in ("wmmd_before", "wmmd_after"))
        print(f"             wMMD² {before} before, {after} after training{error}")
        if training["n_words_drawn"]:
            drawn = many(training["n_words_drawn"], "word")
            print(f"             {drawn} of {training['n_words']:,} had no vector: those began at random")
    if note:
        print(note)
    if out is not None:
        print(f"written to   {out}")
