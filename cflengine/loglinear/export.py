"""What ``cflengine train-logistic`` leaves in its output folder (see its help)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.files import sparse_arrays
from cflengine.linear.export import (
    predictions_frame,
    row_names,
    save_study_model,
    stacked_traces,
    study_report,
    weights_frame,
    write_study,
)
from cflengine.linear.study import Study
from cflengine.loglinear.logistic import LogisticClassifier
from cflengine.text.token_table import WORD_PATTERN


def logistic_weights(study: Study, model: LogisticClassifier) -> pd.DataFrame:
    """A row a weight: class, feature, weight; of solver "clustered" with the cluster it was last in."""
    n = len(study.names)
    if len(model.results_) != len(model.coef_) or not any(result.clusters for result in model.results_):
        return weights_frame(study, model.coef_)
    none = np.full(n, np.nan)
    clusters = [result.clusters[-1][1].cluster_of[:n] if result.clusters else none for result in model.results_]
    return weights_frame(study, model.coef_, cluster=clusters)


def _predicted(study: Study, model: LogisticClassifier) -> np.ndarray:
    """int64 (n,): the class that the model gives each document."""
    return np.searchsorted(study.classes.astype(str), model.predict(study.X).astype(str))


def logistic_report(
    study: Study, model: LogisticClassifier, corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says."""
    names = row_names(study, len(model.coef_)) if len(model.results_) == len(model.coef_) else ("",)
    predicted = _predicted(study, model)
    shares = {part: study.accuracy(predicted, getattr(study, part)) for part in ("train", "test")}
    return {
        "fits": [{"class": name} | result.to_dict() for name, result in zip(names, model.results_, strict=True)],
        "intercepts": model.intercept_.tolist(),
        "accuracy": {part: None if np.isnan(share) else share for part, share in shares.items()},
    } | study_report(study, corpus, command, seconds, WORD_PATTERN)


def write_logistic(folder: Path, study: Study, model: LogisticClassifier, corpus: Any, report: dict[str, Any]) -> None:
    """Everything, into a folder that is there."""
    save_study_model(folder / "model.cflm", study, model, corpus)
    tables = {
        "weights": logistic_weights(study, model),
        "documents": predictions_frame(study, corpus.rows, _predicted(study, model), model.predict_proba(study.X)),
        "trace": stacked_traces(model.results_),
    }
    write_study(folder, tables, proof_arrays(study, model), report)


def proof_arrays(study: Study, model: LogisticClassifier) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs: the training data, and by fit the dual points that prove its bound."""
    arrays = sparse_arrays("X", study.X[study.train])
    for k, result in enumerate(model.results_):
        for name in ("alpha", "proof_w"):
            if getattr(result, name) is not None:
                arrays[f"{name}_{k}"] = getattr(result, name)
    return arrays
