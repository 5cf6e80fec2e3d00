"""The scikit-learn face: classification and regression with any convex piecewise linear-quadratic loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from cflengine.engine.checks import InputError, is_number
from cflengine.engine.estimators import checked_labels, clone_sharing_listeners
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs, solve_rows, warn_unless_converged
from cflengine.plq import constraints as limits
from cflengine.plq.certificate import Sizes
from cflengine.plq.descent import solve
from cflengine.plq.losses import Loss, named_loss
from cflengine.plq.problem import Constraints, PLQProblem
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings

_BYTES_PER_ROW = 100  # labels, weights, norms, scores ..
_BYTES_PER_PART = 120  # .. and for each part of the loss its numbers, duals and what a proof takes for a moment


class _Linear(BaseEstimator):
    """What classifier and regressor share."""

    def __init__(
        self,
        loss: str | Loss,
        *,
        C: float,
        constraints: Sequence[str | Constraints],
        l1_ratio: float,
        fit_intercept: bool,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        random_state: int,
        listeners: Sequence[Listener],
    ) -> None:
        self.loss = loss
        self.C = C
        self.constraints = constraints
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.listeners = listeners

    _of = ""

    def _loss(self) -> Loss:
        """The loss, of the kind that this estimator is for."""
        loss = self.loss if isinstance(self.loss, Loss) else named_loss(self.loss)
        if loss.of != self._of:
            wanted = "classes, such as hinge" if self._of == "margin" else "numbers, such as huber"
            raise InputError(f"the loss {loss.name!r} is not one for {wanted}.")
        return loss

    def _settings(self) -> DescentSettings:
        if not (is_number(self.C) and 0 < self.C < np.inf):
            raise InputError(f"C must be a number above 0, not {self.C!r}.")
        if not (is_number(self.l1_ratio) and 0 <= self.l1_ratio < 1):
            raise InputError(f"l1_ratio must be at least 0 and below 1, not {self.l1_ratio!r}.")
        return DescentSettings(
            tol=self.tol, max_iter=self.max_iter, time_limit=self.time_limit, random_state=self.random_state
        )

    def _constraints(self, X: Any, sensitive: Any) -> Constraints:
        given = [self.constraints] if isinstance(self.constraints, str | Constraints) else list(self.constraints)
        return limits.together(X.shape[1], [limits.named(one, X, sensitive) for one in given])

    def _fit_rows(
        self, X: Any, targets: Sequence[np.ndarray], weight: np.ndarray, sensitive: Any
    ) -> tuple[PLQResult, ...]:
        """A result for each target, after the rows without weight are left out."""
        loss, settings = self._loss(), self._settings()
        kept = weight > 0
        if not kept.any():
            raise InputError("all sample weights are 0: there is nothing to learn from.")
        if not kept.all():
            X, weight = X[kept], weight[kept]
            targets = [target[kept] for target in targets]
            sensitive = None if sensitive is None else np.asarray(sensitive)[kept]
        per_row = _BYTES_PER_ROW + _BYTES_PER_PART * (len(loss.parts.relu) + len(loss.parts.rehu))
        require_bytes(per_row * X.shape[0], f"Fitting {X.shape[0]:,} rows", "take fewer rows.")
        bounds, sizes = self._constraints(X, sensitive), Sizes.of(X)
        mu, nu = 1.0 - self.l1_ratio, float(self.l1_ratio)

        def solver(target: np.ndarray) -> Callable[..., PLQResult]:
            own = loss.for_data(target, self.C * weight)
            problem = PLQProblem(X, own, bounds, mu, nu, bool(self.fit_intercept))
            return lambda limit, heard: solve(problem, limit, heard, sizes=sizes)

        results = solve_rows([solver(target) for target in targets], settings, self.listeners)
        warn_unless_converged(results)
        self.results_ = results
        self.duality_gap_ = max(result.gap for result in results)
        self.violation_ = max(result.violation for result in results)
        self.n_iter_ = np.array([result.n_iterations for result in results])
        self.solver_reason_ = str(max(results, key=lambda result: result.gap).reason)
        self.trace_ = results[0].trace if len(results) == 1 else None
        return results

    def _data(self, X: Any, y: Any = None, *, reset: bool, **more: Any) -> Any:
        given = (X,) if y is None else (X, y)
        return validate_data(self, *given, accept_sparse="csr", dtype=np.float64, order="C", reset=reset, **more)

    def __getstate__(self) -> dict[str, Any]:
        """Without duals and events, which are many times what predicting takes."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("results_", "trace_")}

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PLQClassifier(ClassifierMixin, _Linear):
    """A linear classifier with a convex piecewise linear-quadratic loss of the margin, under linear constraints.

    Minimises C Σ_i w_i L(y_i (x_iᵀβ + β₀)) + (1 − l1_ratio)/2 ‖β‖² + l1_ratio ‖β‖₁ subject to Aβ + b ≥ 0, for each
    class against the rest where there are more than two (Dai and Qiu, NeurIPS 2023). β₀ is free: it is not penalised.

    Parameters
    ----------
    loss : "hinge" (the SVM), "squared_hinge", "smoothed_hinge", or a :class:`~cflengine.plq.losses.Loss` of the margin.
    C : strength of the loss against the penalty, above 0; the larger, the less regularised.
    constraints : names or :class:`~cflengine.plq.problem.Constraints`: "nonnegative", "monotone" (coefficients ascend,
        in the order of the columns; "monotone:0,3,5" for some), "decreasing", "box:-1:1", "fair:0.01" (the covariance
        of the score with the column ``sensitive`` of fit is at most that).
    l1_ratio : share of the ℓ1 penalty, from 0 to below 1.
    fit_intercept : whether there is β₀.
    class_weight : None, "balanced", or a mapping from classes to weights.
    tol : proved relative gap at which a fit ends. max_iter : passes over the data at most. time_limit : seconds for all
        classes, or None. random_state : of the order of the visits.
    listeners : callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, d), or (classes, d); intercept_ : float64, as many.
    duality_gap_ : proved, the largest over the rows of coef_, of a solution that meets the constraints to 1e-9
        relative; violation_ : by how much it fails them. n_iter_ : passes, by row. solver_reason_ : why the worst row
        ended.
    results_ : a :class:`~cflengine.plq.result.PLQResult` for each row; trace_ : of the only row, or None. Both are left
        out of pickles.

    Raises
    ------
    ValueError for settings out of range, one class only, or constraints that contradict each other; MemoryLimitError,
    before any work, for data that do not fit.
    """

    _of = "margin"

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        C: float = 1.0,
        constraints: Sequence[str | Constraints] = (),
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> None:
        super().__init__(
            loss, C=C, constraints=constraints, l1_ratio=l1_ratio, fit_intercept=fit_intercept, tol=tol,
            max_iter=max_iter, time_limit=time_limit, random_state=random_state, listeners=listeners,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQClassifier:
        """Learn from X (n, d), dense or sparse, and labels y.

        sample_weight: float (n,), at least 0; sensitive: float (n,), for "fair" constraints.
        """
        self._settings()
        X, y = self._data(X, checked_labels(y), reset=True)
        classes, number = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"the labels are all of one class, {classes[0]!r}: a classifier needs two classes.")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weight = weight * compute_class_weight(self.class_weight, classes=classes, y=y)[number]
        results = self._fit_rows(X, class_signs(number, len(classes)), weight, sensitive)
        self.classes_, self._model = classes, LinearModel.of(results)
        self.coef_, self.intercept_ = self._model.coef, self._model.intercept
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: float64 (n,) of classes_[1], or (n, classes)."""
        check_is_fitted(self, "coef_")
        return self._model.scores(sparse.csr_matrix(self._data(X, reset=False)))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score."""
        check_is_fitted(self, "coef_")
        found: np.ndarray = self.classes_[self._model.predict(sparse.csr_matrix(self._data(X, reset=False)))]
        return found


class PLQRegressor(RegressorMixin, _Linear):
    """Linear regression with a convex piecewise linear-quadratic loss of the residual, under linear constraints.

    Minimises C Σ_i w_i L(x_iᵀβ + β₀ − y_i) + (1 − l1_ratio)/2 ‖β‖² + l1_ratio ‖β‖₁ subject to Aβ + b ≥ 0 (Dai and
    Qiu, NeurIPS 2023). β₀ is free: it is not penalised.

    Parameters
    ----------
    loss : "huber:1.35", "quantile:0.9", "expectile:0.9", "epsilon_insensitive:0.1", "squared_epsilon_insensitive:0.1",
        "absolute", "squared", or a :class:`~cflengine.plq.losses.Loss` of the residual.

    The other parameters, the attributes (coef_ is (d,), intercept_ a number) and what is raised: as
    :class:`PLQClassifier` has them.
    """

    _of = "residual"

    def __init__(
        self,
        loss: str | Loss = "huber:1.35",
        *,
        C: float = 1.0,
        constraints: Sequence[str | Constraints] = (),
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> None:
        super().__init__(
            loss, C=C, constraints=constraints, l1_ratio=l1_ratio, fit_intercept=fit_intercept, tol=tol,
            max_iter=max_iter, time_limit=time_limit, random_state=random_state, listeners=listeners,
        )  # fmt: skip

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQRegressor:
        """Learn from X (n, d), dense or sparse, and numbers y (n,); the rest as :meth:`PLQClassifier.fit` has it."""
        self._settings()
        if y is None:
            raise InputError("this estimator requires y to be passed, but the target y is None.")
        X, y = self._data(X, y, reset=True, y_numeric=True)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        (result,) = self._fit_rows(X, [np.asarray(y, dtype=np.float64)], weight, sensitive)
        self.coef_, self.intercept_ = result.w, result.bias
        return self

    def predict(self, X: Any) -> np.ndarray:
        """float64 (n,): x_iᵀβ + β₀."""
        check_is_fitted(self, "coef_")
        return np.asarray(self._data(X, reset=False) @ self.coef_).ravel() + self.intercept_
