"""What ``cflengine erm`` leaves in its output folder (see its help)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine.linear.export import (
    comparison_report,
    predictions_frame,
    row_names,
    save_comparison_model,
    stacked_traces,
    training_proof,
    weights_frame,
    write_comparison,
)
from cflengine.plq.risk_comparison import RiskComparison


def coefficients_frame(risk: RiskComparison, model: Any, *, zeros: bool = True) -> pd.DataFrame:
    """The coefficients of a model.

    Parameters
    ----------
    risk : RiskComparison
        What it was fitted to.
    model : PLQClassifier or PLQRegressor
        The model.
    zeros : bool, default: True
        Whether those of 0 have a row.

    Returns
    -------
    pandas.DataFrame
        A row a coefficient: class (of classes), feature, weight; by class and size.
    """
    frame = weights_frame(risk.comparison, np.atleast_2d(model.coef_), zeros=zeros)
    return frame if risk.values is None else frame.drop(columns="class")


def documents_frame(risk: RiskComparison, model: Any, rows: np.ndarray) -> pd.DataFrame:
    """What a model says of the documents that have a target.

    Parameters
    ----------
    risk : RiskComparison
        What it was fitted to.
    model : PLQClassifier or PLQRegressor
        The model.
    rows : numpy.ndarray
        int64, the record number of each document of the corpus.

    Returns
    -------
    pandas.DataFrame
        A row a document: split, its target, what is predicted, and the score of that class, or the residual.
    """
    comparison, predicted = risk.comparison, model.predict(risk.comparison.X)
    if risk.values is None:
        scores = model.decision_function(comparison.X)
        of_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        number = comparison.numbers_of(predicted)
        return predictions_frame(comparison, rows, number, of_class).rename(columns={"probability": "score"})
    return pd.DataFrame(
        {
            "document": comparison.documents,
            "row": rows[comparison.documents],
            "split": comparison.part_names,
            "value": risk.values,
            "predicted": predicted,
            "residual": predicted - risk.values,
        }
    )


def risk_report(
    risk: RiskComparison, model: Any, path: pd.DataFrame | None, corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says.

    Parameters
    ----------
    risk : RiskComparison
        What was fitted to.
    model : PLQClassifier or PLQRegressor
        The model that is kept.
    path : pandas.DataFrame or None
        What the models of a path over C are worth, where there was one.
    corpus : Corpus
        The corpus.
    command : dict[str, Any]
        What was asked for.
    seconds : float
        Since the command began.

    Returns
    -------
    dict[str, Any]
        As JSON has it.
    """
    comparison = risk.comparison
    names = row_names(comparison, len(np.atleast_2d(model.coef_))) if risk.values is None else ("",)
    report = {
        "fits": [{"class": name} | result.to_dict() for name, result in zip(names, model.results_, strict=True)],
        "intercepts": np.atleast_1d(model.intercept_).tolist(),
        "C": float(model.C),
        "accuracy" if risk.values is None else "mean_loss": risk.judge(model),
        "loss_constant": float(model.loss_.parts.constant),
        "unread_numbers": risk.n_unread,
        "path": None if path is None else path.to_dict("records"),
    }
    return report | comparison_report(comparison, corpus, command, seconds)


def write_risk(
    folder: Path, risk: RiskComparison, models: Sequence[Any], model: Any, path: pd.DataFrame | None, corpus: Any,
    report: dict[str, Any],
) -> None:  # fmt: skip
    """Write everything.

    Parameters
    ----------
    folder : Path
        One that is there.
    risk : RiskComparison
        What was fitted to.
    models : Sequence[PLQClassifier or PLQRegressor]
        Those of the path over C, or the one there is.
    model : PLQClassifier or PLQRegressor
        The one that is kept.
    path : pandas.DataFrame or None
        What the models of the path are worth.
    corpus : Corpus
        The corpus.
    report : dict[str, Any]
        What :func:`risk_report` says; report.json is written last.
    """
    save_comparison_model(folder / "model.cflm", risk.comparison, model, corpus)
    tables = {
        "weights": coefficients_frame(risk, model),
        "documents": documents_frame(risk, model, corpus.rows),
        "trace": stacked_traces(model.results_),
    }
    if path is not None:
        tables["path"] = path
    arrays = training_proof(risk.comparison) | _dual_points(model, "")
    for j, one in enumerate(models if path is not None else ()):
        weights = {"coef": np.atleast_2d(one.coef_), "intercept": np.atleast_1d(one.intercept_)}
        arrays |= {f"path_{j}_{name}": values for name, values in weights.items()} | _dual_points(one, f"path_{j}_")
    write_comparison(folder, tables, arrays, report)


def _dual_points(model: Any, before: str) -> dict[str, np.ndarray]:
    """What proves the bound of every row of a model."""
    return {
        f"{before}{name}_{k}": getattr(result, name)
        for k, result in enumerate(model.results_)
        for name in ("lam", "gam", "xi")
    }
