"""The chain CRF on CoNLL-2003: ours and python-crfsuite with the same features and the same c2."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import corpus_path
from benchmarks.loglinear.scheme import at_random
from benchmarks.loglinear.tasks import Say
from cflengine import ChainCRF, ClusteredSettings
from cflengine.loglinear import ChainModel, ChainScorer, LBFGSSettings, TaggedFile, chain_features, solve, training_data
from cflengine.loglinear import parsimony as tie
from cflengine.text import PAPER_TEMPLATE, attribute_maker, evaluate

#: As CRF++ ships with for chunking: words, parts of speech, and pairs of them, two tokens to either side.
CHUNKING_TEMPLATE = (
    "".join(f"U{k:02}:%x[{row},0]\n" for k, row in enumerate((-2, -1, 0, 1, 2)))
    + "U05:%x[-1,0]/%x[0,0]\nU06:%x[0,0]/%x[1,0]\n"
    + "".join(f"U{k}:%x[{row},1]\n" for k, row in enumerate((-2, -1, 0, 1, 2), 10))
    + "".join(f"U{k}:%x[{row},1]/%x[{row + 1},1]\n" for k, row in enumerate((-2, -1, 0, 1), 15))
    + "".join(f"U{k}:%x[{row},1]/%x[{row + 1},1]/%x[{row + 2},1]\n" for k, row in enumerate((-2, -1, 0), 20))
    + "B\n"
)
CLOSE = 1e-5


@dataclass(frozen=True)
class Case:
    """A template; whether chunk tags are the labels instead of entities; features that training has not; how many
    sentences at most."""

    template: str
    chunks: bool = False
    all_states: bool = False
    all_transitions: bool = False
    limit: int | None = None
    repeats: int = 1

    def files(self, files: Sequence[TaggedFile]) -> list[TaggedFile]:
        """Training and test files as the case has them."""
        if self.chunks:  # columns word, POS, chunk: the last of them is the label
            files = [
                TaggedFile(
                    file.name,
                    [[cells[:2] for cells in rows] for rows in file.rows],
                    [[cells[2] for cells in rows] for rows in file.rows],
                )
                for file in files
            ]
        train, *tests = files
        return [TaggedFile(train.name, train.rows[: self.limit], train.labels[: self.limit]), *tests]


CASES = {
    "paper's features": Case(PAPER_TEMPLATE),
    "chunking template": Case(CHUNKING_TEMPLATE),
    "chunk tags, all transitions": Case(CHUNKING_TEMPLATE, chunks=True, all_transitions=True),
    "3,000 sentences, all states": Case(PAPER_TEMPLATE, all_states=True, all_transitions=True, limit=3000, repeats=5),
}


def measure(data: str | None, quick: bool, say: Say) -> dict[str, dict[str, Any]]:
    """Template -> solver -> seconds, passes, objective, F1; empty, saying why, where the corpus is absent."""
    files = conll(data, ("train", "testa", "testb"), quick, say)
    cases = list(CASES.items())[: 1 if quick else None] if files else []
    return {name: _median(case, case.files(files), say) for name, case in cases}


def conll(data: str | None, parts: Sequence[str], quick: bool, say: Say) -> list[TaggedFile]:
    """Files of CoNLL-2003; none, saying why, where the corpus is absent."""
    limit = 300 if quick else None
    try:
        return [TaggedFile.read(corpus_path("conll2003", data, f"eng.{part}.gz"), limit=limit) for part in parts]
    except FileNotFoundError as error:
        say(str(error))
        return []


def judged_tagger(train: TaggedFile, test: TaggedFile) -> tuple[ChainModel, Callable[[np.ndarray], dict[str, float]]]:
    """The model of the paper's attributes, and from weights to F1 on ``test``, by kind of name, "" for all."""
    make, _ = attribute_maker(PAPER_TEMPLATE)
    table, classes, sentences = training_data((make(rows) for rows in train.rows), train.labels)
    features = chain_features(sentences, len(classes))
    Z, at = table.matrix(make(rows) for rows in test.rows)

    def judge(w: np.ndarray) -> dict[str, float]:
        tags = ChainScorer(features, w).decode(Z, at)
        guesses = [[classes[c] for c in tags[first:last]] for first, last in pairwise(at)]
        return {kind: 100 * one.f1 for kind, one in evaluate(test.labels, guesses).items()}

    return ChainModel(sentences, features), judge


def parsimony(data: str | None, numbers: Sequence[int], quick: bool, say: Say) -> dict[str, Any]:
    """F1 on testb by the number of different emission weights; "0" stands for the untied model."""
    files = conll(data, ("train", "testb"), quick, say)
    if not files:
        return {}
    model, judge = judged_tagger(*files)
    w = solve(model, 2.0, "lbfgs", LBFGSSettings(tol=1e-5)).w
    out = {"0": judge(w)[""]}
    for fit in tie(model, 2.0, w, numbers, lambda tied: judge(tied)[""], n_tied=model.features.n_states):
        out[str(fit.k)] = fit.quality
    say(f"CoNLL-2003: {out}")
    return out


def _median(case: Case, files: Sequence[TaggedFile], say: Say) -> dict[str, Any]:
    """The case as often as it asks for, each time all solvers in turn; medians of the times."""
    runs = [_contest(case, files, say) for _ in range(case.repeats)]
    figures = runs[-1]
    for name, last in figures.items():
        for key in ("seconds", "s_before", "s_per_pass"):
            values = [run[name][key] for run in runs if run[name].get(key) is not None]
            if values:
                last[key] = float(np.median(values))
    return figures


def _contest(case: Case, files: Sequence[TaggedFile], say: Say, c2: float = 1.0) -> dict[str, Any]:
    make, _ = attribute_maker(case.template)
    features = {"all_possible_states": case.all_states, "all_possible_transitions": case.all_transitions}
    train, *tests = files
    attributes = [make(rows) for rows in train.rows]
    figures: dict[str, Any] = {}
    peer = _crfsuite(attributes, train.labels, tests, make, c2, case)
    if peer is None:
        say("python-crfsuite is not installed: ours stands alone")
    else:
        figures["python-crfsuite"] = peer
        say(f"python-crfsuite: {peer}")
    goal = peer["objective"] * (1 + CLOSE) if peer else None
    for name, options in (
        ("lbfgs, all threads", {}),
        ("lbfgs, one thread", {"n_threads": 1}),
        ("clustered", {"solver": "clustered", "settings": ClusteredSettings(tol=1e-6, cluster_factor=5.0)}),
        ("random clusters", {"solver": "clustered", "settings": ClusteredSettings(tol=1e-6, clustering=at_random,
                                                                                  cluster_factor=5.0)}),
    ):  # fmt: skip
        began = time.perf_counter()
        model = ChainCRF(**{"tol": 1e-6, "c2": c2} | features | options).fit(attributes, train.labels)
        before = time.perf_counter() - began - model.result_.seconds  # numbering attributes, laying out features
        trace, result = model.trace_, model.result_
        fine = trace[trace["stage"] != "coarse"]
        reached = fine[fine["objective"] <= (goal or result.objective * (1 + CLOSE))]
        scores = [model.evaluate([make(rows) for rows in test.rows], test.labels) for test in tests]
        figures[name] = {
            "seconds": float(reached["elapsed_s"].iloc[0]) if len(reached) else None,
            "s_before": before,
            "passes": float(reached["passes"].iloc[0]) if len(reached) else None,
            "s_per_pass": result.seconds / result.n_passes,
            "objective": result.objective,
            "gap": result.gap,
            "f1": [100 * float(score.loc[score["kind"] == "", "f1"].iloc[0]) for score in scores],
            "weights": len(model.coef_),
        }
        say(f"{name}: {figures[name]}")
    return figures


def _crfsuite(attributes, labels, tests: Sequence[TaggedFile], make, c2: float, case: Case) -> dict[str, Any] | None:
    try:
        import pycrfsuite
    except ImportError:
        return None
    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(attributes, labels, strict=True):
        trainer.append(xs, ys)
    trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": 5000})
    trainer.set("feature.possible_states", int(case.all_states))
    trainer.set("feature.possible_transitions", int(case.all_transitions))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        began = time.perf_counter()
        trainer.train(path)
        seconds = time.perf_counter() - began
        last = trainer.logparser.last_iteration
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        found = [evaluate(test.labels, [tagger.tag(make(rows)) for rows in test.rows])[""].f1 for test in tests]
        tagger.close()
    return {
        "seconds": seconds, "passes": float(last["num"]), "s_per_pass": seconds / last["num"],
        "objective": last["loss"], "gap": None, "f1": [100 * value for value in found], "weights": None,
    }  # fmt: skip


def show(results: dict[str, dict[str, Any]]) -> str:
    """A table a template."""
    lines = []
    for title, figures in results.items():
        lines.append(f"{title}: to python-crfsuite's last objective, or 1e-5 above it (without it: above ours)")
        lines.append(f"  {'':<22}{'seconds':>9}{'passes':>8}{'ms a pass':>11}{'objective':>14}{'gap':>9}  F1 a / b")
        base = figures.get("python-crfsuite", {}).get("seconds")
        for name, one in figures.items():
            seconds = "–" if one["seconds"] is None else f"{one['seconds']:.2f}"
            passes = "–" if one["passes"] is None else f"{one['passes']:.0f}"
            gap = "–" if one["gap"] is None else f"{one['gap']:.0e}"
            f1 = " / ".join(f"{value:.2f}" for value in one["f1"])
            ratio = f"  ({base / one['seconds']:.2f} times as fast)" if base and one["seconds"] else ""
            lines.append(
                f"  {name:<22}{seconds:>9}{passes:>8}{1000 * one['s_per_pass']:>11.1f}{one['objective']:>14.3f}{gap:>9}"
                f"  {f1}{ratio}"
            )
    return "\n".join(lines)
