"""What a saved model says of other texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError


def check_reads_texts(model: Any) -> None:
    """Raises InputError, with what to do instead, for a model that does not go from texts to predictions."""
    name = type(model).__name__
    if not hasattr(model, "predict"):
        raise InputError(
            f"the file holds {name}, which transforms texts and predicts nothing (cflengine encode does that)."
        )
    if name == "ChainCRF":
        raise InputError("the file holds a tagger of tokens: use cflengine tag, or the page Tagger.")
    first = model.steps[0][1] if hasattr(model, "steps") else model
    reads = getattr(first, "_features", None) is not None
    reads = reads or any(hasattr(first, name) for name in ("vocabulary_", "grams_", "vectors_"))
    if not reads:
        raise InputError(
            "the model was learnt from a matrix, not from texts: save it in a Pipeline with what made the matrix."
        )


def prediction_frame(model: Any, texts: Sequence[str], rows: np.ndarray) -> pd.DataFrame:
    """A row a text: document, row in the source, predicted, and the probability of that class, or its score.

    Raises InputError for a model that does not read texts.
    """
    check_reads_texts(model)
    steps = getattr(model, "steps", [("", model)])
    X = model[:-1].transform(list(texts)) if len(steps) > 1 else steps[-1][1].cut(list(texts))
    model = steps[-1][1]
    predicted = model.predict(X)
    frame = pd.DataFrame({"document": np.arange(len(texts)), "row": rows, "predicted": predicted})
    if not hasattr(model, "classes_"):
        return frame
    place = np.arange(len(texts)), np.searchsorted(model.classes_, predicted)
    if hasattr(model, "predict_proba"):
        return frame.assign(probability=model.predict_proba(X)[place])
    scores = model.decision_function(X)
    return frame.assign(score=(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)[place])


def judged(frame: pd.DataFrame, metadata: pd.DataFrame, target: Any) -> str:
    """One line on how good predictions are, where the texts have the column that the model learnt; else ""."""
    if not isinstance(target, str) or target not in metadata.columns:
        return ""
    truth, predicted = metadata[target].reset_index(drop=True), frame["predicted"]
    if "probability" in frame or "score" in frame:
        known = truth.notna().to_numpy()
        if not known.any():
            return ""
        right = (truth.astype(str) == predicted.astype(str)).to_numpy()[known].mean()
        return f"{100 * right:.1f} % of {int(known.sum()):,} have the {target} that is predicted"
    numbers = pd.to_numeric(truth, errors="coerce")
    off = (predicted - numbers).abs()
    if not off.notna().any():
        return ""
    below = 100 * float((numbers <= predicted)[off.notna()].mean())
    return f"{target}: off by {off.mean():.3g} on average; {below:.1f} % are at or below what is predicted"
