"""Models, sentences and predictions of a comparison as files; CSV cells that a spreadsheet would run are defused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine.linear.export import (
    about_comparison,
    comparison_report,
    predictions_frame,
    proof_of_grams,
    row_names,
    weights_frame,
    write_comparison,
)
from cflengine.linear.search import BestModel, comparison_frame
from cflengine.sentence_lasso.comparison import SentenceComparison
from cflengine.sentence_lasso.estimator import estimator_of


def sentence_weights(comparison: SentenceComparison, models: Sequence[BestModel]) -> pd.DataFrame:
    """Every weight that is not 0.

    Parameters
    ----------
    comparison : SentenceComparison
        Its classes and features.
    models : sequence of BestModel
        One a penalty.

    Returns
    -------
    pandas.DataFrame
        Columns model, class, feature, weight, occurrences; by model, class and size of weight.
    """
    frames = []
    for best in models:
        frame = weights_frame(comparison, best.model.coef, zeros=False, occurrences=comparison.occurrences)
        frame.insert(0, "model", best.penalty.kind)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def sentences_frame(comparison: SentenceComparison, models: Sequence[BestModel], texts: Sequence[str]) -> pd.DataFrame:
    """Every sentence: where it stands, whether it was selected, and what it adds to each model's answer.

    Parameters
    ----------
    comparison : SentenceComparison
        Its sentences.
    models : sequence of BestModel
        group_norm and selected are those of the first; of ADMM, for training sentences, those of its copies v.
    texts : sequence of str
        All documents of the corpus.

    Returns
    -------
    pandas.DataFrame
        Columns document, split, sentence, start, end, label, selected, group_norm, log_odds_MODEL ..., text.
    """
    frame = comparison.relevance({best.penalty.kind: best.model for best in models})
    position = np.searchsorted(comparison.documents, frame["document"])
    frame.insert(1, "split", comparison.part_names[position])
    first = models[0]
    if first.penalty.kind == "sentence" and first.results[0].copies is not None:
        own = np.array([result.sentence_norms(comparison.data.groups) for result in first.results])
        where = np.flatnonzero(frame["split"] == "train")
        row = 0 if len(own) == 1 else comparison.y[position[where]]
        frame.loc[where, "group_norm"] = own[row, np.arange(own.shape[1])]
    frame.insert(frame.columns.get_loc("group_norm"), "selected", frame["group_norm"] > 0)
    pieces = zip(frame["document"].tolist(), frame["start"].tolist(), frame["end"].tolist(), strict=True)
    return frame.assign(text=[texts[d][a:b] for d, a, b in pieces])


def grid_frame(models: Sequence[BestModel]) -> pd.DataFrame:
    """A row a point of every grid."""
    return pd.concat([best.search.frame() for best in models], ignore_index=True)


def sentence_report(
    comparison: SentenceComparison, models: Sequence[BestModel], corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says.

    Parameters
    ----------
    comparison : SentenceComparison
        What models were fitted and judged on.
    models : sequence of BestModel
        One a penalty.
    corpus : Corpus
        What was read.
    command : dict
        The command's arguments.
    seconds : float
        Of the whole run.

    Returns
    -------
    dict
        Plain values.
    """
    rows = []
    for best in models:
        model = best.model
        bias = dict(zip(row_names(comparison, len(model.coef)), model.intercept.tolist(), strict=True))
        results = [result.to_dict() for result in best.results]
        rows.append(best.row() | {"intercepts": bias, "results": results})
    sizes = {"n_sentences": comparison.data.counts.shape[0]}
    return {"models": rows} | sizes | comparison_report(comparison, corpus, command, seconds)


def proof_arrays(comparison: SentenceComparison, models: Sequence[BestModel]) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs: weights and dual points by model and row; where features are K-grams also what
    proves the gap of their dictionary."""
    arrays: dict[str, np.ndarray] = {}
    for i, best in enumerate(models):
        for r, result in enumerate(best.results):
            for name in ("w", "alpha", "multipliers"):
                arrays[f"{name}_{i}_{r}"] = getattr(result, name)
            arrays[f"bias_{i}_{r}"] = np.array(result.bias)
    return arrays | proof_of_grams(getattr(comparison.features, "model", None))


def write_sentences(
    folder: Path, comparison: SentenceComparison, models: Sequence[BestModel], corpus: Any, report: dict[str, Any]
) -> None:
    """Everything that ``cflengine sentences`` leaves in its output folder (see its help).

    Parameters
    ----------
    folder : Path
        Where to; it is there.
    comparison : SentenceComparison
        What models were fitted and judged on.
    models : sequence of BestModel
        One a penalty.
    corpus : Corpus
        What was read.
    report : dict
        As :func:`sentence_report` gives it.
    """
    first = models[0].model
    for best in models:
        own = estimator_of(
            best.penalty, comparison.classes, best.results, comparison.data, comparison.features, comparison.language,
            comparison.groups,
        )  # fmt: skip
        own.save(folder / f"{best.penalty.kind}.cflm", about=about_comparison(comparison, corpus))
    tables = {
        "models": comparison_frame(models),
        "grid": grid_frame(models),
        "weights": sentence_weights(comparison, models),
        "sentences": sentences_frame(comparison, models, corpus.texts),
        "documents": predictions_frame(
            comparison, corpus.rows, first.predict(comparison.X), first.probabilities(comparison.X)
        ),
    }
    write_comparison(folder, tables, proof_arrays(comparison, models), report)
