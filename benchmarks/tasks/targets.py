"""The sections of the tasks benchmark: corpora, targets, what is evaluated."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.corpora import corpus_path
from benchmarks.report import say
from cflengine.experiments import (
    AuthorRules,
    AuthorTask,
    DocumentTask,
    Evaluation,
    EvaluationSettings,
    Finding,
    Standing,
    Task,
    compare,
    find,
    make_plan,
    read_target,
)

SCORES = {"overall": 20, "appearance": 5, "aroma": 10, "palate": 5, "taste": 10}  # and their largest values
TEST, DEV = 500_000 / 1_586_259, 100_000 / 1_086_259  # the paper's shares
_QUICK = 400


def read(name: str, data: str | None, quick: bool) -> tuple[list[str], pd.DataFrame]:
    """Texts and their other columns. Raises FileNotFoundError."""
    with gzip.open(corpus_path(name, data), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    if quick:
        records = records[:: max(1, len(records) // _QUICK)] if name != "ratebeer" else records[:_QUICK]
    frame = pd.DataFrame(records)
    return frame.pop("text").tolist(), frame


def settings(quick: bool, n_threads: int | None, **own: Any) -> EvaluationSettings:
    """Ten λ, or two."""
    own |= {"lams": (0.1, 1.0)} if quick else {}
    return EvaluationSettings(n_threads=n_threads, **own)


def evaluate(texts: Sequence[str], tasks: Sequence[Task], own: EvaluationSettings, work: Path) -> Evaluation:
    """Run, saying how far it is."""

    def row(found: dict[str, Any]) -> None:
        shown = f"{found['target']}: {found['method']} {found.get('lam', ''):<8} {found['test']:.4f}"
        say(f"  {shown}  ({found['seconds']:.1f} s)")

    evaluation = Evaluation(texts, tasks, own, on_row=row, on_stage=say, folder=work / "dictionaries")
    evaluation.run()
    return evaluation


def told(evaluation: Evaluation, finding: Finding) -> dict[str, Any]:
    """What the results keep of one target."""
    telling = finding.telling.head(20).to_dict("records")
    return {
        "how": finding.task.how,
        "learner": finding.task.learner,
        "baseline": finding.baseline,
        "recommended": finding.recommended,
        "methods": finding.methods,
        "curve": [_slim(row) for row in finding.standing.rows],
        "telling": telling,
        "unseen": finding.unseen,
        "learners": finding.learners,
        "learning_curve": finding.curve.to_dict("records"),
    }


def _slim(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("method", "lam", "temperature", "size", "features", "dev", "test", "test_low", "test_high")
    return {key: row[key] for key in kept if key in row}


def authors(
    data: str | None, work: Path, *, quick: bool, n_threads: int | None, weighting: str = "damped"
) -> dict[str, Any]:
    """Author identification, by variants of what the paper leaves open or has differently."""
    texts, metadata = read("ratebeer", data, quick)
    target = read_target(metadata, "author", "author")
    rules = AuthorRules(min_documents=5) if quick else AuthorRules()
    prolific = replace(rules, min_documents=6 if quick else 40)
    variants: dict[str, dict[str, Any]] = {}
    for distance in ("cosine", "euclidean"):
        variants |= {
            f"average of three, {distance}": {"distance": distance},
            f"single review, {distance}": {"distance": distance, "single": True},
            f"100 authors, {distance}": {"distance": distance, "rules": replace(rules, most_authors=100)},
            f"authors of 40 or more, {distance}": {"distance": distance, "rules": prolific},
        }
    tasks = [AuthorTask(target, texts, **({"rules": rules} | own)) for own in variants.values()]
    own = settings(quick, n_threads, weighting=weighting, rivals=weighting == "damped")
    evaluation = evaluate(texts, tasks, own, work)
    found: dict[str, Any] = {"path": evaluation.path.frame().to_dict("records")}
    for name, standing in zip(variants, evaluation.standings, strict=True):
        # looked at closely once: the others are variations
        closely = name == "average of three, cosine"
        close = told(evaluation, find(evaluation, standing)) if closely else _variant(standing)
        found[f"{name}, {weighting}"] = close
    return found


def _variant(standing: Standing) -> dict[str, Any]:
    """Scores of the best candidates alone."""
    others = [(name, standing.best[name]) for name in ("unigrams", "all_kgrams") if name in standing.best]
    methods = {
        name: standing.task.score(one.outcome)
        | dict(one.candidate.label)
        | {"dev": one.outcome.dev, "features": one.features}
        | {f"against_{other}": compare(standing.task, one.outcome, against.outcome) for other, against in others}
        for name, one in standing.best.items()
    }
    return {
        "how": standing.task.how,
        "learner": standing.task.learner,
        "baseline": standing.task.baseline(),
        "recommended": standing.recommended.candidate.method if standing.recommended else None,
        "methods": methods,
        "curve": [_slim(row) for row in standing.rows],
    }


def ratings(
    data: str | None, work: Path, *, quick: bool, n_threads: int | None, weighting: str = "damped"
) -> dict[str, Any]:
    """Five scores and ABV from reviews of ten or more words, by one split of the paper's shares; of the paper's
    weighting, which makes fits slower, two of them."""
    texts, metadata = read("ratebeer", data, quick)
    short = np.array([len(text.split()) < 10 for text in texts])
    columns = {name: 5.0 * metadata[name].astype(float) / most for name, most in SCORES.items()}
    frame = pd.DataFrame(columns | {"abv": metadata["abv"].astype(float)})
    frame.loc[short] = np.nan
    plain: dict[str, Any] = {}
    if weighting == "idf":
        frame = frame[["overall", "abv"]]
        plain = {"rivals": False, "countings": ("pointers", "occurrences")}
    targets = [read_target(frame, name, "number") for name in frame]
    plan = make_plan(frame, targets, test=TEST, dev=DEV)
    tasks = [DocumentTask(target, plan) for target in targets]
    evaluation = evaluate(texts, tasks, settings(quick, n_threads, **({"weighting": weighting} | plain)), work)
    found: dict[str, Any] = {"saved_seconds": evaluation.saved_seconds()}
    for standing in evaluation.standings:
        close = told(evaluation, find(evaluation, standing)) if weighting == "damped" else _variant(standing)
        found[f"{standing.task.target.column}, {weighting}"] = close
    return found


def newsgroups(data: str | None, work: Path, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """20 Newsgroups by its own split."""
    return _classes("20news_bydate", data, work, quick, n_threads)


def polarity(data: str | None, work: Path, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """Movie reviews, in five folds."""
    return _classes("movie_polarity_v2", data, work, quick, n_threads, folds=5)


def _classes(
    name: str, data: str | None, work: Path, quick: bool, n_threads: int | None, **plan: Any
) -> dict[str, Any]:
    texts, metadata = read(name, data, quick)
    target = read_target(metadata, "label", "class")
    task = DocumentTask(target, make_plan(metadata, [target], **plan), n_threads=n_threads)
    evaluation = evaluate(texts, [task], settings(quick, n_threads), work)
    return {"label, damped": told(evaluation, find(evaluation, evaluation.standings[0]))}
