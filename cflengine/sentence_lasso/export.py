"""Models, sentences and predictions of a study as files; CSV cells that a spreadsheet would run are defused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.files import frame_csv, sparse_arrays, write_arrays, write_report
from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso.comparison import Contender, comparison_frame
from cflengine.sentence_lasso.sentences import WordFeatures
from cflengine.sentence_lasso.study import Study

PARTS = ("train", "dev", "test")


def weights_frame(study: Study, contenders: Sequence[Contender]) -> pd.DataFrame:
    """A row a weight that is not 0: model, class, feature, weight, occurrences; by model, class and size of weight."""
    frames = []
    for contender in contenders:
        model = contender.model
        for row in range(len(model.coef)):
            largest = study.largest_features(model, row, most=model.coef.shape[1])
            name = study.labels.classes[1 if len(model.coef) == 1 else row]
            frames.append(largest.assign(model=contender.penalty.kind, **{"class": name}))
    return pd.concat(frames)[["model", "class", "feature", "weight", "occurrences"]]


def sentences_frame(study: Study, contenders: Sequence[Contender], texts: Sequence[str]) -> pd.DataFrame:
    """A row a sentence: document, split, sentence, start, end, label, selected, strength, log_odds_MODEL ..., text.

    strength and selected are those of the first model; of ADMM, for training sentences, those of its copies v.
    """
    frame = study.relevance({contender.penalty.kind: contender.model for contender in contenders})
    position = np.searchsorted(study.documents, frame["document"])
    frame.insert(1, "split", _part_names(study)[position])
    first = contenders[0]
    if first.penalty.kind == "sentence" and first.results[0].copies is not None:
        own = np.array([result.sentence_strength(study.data.groups) for result in first.results])
        where = np.flatnonzero(frame["split"] == "train")
        row = 0 if len(own) == 1 else study.y[position[where]]
        frame.loc[where, "strength"] = own[row, np.arange(own.shape[1])]
    frame.insert(frame.columns.get_loc("strength"), "selected", frame["strength"] > 0)
    pieces = zip(frame["document"].tolist(), frame["start"].tolist(), frame["end"].tolist(), strict=True)
    return frame.assign(text=[texts[d][a:b] for d, a, b in pieces])


def predictions_frame(study: Study, contender: Contender, rows: np.ndarray) -> pd.DataFrame:
    """A row a document: document, its row in the source, split, label, predicted class and its probability."""
    model = contender.model
    chances, predicted = model.chances(study.X), model.predict(study.X)
    classes = np.array(study.labels.classes, dtype=object)
    return pd.DataFrame(
        {
            "document": study.documents,
            "row": rows[study.documents],
            "split": _part_names(study),
            "label": classes[study.y],
            "predicted": classes[predicted],
            "probability": chances[np.arange(len(predicted)), predicted],
        }
    )


def _part_names(study: Study) -> np.ndarray:
    """object (n,): "train", "dev" or "test" for each document of the study."""
    names = np.empty(len(study.documents), dtype=object)
    for name in PARTS:
        names[getattr(study, name)] = name
    return names


def grid_frame(contenders: Sequence[Contender]) -> pd.DataFrame:
    """A row a point of every grid."""
    return pd.concat([contender.search.frame() for contender in contenders], ignore_index=True)


def intercepts(study: Study, model: LinearModel) -> dict[str, float]:
    """The bias by class (of two classes: of the second)."""
    names = study.labels.classes[1:] if len(model.coef) == 1 else study.labels.classes
    return dict(zip(names, model.intercept.tolist(), strict=True))


def proof_arrays(study: Study, contenders: Sequence[Contender]) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs: weights and dual points by model and row; and of K-grams, whose dictionary is
    not written, the training data."""
    arrays: dict[str, np.ndarray] = {}
    for i, contender in enumerate(contenders):
        for r, result in enumerate(contender.results):
            for name in ("w", "alpha", "multipliers"):
                arrays[f"{name}_{i}_{r}"] = getattr(result, name)
            arrays[f"bias_{i}_{r}"] = np.array(result.bias)
    if not isinstance(study.features, WordFeatures):
        arrays |= sparse_arrays("X", study.data.X) | sparse_arrays("counts", study.data.counts)
    return arrays


def write_study(
    folder: str | Path, study: Study, contenders: Sequence[Contender], texts: Sequence[str], rows: np.ndarray,
    report: dict[str, Any],
) -> None:  # fmt: skip
    """Everything that ``cflengine sentences`` leaves in its output folder (see its help)."""
    folder = Path(folder)
    tables = {
        "models": comparison_frame(contenders),
        "grid": grid_frame(contenders),
        "weights": weights_frame(study, contenders),
        "sentences": sentences_frame(study, contenders, texts),
        "documents": predictions_frame(study, contenders[0], rows),
    }
    for name, frame in tables.items():
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    write_arrays(folder / "proof.npz", proof_arrays(study, contenders))
    write_report(folder, report)
