"""What an evaluation found of one target: methods side by side, and more about the recommended one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.engine.words import many
from cflengine.experiments.authors import AuthorTask
from cflengine.experiments.dictionaries import find_dictionaries, together
from cflengine.experiments.evaluation import Evaluation, Judged, Standing
from cflengine.experiments.methods import ALL_KGRAMS, UNIGRAMS
from cflengine.experiments.statistics import FEWEST_UNITS
from cflengine.experiments.tasks import compare
from cflengine.experiments.weights import Weights

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Finding:
    """What was found about one target.

    Parameters
    ----------
    standing : Standing
        All that was tried.
    methods : dict[str, dict[str, Any]]
        By name, what report.json says of each.
    baseline : dict[str, Any]
        Of a constant guess.
    recommended : str or None
        The best compressed one's name; None without one.
    telling : DataFrame
        class, feature, weight, documents.
    predictions : DataFrame
        A row a unit.
    curve : DataFrame
        A row a share and method.
    unseen : dict[str, Any], optional
        The recommended one's score with a dictionary of training documents alone, beside its own.
    learners : list[dict[str, Any]], optional
        Other learners on the same features (authors).
    notes : tuple[str, ...], default: ()
        What a reader should know, in sentences.
    weights : Weights or None, default: None
        What the model makes of the recommended features.
    """

    standing: Standing
    methods: dict[str, dict[str, Any]]
    baseline: dict[str, Any]
    recommended: str | None
    telling: pd.DataFrame = field(repr=False)
    predictions: pd.DataFrame = field(repr=False)
    curve: pd.DataFrame = field(repr=False)
    unseen: dict[str, Any] = field(default_factory=dict)
    learners: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    weights: Weights | None = field(repr=False, default=None)

    @property
    def task(self) -> Any:
        return self.standing.task

    def no_better_than_guessing(self) -> list[str]:
        """The methods of which these documents cannot tell: the 95 % interval of their gain holds 0, is below, or is
        not there, of too few documents or groups."""
        gains = ((name, entry["gain_over_guessing_interval"]) for name, entry in self.methods.items())
        return [name for name, (low, _) in gains if not low > 0]

    def table(self) -> pd.DataFrame:
        """A row a method, the best on the development documents first, then the baseline."""
        rows = [{"method": name} | entry for name, entry in self.methods.items()]
        frame = pd.DataFrame(rows)
        if len(frame):
            frame = frame.sort_values("dev", ascending=not self.task.larger_is_better, kind="stable", ignore_index=True)
        base = pd.DataFrame([{"method": "baseline"} | self.baseline])
        return pd.concat([frame, base], ignore_index=True)


def find(evaluation: Evaluation, standing: Standing) -> Finding:
    """Scores with intervals, tests against unigrams, and the recommended method looked at closely; what there is no
    time for is left out, and said.

    Parameters
    ----------
    evaluation : Evaluation
        The comparison.
    standing : Standing
        How far it came with a target.

    Returns
    -------
    Finding
        What is known of the target.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end early; gaps are told
        return _find(evaluation, standing)


def _find(evaluation: Evaluation, standing: Standing) -> Finding:
    task, notes = standing.task, []
    words = standing.best.get(UNIGRAMS)
    methods = {name: _entry(evaluation, standing, judged, words) for name, judged in standing.best.items()}
    best = standing.recommended
    nothing = pd.DataFrame(columns=["class", "feature", "weight", "documents"])
    telling, curve, unseen, learners, weights = nothing, pd.DataFrame(), {}, [], None
    if best is not None and evaluation.budget.poll():
        evaluation.on_stage(f"Looking closer at {task.target.column}")
        chosen = standing.winner[best.candidate.method].outcome.chosen
        weights = task.weights(evaluation.weighted(best.candidate.make()), chosen)
        telling = weights.telling()
        telling.insert(1, "feature", best.candidate.names(telling.pop("column").to_numpy()))
        unseen = _unseen(evaluation, standing, best)
        if not unseen:
            notes.append("stopped before a dictionary of the training documents alone was judged")
        judged = [one for one in (words, best) if one]
        curve = _curve(evaluation, standing, judged)
        if len(curve) < len(SHARES) * len(judged):
            notes.append("stopped before the learning curve was whole")
        if isinstance(task, AuthorTask):
            learners = _learners(evaluation, [one for one in (words, best) if one], task)
        if not task.linear:
            notes.append("no model is kept: so many classes are told apart by their centroids")
    elif best is not None:
        notes.append("stopped before the recommended features were looked at closely")
    drawn = task.resampling
    if methods and drawn.n_drawn < FEWEST_UNITS:
        unit = "author" if isinstance(task, AuthorTask) else "document" if drawn.groups is None else "group"
        notes.append(f"judged on {many(drawn.n_drawn, unit)}, too few for 95 % intervals")
    predictions = _predictions(task, words, best)
    return Finding(
        standing, methods, task.baseline(), best.candidate.method if best else None, telling, predictions, curve,
        unseen, learners, tuple(notes), weights,
    )  # fmt: skip


def _entry(evaluation: Evaluation, standing: Standing, judged: Judged, words: Judged | None) -> dict[str, Any]:
    """What a report says of a method."""
    task, name, features = standing.task, judged.candidate.method, evaluation.features
    assert features is not None
    entry: dict[str, Any] = task.score(judged.outcome) | task.over_guessing(judged.outcome)
    dev = judged.outcome.dev if task.larger_is_better else -judged.outcome.dev
    entry |= {"dev": dev, "features": judged.features} | dict(judged.candidate.label)
    if len(judged.outcome.devs) > 1:
        entry["by_split"] = [dict(one.candidate.label) for one in standing.by_split[name]]
    entry |= {"chosen": [vars(one) if hasattr(one, "__dict__") else one for one in judged.outcome.chosen if one]}
    seconds = standing.features_s.get(name, features.seconds.get(name, 0.0))
    entry |= {"feature_seconds": seconds, "learning_seconds": standing.learning_s[name], "gap": judged.outcome.gap}
    if name.startswith("compressed:"):
        entry |= {"dictionary_seconds": evaluation.path.seconds, "dictionary_gap": judged.candidate.gap}
    if words is not None and judged is not words:
        entry["against_unigrams"] = compare(task, judged.outcome, words.outcome)
    every = standing.best.get(ALL_KGRAMS)
    if every is not None and name.startswith("compressed:"):
        entry["against_all_kgrams"] = compare(task, judged.outcome, every.outcome)
    return entry


def _unseen(evaluation: Evaluation, standing: Standing, best: Judged) -> dict[str, Any]:
    """The same λ and counting, of each split its own, with K-grams, and idf, of the documents that are not held out."""
    features, own, made, gaps, task = evaluation.features, evaluation.settings, [], [], standing.task
    assert features is not None
    began, cut = time.perf_counter(), own.tokenizer
    for judge, held in zip(standing.by_split[best.candidate.method], task.held_out, strict=True):
        label, counter = judge.candidate.label, judge.candidate.features
        assert counter is not None
        lams = [label["lam"]] if "lam" in label else list(own.lams)
        counted = {name: getattr(counter, name) for name in ("counting", "temperature")}
        known = np.setdiff1d(np.arange(features.table.n_documents), held)
        table = cut([evaluation.texts[d] for d in known.tolist()])
        path = find_dictionaries(
            evaluation.model, table, lams, listeners=(evaluation.budget,), folder=evaluation.folder
        )  # fmt: skip
        if path.stopped or not evaluation.budget.poll():
            return {}
        models = [one.model for one in path.dictionaries]
        model = (models[0] if len(lams) == 1 else together(models)).set_params(**counted)
        made.append(evaluation.weighted(model.features(features.table, weighting="count"), unseen=held))
        gaps.append(max(one.gap for one in path.dictionaries))
    outcome = task.judge(lambda split: made[split])
    if not evaluation.budget.poll():
        return {}
    found = task.score(outcome) | {"features": made[0].shape[1], "dictionary_gap": max(gaps)}
    against = compare(task, outcome, best.outcome)
    return found | {"against_all_texts": against, "seconds": time.perf_counter() - began}


def _curve(evaluation: Evaluation, standing: Standing, judged: Sequence[Judged]) -> pd.DataFrame:
    """What a share of the training documents is worth, at the candidates and the regularisation parameters that all of
    them chose."""
    rows, task = [], standing.task
    for one in judged:
        X = standing.matrices(one.candidate.method, lambda candidate: evaluation.weighted(candidate.make()))
        for share in SHARES:
            if share < 1.0 and not evaluation.budget.poll():
                continue
            outcome = one.outcome if share == 1.0 else task.judge(X, share=share, chosen=one.outcome.chosen)
            if share < 1.0 and not evaluation.budget.poll():
                continue  # what was cut off says nothing
            value = float(np.mean(task.worth(outcome)))
            rows.append({"method": one.candidate.method, "share": share, task.measure: value})
    return pd.DataFrame(rows)


def _learners(evaluation: Evaluation, judged: Sequence[Judged], task: AuthorTask) -> list[dict[str, Any]]:
    """The nearest centroid by the Euclidean distance, as the paper's words have it, shrunken centroids of all authors,
    and a linear SVM of some of them on single documents; a sentence where one of them cannot be."""
    rows: list[dict[str, Any]] = []
    for one in judged:
        X, row = evaluation.weighted(one.candidate.make()), dict[str, Any](method=one.candidate.method)
        for name, learn in (
            ("nearest_centroid_euclidean", lambda X: task.score(task.judge(X, distance="euclidean"))["accuracy"]),
            ("shrunken_centroids", lambda X: task.score(task.judge_shrunken(X))["accuracy"]),
            ("linear_svm_single_documents", lambda X: task.judge_svm(X, evaluation.settings.n_threads)),
        ):
            if not evaluation.budget.poll():
                return rows
            try:
                row[name] = learn(X)
            except (InputError, MemoryError) as error:
                row[name] = str(error)
        rows.append(row)
    return rows


def _predictions(task: Any, words: Judged | None, best: Judged | None) -> pd.DataFrame:
    """A row a unit: document, truth, what unigrams and the recommended features predict, and how wrong that is."""
    frame = task.units().assign(truth=_named(task, task.truth))
    for name, one in (("unigrams", words), ("compressed", best)):
        if one is not None:
            frame[name] = _named(task, one.outcome.predicted)
    wrong = best.outcome.wrong if best is not None else None
    return frame if wrong is None else frame.assign(wrong=wrong)


def _named(task: Any, values: np.ndarray) -> np.ndarray:
    """Classes by their names; numbers as they are."""
    if task.target.values is not None:
        return values
    return np.array(task.target.labels.classes, dtype=object)[values]


def final_model(evaluation: Evaluation, finding: Finding) -> Any:
    """A pipeline from a text to the target, learnt from every document that has one, by the recommended features.

    Parameters
    ----------
    evaluation : Evaluation
        The comparison.
    finding : Finding
        What it found of the target.

    Returns
    -------
    sklearn.pipeline.Pipeline or None
        None of centroids.
    """
    from sklearn.pipeline import Pipeline

    best, task = finding.standing.recommended, finding.task
    if best is None or not task.linear:
        return None
    assert evaluation.features is not None and best.candidate.features is not None
    table, features = evaluation.features.table, copy(best.candidate.features)
    chosen = finding.standing.winner[best.candidate.method].outcome.chosen
    features.take_idf(features.features(table, weighting="count"))
    features.set_params(weighting=evaluation.settings.weighting)
    model = task.final(features.features(table), chosen)
    return Pipeline([("features", features), ("model", model)])
