"""What classifier and regressor share: a loss for each target, constraints, paths over C, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from cflengine.engine.checks import InputError, check_flags, is_number
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.estimators import LinearEstimator
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import solve_rows, warn_unless_converged
from cflengine.linear.saving import require
from cflengine.plq import constraints as limits
from cflengine.plq import saved
from cflengine.plq.arrays import sizes_of
from cflengine.plq.certificate import FEASIBLE
from cflengine.plq.losses import Loss, named_loss
from cflengine.plq.problem import Constraints, PLQProblem
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings
from cflengine.plq.solver import DESCENT, solve

LEAST_WEIGHT = 1e-290  # of a loss against the penalty
_BYTES_PER_ROW = 100  # labels, weights, norms, scores ..
_BYTES_PER_ENTRY = 8  # of a sparse matrix: squares, for norms
_BYTES_PER_PART = 120  # .. and for each part of the loss its numbers, duals and what a proof takes for a moment


class PLQEstimator(LinearEstimator):
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
        own = isinstance(self.loss, Loss) or str(self.loss).startswith(aside) or len(_listed(self.constraints)) > 0
        return own or super()._may_score_poorly()

    def _is_proved(self) -> bool:
        return getattr(self, "violation_", 0.0) <= FEASIBLE

    def _check(self) -> DescentSettings:
        """The solver's settings. Raises ValueError for a parameter out of range, a loss and constraints included."""
        check_flags(self, "fit_intercept")
        _ = self.loss_, _listed(self.constraints)  # or one of them raises
        if not (is_number(self.C) and 0 < self.C < np.inf):
            raise InputError(f"C must be a number above 0, not {self.C!r}.")
        if self.C < LEAST_WEIGHT:
            raise InputError(f"C must be at least {LEAST_WEIGHT:g}: numbers below lose their digits.")
        if not (is_number(self.l1_ratio) and 0 <= self.l1_ratio < 1):
            raise InputError(f"l1_ratio must be at least 0 and below 1, not {self.l1_ratio!r}.")
        scaling = self.intercept_scaling
        if scaling is not None and not (is_number(scaling) and 0 < scaling < np.inf):
            raise InputError(f"intercept_scaling must be a number above 0 or None, not {scaling!r}.")
        settings: DescentSettings = self._solver_settings(DESCENT, self.settings)
        return settings

    def _constraints(self, X: Any, sensitive: Any) -> Constraints:
        return limits.together(X.shape[1], [limits.named(one, X, sensitive) for one in _listed(self.constraints)])

    def path(self, X: Any, y: Any, Cs: Iterable[float], sample_weight: Any = None, sensitive: Any = None) -> list[Self]:
        """This estimator fitted at every C, smallest first, each from the solution of the one before it.

        Parameters
        ----------
        X : object
            As ``fit`` takes it.
        y : object
            As ``fit`` takes it.
        Cs : Iterable[float]
            Values of C, in any order.
        sample_weight : object, default: None
            As ``fit`` takes it.
        sensitive : object, default: None
            As ``fit`` takes it.

        Returns
        -------
        list
            An estimator for each C.

        Raises
        ------
        ValueError for no C at all, and what ``fit`` raises.
        """
        return list(self.along(X, y, Cs, sample_weight, sensitive))

    def along(self, X: Any, y: Any, Cs: Iterable[float], sample_weight: Any = None, sensitive: Any = None) -> Any:
        """The models of :meth:`path` one by one, so that those that are not wanted need not be held.

        Parameters
        ----------
        X : object
            As ``fit`` takes it.
        y : object
            As ``fit`` takes it.
        Cs : Iterable[float]
            Values of C, in any order.
        sample_weight : object, default: None
            As ``fit`` takes it.
        sensitive : object, default: None
            As ``fit`` takes it.

        Yields
        ------
        object
            An estimator for each C.
        """
        given = list(Cs) if np.iterable(Cs) else [None]
        if not all(map(is_number, given)):
            raise InputError(f"a path needs numbers, several of them, not {Cs!r}.")
        chosen = sorted({float(C) for C in given})
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
        if np.min(C, initial=np.inf) < LEAST_WEIGHT:
            raise InputError(f"C times a weight of a row must be at least {LEAST_WEIGHT:g}: numbers below lose digits.")
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
        own, learnt = copy(self), dict(self._learnt_with)
        if isinstance(learnt["loss"], Loss):
            learnt["loss"] = saved.written_loss(learnt["loss"])
        if not isinstance(learnt["constraints"], str):
            learnt["constraints"] = [
                saved.written_constraints(one) if isinstance(one, Constraints) else one
                for one in _listed(learnt["constraints"])
            ]
        own._learnt_with = learnt
        header, arrays = super(PLQEstimator, own).to_parts(features)
        return header | {"violation": getattr(self, "violation_", None)}, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; ``name``: of the file. Raises ModelFileError where the parts do not fit together."""
        model, violation = super().from_parts(header, arrays, name), header.get("violation")
        if violation is not None:  # files of older versions have none
            require(is_number(violation) and violation >= 0, name)
            model.violation_ = float(violation)
        return model

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


def _listed(constraints: Any) -> list[str | Constraints]:
    """Constraints as given: one, or any number, None for none. Raises InputError for what is none."""
    if constraints is None:
        return []
    found = [constraints] if isinstance(constraints, str | Constraints) else constraints
    found = list(found) if isinstance(found, Iterable) else [found]
    if not all(isinstance(one, str | Constraints) for one in found):
        raise InputError(f"constraints are names, such as 'nonnegative', or Constraints, not {constraints!r}.")
    return found
