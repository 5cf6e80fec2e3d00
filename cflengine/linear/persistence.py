"""Models that people keep: everything from text to prediction in one file, without code.

A file holds an estimator of this package, or a scikit-learn Pipeline of such and of the transformers in
:data:`TRANSFORMERS`. Each becomes a header that JSON has and some arrays (``to_parts``, ``from_parts``); those of a
step of a pipeline stand under its number. What would need code to be loaded, a tokenizer that is a Python function say,
is refused when the model is saved. See saving.py for the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import IO, Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cflengine.engine.checks import InputError
from cflengine.linear import saving
from cflengine.linear.saving import require
from cflengine.linear.text_features import EveryMatch

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]

#: kind in a file -> its class, loaded when it is needed
ESTIMATORS = {
    "logistic": "cflengine.loglinear.logistic:LogisticClassifier",
    "chain": "cflengine.loglinear.crf:ChainCRF",
    "sentence lasso": "cflengine.sentence_lasso.estimator:SentenceLassoClassifier",
    "penalised": "cflengine.sentence_lasso.estimator:PenalisedClassifier",
    "plq classifier": "cflengine.plq.estimator:PLQClassifier",
    "plq regressor": "cflengine.plq.estimator:PLQRegressor",
    "embedding": "cflengine.embedding.classifier:WordMMDEmbedding",
    "k-grams": "cflengine.compression.estimator:CompressiveFeatures",
    "subwords": "cflengine.tokenizer.estimator:SubwordTokenizer",
}

#: scikit-learn's transformers that a pipeline may have -> module, and what a fit leaves that they transform by
TRANSFORMERS = {
    "CountVectorizer": ("sklearn.feature_extraction.text", ()),
    "TfidfVectorizer": ("sklearn.feature_extraction.text", ("idf_",)),
    "TfidfTransformer": ("sklearn.feature_extraction.text", ("idf_",)),
    "Binarizer": ("sklearn.preprocessing", ()),
    "Normalizer": ("sklearn.preprocessing", ()),
    "MaxAbsScaler": ("sklearn.preprocessing", ("scale_", "max_abs_")),
    "StandardScaler": ("sklearn.preprocessing", ("scale_", "mean_", "var_")),
}
_VECTORIZERS = ("CountVectorizer", "TfidfVectorizer")
_ANALYZERS = ("word", "char", "char_wb")
_TYPES = ("float32", "float64", "int32", "int64")
_OUTPUTS = ("default", "pandas", "polars")  # of set_output
_LONGEST_TERM = 20  # words or characters of a vectorizer's terms

#: what transforming takes of a fit, and the parameter that says whether it does (MaxAbsScaler has none: it does)
_SWITCHES = {"idf_": "use_idf", "scale_": "with_std", "mean_": "with_mean"}


def save_model(model: Any, path: str | os.PathLike[str] | IO[bytes], *, about: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator, or a fitted Pipeline, to a file; an existing one is replaced once the new one is whole.

    Raises ValueError for what a file cannot hold, and NotFittedError.

    Parameters
    ----------
    model : object
        A fitted estimator, or a fitted Pipeline.
    path : str or os.PathLike[str] or IO[bytes]
        The file to write, or a binary stream.
    about : Mapping[str, Any] or None, default: None
        Anything that JSON has, kept beside the model.
    """
    header, arrays = to_parts(model)
    saving.write_model(path, header.pop("kind"), header | {"about": dict(about or {})}, arrays)


def load_model(path: str | os.PathLike[str] | IO[bytes]) -> Any:
    """What :func:`save_model` or an estimator's ``save`` wrote, ready to predict; it predicts the same bytes.

    Parameters
    ----------
    path : str or os.PathLike[str] or IO[bytes]
        The file, or a binary stream.

    Returns
    -------
    estimator or Pipeline
        Fitted.

    Raises
    ------
    ModelFileError
        For a file that is no model, one of a newer version, or a damaged one.
    OSError
        Where there is no file to read.
    """
    return load_with_header(path)[0]


def load_with_header(path: str | os.PathLike[str] | IO[bytes]) -> tuple[Any, Header]:
    """The model, and what else its file says.

    Parameters
    ----------
    path : str, os.PathLike or binary file
        As :func:`load_model` takes it.

    Returns
    -------
    tuple of estimator and dict
        The model; versions, and ``about`` as it was saved.

    Raises
    ------
    ModelFileError
        For a file that is no model, one of a newer version, or a damaged one.
    """
    header, arrays = saving.read_model(path)
    with saving.damage_said(path) as name:
        return from_parts(header, arrays, name), header


def to_parts(model: Any) -> tuple[Header, Arrays]:
    """A model's header, with its kind, and its arrays."""
    if isinstance(model, Pipeline):
        return _pipeline_parts(model)
    if hasattr(type(model), "pipeline_"):
        return _pipeline_parts(model.pipeline_)
    name = type(model).__name__
    if type(model).__module__.startswith("sklearn.") and name in TRANSFORMERS:
        return _transformer_parts(model, name)
    kind = getattr(type(model), "kind", None)
    if kind not in ESTIMATORS:
        raise InputError(f"a model with a step of the kind {name} cannot be saved.")
    check_is_fitted(model)
    header, arrays = model.to_parts()
    return {"kind": kind, "output": _output_of(model)} | header, arrays


def for_pickle(model: Any) -> Any:
    """A fitted model as its file has it, without the corpus that its K-grams were found in; as it is where a file
    cannot hold it, of a cost that is a function, say."""
    try:
        return from_parts(*to_parts(model), "the pickle")
    except InputError:
        return model


def from_parts(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Any:
    """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
    kind = header.get("kind")
    if kind == "pipeline":
        return _pipeline(header, arrays, name)
    if kind in TRANSFORMERS:
        model = _transformer(str(kind), header, arrays, name)
    else:
        require(kind in ESTIMATORS, name)
        model = estimator_class(str(kind)).from_parts(header, arrays, name)
    if header.get("output") is not None:
        require(header["output"] in _OUTPUTS and hasattr(model, "set_output"), name)
        model.set_output(transform=header["output"])
    return model


def estimator_class(kind: str) -> Any:
    """The class of a kind of :data:`ESTIMATORS`, loaded now."""
    module, _, name = ESTIMATORS[kind].partition(":")
    return getattr(import_module(module), name)


def _output_of(model: Any) -> str | None:
    """What ``set_output`` asked for."""
    return getattr(model, "_sklearn_output_config", {}).get("transform")


def _pipeline_parts(model: Pipeline) -> tuple[Header, Arrays]:
    check_is_fitted(model)
    steps, arrays = [], {}
    for i, (name, step) in enumerate(model.steps):
        if step is None or step == "passthrough":
            continue
        if isinstance(step, Pipeline):
            raise InputError("a pipeline within a pipeline cannot be saved: list the steps of both in one.")
        header, own = saving.nested(to_parts(step), str(i))
        steps.append({"name": name, "number": i, "step": header})
        arrays.update(own)
    return {"kind": "pipeline", "steps": steps}, arrays


def _pipeline(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Pipeline:
    require(isinstance(header.get("steps"), list) and bool(header["steps"]), name)
    steps = []
    for k, one in enumerate(header["steps"]):
        require(isinstance(one, dict) and {"name", "number", "step"} <= set(one), name)
        require(isinstance(one["step"], dict) and one["step"].get("kind") != "pipeline", name)
        step = from_parts(one["step"], saving.under(arrays, str(one["number"])), name)
        require(k == len(header["steps"]) - 1 or hasattr(step, "transform"), name)
        require(k == 0 or not (hasattr(step, "vocabulary_") or hasattr(step, "grams_")), name)
        steps.append((str(one["name"]), step))
    width = None
    for _, step in steps:
        expected = getattr(step, "n_features_in_", None)
        require(width is None or expected is None or width == expected, name)
        width = _width(step) or width
    return Pipeline(steps)


def _width(step: Any) -> int | None:
    """How many columns a fitted transformer gives, where it knows."""
    for known in ("grams_", "vocabulary_"):
        if hasattr(step, known):
            return len(getattr(step, known))
    return getattr(step, "n_features_in_", None)


def _transformer_parts(model: Any, name: str) -> tuple[Header, Arrays]:
    parameters = dict(model.get_params(deep=False))
    header: Header = {"kind": name, "output": _output_of(model)}
    if name in _VECTORIZERS:
        check_is_fitted(model, "vocabulary_")
        tokenizer = parameters.pop("tokenizer")
        header["every_match"] = tokenizer.pattern if isinstance(tokenizer, EveryMatch) else None
        if tokenizer is not None and header["every_match"] is None:
            raise InputError("a model whose tokenizer is a Python function cannot be saved: give a token_pattern.")
        parameters["dtype"] = np.dtype(parameters["dtype"]).name
        _check_vectorizer(parameters)
        if isinstance(parameters["stop_words"], set | frozenset):
            parameters["stop_words"] = sorted(parameters["stop_words"])
        parameters["vocabulary"] = None
        header["vocabulary"] = sorted(model.vocabulary_, key=model.vocabulary_.get)
    names = getattr(model, "feature_names_in_", None)
    header["features"] = None if names is None else [str(one) for one in names]
    header["n_features"] = getattr(model, "n_features_in_", None)
    header["parameters"] = {key: saving.plain(value, key) for key, value in parameters.items()}
    found = {one: getattr(model, one, None) for one in TRANSFORMERS[name][1]}
    return header, {one: value for one, value in found.items() if value is not None}


def _check_vectorizer(parameters: Mapping[str, Any]) -> None:
    """Raises InputError for parameters with which a vectorizer reads files, calls functions, or makes endless terms."""
    lo, hi = parameters["ngram_range"]
    fine = parameters["input"] == "content" and parameters["analyzer"] in _ANALYZERS
    fine = fine and parameters["preprocessor"] is None and parameters["dtype"] in _TYPES
    if not (fine and isinstance(lo, int) and isinstance(hi, int) and 1 <= lo <= hi <= _LONGEST_TERM):
        raise InputError(
            "a model whose vectorizer has another input than its texts, a preprocessor or analyzer of its own, a dtype "
            f"other than {', '.join(_TYPES)}, or terms of more than {_LONGEST_TERM} cannot be saved."
        )


def _transformer(kind: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Any:
    module, fitted = TRANSFORMERS[kind]
    require(isinstance(header.get("parameters"), dict), name)
    parameters = dict(header["parameters"])
    if kind in _VECTORIZERS:
        _check_vectorizer(parameters)
        parameters["dtype"] = np.dtype(parameters["dtype"]).type
        parameters["ngram_range"] = tuple(parameters["ngram_range"])
        if header["every_match"] is not None:
            parameters["tokenizer"] = EveryMatch(header["every_match"])
    model = getattr(import_module(module), kind)(**parameters)
    model._validate_params()
    if kind in _VECTORIZERS:
        words = header["vocabulary"]
        require(isinstance(words, list) and len(set(words)) == len(words), name)
        model.vocabulary_ = {str(word): j for j, word in enumerate(words)}
        model.fixed_vocabulary_ = False
    if kind == "TfidfVectorizer":
        own = {key: parameters[key] for key in ("norm", "use_idf", "smooth_idf", "sublinear_tf")}
        model._tfidf = TfidfTransformer(**own)
        model._tfidf.n_features_in_ = len(model.vocabulary_)
    n = header["n_features"]
    require(n is None or (isinstance(n, int) and n >= 0), name)
    if n is not None:
        model.n_features_in_ = n
    width = len(model.vocabulary_) if kind in _VECTORIZERS else n
    for one in fitted:
        if one in arrays:
            require(arrays[one].shape == (width,) and bool(np.isfinite(arrays[one]).all()), name)
            setattr(model, one, arrays[one])
        else:
            require(not (one in _SWITCHES and getattr(model, _SWITCHES[one], True)), name)
    if header["features"] is not None:
        model.feature_names_in_ = np.array([str(one) for one in header["features"]], dtype=object)
    return model
