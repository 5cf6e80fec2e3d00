"""A run of ``cflengine erm``, checked: features cut again, objective, bound and constraints recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.linear.labels import read_numbers, read_sensitive, row_classes, split_documents
from cflengine.linear.model import LinearModel
from cflengine.linear.model_comparison import PARTS
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.saving import last_parts
from cflengine.plq import constraints as limits
from cflengine.plq.certificate import FEASIBLE, Certificate, certify
from cflengine.plq.losses import Loss, named_loss
from cflengine.plq.problem import PLQProblem
from cflengine.verify.answers import AnsweredDocuments, check_weights
from cflengine.verify.findings import (
    MODEL,
    Finding,
    check_table,
    check_trace,
    proof_array,
    read_proof,
    require,
    require_bound,
    require_gap_of,
    require_same,
    rows_of,
    with_progress,
)
from cflengine.verify.learners import checked_fit, labelled, require_parts, training_matrix, worst
from cflengine.verify.models import about_run, check_claims, check_intercepts, named_features


@dataclass(frozen=True)
class _Fits:
    """What the weights of a run are the answers to: a problem for each of ``targets``, at any C."""

    loss: Loss
    X: Any
    targets: list[np.ndarray]
    bounds: Any
    l1_ratio: float
    intercept: bool
    proof: dict[str, np.ndarray]

    def proved(self, C: float, coef: np.ndarray, bias: np.ndarray, before: str = "") -> list[Certificate]:
        """What weights at C are worth, by row; before: the names of their dual points."""
        certificates = []
        for k, target in enumerate(with_progress(self.targets, "certifying fits", "fits")):
            own = self.loss.for_data(target, C * np.ones(len(target)))
            problem = PLQProblem(self.X, own, self.bounds, 1.0 - self.l1_ratio, self.l1_ratio, self.intercept)
            lam, gam, xi = (proof_array(self.proof, f"{before}{name}_{k}") for name in ("lam", "gam", "xi"))
            fits_in = lam.shape == own.U.shape and gam.shape == own.S.shape and xi.shape == (len(self.bounds),)
            require(fits_in, "dual points of another size.")
            certificates.append(certify(problem, coef[k], float(bias[k]), (lam, gam, xi)))
        return certificates


def verify_risk(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    loss = named_loss(arguments["loss"])
    kind = "plq classifier" if loss.of == "margin" else "plq regressor"
    header, arrays = last_parts(folder / MODEL, kind)
    labels, numbers, split = _read_target(report, corpus, loss)
    targets = [numbers.y[split.train]] if labels is None else class_signs(labels.y[split.train], len(labels.classes))
    require_same(report["loss_constant"], loss.parts.constant, "the constant of the loss is")
    X, names = training_matrix(folder / MODEL, report, corpus, split.train, proof)
    documents = AnsweredDocuments.of(folder / MODEL, corpus, split, X)
    bounds = _constraints(header["parameters"]["constraints"], arguments, corpus, split.train, X, names)
    C, ratio, intercept = (header["parameters"][name] for name in ("C", "l1_ratio", "fit_intercept"))
    require(float(C) == float(report["C"]), "the model's C is not the report's.")
    asked = report["path"] or float(C) == float(arguments["C"])
    require(bool(asked), f"the model's C, {C!r}, is not the one that was asked for.")
    coef, bias = arrays["coef"], arrays["intercept"]
    check_intercepts(report["intercepts"], bias)
    classes = row_classes(labels.classes, len(coef)) if loss.of == "margin" else ("",)
    if labels is not None:
        require(header["classes"] == list(labels.classes), "the model's classes are not those of the labels.")
    fits = _Fits(loss, X, targets, bounds, float(ratio), bool(intercept), proof)
    found, failing = _check_fits(report["fits"], list(classes), fits, float(C), coef, bias)
    _require_violation(header.get("violation", failing), failing, MODEL)  # of older versions, none
    check_claims(
        folder / MODEL, header, found, X.shape[0], about_run(report), loss=arguments["loss"],
        l1_ratio=float(arguments["l1_ratio"]), fit_intercept=not arguments["no_intercept"],
    )  # fmt: skip
    check_trace(folder / "trace.csv", found)
    check_weights(rows_of(folder / "weights.csv"), coef, classes, names)
    _check_answers(folder, report, documents, LinearModel(coef, bias), loss, labels or numbers)
    _check_path(folder, report, fits, documents, float(C), labels or numbers)
    checked: tuple[str, ...] = (
        f"{X.shape[0]:,} training documents; {named_features(report)}",
        f"{len(found)} certified fits",
        f"weights.csv; documents.csv: {len(documents.documents):,} predictions",
    )
    checked += (f"{len(report['path']):,} models of the path over C",) if report["path"] else ()
    if len(bounds):
        met = "are met" if failing <= FEASIBLE else f"fail by up to {failing:.2g}, as the report says"
        checked += (f"{len(bounds):,} constraints {met}",)
    return worst(f"{loss.name} loss", found, checked, ("how many observations were screened",))


def _check_fits(
    said: list[dict[str, Any]], classes: list[str], fits: _Fits, C: float, coef: np.ndarray, bias: np.ndarray
) -> tuple[list[tuple[float, float]], float]:
    """What the report says of every row of the model; objectives with their bounds, and the largest violation."""
    require(len(said) == len(coef) == len(fits.targets), "there is not one fit for each problem.")
    require([fit["class"] for fit in said] == classes, "the fits are said to be of other classes.")
    found, failing = [], 0.0
    for k, (fit, certificate) in enumerate(zip(said, fits.proved(C, coef, bias), strict=True)):
        require_same(fit["bias"], float(bias[k]), "the intercept of a fit is")
        require_same(fit["support"], int(np.count_nonzero(coef[k])), "weights of a fit that are not 0 are")
        _require_violation(fit["violation"], certificate.violation)
        failing = max(failing, certificate.violation)
        found.append(checked_fit(fit, certificate.objective, certificate.lower_bound, certificate.price))
    return found, failing


def _check_path(
    folder: Path, report: dict[str, Any], fits: _Fits, documents: AnsweredDocuments, C: float, target: Any
) -> None:
    """The models of a path are over the C that were asked for, and the model's own is the best of them."""
    loss, path = fits.loss, report["path"] or ()
    tried = [float(row["C"]) for row in path]
    asked_for = sorted({float(one) for one in report["arguments"].get("path") or ()})
    require(tried == asked_for, f"the report's path is over C = {tried!r}, and {asked_for!r} was asked for.")
    if not path:
        return
    check_table(folder / "path.csv", path, tuple(path[0]))
    own = target.y[documents.documents]
    for j, row in enumerate(path):
        coef, bias = (proof_array(fits.proof, f"path_{j}_{name}") for name in ("coef", "intercept"))
        _check_path_row(row, fits.proved(float(row["C"]), coef, bias, f"path_{j}_"), coef)
        model = LinearModel(coef, bias)
        if loss.of == "margin":
            worth = model.predict(documents.X) == own
        else:
            worth = loss.parts.value(model.scores(documents.X) - own)
        documents.check_shares({part: row[part] for part in PARTS if part in row}, worth, "worth")
    worths = [float(row["dev"]) for row in path]
    best = tried[int(np.argmax(worths if loss.of == "margin" else np.negative(worths)))]
    require(best == C, f"the model's C is {C!r}, but on the development documents {best!r} is best.")


def _read_target(report: dict[str, Any], corpus: Any, loss: Loss) -> tuple[Any, Any, Any]:
    """Labels or numbers, None for what the loss is not of, and the split; the report counts them as they are."""
    arguments = report["arguments"]
    if loss.of == "margin":
        labels, split = labelled(report, corpus, dev=arguments["dev_split"])
        require_same(report["unread_numbers"], 0, "values that are no numbers are")
        return labels, None, split
    numbers = read_numbers(corpus.metadata, arguments["label_column"])
    split = split_documents(
        numbers.stratum, corpus.metadata, dev=arguments["dev_split"], test=arguments["test_split"],
        random_state=arguments["seed"],
    )  # fmt: skip
    require(report["classes"] == [""], f"the report has classes, {report['classes']!r}, of numbers.")
    require_same(report["n_unlabelled"], numbers.stratum.n_unlabelled, "documents without a number are")
    require_same(report["unread_numbers"], numbers.n_unread, "values that are no numbers are")
    require_parts(report, split)
    return None, numbers, split


def _check_answers(
    folder: Path, report: dict[str, Any], documents: AnsweredDocuments, model: LinearModel, loss: Loss, target: Any
) -> None:
    """documents.csv, and what it comes to on every part. target: labels, or numbers."""
    path, scores, own = folder / "documents.csv", model.scores(documents.X), target.y[documents.documents]
    if loss.of == "margin":
        of_class = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        right = documents.check_classes(path, target.classes, own, of_class, "score")
        documents.check_shares(report["accuracy"], right, "share of right ones")
    else:
        predicted = documents.check_values(path, own, scores)
        documents.check_shares(report["mean_loss"], loss.parts.value(predicted - own), "mean loss")


def _require_violation(said: Any, failing: float, who: str = "the report") -> None:
    """By how much constraints fail is what is said of it, but for rounding."""
    near = abs(float(said) - failing) <= 1e-6 * failing + FEASIBLE
    require(near, f"{who} says that constraints fail by {said!r}, but it is {failing!r}.")


def _check_path_row(row: dict[str, Any], found: list[Certificate], coef: np.ndarray) -> None:
    """What the report says of a model of the path."""
    require_same(row["objective"], sum(one.objective for one in found), f"the objective at C = {row['C']:g} is")
    require_bound(row, sum(one.lower_bound for one in found))
    gap = max(one.gap for one in found)
    require_gap_of(row["gap"], gap)
    _require_violation(row["violation"], max(one.violation for one in found))
    require_same(row["features"], int(np.count_nonzero(coef.any(axis=0))), "features with a weight are")


def _constraints(
    written: Any, arguments: dict[str, Any], corpus: Any, train: np.ndarray, X: Any, names: np.ndarray
) -> Any:
    """Those of the model, which must be those that were asked for."""
    asked, column = limits.fairness(arguments["constraint"])
    same = [limits.by_column(one, names) for one in asked] == list(written)
    require(same, "the model's constraints are not the run's.")
    sensitive = None if column is None else read_sensitive(corpus.metadata, column)[train]
    return limits.together(X.shape[1], [limits.named(one, X, sensitive) for one in written])
