"""A run of ``cflengine erm``, checked: features cut again, objective, bound and constraints recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cflengine.linear.labels import read_numbers, read_sensitive, split_documents
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.saving import last_parts
from cflengine.plq import constraints as limits
from cflengine.plq.certificate import FEASIBLE, certify
from cflengine.plq.losses import named_loss
from cflengine.plq.problem import PLQProblem
from cflengine.verify.findings import Finding, proof_array, read_proof, require
from cflengine.verify.learners import checked_fit, labelled, training_matrix, worst


def verify_risk(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    loss = named_loss(arguments["loss"])
    kind = "plq classifier" if loss.of == "margin" else "plq regressor"
    header, arrays = last_parts(folder / "model.cflm", kind)
    if loss.of == "margin":
        labels, split = labelled(report, corpus, dev=arguments["dev_split"])
        targets = class_signs(labels.y[split.train], len(labels.classes))
    else:
        numbers = read_numbers(corpus.metadata, arguments["label_column"])
        split = split_documents(
            numbers.stratum, corpus.metadata, dev=arguments["dev_split"], test=arguments["test_split"],
            seed=arguments["seed"],
        )  # fmt: skip
        targets = [numbers.y[split.train]]
    X, names, notes = training_matrix(report, corpus, split.train, proof)
    bounds = _constraints(header["parameters"]["constraints"], arguments, corpus, split.train, X, names)
    C, ratio, intercept = (header["parameters"][name] for name in ("C", "l1_ratio", "fit_intercept"))
    require(float(C) == float(report["C"]), "the model's C is not the report's.")
    coef, bias, fits = arrays["coef"], arrays["intercept"], report["fits"]
    require(len(fits) == len(coef) == len(targets), "there is not one fit for each problem.")
    found = []
    for k, target in enumerate(targets):
        own = loss.for_data(target, float(C) * np.ones(len(target)))
        problem = PLQProblem(X, own, bounds, 1.0 - float(ratio), float(ratio), bool(intercept))
        lam, gam, xi = (proof_array(proof, f"{name}_{k}") for name in ("lam", "gam", "xi"))
        require(lam.shape == own.U.shape and gam.shape == own.S.shape, "dual points of another size.")
        require(xi.shape == (len(bounds),), "dual points of another size.")
        proved = certify(problem, coef[k], float(bias[k]), (lam, gam, xi))
        require(
            proved.violation <= FEASIBLE or float(fits[k]["violation"]) > FEASIBLE,
            f"the coefficients fail a constraint by {proved.violation:.2g}.",
        )
        found.append(checked_fit(fits[k], proved.objective, proved.lower_bound))
    checked: tuple[str, ...] = (
        f"{X.shape[0]:,} training documents, {X.shape[1]:,} features",
        f"{len(found)} certified fits",
    )
    checked += (f"{len(bounds):,} constraints are met",) if len(bounds) else ()
    return worst(f"{loss.name} loss", found, checked, notes)


def _constraints(
    written: Any, arguments: dict[str, Any], corpus: Any, train: np.ndarray, X: Any, names: np.ndarray | None
) -> Any:
    """Those of the model, which must be those that were asked for; columns of unnamed features as the run left them."""
    asked, column = limits.fairness(arguments["constraint"])
    if names is not None:
        asked = [limits.by_column(one, names) for one in asked]
    elif len(asked) == len(written):
        asked = [
            b if ":" in b and a.split(":")[0] == b.split(":")[0] else a for a, b in zip(asked, written, strict=True)
        ]
    require(asked == list(written), "the model's constraints are not the run's.")
    sensitive = None if column is None else read_sensitive(corpus.metadata, column)[train]
    return limits.together(X.shape[1], [limits.named(one, X, sensitive) for one in written])
