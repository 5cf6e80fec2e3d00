"""Runs of ``cflengine train-logistic`` checked from their files and the input; what checks of other learners share.

The training data are made again from the input; what finds K-grams is the model's own dictionary, which is checked
itself. Objective and bound are those of the certificate, plain numpy, at the weights of the files and the dual points
of ``proof.npz``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from cflengine.engine.gaps import relative_gap
from cflengine.linear.labels import read_labels, row_classes, split_documents
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.saving import last_parts, read_model, under
from cflengine.loglinear.model.certificate import certify_binary, certify_multinomial
from cflengine.text.token_table import find_tokens
from cflengine.verify.answers import AnsweredDocuments, check_weights
from cflengine.verify.findings import (
    MODEL,
    Finding,
    check_trace,
    proof_array,
    read_proof,
    require,
    require_bound,
    require_gap,
    require_same,
    rows_of,
    sound,
    with_progress,
)
from cflengine.verify.models import (
    about_run,
    check_claims,
    check_grams,
    check_intercepts,
    check_weighting,
    named_features,
)

_FEATURES = ("words", "kgrams", "cfl")  # as commands name them


def verify_logistic(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check a run of ``cflengine train-logistic``. Raises FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    labels, split = labelled(report, corpus, dev=None)
    path = folder / MODEL
    X, names = training_matrix(path, report, corpus, split.train, proof)
    header, arrays = last_parts(path, "logistic")
    documents = AnsweredDocuments.of(path, corpus, split, X)
    coef, intercept = arrays["coef"], arrays["intercept"]
    check_intercepts(report["intercepts"], intercept)
    X = sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1))]))
    C, ratio = float(arguments["C"]), float(arguments["l1_ratio"])
    ridge, lasso = (1.0 - ratio) / C, ratio / C
    y = labels.y[split.train]
    n_classes = len(labels.classes)
    many = arguments["multiclass"] == "multinomial" and n_classes > 2
    fits = report["fits"]
    rows = 1 if many or n_classes == 2 else n_classes
    require(len(fits) == rows, f"the report has {len(fits)} fits where there are {rows} problems.")
    for fit in fits:
        require_same(fit["settings"]["ridge"], ridge, "a weight of the ridge of")
        require_same(fit["settings"]["lasso"], lasso, "a weight of the lasso of")
    w_of = np.column_stack([coef, intercept])
    found = []
    if many:
        certify = partial(certify_multinomial, X, y, ridge=ridge, lasso=lasso)
        found.append(compare_fit(fits[0], certify, w_of.T.ravel(), proof.get("proof_w_0")))
    else:
        pairs = [*zip(fits, class_signs(y, n_classes), strict=True)]
        for k, (fit, signs) in enumerate(with_progress(pairs, "certifying fits", "fits")):
            certify = partial(certify_binary, X, signs, ridge=ridge, lasso=lasso, alpha=proof.get(f"alpha_{k}"))
            found.append(compare_fit(fit, certify, w_of[k], proof.get(f"proof_w_{k}")))
    checked: tuple[str, ...] = (
        f"{X.shape[0]:,} training documents; {named_features(report)}",
        f"{rows} certified fits",
    )
    of = row_classes(labels.classes, len(coef)) if len(fits) == len(coef) else ("",)
    require([fit["class"] for fit in fits] == list(of), "the fits are said to be of other classes.")
    require(header["classes"] == list(labels.classes), "the model's classes are not those of the labels.")
    require(header["multinomial"] is many, f"the model says of one model for all classes: {header['multinomial']}.")
    check_trace(folder / "trace.csv", found)
    check_claims(
        path, header, found, X.shape[0], about_run(report), C=C, l1_ratio=ratio,
        multiclass=arguments["multiclass"], fit_intercept=True,
    )  # fmt: skip
    table = rows_of(folder / "weights.csv")
    check_weights(table, coef, row_classes(labels.classes, len(coef)), names)
    notes = ("which cluster each weight was in",) if table and "cluster" in table[0] else ()
    model = LinearModel(coef, intercept)
    probability = softmax(model.scores(documents.X), axis=1) if many else model.probabilities(documents.X)
    own = labels.y[documents.documents]
    right = documents.check_classes(folder / "documents.csv", labels.classes, own, probability)
    documents.check_shares(report["accuracy"], right, "share of right ones")
    checked += (f"weights.csv; documents.csv: {len(right):,} predictions",)
    return worst("logistic regression", found, checked, notes)


def compare_fit(
    fit: dict[str, Any], certify: Callable[[np.ndarray], Any], w: np.ndarray, other: np.ndarray | None
) -> tuple[float, float]:
    """Objective and bound of weights, and of those that prove more, against what the report says."""
    proof = certify(w)
    bound = proof.lower_bound if other is None else max(proof.lower_bound, certify(other).lower_bound)
    return checked_fit(fit, proof.objective, bound)


def checked_fit(fit: dict[str, Any], objective: float, bound: float, price: float = 0.0) -> tuple[float, float]:
    """Objective and bound as recomputed, which must be what the report says; price: as for ``require_gap``. Raises
    FalseResult."""
    require_same(fit.get("objective"), objective, "the objective is")
    require_bound(fit, bound)
    require_gap(fit, objective, bound, price)
    return objective, bound


def worst(name: str, found: list[tuple[float, float]], checked: tuple[str, ...], notes: tuple[str, ...]) -> Finding:
    """What was found, with the numbers of the fit whose gap is largest."""
    objective, bound = max(found, key=lambda pair: relative_gap(*pair))
    return Finding(name, objective, bound, relative_gap(objective, bound), checked, notes)


def sparse_of(proof: dict[str, np.ndarray], name: str) -> sparse.csr_matrix:
    """A matrix of proof.npz. Raises FalseResult."""
    parts = [proof_array(proof, f"{name}_{part}") for part in ("data", "indices", "indptr", "shape")]
    return sound(sparse.csr_matrix((parts[0], parts[1], parts[2]), tuple(parts[3].tolist())))


def labelled(report: dict[str, Any], corpus: Any, dev: Any) -> tuple[Any, Any]:
    """Labels and split, as the run had them."""
    arguments = report["arguments"]
    wanted = arguments["classes"]
    labels = read_labels(corpus.metadata, arguments["label_column"], wanted)
    require(list(labels.classes) == report.get("classes"), "the input's classes are not those of the report.")
    require_same(report["n_unlabelled"], labels.n_unlabelled, "documents without one of the classes are")
    split = split_documents(
        labels, corpus.metadata, dev=dev, test=arguments["test_split"], random_state=arguments["seed"]
    )  # fmt: skip
    require_parts(report, split)
    return labels, split


def require_parts(report: dict[str, Any], split: Any) -> None:
    """FalseResult unless the parts of the split are as large as the report says."""
    for part, count in report["n_documents"].items():
        require(len(getattr(split, part)) == count, f"there are not {count} documents in the {part} part.")


def training_matrix(
    path: Path, report: dict[str, Any], corpus: Any, train: np.ndarray, proof: dict[str, np.ndarray]
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """The training documents' features with their names: of words made again, of K-grams as the run left them, named by
    the model in path, whose steps have to make them again."""
    arguments, kept = report["arguments"], sparse_of(proof, "X")
    require_same(report["n_features"], kept.shape[1], "the number of features is")
    texts = [corpus.texts[d] for d in train.tolist()]
    require(arguments["features"] in _FEATURES, f"the report says features {arguments['features']!r}: there are none.")
    if arguments["features"] != "words":
        header, arrays = read_model(path)
        first, *steps, _ = header["steps"]
        check_weighting(path, [one["step"] for one in steps], arguments["weighting"])
        found = check_grams(path.name, (first["step"], under(arrays, str(first["number"]))), report, texts, proof)
        return kept, np.array(found.get_feature_names_out(), dtype=object)
    if not arguments["keep_case"]:
        texts = [text.lower() for text in texts]  # before it is cut, as scikit-learn does
    table = find_tokens(texts, report["token_pattern"])
    order = np.argsort(np.array(table.vocabulary, dtype=object))
    column = np.empty(len(order), dtype=np.int64)
    column[order] = np.arange(len(order))
    counts = sparse.csr_matrix(
        (np.ones(table.n_tokens), column[table.tokens], table.doc_ptr), shape=(len(texts), len(order))
    )
    counts.sum_duplicates()
    if arguments["weighting"] == "binary":
        counts.data[:] = 1.0
    if arguments["weighting"] == "tf-idf":
        idf = np.log((1.0 + len(texts)) / (1.0 + np.bincount(counts.indices, minlength=len(order)))) + 1.0
        counts = sparse.csr_matrix(counts @ sparse.diags(idf))
        norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        counts = sparse.csr_matrix(sparse.diags(1.0 / np.where(norms > 0, norms, 1.0)) @ counts)
    same = counts.shape == kept.shape and (abs(counts - kept).max() if counts.nnz or kept.nnz else 0.0) <= 1e-12
    require(bool(same), "the features of the training documents are not those of the run.")
    return counts, np.array(table.vocabulary, dtype=object)[order]
