"""The scikit-learn face of linear models: what goes in, what a fit leaves, answers, slim pickles, files.

One convention for regularisation, whatever the estimator: ``C`` multiplies the sum of the losses, against ½‖w‖² or,
with ``l1_ratio`` ρ, against (1 − ρ)/2 ‖w‖² + ρ‖w‖₁; ``l1`` and ``l2`` multiply ‖w‖₁ and ½‖w‖² beside a sum of losses
that has no factor; other regularisation parameters have the name that their paper gives them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_is_fitted, validate_data

from cflengine.engine.checks import TOO_LARGE, InputError, is_number
from cflengine.engine.estimators import clone_sharing_listeners
from cflengine.engine.files import finite
from cflengine.engine.gaps import open_gap
from cflengine.engine.registry import Solver
from cflengine.engine.settings import Limits
from cflengine.linear import saving
from cflengine.linear.model import LinearModel, class_log_probabilities, class_probabilities
from cflengine.linear.parameters import defaults_of, parameters_of, read_parameters, written_parameters
from cflengine.linear.saving import require

LARGEST = 1e150  # whose square is a number


class LinearEstimator(saving.SavedModel, BaseEstimator):
    """What classifiers and regressors share. A fit leaves, whatever the model:

    coef_ ; intercept_ ; n_features_in_ ; n_iter_ : int32, of every row that was solved on its own, at least 1.
    duality_gap_ : proved, the largest of the rows. result_ : of that row, and trace_, its events; results_ : of all.
    solver_reason_ : why that row ended. results_, result_ and trace_ are left out of pickles and files.
    """

    #: in a model file: its kind, the parameters that files of version 2 have, those that stand elsewhere in the file,
    #: and the classes that its settings may be of
    kind = ""
    _least: tuple[str, ...] = ()
    _unwritten: tuple[str, ...] = ()
    _settings_kinds: tuple[type[Limits], ...] = ()
    #: parameters of the penalty, and 1 where more of one regularises more, −1 where less does
    _regularising: tuple[tuple[str, int], ...] = ()

    coef_: np.ndarray
    intercept_: Any
    _unpickled: tuple[str, ...] = ("results_", "result_")

    def _data(self, X: Any, y: Any = None, *, reset: bool, **more: Any) -> Any:
        if reset and sparse.issparse(X):
            X = sparse.csr_matrix(X)
            if not X.has_canonical_format:  # norms square each entry by itself; predictions add them up
                X = X.copy()
                X.sum_duplicates()
        given = (X,) if y is None else (X, y)
        return validate_data(self, *given, accept_sparse="csr", dtype=np.float64, order="C", reset=reset, **more)

    def _keep(self, results: Sequence[Any]) -> None:
        """Be fitted with a result for each row."""
        worst = max(results, key=lambda result: open_gap(result.gap))
        self.results_, self.result_, self._learnt_with = tuple(results), worst, parameters_of(self)
        self.duality_gap_, self.solver_reason_ = worst.gap, str(worst.reason)
        self.n_iter_ = np.array([max(result.n_iterations, 1) for result in results], dtype=np.int32)

    @property
    def trace_(self) -> pd.DataFrame:
        """The events of ``result_``: a table made when it is asked for, which takes longer than a small fit."""
        if not hasattr(self, "result_"):
            raise AttributeError("trace_ is of a fit: a model that was loaded or unpickled has none.")
        return self.result_.trace

    def _set(self, model: LinearModel) -> None:
        self.coef_, self.intercept_ = model.coef, model.intercept

    @property
    def _model(self) -> LinearModel:
        return LinearModel(self.coef_, self.intercept_)

    def _solver_settings(self, solver: Solver, given: Limits | None, **own: Any) -> Any:
        """``given``, or the solver's own with what this estimator has; a limit of None leaves the solver's default."""
        names = ("tol", "max_iter", "time_limit", "random_state")
        known = {name: getattr(self, name, None) for name in names if hasattr(solver.settings, name)} | own
        chosen: dict[str, Any] = {name: value for name, value in known.items() if name == "tol" or value is not None}
        return solver.check(given, **chosen)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The columns of the matrix, in the order of coef_.

        Parameters
        ----------
        input_features : object, default: None
            Names, where the model was fitted to a matrix without any.

        Returns
        -------
        numpy.ndarray
            object (d,).
        """
        check_is_fitted(self, "coef_")
        return _check_feature_names_in(self, input_features)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the model to a file that holds data alone, never code (linear/saving.py).

        Parameters
        ----------
        path : str or path
            Of the file, which is replaced as a whole.
        features : Sequence[str] or None, default: None
            What the columns of the matrix are, in order, where it was not a DataFrame that named them: without, a
            loaded model needs columns in the same order.
        about : Mapping or None, default: None
            Anything that JSON has, kept beside the model.

        Raises
        ------
        ValueError for labels that JSON has not, and for another number of features.
        """
        check_is_fitted(self, "coef_")
        header, arrays = self.to_parts(features)
        saving.write_model(path, self.kind, header | {"about": dict(about or {})}, arrays)

    def to_parts(self, features: Sequence[str] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The model as values that JSON has, and arrays."""
        names = getattr(self, "feature_names_in_", None) if features is None else features
        if names is not None and len(names) != self.n_features_in_:
            raise InputError(f"there are {len(names)} names for {self.n_features_in_} features.")
        header = {
            "parameters": written_parameters(self, without=self._unwritten),
            "features": None if names is None else [str(name) for name in names],
            "gap": finite(self.duality_gap_) if self._is_proved() else None,
            "reason": self.solver_reason_,
            "n_iter": [int(count) for count in getattr(self, "n_iter_", ())],
        }
        return header, {"coef": np.atleast_2d(self.coef_), "intercept": np.atleast_1d(self.intercept_)}

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; ``name``: of the file. Raises ModelFileError where the parts do not fit together."""
        require({"coef", "intercept"} <= set(arrays), name)
        require({"parameters", "features", "gap", "reason"} <= set(header), name)
        coef, intercept, names = arrays["coef"], arrays["intercept"], header["features"]
        require(coef.ndim == 2 and intercept.shape == (len(coef),), name)
        require(coef.dtype == intercept.dtype == np.float64, name)
        require(bool(np.isfinite(coef).all() and np.isfinite(intercept).all()), name)
        require(names is None or (isinstance(names, list) and len(names) == coef.shape[1]), name)
        require(header["gap"] is None or is_number(header["gap"]), name)
        model = cls._with(header["parameters"], name)
        model._learnt_with = parameters_of(model)
        model.n_features_in_, model.solver_reason_ = coef.shape[1], str(header["reason"])
        model.duality_gap_ = np.inf if header["gap"] is None else header["gap"]
        if names is not None:
            model.feature_names_in_ = np.array([str(one) for one in names], dtype=object)
        counts = header.get("n_iter") or []  # files of older versions have none
        require(isinstance(counts, list) and all(is_number(count) and count >= 1 for count in counts), name)
        if counts:
            model.n_iter_ = np.array(counts, dtype=np.int32)
        model._set(LinearModel(coef, intercept))
        return model

    @classmethod
    def _with(cls, parameters: Any, name: str) -> Self:
        """An estimator with the parameters of a file."""
        found = cls._read(parameters, name)
        try:
            model = cls(**found)
            model._check()
        except (ValueError, TypeError) as error:
            raise saving.ModelFileError(f"'{name}' is damaged: {error}") from error
        return model

    @classmethod
    def _read(cls, parameters: Any, name: str) -> dict[str, Any]:
        """The parameters of a file as the class takes them."""
        return read_parameters(cls, parameters, name, least=cls._least, settings=cls._settings_kinds)

    def _is_proved(self) -> bool:
        """Whether duality_gap_ is proved."""
        return True

    def _check(self) -> Any:
        """The solver's settings. Raises ValueError for a parameter out of range."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._unpickled}

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _may_score_poorly(self) -> bool:
        """Whether a model with these parameters need not predict well: it may end early, or has more regularisation
        than the default."""
        kind: Any = type(self)
        default = defaults_of(kind)
        limits = self.settings if getattr(self, "settings", None) is not None else self
        compared = [(getattr(limits, "max_iter", None), default["max_iter"] or np.inf, -1)]
        compared += [(getattr(self, name), default[name], sign) for name, sign in self._regularising]
        if getattr(limits, "time_limit", None) is not None:
            return True
        return any(
            value is not None and is_number(value) and sign * (value - usual) > 0 for value, usual, sign in compared
        )


class LinearClassifier(ClassifierMixin, LinearEstimator):
    """A classifier by scores: of classes_[1], or one against the rest."""

    class_weight: Any

    def _labelled(self, X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray, Any]:
        """X without the rows of no weight, the classes, each row's class, and weights, None where all are 1.

        Raises ValueError for labels of one class, negative weights, and a class whose weight is 0.
        """
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weight.all():
                X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        classes, number = two_classes(y)
        if self.class_weight is not None:
            factor = self._factors(classes, number, weight)
            if not (np.isfinite(factor).all() and (factor > 0).all()):
                raise InputError("the weight of a class must be a number above 0.")
            weight = factor[number] if weight is None else weight * factor[number]
        return X, classes, number, weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._may_score_poorly()
        return tags

    def _factors(self, classes: np.ndarray, number: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """The weight of each class; balanced: so that all classes have the same sum of the documents' weights."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            total = np.bincount(number, weight)
            return np.asarray(total.sum() / (len(classes) * total))
        return np.asarray(compute_class_weight(self.class_weight, classes=classes, y=classes[number]))

    def _matrix(self, X: Any) -> sparse.csr_matrix:
        check_is_fitted(self, "coef_")
        return sparse.csr_matrix(self._data(X, reset=False))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : object
            N documents: a matrix (N, d), dense or sparse, or texts where the model was fitted to texts.

        Returns
        -------
        numpy.ndarray
            float64 (N,), above 0 for classes_[1]; or (N, classes).
        """
        matrix = self._matrix(X)
        return self._model.scores(matrix)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score.

        Parameters
        ----------
        X : object
            N documents: a matrix (N, d), dense or sparse, or texts where the model was fitted to texts.

        Returns
        -------
        numpy.ndarray
            (N,), of classes_.
        """
        matrix = self._matrix(X)
        found: np.ndarray = self.classes_[self._model.predict(matrix)]
        return found

    def to_parts(self, features: Sequence[str] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        header, arrays = super().to_parts(features)
        kind = {"type_of_classes": self.classes_.dtype.str, "classes": saving.plain_labels(self.classes_)}
        return header | kind, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        classes = header.get("classes")
        require(saving.are_labels(classes), name)
        model = super().from_parts(header, arrays, name)
        assert classes is not None
        require(len(model.coef_) == (1 if len(classes) == 2 else len(classes)), name)
        model.classes_ = saving.typed_labels(classes, header.get("type_of_classes"), name)
        return model


class ProbabilisticClassifier(LinearClassifier):
    """One whose scores are log-odds, unless it says that this one's are not."""

    @property
    def _has_probabilities(self) -> bool:
        return True

    @available_if(lambda estimator: estimator._has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; one against the rest: the classes' own, scaled to sum to 1.

        Parameters
        ----------
        X : object
            N documents: a matrix (N, d), dense or sparse, or texts where the model was fitted to texts.

        Returns
        -------
        numpy.ndarray
            float64 (N, classes), in the order of classes_.
        """
        return self._probabilities(self.decision_function(X))

    @available_if(lambda estimator: estimator._has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, also of those that are too small for a number.

        Parameters
        ----------
        X : object
            N documents: a matrix (N, d), dense or sparse, or texts where the model was fitted to texts.

        Returns
        -------
        numpy.ndarray
            float64 (N, classes), in the order of classes_.
        """
        return self._log_probabilities(self.decision_function(X))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return class_probabilities(scores)

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        return class_log_probabilities(scores)


def check_size(X: np.ndarray | sparse.csr_matrix) -> None:
    """InputError for numbers whose squares are none any more."""
    values = np.asarray(X.data if sparse.issparse(X) else X)
    if values.size and max(float(values.max()), -float(values.min())) > LARGEST:
        raise InputError(TOO_LARGE)


def two_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, sorted, and the number of each label's. Raises ValueError unless there are two."""
    classes, number = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        which = f"all of one class, {classes.tolist()[0]!r}" if len(classes) else "none"
        raise InputError(f"the labels are {which}: a classifier needs two classes.")
    return classes, number
