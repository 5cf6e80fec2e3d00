"""The scikit-learn face of logistic regression."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from cflengine.engine.checks import InputError, is_number
from cflengine.engine.estimators import checked_labels, clone_sharing_listeners
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.design import Design
from cflengine.linear.model import class_probabilities
from cflengine.linear.one_vs_rest import class_signs, solve_rows, warn_unless_converged
from cflengine.linear.saving import (
    ModelFileError,
    are_labels,
    label_array,
    plain_labels,
    read_model,
    require,
    write_model,
)
from cflengine.loglinear.models import BinaryModel, MultinomialModel
from cflengine.loglinear.result import LoglinearResult
from cflengine.loglinear.settings import Settings, history_bytes
from cflengine.loglinear.solvers import SOLVERS, frequency_alone, solve


class LogisticModel(ClassifierMixin, BaseEstimator):
    """Logistic regression with a ridge penalty, by a choice of solvers and with a certificate.

    Minimises −Σ_i log Pr(y_i | x_i; w) + ‖w‖²/(2σ²), equations (1) to (5) of Mathur & Chakrabarti (ICDM 2006): a sum
    over documents. The intercept is the weight of a feature of value 1 and penalised like any other.

    Parameters
    ----------
    solver : "auto" (default; by the rule of :mod:`cflengine.loglinear.auto`, see ``why_``), "lbfgs", "clustered",
        "newton-cg" or "dual".
    sigma2 : σ², above 0; the ridge is 1/σ². scikit-learn's C.
    multiclass : "ovr", one against the rest (default), or "multinomial"; two classes are the same either way.
    fit_intercept : whether there is one.
    tol : certified relative gap, objective/bound − 1, at which a fit ends.
    settings : the solver's, tol included; None for its defaults.
    n_threads : None for all cores. listeners : get every :class:`~cflengine.IterationStats`; False ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, d), or (classes, d); intercept_ : float64, as many. duality_gap_ : proved, the
    largest over the rows fitted on their own. results_ : the results of those. why_ : what "auto" did.
    n_iter_ : int32, as many as results_; n_passes_ : over the data, of all.

    Raises
    ------
    ValueError for labels of one class, wrong settings, or a matrix that is none; MemoryLimitError before work that does
    not fit.
    """

    def __init__(
        self,
        solver: str = "auto",
        *,
        sigma2: float = 1.0,
        multiclass: str = "ovr",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        settings: Settings | None = None,
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.solver = solver
        self.sigma2 = sigma2
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.settings = settings
        self.n_threads = n_threads
        self.listeners = listeners

    def fit(self, X: Any, y: Any) -> LogisticModel:
        """Learn from X, (documents × features), dense or sparse, and the labels y."""
        settings = self._checked()
        if y is not None:
            y = checked_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, number = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"the labels are all of one class, {classes[0]!r}: a classifier needs two classes.")
        X = sparse.csr_matrix(X)
        many = self.multiclass == "multinomial" and len(classes) > 2
        n_weights = (X.shape[1] + 1) * (len(classes) if many else 1)
        own = history_bytes(settings, n_weights, by_lbfgs=many)
        advice = "take fewer documents, or a smaller memory of L-BFGS."
        scores = 48 * X.shape[0] * (len(classes) if many else 1)  # of a few points, and their slopes
        require_bytes(60 * X.nnz + 400 * X.shape[1] + scores + own, f"Fitting {X.nnz:,} entries", advice)
        with threads(self.n_threads):
            results = self._solve(Design(self._extended(X)), number, len(classes), settings)
        w = [result.w for result in results]
        if self.multiclass == "multinomial" and len(classes) > 2:
            w = list(w[0].reshape(-1, len(classes)).T)
        warn_unless_converged(results)
        self.classes_, self.results_ = classes, results
        self._set_weights(np.array(w))
        self.duality_gap_ = max(result.gap for result in self.results_)
        self.n_iter_ = np.array([result.n_iterations for result in self.results_], dtype=np.int32)
        self.n_passes_ = sum(result.n_passes for result in self.results_)
        self.why_ = self.results_[0].why
        return self

    def _solve(self, design: Design, number: np.ndarray, n_classes: int, settings: Settings) -> list[LoglinearResult]:
        if self.multiclass == "multinomial" and n_classes > 2:
            models: list[Any] = [MultinomialModel(design, number.astype(np.int32), n_classes)]
        else:
            models = [BinaryModel(design, signs) for signs in class_signs(number, n_classes)]

        def solver(model: Any) -> Callable[..., LoglinearResult]:
            def run(own: Settings, heard: Sequence[Listener]) -> LoglinearResult:
                result = solve(model, 1.0 / self.sigma2, self.solver, own, listeners=heard)
                begun = result.w.any() or not (self.fit_intercept and isinstance(model, BinaryModel))
                return result if begun else frequency_alone(model, 1.0 / self.sigma2, result)

            return run

        return list(solve_rows([solver(model) for model in models], settings, self.listeners))

    def _extended(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """X with the feature of value 1 as its last column, if there is an intercept."""
        if not self.fit_intercept:
            return X
        return sparse.csr_matrix(sparse.hstack([X, sparse.csr_matrix(np.ones((X.shape[0], 1)))], format="csr"))

    def _set_weights(self, w: np.ndarray) -> None:
        """w: float64 (rows, d or d + 1)."""
        self.coef_ = w[:, :-1] if self.fit_intercept else w
        self.intercept_ = w[:, -1].copy() if self.fit_intercept else np.zeros(len(w))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: float64 (N,) of classes_[1], or (N, classes)."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """float64 (N, classes); one against the rest: the classes' own probabilities, scaled to sum to 1."""
        scores = self.decision_function(X)
        if scores.ndim > 1 and self.multiclass == "multinomial":
            return softmax(scores, axis=1)
        return class_probabilities(scores)

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class of each document."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The columns of the matrix, in the order of coef_."""
        check_is_fitted(self, "coef_")
        return _check_feature_names_in(self, input_features)

    def save(self, path: str | os.PathLike[str], *, features: Sequence[str] | None = None) -> None:
        """Write the model to a file (linear/saving.py).

        features: what the columns of the matrix are, in order, where it was not a DataFrame that named them: without,
        a loaded model needs columns in the same order. Raises ValueError for labels that JSON has not,
        and for another number of features.
        """
        check_is_fitted(self, "coef_")
        names = getattr(self, "feature_names_in_", None) if features is None else features
        if names is not None and len(names) != self.n_features_in_:
            raise InputError(f"there are {len(names)} names for {self.n_features_in_} features.")
        header = {
            "classes": plain_labels(self.classes_), "sigma2": float(self.sigma2), "multiclass": self.multiclass,
            "fit_intercept": bool(self.fit_intercept), "features": None if names is None else [str(n) for n in names],
        }  # fmt: skip
        write_model(path, "logistic", header, {"coef": self.coef_, "intercept": self.intercept_})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LogisticModel:
        """A saved model, ready to predict. Raises ModelFileError for a file of another version, or a damaged one."""
        header, arrays = read_model(path, "logistic")
        name = os.path.basename(os.fspath(path))
        require({"coef", "intercept"} <= set(arrays), name)
        require({"classes", "sigma2", "multiclass", "fit_intercept", "features"} <= set(header), name)
        require(are_labels(header["classes"]) and isinstance(header["features"], list | None), name)
        coef, intercept, names = arrays["coef"], arrays["intercept"], header["features"]
        n_rows = 1 if len(header["classes"]) == 2 else len(header["classes"])
        require(coef.ndim == 2 and coef.shape[0] == n_rows and intercept.shape == (n_rows,), name)
        require(coef.dtype == np.float64 and bool(np.isfinite(coef).all() and np.isfinite(intercept).all()), name)
        require(names is None or len(names) == coef.shape[1], name)
        try:
            model = cls(sigma2=header["sigma2"], multiclass=header["multiclass"], fit_intercept=header["fit_intercept"])
            model._checked()
        except ValueError as error:
            raise ModelFileError(f"'{name}' is damaged: {error}") from error
        model.classes_, model.coef_, model.intercept_ = label_array(header["classes"]), coef, intercept
        model.n_features_in_ = coef.shape[1]
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        return model

    def _checked(self) -> Settings:
        """The solver's settings. Raises ValueError for a parameter that is none."""
        if not (is_number(self.sigma2) and 0 < self.sigma2 < float("inf")):
            raise InputError(
                f"sigma2 must be a positive finite number, not {self.sigma2!r}: without a ridge, data that can be "
                "separated has no best weights, and nothing can be proved."
            )
        if not isinstance(self.multiclass, str) or self.multiclass not in ("ovr", "multinomial"):
            raise InputError(f"multiclass must be 'ovr' or 'multinomial', not {self.multiclass!r}.")
        own: dict[str, Any] = {"tol": self.tol} if self.settings is None else {}
        return SOLVERS.find(self.solver).check(self.settings, **own)

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
