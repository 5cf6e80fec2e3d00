"""A comparison and its models as files; CSV cells that a spreadsheet would run are defused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from cflengine.engine.files import frame_csv, sparse_arrays, write_arrays, write_report
from cflengine.engine.memory import peak_bytes
from cflengine.engine.results import Result, versions
from cflengine.linear.labels import row_classes
from cflengine.linear.model_comparison import PARTS, ModelComparison
from cflengine.linear.persistence import save_model
from cflengine.linear.saving import nested
from cflengine.text.token_table import DEFAULT_TOKEN_PATTERN, WORD_PATTERN


def row_names(comparison: ModelComparison, n_rows: int) -> tuple[str, ...]:
    """The class that each row of coefficients is for (:func:`~cflengine.linear.labels.row_classes`).

    Parameters
    ----------
    comparison : ModelComparison
        Its classes.
    n_rows : int
        Rows of coefficients.

    Returns
    -------
    tuple of str
        A name for each row.
    """
    return row_classes(comparison.labels.classes, n_rows)


def largest_weights(names: np.ndarray, weight: np.ndarray, most: int, **columns: np.ndarray) -> pd.DataFrame:
    """The features of largest weight, not those of none.

    Parameters
    ----------
    names : object ndarray (d,)
        Of the features.
    weight : float64 ndarray (d,)
        One of each feature.
    most : int
        Rows at most.
    **columns : ndarray (d,)
        Further columns of the table.

    Returns
    -------
    pandas.DataFrame
        Columns feature, weight, and ``columns``.
    """
    return _by_size(names, weight, columns, zeros=False).head(most)


def _by_size(names: np.ndarray, weight: np.ndarray, columns: Mapping[str, np.ndarray], *, zeros: bool) -> pd.DataFrame:
    kept = np.arange(len(weight)) if zeros else np.flatnonzero(weight)
    frame = pd.DataFrame(
        {name: values[kept] for name, values in {"feature": names, "weight": weight, **columns}.items()}
    )
    return frame.sort_values("weight", key=np.abs, ascending=False, kind="stable", ignore_index=True)


def weights_frame(comparison: ModelComparison, coef: np.ndarray, *, zeros: bool = True, **columns: Any) -> pd.DataFrame:
    """A row a weight: class, feature, weight, and ``columns``, an array each or one for each class; by class and size.

    coef: float64 (rows, V). zeros: whether with those that are 0.
    """
    frames = []
    for row, name in enumerate(row_names(comparison, len(coef))):
        own = {key: value[row] if isinstance(value, list) else value for key, value in columns.items()}
        frames.append(_by_size(comparison.names, coef[row], own, zeros=zeros))
        frames[-1].insert(0, "class", name)
    return pd.concat(frames, ignore_index=True)


def predictions_frame(
    comparison: ModelComparison, rows: np.ndarray, predicted: np.ndarray, probability: np.ndarray
) -> pd.DataFrame:
    """A row a document: document, its row in the source, split, label, predicted class and its probability.

    rows: of all documents of the corpus; predicted: int64 (n,); probability: float64 (n, classes).
    """
    return pd.DataFrame(
        {
            "document": comparison.documents,
            "row": rows[comparison.documents],
            "split": comparison.part_names,
            "label": comparison.classes[comparison.y],
            "predicted": comparison.classes[predicted],
            "probability": probability[np.arange(len(predicted)), predicted],
        }
    )


def stacked_traces(results: Sequence[Result]) -> pd.DataFrame:
    """The solves' traces one under the other, with the row of coef_ each is for."""
    traces = [result.trace.rename(columns={"work": "passes"}) for result in results]
    whole = pd.concat(traces, keys=range(len(traces)), names=["fit", None]).reset_index(level="fit")
    return whole.dropna(axis="columns", how="all")


def save_comparison_model(path: Path, comparison: ModelComparison, model: Any, corpus: Any) -> None:
    """Everything from a text to the model's answer in one file (linear/persistence.py)."""
    save_model(comparison_pipeline(comparison, model), path, about=about_comparison(comparison, corpus))


def comparison_pipeline(comparison: ModelComparison, model: Any) -> Pipeline:
    """From a text to the model's answer.

    Parameters
    ----------
    comparison : ModelComparison
        Its ``reader`` makes features from texts.
    model : estimator
        Fitted on those features.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The steps of the reader, then the model.
    """
    return Pipeline([*comparison.reader.steps, ("model", model)])


def training_proof(comparison: ModelComparison) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs of the training documents.

    Parameters
    ----------
    comparison : ModelComparison
        Its matrix, and the reader that made it.

    Returns
    -------
    dict of str to numpy.ndarray
        Their features, X; where these are K-grams also what proves the gap of their dictionary.
    """
    return sparse_arrays("X", comparison.X[comparison.train]) | proof_of_grams(comparison.reader[0])


def proof_of_grams(features: Any) -> dict[str, np.ndarray]:
    """What proves the gap of the dictionary of fitted compressive features.

    Parameters
    ----------
    features : transformer
        Of K-grams, or of words.

    Returns
    -------
    dict of str to numpy.ndarray
        Arrays of ``proof.npz`` under "grams"; none of words.
    """
    result = getattr(features, "result_", None)
    return {} if result is None else nested(({}, result.proof_arrays()), "grams")[1]


def about_corpus(corpus: Any, target: str, n_documents: int | None = None) -> dict[str, Any]:
    """What a model's file says of what it was learnt from.

    Parameters
    ----------
    corpus : Corpus
        What was read.
    target : str
        The column that is predicted.
    n_documents : int, optional
        How many documents the model was learnt from.

    Returns
    -------
    dict
        Plain values, for ``save_model(about=...)``.
    """
    about = {"target": target, "learnt_from": corpus.report.source, "corpus_digest": corpus.digest}
    return about if n_documents is None else about | {"n_documents": n_documents}


def about_comparison(comparison: ModelComparison, corpus: Any) -> dict[str, Any]:
    """What a model's file says of the comparison that it was learnt in.

    Parameters
    ----------
    comparison : ModelComparison
        Its column of labels, and how many documents are for training.
    corpus : Corpus
        What was read.

    Returns
    -------
    dict
        As :func:`about_corpus` gives it.
    """
    return about_corpus(corpus, comparison.labels.column, len(comparison.train))


def comparison_report(
    comparison: ModelComparison, corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says of every comparison. command: what was asked for."""
    asked = command["arguments"]
    usual = WORD_PATTERN if asked.get("features", "words") == "words" else DEFAULT_TOKEN_PATTERN
    return {
        "classes": list(comparison.labels.classes),
        "n_documents": {part: len(getattr(comparison, part)) for part in PARTS if part != "dev" or len(comparison.dev)},
        "n_unlabelled": comparison.labels.n_unlabelled,
        "n_features": len(comparison.names),
        "seconds": seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
        "token_pattern": asked.get("token_pattern") or usual,
        "versions": versions(),
    } | command


def write_comparison(
    folder: Path, tables: Mapping[str, pd.DataFrame], proof: Mapping[str, np.ndarray], report: dict[str, Any]
) -> None:
    """Tables as NAME.csv, what ``cflengine verify`` needs as proof.npz, and, last, report.json."""
    for name, frame in tables.items():
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    write_arrays(folder / "proof.npz", proof)
    write_report(folder, report)
