"""A study of labelled texts by logistic regression: features in, model and predictions as files out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.files import frame_csv, sparse_arrays, write_arrays, write_report
from cflengine.engine.memory import peak_bytes
from cflengine.engine.results import versions
from cflengine.linear.labels import Labels, Split
from cflengine.loglinear.logistic import LogisticModel
from cflengine.text.token_table import check_pattern

WORD_PATTERN = r"\w+"


def vectorizer(
    weighting: str = "binary", *, grams: Any = None, token_pattern: str | None = None, lowercase: bool = True
) -> Any:
    """A scikit-learn transformer from texts to a matrix: of words, or, by ``grams``, an unfitted transformer to those,
    of K-grams. weighting: binary, count or tf-idf. Raises ValueError for another one."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    if weighting not in ("binary", "count", "tf-idf"):
        raise InputError(f"weighting must be binary, count or tf-idf, not {weighting!r}.")
    if grams is None:
        words = EveryMatch(token_pattern or WORD_PATTERN)
        grams = CountVectorizer(tokenizer=words, token_pattern=None, lowercase=lowercase, dtype=np.float64)
    steps = {"binary": [Binarizer()], "count": [], "tf-idf": [TfidfTransformer()]}[weighting]
    return make_pipeline(grams, *steps)


class EveryMatch:
    """Cuts a text into the matches of a pattern, as every command does; scikit-learn's own would take the first group
    of a pattern that has one."""

    def __init__(self, pattern: str) -> None:
        self.pattern = check_pattern(pattern)

    def __call__(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [match[0] for match in re.finditer(self.pattern, text) if match[0]]


@dataclass(frozen=True)
class Study:
    """Texts with labels as a matrix. X: float64 (N, d) of all documents, features learnt from the training ones."""

    labels: Labels
    split: Split
    X: sparse.csr_matrix = field(repr=False)
    names: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str], labels: Labels, split: Split, features: Any) -> Study:
        """Learn the features from the training documents. Raises ValueError where those hold none."""
        try:
            features.fit([texts[d] for d in split.train])
        except ValueError as error:
            if "empty vocabulary" in str(error):
                raise InputError("the training documents hold no word: nothing to learn from.") from None
            raise
        X = sparse.csr_matrix(features.transform(texts), dtype=np.float64)
        return cls(labels, split, X, np.asarray(features[0].get_feature_names_out(), dtype=object))

    @property
    def classes(self) -> np.ndarray:
        """Names of the classes, object."""
        return np.array(self.labels.classes, dtype=object)


def accuracies(study: Study, model: LogisticModel) -> dict[str, float | None]:
    """Share of documents with the right label, in training and test; None of no document."""
    out: dict[str, float | None] = {}
    for part in ("train", "test"):
        rows = getattr(study.split, part)
        truth = study.classes[study.labels.y[rows]]
        out[part] = float(np.mean(model.predict(study.X[rows]) == truth)) if len(rows) else None
    return out


def weights_frame(study: Study, model: LogisticModel) -> pd.DataFrame:
    """A row a weight: class, feature, weight; of solver "clustered" with the cluster it was last in."""
    frames = []
    for row in range(len(model.coef_)):
        name = study.classes[1 if len(model.coef_) == 1 else row]
        frame = pd.DataFrame({"class": name, "feature": study.names, "weight": model.coef_[row]})
        clusters = model.results_[row].clusters if len(model.results_) == len(model.coef_) else ()
        if clusters:
            frame["cluster"] = clusters[-1][1].cluster_of[: len(frame)]
        frames.append(frame.sort_values("weight", key=np.abs, ascending=False, kind="stable"))
    return pd.concat(frames, ignore_index=True)


def predictions_frame(study: Study, model: LogisticModel, rows: np.ndarray) -> pd.DataFrame:
    """A row a document with a label: document, its row in the source, split, label, predicted, probability."""
    documents = np.sort(np.concatenate([study.split.train, study.split.test]))
    X = study.X[documents]
    part = np.where(np.isin(documents, study.split.test), "test", "train")
    return pd.DataFrame(
        {
            "document": documents,
            "row": rows[documents],
            "split": part,
            "label": study.classes[study.labels.y[documents]],
            "predicted": model.predict(X),
            "probability": model.predict_proba(X).max(axis=1),
        }
    )


def trace_frame(model: LogisticModel) -> pd.DataFrame:
    """The solves' traces one under the other, with the row of coef_ each is for."""
    traces = [result.trace.rename(columns={"work": "passes"}) for result in model.results_]
    return (
        pd.concat(traces, keys=range(len(traces)), names=["fit", None])
        .reset_index(level="fit")
        .dropna(axis="columns", how="all")
    )


def study_report(
    study: Study, model: LogisticModel, corpus: Any, own: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says."""
    names = study.labels.classes[1:] if len(model.coef_) == 1 else study.labels.classes
    if len(model.results_) != len(names):
        names = ("",)
    fits = [{"class": name} | result.to_dict() for name, result in zip(names, model.results_, strict=True)]
    return {
        "fits": fits,
        "classes": list(study.labels.classes),
        "intercepts": model.intercept_.tolist(),
        "accuracy": accuracies(study, model),
        "n_documents": {part: len(getattr(study.split, part)) for part in ("train", "test")},
        "n_unlabelled": study.labels.n_unlabelled,
        "n_features": len(study.names),
        "seconds": seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
        "token_pattern": own["arguments"].get("token_pattern") or WORD_PATTERN,
        "versions": versions(),
    } | own


def write_study(folder: Path, study: Study, model: LogisticModel, rows: np.ndarray, report: dict[str, Any]) -> None:
    """Everything that ``cflengine train-logistic`` leaves in its output folder (see its help)."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.cflm", features=[str(name) for name in study.names])
    tables = {
        "weights": weights_frame(study, model),
        "documents": predictions_frame(study, model, rows),
        "trace": trace_frame(model),
    }
    for name, frame in tables.items():
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    write_arrays(folder / "proof.npz", proof_arrays(study, model))
    write_report(folder, report)


def proof_arrays(study: Study, model: LogisticModel) -> dict[str, np.ndarray]:
    """What ``cflengine verify`` needs: the training data, and by fit the dual points that prove its bound."""
    arrays = sparse_arrays("X", study.X[study.split.train])
    for k, result in enumerate(model.results_):
        for name in ("alpha", "proof_w"):
            if getattr(result, name) is not None:
                arrays[f"{name}_{k}"] = getattr(result, name)
    return arrays
