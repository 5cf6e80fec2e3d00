"""model.cflm of a run: it makes the features of texts that its weights were learnt of, and says of itself what is so.

A model's own steps, which are scikit-learn's, are run on the training documents: whatever they hold (vocabulary, order
of columns, idf, a threshold) then has to be what the run had. Steps that find K-grams are done in numpy (grams.py), and
what they say of their dictionary, its proved gap included, is recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.compression.model.parts import PartsCertificate
from cflengine.engine.gaps import relative_gap
from cflengine.linear.saving import Parts, read_model, under
from cflengine.verify.corpus_parts import cut_corpus, shared_costs
from cflengine.verify.entries import check_model_arrays
from cflengine.verify.findings import check_reasons, close, require, require_gap_of, with_progress
from cflengine.verify.grams import EncodedTexts, PlainGrams
from cflengine.verify.proved_parts import add_part, certificate_of, costs_of, prices_of, ties_documents

Arrays = Mapping[str, np.ndarray]
_GRAMS = "k-grams"

# weighting -> scikit-learn's steps with their parameters (linear/text_features.py)
_WEIGHTING: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "binary": (("Binarizer", {"threshold": 0.0}),),
    "tf-idf": (("TfidfTransformer", {"norm": "l2", "use_idf": True, "smooth_idf": True, "sublinear_tf": False}),),
}
_ASKED = ("lam", "max_gram", "counting", "temperature", "literal_cost", "sentence_borders")
#: what no command that learns from K-grams changes
_USUAL = {
    "weighting": "count", "dictionary_cost": "words", "plain_cost": None, "pointer_cost": None, "literal_cost": None,
}  # fmt: skip


def check_reading(path: Path, texts: Sequence[str], train: np.ndarray, X: sparse.csr_matrix) -> sparse.csr_matrix:
    """What all steps but the last make of texts, CSR (n, d): X of the training documents, int positions (N,). Raises
    FalseResult."""
    from cflengine.linear.persistence import TRANSFORMERS, from_parts  # and scikit-learn, which no other check needs

    header, arrays = read_model(path)
    steps, made = header["steps"][:-1], texts
    if steps and steps[0]["step"].get("kind") == _GRAMS:
        first, *steps = steps
        made = PlainGrams.of(path.name, first["step"], under(arrays, str(first["number"]))).counts(texts)
    known = made is not texts or bool(steps)
    known = known and all(one["step"].get("kind") in TRANSFORMERS for one in steps)
    require(known, f"{path.name} reads texts by other steps than the run.")
    if steps:
        made = from_parts({"kind": "pipeline", "steps": steps}, arrays, path.name).transform(made)
    own = sparse.csr_matrix(made)
    same = own.shape[1] == X.shape[1] and not (abs(own[train] - X) > 1e-12).nnz
    require(bool(same), f"{path.name} makes other features of the training documents than the run had.")
    return own


def check_grams(name: str, parts: Parts, report: Mapping[str, Any], texts: Sequence[str], proof: Arrays) -> PlainGrams:
    """What finds K-grams, parts of the model called ``name``: as many as there are features, cut and counted as was
    asked for, found in these texts, and proved by the arrays of proof.npz under "grams"."""
    reads, arrays = parts
    found, arguments, own = PlainGrams.of(name, *parts), report["arguments"], reads["parameters"]
    expected = {"token_pattern": report["token_pattern"], "lowercase": not arguments["keep_case"]}
    expected |= _USUAL | {key: arguments[key] for key in _ASKED if arguments.get(key) is not None}
    for key, value in expected.items():
        require(own.get(key) == value, f"{name} says that {key} is {own.get(key)!r}, but it was {value!r}.")
    n_features = int(report["n_features"])
    require(len(found.grams) == n_features, f"{name} finds {len(found.grams):,} K-grams, not {n_features:,}.")
    encoded = found.encoded(texts)
    uses = found.uses(encoded)
    require_gap_of(reads["gap"], _proved_gap(found, encoded, under(proof, "grams")), f"{name} says of its K-grams")
    check_model_arrays(
        name, arrays, own, found.counted(encoded), by_length=np.full(len(found.by_length), float(own["lam"])),
        count=np.asarray(uses.sum(axis=0)).ravel(), documents=np.bincount(uses.indices, minlength=n_features),
        cost=np.array([float(len(gram)) for gram in found.grams]),
    )  # fmt: skip
    return found


def _proved_gap(grams: PlainGrams, encoded: EncodedTexts, proof: Arrays) -> float:
    """What the prices in proof prove of the dictionary on the documents that it was found in."""
    alpha, trees = prices_of(proof, encoded.table.n_tokens)
    whole = ties_documents(trees, encoded.table)
    parts = cut_corpus(encoded.table, len(grams.by_length), whole=whole)
    costs = [costs_of(part, grams.parameters) for part in parts]
    proved = PartsCertificate(shared_costs(parts, costs))
    for part, own in with_progress([*zip(parts, costs, strict=True)], "proving the bound of K-grams", "parts"):
        add_part(proved, part, encoded.cover[part.span], alpha, own, trees)
    return certificate_of(proved, trees).gap


def named_features(report: Mapping[str, Any]) -> str:
    """How many features, and what was checked of K-grams."""
    count = f"{int(report['n_features']):,}"
    if report["arguments"]["features"] == "words":
        return f"{count} words"
    return f"{count} K-grams, how often they are used, and the gap of their dictionary"


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


def check_words(path: Path, reads: Mapping[str, Any], words: Any) -> None:
    """A model that cuts texts by itself, as ``reads`` says, does it as the run did, to the same words in order."""
    expected = {
        "kind": "words", "token_pattern": words.token_pattern, "lowercase": words.lowercase,
        "vocabulary": words.vocabulary,
    }  # fmt: skip
    require(reads == expected, f"{path.name} reads texts in another way than the run.")


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
    check_about(path, header, {"n_documents": n_documents} | dict(about))


def check_about(path: Path, header: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """What a model's file says of what it was learnt from."""
    stated = header.get("about", {})
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
