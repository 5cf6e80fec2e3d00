"""What ``cflengine train-logistic`` leaves in its output folder (see its help)."""

from __future__ import annotations

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
from cflengine.linear.model_comparison import ModelComparison
from cflengine.loglinear.logistic import LogisticClassifier


def logistic_weights(comparison: ModelComparison, model: LogisticClassifier) -> pd.DataFrame:
    """A row a weight: class, feature, weight; of solver "clustered" with the cluster it was last in."""
    n = len(comparison.names)
    if len(model.results_) != len(model.coef_) or not any(result.clusters for result in model.results_):
        return weights_frame(comparison, model.coef_)
    none = np.full(n, np.nan)
    clusters = [result.clusters[-1][1].cluster_of[:n] if result.clusters else none for result in model.results_]
    return weights_frame(comparison, model.coef_, cluster=clusters)


def _predicted(comparison: ModelComparison, model: LogisticClassifier) -> np.ndarray:
    """int64 (n,): the class that the model gives each document."""
    return comparison.numbers_of(model.predict(comparison.X))


def logistic_report(
    comparison: ModelComparison, model: LogisticClassifier, corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says.

    Parameters
    ----------
    comparison : ModelComparison
        What the model was fitted and judged on.
    model : LogisticClassifier
        Fitted.
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
    names = row_names(comparison, len(model.coef_)) if len(model.results_) == len(model.coef_) else ("",)
    predicted = _predicted(comparison, model)
    shares = {part: comparison.accuracy(predicted, getattr(comparison, part)) for part in ("train", "test")}
    return {
        "fits": [{"class": name} | result.to_dict() for name, result in zip(names, model.results_, strict=True)],
        "intercepts": model.intercept_.tolist(),
        "accuracy": {part: None if np.isnan(share) else share for part, share in shares.items()},
    } | comparison_report(comparison, corpus, command, seconds)


def write_logistic(
    folder: Path, comparison: ModelComparison, model: LogisticClassifier, corpus: Any, report: dict[str, Any]
) -> None:
    """Everything that ``cflengine train-logistic`` leaves in its output folder (see its help).

    Parameters
    ----------
    folder : Path
        Where to; it is there.
    comparison : ModelComparison
        What the model was fitted and judged on.
    model : LogisticClassifier
        Fitted.
    corpus : Corpus
        What was read.
    report : dict
        As :func:`logistic_report` gives it.
    """
    save_comparison_model(folder / "model.cflm", comparison, model, corpus)
    tables = {
        "weights": logistic_weights(comparison, model),
        "documents": predictions_frame(
            comparison, corpus.rows, _predicted(comparison, model), model.predict_proba(comparison.X)
        ),
        "trace": stacked_traces(model.results_),
    }
    write_comparison(folder, tables, proof_arrays(comparison, model), report)


def proof_arrays(comparison: ModelComparison, model: LogisticClassifier) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs: the training data, and by fit the dual points that prove its bound."""
    arrays = training_proof(comparison)
    for k, result in enumerate(model.results_):
        for name in ("alpha", "proof_w"):
            if getattr(result, name) is not None:
                arrays[f"{name}_{k}"] = getattr(result, name)
    return arrays
