"""The scikit-learn face of logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax

from cflengine.engine.checks import InputError, check_flags, is_number
from cflengine.engine.estimators import all_or_nothing, checked_labels
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.linear.design import Design
from cflengine.linear.estimators import ProbabilisticClassifier, check_size
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs, solve_rows, warn_unless_converged
from cflengine.linear.saving import require
from cflengine.loglinear.model.losses import BinaryModel, MultinomialModel
from cflengine.loglinear.solvers.registry import SOLVERS, frequency_alone, solve
from cflengine.loglinear.solvers.result import LoglinearResult
from cflengine.loglinear.solvers.settings import AutoSettings, LBFGSSettings, Settings, history_bytes


class LogisticClassifier(ProbabilisticClassifier):
    """Logistic regression, by a choice of solvers and with a certificate.

    Minimises −Σ_i v_i log Pr(y_i | x_i; w) + ((1 − ρ)/2 ‖w‖² + ρ‖w‖₁)/C, where v are the documents' weights and
    ρ = ``l1_ratio``: with ρ = 0, equations (1) to (5) of Mathur & Chakrabarti (ICDM 2006) with σ² = C. The intercept is
    the weight of a feature of value 1 and penalised like any other.

    Parameters
    ----------
    solver : str, default: 'auto'
        "auto" (default; by the rule of :mod:`cflengine.loglinear.solvers.auto`, see ``why_``), "lbfgs", "clustered",
        "newton-cg" or "dual". With l1_ratio above 0, "auto" and "lbfgs" are OWL-QN, and there is no other.
    C : float, default: 1.0
        Of the losses against the penalty, above 0: the larger, the less regularised. The paper's σ².
    l1_ratio : float, default: 0.0
        Share of the ℓ1 penalty, from 0 (default) to 1.
    multiclass : str, default: 'ovr'
        "ovr", one against the rest (default), or "multinomial"; two classes are the same either way.
    fit_intercept : bool, default: True
        Whether there is one.
    class_weight : object, default: None
        None, "balanced", or a mapping from classes to weights.
    tol : float, default: 0.0001
        Certified relative gap, objective/bound − 1, at which a fit ends.
    max_iter : int, default: 10000
        Of the solver's iterations.
    time_limit : float or None, default: None
        Seconds for all classes together, or None.
    random_state : int, default: 0
        Of "auto", "dual" and "clustered".
    settings : Settings or None, default: None
        The solver's, in place of tol, max_iter, time_limit and random_state; None for its defaults.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Get every :class:`~cflengine.IterationStats`; False ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, d), or (classes, d); intercept_ : float64, as many. duality_gap_ : proved, the
    largest over the rows fitted on their own; result_, trace_, solver_reason_ : of that row. results_ : of all.
    multinomial_ : whether one model has all classes. why_ : what "auto" did. n_iter_ : int32, as many as results_;
    n_passes_ : over the data, of all.

    Raises
    ------
    ValueError for labels of one class, wrong settings, or a matrix that is none; MemoryLimitError before work that does
    not fit.
    """

    kind = "logistic"
    _least = ("C", "l1_ratio", "multiclass", "fit_intercept")
    _settings_kinds = tuple(solver.settings for solver in SOLVERS.values())
    _regularising = (("C", -1),)

    def __init__(
        self,
        solver: str = "auto",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        multiclass: str = "ovr",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        settings: Settings | None = None,
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.solver = solver
        self.C = C
        self.l1_ratio = l1_ratio
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.settings = settings
        self.n_threads = n_threads
        self.listeners = listeners

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticClassifier:
        """Learn from a matrix and labels.

        Parameters
        ----------
        X : object
            Documents × features, dense or sparse.
        y : object
            (documents,), labels.
        sample_weight : object, default: None
            float (documents,), at least 0; a document of weight 0 is left out. None for 1.

        Returns
        -------
        LogisticClassifier
            Itself.

        Raises
        ------
        ValueError for labels of one class, wrong settings, or numbers that are none; MemoryLimitError, before any work,
        for data that does not fit.
        """
        settings = self._check()
        X, y = self._data(X, checked_labels(y), reset=True)
        check_size(X)
        X, classes, number, weight = self._labelled(sparse.csr_matrix(X), y, sample_weight)
        many = self._is_multinomial(len(classes))
        self._require_memory(X, len(classes) if many else 1, settings)
        with threads(self.n_threads, max(X.nnz, X.shape[1])):
            design = Design(self._extended(X))
            if many:
                models: list[Any] = [MultinomialModel(design, number.astype(np.int32), len(classes), weight)]
            else:
                models = [BinaryModel(design, signs, weight) for signs in class_signs(number, len(classes))]
            results = solve_rows([self._solver_of(model) for model in models], settings, self.listeners)
        warn_unless_converged(results)
        return self.adopt(classes, results)

    def adopt(self, classes: np.ndarray, results: Sequence[LoglinearResult]) -> LogisticClassifier:
        """Be fitted with results that are there already, one for each row, or one for all classes at once."""
        self._keep(results)
        w = np.array([result.w for result in results])
        self.classes_, self.multinomial_ = classes, self._is_multinomial(len(classes))
        self._set(self._model_of(w[0].reshape(-1, len(classes)).T if self.multinomial_ else w))
        self.n_features_in_ = self.coef_.shape[1]
        self.n_passes_, self.why_ = sum(result.n_passes for result in results), results[0].why
        return self

    def _solver_of(self, model: Any) -> Callable[..., LoglinearResult]:
        ridge, lasso = (1.0 - self.l1_ratio) / self.C, self.l1_ratio / self.C

        def run(own: Settings, heard: Sequence[Listener]) -> LoglinearResult:
            solver = "lbfgs" if lasso else self.solver
            result = solve(model, ridge, solver, own, lasso=lasso, listeners=heard)
            begun = result.w.any() or result.reason is TerminationReason.CONVERGED
            if begun or not self.fit_intercept:
                return result
            return frequency_alone(model, ridge, lasso, result)

        return run

    def _require_memory(self, X: sparse.csr_matrix, n_columns: int, settings: Settings) -> None:
        n_weights = (X.shape[1] + 1) * n_columns
        own = history_bytes(settings, n_weights, by_lbfgs=n_columns > 1 or self.l1_ratio > 0)
        advice = "take fewer documents, or a smaller memory of L-BFGS."
        scores = 48 * X.shape[0] * n_columns  # of a few points, and their derivatives
        require_bytes(60 * X.nnz + 400 * X.shape[1] + scores + own, f"Fitting {X.nnz:,} entries", advice)

    def _is_multinomial(self, n_classes: int) -> bool:
        return self.multiclass == "multinomial" and n_classes > 2

    def _extended(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """X with the feature of value 1 as its last column, if there is an intercept."""
        if not self.fit_intercept:
            return X
        return sparse.csr_matrix(sparse.hstack([X, sparse.csr_matrix(np.ones((X.shape[0], 1)))], format="csr"))

    def _model_of(self, w: np.ndarray) -> LinearModel:
        """w: float64 (rows, d or d + 1)."""
        if not self.fit_intercept:
            return LinearModel(w, np.zeros(len(w)))
        return LinearModel(np.ascontiguousarray(w[:, :-1]), w[:, -1].copy())

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        found: np.ndarray = softmax(scores, axis=1) if self.multinomial_ else super()._probabilities(scores)
        return found

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        found: np.ndarray = log_softmax(scores, axis=1) if self.multinomial_ else super()._log_probabilities(scores)
        return found

    def to_parts(self, features: Sequence[str] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        header, arrays = super().to_parts(features)
        return header | {"multinomial": self.multinomial_}, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        model = super().from_parts(header, arrays, name)
        model.multinomial_ = header.get("multinomial", model._is_multinomial(len(model.coef_)))
        require(isinstance(model.multinomial_, bool), name)
        return model

    def _check(self) -> Settings:
        """The solver's settings. Raises ValueError for a parameter that is none."""
        check_flags(self, "fit_intercept")
        if not (is_number(self.C) and 0 < self.C < float("inf")):
            raise InputError(
                f"C must be a positive finite number, not {self.C!r}: without a penalty, data that can be separated "
                "has no best weights, and nothing can be proved."
            )
        if not (is_number(self.l1_ratio) and 0 <= self.l1_ratio <= 1):
            raise InputError(f"l1_ratio must be from 0 to 1, not {self.l1_ratio!r}.")
        if not isinstance(self.multiclass, str) or self.multiclass not in ("ovr", "multinomial"):
            raise InputError(f"multiclass must be 'ovr' or 'multinomial', not {self.multiclass!r}.")
        solver = SOLVERS.find(self.solver)
        if self.l1_ratio and solver.name not in ("auto", "lbfgs"):
            raise InputError(f"solver {solver.name!r} knows no ℓ1 penalty; with l1_ratio take 'auto' or 'lbfgs'.")
        given = self.settings
        if self.l1_ratio:  # "auto" is then OWL-QN, too, to the same limits
            solver = SOLVERS["lbfgs"]
            if isinstance(given, AutoSettings):
                given = LBFGSSettings(tol=given.tol, time_limit=given.time_limit, max_iter=given.max_iter)
        settings: Settings = self._solver_settings(solver, given)
        return settings


#: The name that this estimator had at first.
LogisticModel = LogisticClassifier
