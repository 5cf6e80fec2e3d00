"""What ``cflengine erm`` leaves in its output folder (see its help)."""

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
from cflengine.plq.study import RiskStudy
from cflengine.text.token_table import WORD_PATTERN


def coefficients_frame(risk: RiskStudy, model: Any, *, zeros: bool = True) -> pd.DataFrame:
    """A row a coefficient: class (of classes), feature, weight; by class and size."""
    frame = weights_frame(risk.study, np.atleast_2d(model.coef_), zeros=zeros)
    return frame if risk.values is None else frame.drop(columns="class")


def documents_frame(risk: RiskStudy, model: Any, rows: np.ndarray) -> pd.DataFrame:
    """A row a document: split, its target, what the model predicts, and the score of that class or the residual."""
    study, predicted = risk.study, model.predict(risk.study.X)
    if risk.values is None:
        scores = model.decision_function(study.X)
        of_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        number = np.searchsorted(study.classes.astype(str), predicted.astype(str))
        return predictions_frame(study, rows, number, of_class).rename(columns={"probability": "score"})
    return pd.DataFrame(
        {
            "document": study.documents,
            "row": rows[study.documents],
            "split": study.part_names,
            "value": risk.values,
            "predicted": predicted,
            "residual": predicted - risk.values,
        }
    )


def risk_report(
    risk: RiskStudy, model: Any, path: pd.DataFrame | None, corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says. path: what its models are worth, where there was one."""
    study = risk.study
    names = row_names(study, len(np.atleast_2d(model.coef_))) if risk.values is None else ("",)
    report = {
        "fits": [{"class": name} | result.to_dict() for name, result in zip(names, model.results_, strict=True)],
        "intercepts": np.atleast_1d(model.intercept_).tolist(),
        "C": float(model.C),
        "accuracy" if risk.values is None else "mean_loss": risk.judge(model),
        "unread_numbers": risk.n_unread,
        "path": None if path is None else path.to_dict("records"),
    }
    return report | study_report(study, corpus, command, seconds, WORD_PATTERN)


def write_risk(
    folder: Path, risk: RiskStudy, model: Any, path: pd.DataFrame | None, corpus: Any, report: dict[str, Any]
) -> None:
    """Everything, into a folder that is there."""
    save_study_model(folder / "model.cflm", risk.study, model, corpus)
    tables = {
        "weights": coefficients_frame(risk, model),
        "documents": documents_frame(risk, model, corpus.rows),
        "trace": stacked_traces(model.results_),
    }
    if path is not None:
        tables["path"] = path
    arrays = sparse_arrays("X", risk.study.X[risk.study.train])
    for k, result in enumerate(model.results_):
        arrays |= {f"{name}_{k}": getattr(result, name) for name in ("lam", "gam", "xi")}
    write_study(folder, tables, arrays, report)
