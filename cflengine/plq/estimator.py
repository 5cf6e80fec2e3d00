"""The scikit-learn face: classification and regression with any convex piecewise linear-quadratic loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from cflengine.engine.checks import InputError
from cflengine.engine.estimators import all_or_nothing, checked_labels
from cflengine.engine.progress import Listener
from cflengine.linear.estimators import LARGEST, LinearClassifier
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.saving import require
from cflengine.plq import constraints as limits
from cflengine.plq.base import PLQEstimator
from cflengine.plq.losses import Loss
from cflengine.plq.problem import Constraints
from cflengine.plq.settings import DescentSettings


class PLQClassifier(PLQEstimator, LinearClassifier):
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
        score with the column ``sensitive`` of fit is at most that; every row counts alike, whatever its weight).
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
        relative; inf where the bound is 0 and the objective, by rounding, is not, as where all targets are the same
        (result_ has both); violation_ : by how much it fails them. n_iter_ : passes, by row. solver_reason_ : why the
        worst row ended; result_ and trace_ : of that row. results_ : a :class:`~cflengine.plq.result.PLQResult` for
        each row.

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

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQClassifier:
        """Learn from a matrix and labels.

        Parameters
        ----------
        X : object
            (n, d), dense or sparse.
        y : object
            (n,), labels.
        sample_weight : object, default: None
            float (n,), at least 0; a row of weight 0 is left out. None for 1.
        sensitive : object, default: None
            float (n,), for "fair" constraints.

        Returns
        -------
        PLQClassifier
            Itself.

        Raises
        ------
        ValueError for wrong settings, numbers that are none, labels of one class, or constraints that contradict each
        other; MemoryLimitError, before any work, for data that does not fit.
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


class PLQRegressor(RegressorMixin, PLQEstimator):
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
        score with the column ``sensitive`` of fit is at most that; every row counts alike, whatever its weight).
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

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive: Any = None) -> PLQRegressor:
        """Learn from a matrix and numbers.

        Parameters
        ----------
        X : object
            (n, d), dense or sparse.
        y : object
            float (n,).
        sample_weight : object, default: None
            float (n,), at least 0; a row of weight 0 is left out. None for 1.
        sensitive : object, default: None
            float (n,), for "fair" constraints.

        Returns
        -------
        PLQRegressor
            Itself.

        Raises
        ------
        ValueError for wrong settings, numbers that are none, or constraints that contradict each
        other; MemoryLimitError, before any work, for data that does not fit.
        """
        self._check()
        if y is None:
            raise InputError("this estimator requires y to be passed, but the target y is None.")
        X, y = self._data(X, y, reset=True, y_numeric=True)
        y, weight = np.asarray(y, dtype=np.float64), None
        if np.abs(y).max(initial=0.0) > LARGEST:
            raise InputError("y holds numbers so large that their squares are infinite: scale it.")
        if 0.0 < np.abs(y).max(initial=0.0) < 1.0 / LARGEST:
            raise InputError("y holds numbers so small that their squares are 0: scale it.")
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
        """x_iᵀβ + β₀.

        Parameters
        ----------
        X : object
            (n, d), dense or sparse.

        Returns
        -------
        numpy.ndarray
            float64 (n,).
        """
        check_is_fitted(self, "coef_")
        return np.asarray(self._data(X, reset=False) @ self.coef_).ravel() + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._may_score_poorly()
        return tags
