"""model.cflm of a run: it makes the features of texts that its weights were learnt of, and says of itself what is so.

A model's own steps, which are scikit-learn's, are run on the training documents: whatever they hold (vocabulary, order
of columns, idf, a threshold) then has to be what the run had. Steps that find K-grams need the compiled engine, which
``verify`` does without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.engine.gaps import relative_gap
from cflengine.linear.saving import read_model
from cflengine.text.token_table import gram_names
from cflengine.verify.findings import check_reasons, close, require, require_gap_of

KEPT_GRAMS = (
    "the K-grams that are features, and how the model finds them in a text: they are taken as the run left them",
)

# weighting -> scikit-learn's steps with their parameters (linear/text_features.py)
_WEIGHTING: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "binary": (("Binarizer", {"threshold": 0.0}),),
    "tf-idf": (("TfidfTransformer", {"norm": "l2", "use_idf": True, "smooth_idf": True, "sublinear_tf": False}),),
}
_ASKED = ("lam", "max_gram", "counting", "temperature", "sentence_borders")


def check_reading(path: Path, texts: Sequence[str], train: np.ndarray, X: sparse.csr_matrix) -> sparse.csr_matrix:
    """What all steps but the last make of texts, CSR (n, d): X of the training documents, int positions (N,). Raises
    FalseResult."""
    from cflengine.linear.persistence import TRANSFORMERS, from_parts  # and scikit-learn, which no other check needs

    header, arrays = read_model(path)
    steps = header["steps"][:-1]
    known = bool(steps) and all(one["step"].get("kind") in TRANSFORMERS for one in steps)
    require(known, f"{path.name} reads texts by other steps than the run.")
    own = sparse.csr_matrix(from_parts({"kind": "pipeline", "steps": steps}, arrays, path.name).transform(texts))
    same = own.shape[1] == X.shape[1] and not (abs(own[train] - X) > 1e-12).nnz
    require(bool(same), f"{path.name} makes other features of the training documents than the run had.")
    return own


def check_grams(path: Path, reads: Mapping[str, Any], report: Mapping[str, Any], n_features: int) -> np.ndarray:
    """The names of the features of a model that finds K-grams, object (n_features,). reads: the header of what finds
    them, which has to be as many as there are features, cut and counted as was asked for."""
    require(reads["kind"] == "k-grams", f"{path.name} reads texts by {reads['kind']}, not by K-grams.")
    arguments, own = report["arguments"], reads["parameters"]
    expected = {"token_pattern": report["token_pattern"], "lowercase": not arguments["keep_case"]}
    expected |= {name: arguments[name] for name in _ASKED if arguments.get(name) is not None}
    for name, value in expected.items():
        require(own.get(name) == value, f"{path.name} says that {name} is {own.get(name)!r}, but it was {value!r}.")
    require(
        len(reads["grams"]) == n_features, f"{path.name} finds {len(reads['grams']):,} K-grams, not {n_features:,}."
    )
    return np.array(gram_names(reads["grams"]), dtype=object)


def check_weighting(path: Path, steps: Sequence[Mapping[str, Any]], weighting: str) -> None:
    """The steps between what counts features and the learner are those of the weighting that was asked for."""
    expected = _WEIGHTING.get(weighting, ())
    same = [step.get("kind") for step in steps] == [kind for kind, _ in expected]
    same = same and all(
        step["parameters"].get(name) == value
        for step, (_, parameters) in zip(steps, expected, strict=True)
        for name, value in parameters.items()
    )
    require(same, f"{path.name} weighs its features otherwise than by {weighting!r}.")


def check_words(path: Path, header: Mapping[str, Any], words: Any) -> None:
    """A model that cuts texts by itself does it as the run did, to the same words in the same order."""
    expected = {
        "kind": "words", "token_pattern": words.token_pattern, "lowercase": words.lowercase,
        "vocabulary": words.vocabulary,
    }  # fmt: skip
    require(header["reads"] == expected, f"{path.name} reads texts in another way than the run.")


def check_claims(
    path: Path, header: Mapping[str, Any], found: Sequence[tuple[float, float]], n_documents: int,
    about: Mapping[str, Any], **parameters: Any,
) -> None:  # fmt: skip
    """What a model says of itself. found: objective and bound of each fit; n_documents: that it was learnt from; about:
    what else it says of these (:func:`about_run`); parameters: as the run had them, classes without weights."""
    if header["gap"] is not None:
        require_gap_of(header["gap"], max(relative_gap(*pair) for pair in found), f"{path.name} says")
    for name, value in ({"class_weight": None} | parameters).items():
        own = header["parameters"].get(name)
        same = close(own, value) if isinstance(value, float) else own == value
        require(same, f"{path.name} says that {name} is {own!r}, but it was {value!r}.")
    check_reasons({"reason": header.get("reason")}, path.name)
    stated = header.get("about", {})
    said = stated.get("n_documents", n_documents)
    require(said == n_documents, f"{path.name} says that it was learnt from {said!r} documents, not {n_documents:,}.")
    for name, value in about.items():
        own = stated.get(name, value)
        require(own == value, f"{path.name} says of itself {name} {own!r}, but it is {value!r}.")


def about_run(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a model's file says of what it was learnt from, by the report."""
    return {"target": report["arguments"]["label_column"], "learnt_from": report["corpus"]["source"]}


def check_digests(folder: Path, digest: str) -> None:
    """The models of a run say that they were learnt from texts of this digest, or nothing of it."""
    for path in sorted(folder.glob("*.cflm")):
        said = read_model(path)[0].get("about", {}).get("corpus_digest", digest)
        require(said == digest, f"{path.name} says of itself corpus_digest {said!r}, but it is {digest!r}.")


def check_intercepts(said: Sequence[float], intercept: np.ndarray) -> None:
    """Those of the report."""
    same = len(said) == len(intercept) and all(map(close, said, intercept.tolist()))
    require(same, f"the report says intercepts of {said!r}, but the model's are {intercept.tolist()!r}.")
