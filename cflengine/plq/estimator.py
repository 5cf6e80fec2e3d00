"""The scikit-learn face: classification and regression with any convex piecewise linear-quadratic loss."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from cflengine.engine.checks import InputError, is_number
from cflengine.engine.estimators import checked_labels
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.estimators import LinearClassifier, LinearEstimator
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs, solve_rows, warn_unless_converged
from cflengine.linear.saving import require
from cflengine.plq import constraints as limits
from cflengine.plq import saved
from cflengine.plq.arrays import sizes_of
from cflengine.plq.certificate import FEASIBLE
from cflengine.plq.descent import DESCENT, solve
from cflengine.plq.losses import Loss, named_loss
from cflengine.plq.problem import Constraints, PLQProblem
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings

_BYTES_PER_ROW = 100  # labels, weights, norms, scores ..
_BYTES_PER_ENTRY = 8  # of a sparse matrix: squares, for norms
_BYTES_PER_PART = 120  # .. and for each part of the loss its numbers, duals and what a proof takes for a moment


class _PLQ(LinearEstimator):
    """What classifier and regressor share."""

    _least = ("loss", "C", "constraints", "l1_ratio", "fit_intercept", "intercept_scaling")
    _settings_kinds = (DescentSettings,)
    _regularising = (("C", -1),)
    _of = ""
    _start: Sequence[Any] | None = None  # results of a fit that is like the next one

    def __init__(
        self,
        loss: str | Loss,
        *,
        C: float,
        constraints: Sequence[str | Constraints],
        l1_ratio: float,
        fit_intercept: bool,
        intercept_scaling: float | None,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        random_state: int,
        settings: DescentSettings | None,
        n_threads: int | None,
        listeners: Sequence[Listener],
    ) -> None:
        self.loss = loss
        self.C = C
        self.constraints = constraints
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.settings = settings
        self.n_threads = n_threads
        self.listeners = listeners

    @property
    def loss_(self) -> Loss:
        """The loss, of the kind that this estimator is for."""
        loss = self.loss if isinstance(self.loss, Loss) else named_loss(self.loss)
        if loss.of != self._of:
            wanted = "classes, such as hinge" if self._of == "margin" else "numbers, such as huber"
            raise InputError(f"the loss {loss.name!r} is not one for {wanted}.")
        return loss

    def _may_score_poorly(self) -> bool:
        """What constraints leave may be little, and a quantile is no prediction of the mean."""
        aside = ("quantile", "expectile", "drawn")
        own = isinstance(self.loss, Loss) or str(self.loss).startswith(aside) or len(self._given()) > 0
        return own or super()._may_score_poorly()

    def _is_proved(self) -> bool:
        return getattr(self, "violation_", 0.0) <= FEASIBLE

    def _check(self) -> DescentSettings:
        if not (is_number(self.C) and 0 < self.C < np.inf):
            raise InputError(f"C must be a number above 0, not {self.C!r}.")
        if not (is_number(self.l1_ratio) and 0 <= self.l1_ratio < 1):
            raise InputError(f"l1_ratio must be at least 0 and below 1, not {self.l1_ratio!r}.")
        scaling = self.intercept_scaling
        if scaling is not None and not (is_number(scaling) and 0 < scaling < np.inf):
            raise InputError(f"intercept_scaling must be a number above 0 or None, not {scaling!r}.")
        settings: DescentSettings = self._solver_settings(DESCENT, self.settings)
        return settings

    def _constraints(self, X: Any, sensitive: Any) -> Constraints:
        return limits.together(X.shape[1], [limits.named(one, X, sensitive) for one in self._given()])

    def _given(self) -> list[str | Constraints]:
        return [self.constraints] if isinstance(self.constraints, str | Constraints) else list(self.constraints)

    def path(self, X: Any, y: Any, Cs: Iterable[float], sample_weight: Any = None, sensitive: Any = None) -> list[Self]:
        """This estimator fitted at every C, smallest first, each from the solution of the one before it.

        Raises ValueError for no C at all, and what ``fit`` raises.
        """
        return list(self.along(X, y, Cs, sample_weight, sensitive))

    def along(self, X: Any, y: Any, Cs: Iterable[float], sample_weight: Any = None, sensitive: Any = None) -> Any:
        """The models of :meth:`path` one by one, so that those that are not wanted need not be held."""
        chosen = sorted({float(C) for C in Cs})
        if not chosen:
            raise InputError("a path needs at least one C.")
        before = None
        for C in chosen:
            model = clone(self).set_params(C=C)
            model._start = before
            model.fit(X, y, sample_weight, sensitive)
            before = model.results_
            yield model

    def _solve(self, X: Any, targets: Sequence[np.ndarray], weight: np.ndarray | None, sensitive: Any) -> LinearModel:
        """A row for each target. weight: of the rows of X, above 0, or None for 1."""
        loss, settings = self.loss_, self._check()
        n_parts, n_workers = len(loss.parts.relu) + len(loss.parts.rehu), min(len(targets), os.cpu_count() or 1)
        per_row = n_workers * (_BYTES_PER_ROW + _BYTES_PER_PART * n_parts) + 8 * n_parts * len(targets)
        entries = X.nnz if sparse.issparse(X) else X.size
        own = n_workers * _BYTES_PER_ENTRY * entries if sparse.issparse(X) else 0
        if self.fit_intercept and self.intercept_scaling is not None:
            own += (12 if sparse.issparse(X) else 8) * entries
        require_bytes(per_row * X.shape[0] + own, f"Fitting {X.shape[0]:,} rows", "take fewer rows.")
        bounds, scaling = self._constraints(X, sensitive), self.intercept_scaling if self.fit_intercept else None
        if scaling is not None:
            X, bounds = limits.with_column(X, float(scaling)), limits.on_more_columns(bounds)
        free = bool(self.fit_intercept) and scaling is None
        mu, nu = 1.0 - self.l1_ratio, float(self.l1_ratio)
        C = self.C if weight is None else self.C * weight
        before, self._start = self._start or [None] * len(targets), None

        def solver(target: np.ndarray, start: PLQResult | None) -> Callable[..., PLQResult]:
            def run(limit: Any, heard: Any) -> PLQResult:
                problem = PLQProblem(X, loss.for_data(target, C), bounds, mu, nu, free)
                return solve(problem, limit, heard, sizes=sizes, start=start)

            return run

        with threads(self.n_threads, entries * len(targets)) as n_workers:
            sizes = sizes_of(X)
            solves = [solver(target, start) for target, start in zip(targets, before, strict=True)]
            results = solve_rows(solves, settings, self.listeners, n_workers=n_workers)
        warn_unless_converged(results)
        self._keep(results)
        self.violation_ = max(result.violation for result in results)
        if scaling is None:
            return LinearModel.of(results)
        w = np.array([result.w for result in results])
        return LinearModel(np.ascontiguousarray(w[:, :-1]), float(scaling) * w[:, -1])

    def to_parts(self, features: Sequence[str] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The model as values that JSON has, and arrays; a loss and constraints of one's own as their numbers."""
        own = copy(self)
        if isinstance(self.loss, Loss):
            own.set_params(loss=saved.written_loss(self.loss))
        if not isinstance(self.constraints, str):
            kept = [saved.written_constraints(one) if isinstance(one, Constraints) else one for one in self._given()]
            own.set_params(constraints=kept)
        return super(_PLQ, own).to_parts(features)

    @classmethod
    def _read(cls, parameters: Any, name: str) -> dict[str, Any]:
        found = super()._read(parameters, name)
        if isinstance(found.get("loss"), dict):
            found["loss"] = saved.read_loss(found["loss"], name)
        if isinstance(found.get("constraints"), list | tuple):
            found["constraints"] = tuple(
                saved.read_constraints(one, name) if isinstance(one, dict) else one for one in found["constraints"]
            )
        return found


class PLQClassifier(_PLQ, LinearClassifier):
    """A linear classifier with a convex piecewise linear-quadratic loss of the margin, under linear constraints.

    Minimises C Σ_i w_i L(y_i (x_iᵀβ + β₀)) + (1 − l1_ratio)/2 ‖β‖² + l1_ratio ‖β‖₁ subject to Aβ + b ≥ 0, for each
    class against the rest where there are more than two (Dai and Qiu, NeurIPS 2023). β₀ is free: it is not penalised.

    Parameters
    ----------
    loss : str or Loss, default: 'hinge'
        "hinge" (the SVM), "squared_hinge", "smoothed_hinge", "drawn_margin:-1,2/1,0" (the lower convex hull of points
        of your own), or a :class:`~cflengine.plq.losses.Loss` of the margin.
    C : float, default: 1.0
        Weight of the loss against the penalty, above 0; the larger, the less regularised.
    constraints : Sequence[str | Constraints], default: ()
        Names or :class:`~cflengine.plq.problem.Constraints`: "nonnegative", "monotone" (coefficients ascend, in the
        order of the columns; "monotone:0,3,5" for some), "decreasing", "box:-1:1", "fair:0.01" (the covariance of the
        score with the column ``sensitive`` of fit is at most that).
    l1_ratio : float, default: 0.0
        Share of the ℓ1 penalty, from 0 to below 1.
    fit_intercept : bool, default: True
        Whether there is β₀.
    intercept_scaling : float or None, default: None
        None, β₀ is free; or s > 0: β₀ is s times the coefficient of a feature of value s that is penalised like any
        other, as in LIBLINEAR.
    class_weight : object, default: None
        None, "balanced", or a mapping from classes to weights.
    tol : float, default: 0.0001
        Proved relative gap at which a fit ends.
    max_iter : int, default: 10000
        Passes over the data at most.
    time_limit : float or None, default: None
        Seconds for all classes, or None.
    random_state : int, default: 0
        Of the order of the visits.
    settings : DescentSettings or None, default: None
        :class:`~cflengine.plq.settings.DescentSettings`, in place of tol, max_iter, time_limit and random_state.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, d), or (classes, d); intercept_ : float64, as many.
    duality_gap_ : proved, the largest over the rows of coef_, of a solution that meets the constraints to 1e-9
        relative; violation_ : by how much it fails them. n_iter_ : passes, by row. solver_reason_ : why the worst row
        ended; result_ and trace_ : of that row. results_ : a :class:`~cflengine.plq.result.PLQResult` for each row.

    Raises
    ------
    ValueError for settings out of range, one class only, or constraints that contradict each other; MemoryLimitError,
    before any work, for data that do not fit.
    """

    kind = "plq classifier"
    _of = "margin"

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        C: float = 1.0,
        constraints: Sequence[str | Constraints] = (),
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        settings: DescentSettings | None = None,
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        super().__init__(
            loss, C=C, constraints=constraints, l1_ratio=l1_ratio, fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling, tol=tol, max_iter=max_iter, time_limit=time_limit,
            random_state=random_state, settings=settings,
            n_threads=n_threads, listeners=listeners,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQClassifier:
        """Learn from X (n, d), dense or sparse, and labels y.

        sample_weight: float (n,), at least 0; sensitive: float (n,), for "fair" constraints.
        """
        self._check()
        X, y = self._data(X, checked_labels(y), reset=True)
        if sensitive is not None:
            sensitive = limits.without_weightless(sensitive, sample_weight)
        X, classes, number, weight = self._labelled(X, y, sample_weight)
        model = self._solve(X, class_signs(number, len(classes)), weight, sensitive)
        self.classes_ = classes
        self._set(model)
        return self


class PLQRegressor(RegressorMixin, _PLQ):
    """Linear regression with a convex piecewise linear-quadratic loss of the residual, under linear constraints.

    Minimises C Σ_i w_i L(x_iᵀβ + β₀ − y_i) + (1 − l1_ratio)/2 ‖β‖² + l1_ratio ‖β‖₁ subject to Aβ + b ≥ 0 (Dai and
    Qiu, NeurIPS 2023). β₀ is free: it is not penalised.

    Attributes and what is raised: as :class:`PLQClassifier` has them; coef_ is (d,), intercept_ a number.

    Parameters
    ----------
    loss : str or Loss, default: 'huber:1.35'
        "huber:1.35", "quantile:0.9", "expectile:0.9", "epsilon_insensitive:0.1", "squared_epsilon_insensitive:0.1",
        "absolute", "squared", "drawn:-1,2/0,0/1,1" (the lower convex hull of points of your own), or a
        :class:`~cflengine.plq.losses.Loss` of the residual.
    C : float, default: 1.0
        Weight of the loss against the penalty, above 0; the larger, the less regularised.
    constraints : Sequence[str | Constraints], default: ()
        Names or :class:`~cflengine.plq.problem.Constraints`: "nonnegative", "monotone" (coefficients ascend, in the
        order of the columns; "monotone:0,3,5" for some), "decreasing", "box:-1:1", "fair:0.01" (the covariance of the
        score with the column ``sensitive`` of fit is at most that).
    l1_ratio : float, default: 0.0
        Share of the ℓ1 penalty, from 0 to below 1.
    fit_intercept : bool, default: True
        Whether there is β₀.
    intercept_scaling : float or None, default: None
        None, β₀ is free; or s > 0: β₀ is s times the coefficient of a feature of value s that is penalised like any
        other, as in LIBLINEAR.
    tol : float, default: 0.0001
        Proved relative gap at which a fit ends.
    max_iter : int, default: 10000
        Passes over the data at most.
    time_limit : float or None, default: None
        Seconds, or None.
    random_state : int, default: 0
        Of the order of the visits.
    settings : DescentSettings or None, default: None
        :class:`~cflengine.plq.settings.DescentSettings`, in place of tol, max_iter, time_limit and random_state.
    n_threads : int or None, default: None
        None for all cores.
    listeners : Sequence[Listener], default: ()
        Callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.
    """

    kind = "plq regressor"
    _of = "residual"

    def __init__(
        self,
        loss: str | Loss = "huber:1.35",
        *,
        C: float = 1.0,
        constraints: Sequence[str | Constraints] = (),
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        random_state: int = 0,
        settings: DescentSettings | None = None,
        n_threads: int | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        super().__init__(
            loss, C=C, constraints=constraints, l1_ratio=l1_ratio, fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling, tol=tol, max_iter=max_iter, time_limit=time_limit,
            random_state=random_state, settings=settings,
            n_threads=n_threads, listeners=listeners,
        )  # fmt: skip

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQRegressor:
        """Learn from X (n, d), dense or sparse, and numbers y (n,); the rest as :meth:`PLQClassifier.fit` has it."""
        self._check()
        if y is None:
            raise InputError("this estimator requires y to be passed, but the target y is None.")
        X, y = self._data(X, y, reset=True, y_numeric=True)
        y, weight = np.asarray(y, dtype=np.float64), None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if sensitive is not None:
                sensitive = limits.without_weightless(sensitive, weight)
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self._set(self._solve(X, [y], weight, sensitive))
        return self

    def _set(self, model: LinearModel) -> None:
        self.coef_, self.intercept_ = model.coef[0], float(model.intercept[0])

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; see LinearEstimator."""
        require("coef" in arrays and len(arrays["coef"]) == 1, name)
        return super().from_parts(header, arrays, name)

    def predict(self, X: Any) -> np.ndarray:
        """float64 (n,): x_iᵀβ + β₀."""
        check_is_fitted(self, "coef_")
        return np.asarray(self._data(X, reset=False) @ self.coef_).ravel() + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._may_score_poorly()
        return tags
