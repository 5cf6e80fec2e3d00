"""What a saved model says of other texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.words import many
from cflengine.linear.labels import against_others, as_numbers, as_read, names_of
from cflengine.linear.matrix_files import feature_batches

_KNOWN = "features known"  # of a frame's attributes: how many of the model's features each text holds
_FEW_FEATURES = 5


def check_reads_texts(model: Any) -> None:
    """Refuse a model that does not go from texts to predictions, with what to do instead.

    Parameters
    ----------
    model : estimator or Pipeline
        As :func:`~cflengine.load_model` gives it.

    Returns
    -------
    None
        Where it does.

    Raises
    ------
    InputError
        For any other model.
    """
    name = type(model).__name__
    if name == "CompressiveFeatures":
        raise InputError(
            "the file holds a dictionary of phrases, which makes features of texts and predicts nothing: "
            "cflengine encode applies it."
        )
    if not hasattr(model, "predict"):
        raise InputError(f"the file holds {name}, which transforms texts and predicts nothing.")
    if name == "ChainCRF":
        raise InputError("the file holds a tagger of tokens, which cflengine tag applies.")
    if not _reads_texts(model):
        raise InputError(
            "the model was learnt from a matrix, not from texts: give cflengine predict a table of its features, or "
            "save it in a Pipeline with what made the matrix."
        )


def reads_matrix(model: Any) -> bool:
    """Whether what goes into a model that predicts is a matrix of features, not texts.

    Parameters
    ----------
    model : estimator or Pipeline
        Any.

    Returns
    -------
    bool
        True for a matrix.
    """
    return hasattr(model, "predict") and hasattr(_first(model), "n_features_in_") and not _reads_texts(model)


def _reads_texts(model: Any) -> bool:
    first = _first(model)
    reads = getattr(first, "_features", None) is not None
    return reads or any(hasattr(first, name) for name in ("vocabulary_", "grams_", "vectors_"))


def _first(model: Any) -> Any:
    return model.steps[0][1] if hasattr(model, "steps") else model


def prediction_frame(model: Any, texts: Sequence[str], rows: np.ndarray) -> pd.DataFrame:
    """What a model predicts, a row a text.

    Parameters
    ----------
    model : estimator or Pipeline
        One that reads texts.
    texts : sequence of str
        The documents.
    rows : int ndarray (N,)
        Their rows in the source.

    Returns
    -------
    pandas.DataFrame
        Columns document, row, predicted, and the probability of that class, or its score.

    Raises
    ------
    InputError
        For a model that does not read texts.
    """
    check_reads_texts(model)
    steps = getattr(model, "steps", [("", model)])
    X = model[:-1].transform(list(texts)) if len(steps) > 1 else steps[-1][1].cut(list(texts))
    frame = _answers(steps[-1][1], X, np.arange(len(texts)), rows)
    frame.attrs[_KNOWN] = X.getnnz(axis=1) if sparse.issparse(X) else None
    return frame


def coverage(frame: pd.DataFrame) -> str:
    """A sentence on texts that a model can say little of, since they hold few of its features.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`prediction_frame` gives it.

    Returns
    -------
    str
        The sentence; "" where there are none, and for models that do not count features.
    """
    known = frame.attrs.get(_KNOWN)
    if known is None or not len(known):
        return ""
    none, half = int(np.count_nonzero(known == 0)), int(np.median(known))
    said = []
    if none:
        said.append(
            f"{none:,} of {many(len(known), 'document')} hold no word or phrase that the model knows: it guesses"
        )
    if half and half < _FEW_FEATURES:
        said.append(f"half of the documents hold at most {half} that it knows")
    return "; ".join(said)


def table_predictions(
    model: Any, path: str | Path, *, limit: int | None = None, target: Any = None, encoding: str | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a model of a matrix says of a table of its features.

    Of the table (matrix_files.py) the columns that the model names are taken, in its order; of a model that names none,
    all columns but the target.

    Parameters
    ----------
    model : estimator or Pipeline
        One that reads a matrix.
    path : str or Path
        The table's file.
    limit : int, optional
        Rows at most.
    target : object, optional
        The column that the model learnt.
    encoding : str, optional
        Of a CSV file; by default UTF-8, or UTF-16 where it begins like that.

    Returns
    -------
    tuple of pandas.DataFrame
        Predictions, and the table's column ``target``, if it has one.

    Raises
    ------
    InputError
        For columns that are missing, and cells that are no numbers.
    """
    first = _first(model)
    names = getattr(first, "feature_names_in_", None)
    frames, truth, n_rows = [], [], 0
    for X, own in feature_batches(path, first.n_features_in_, names, beside=target, encoding=encoding):
        if limit is not None:
            X, own = X[: limit - n_rows], own.iloc[: limit - n_rows]
        at = np.arange(n_rows, n_rows + len(X))
        given = X if names is None else pd.DataFrame(X, columns=names)
        if len(X):
            frames.append(_answers(model, given, at, at))
            truth.append(own)
        n_rows += len(X)
        if n_rows == limit:
            break
    if not frames:
        raise InputError(f"{Path(path).name} has no row.")
    return pd.concat(frames, ignore_index=True), pd.concat(truth, ignore_index=True)


def _answers(model: Any, X: Any, documents: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
    """The frame of :func:`prediction_frame` for what goes into ``model``."""
    predicted = model.predict(X)
    frame = pd.DataFrame({"document": documents, "row": rows, "predicted": predicted})
    if not hasattr(model, "classes_"):
        return frame
    place = np.arange(len(documents)), np.searchsorted(model.classes_, predicted)
    if hasattr(model, "predict_proba"):
        return frame.assign(probability=model.predict_proba(X)[place])
    scores = model.decision_function(X)
    return frame.assign(score=(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)[place])


def judged(frame: pd.DataFrame, metadata: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """One line on how good predictions are, where the texts have the column that the model learnt.

    Parameters
    ----------
    frame : pandas.DataFrame
        As :func:`prediction_frame` gives it.
    metadata : pandas.DataFrame
        Columns of the texts.
    about : Mapping
        What the model's file says of it: "target", the name of the column that it predicts; and, of a model of one
        class of that column, "one_class" and "others", the names of that class and of all else.

    Returns
    -------
    str
        The line; "" without that column.
    """
    target = about.get("target")
    if not isinstance(target, str) or target not in metadata.columns:
        return ""
    truth, predicted = metadata[target].reset_index(drop=True), frame["predicted"]
    if "one_class" in about:
        truth = against_others(truth, str(about["one_class"]), str(about.get("others")))
    if "probability" in frame or "score" in frame:
        names, known = names_of(truth), truth.notna().to_numpy()
        if not known.any():
            return ""
        counts, called = names.value_counts(), names_of(predicted)
        right = names == called.map({name: as_read(name, truth, counts) for name in called.unique()})
        share = 100 * right.to_numpy()[known].mean()
        return f"{share:.1f} % of {int(known.sum()):,} have the {target} that is predicted"
    numbers = pd.Series(as_numbers(truth))
    off = (predicted - numbers).abs()
    if not off.notna().any():
        return ""
    below = 100 * float((numbers <= predicted)[off.notna()].mean())
    known = int(off.notna().sum())
    return f"{target} of {known:,}: off by {off.mean():.3g} on average; {below:.1f} % are at or below what is predicted"
