"""Linear models with their regularisation chosen on documents beside: the learners that features are judged by.

Classes: a linear SVM with squared hinge loss, one class against the rest. Numbers: squared loss with an elastic net,
as in Section 5.1.2. Both are problems of :mod:`cflengine.plq`, and every fit has a proved gap. C is told in units that
do not depend on the features' scale, C · mean ‖x_i‖², and numbers are learnt at variance 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.engine.progress import Listener
from cflengine.linear.labels import Split
from cflengine.plq.estimator import PLQClassifier, PLQRegressor

TOL = 1e-3  # proved gap at which a fit ends: accuracies do not change below
CLASS_COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
NUMBER_COSTS = (0.3, 1.0, 3.0, 10.0)
FURTHER = {0.3: (0.03, 0.1), 10.0: (30.0, 100.0)}  # tried where the best of those is at an end
MIXTURES = (0.0, 0.1)
_FIT_S = 60.0


@dataclass(frozen=True)
class Regularisation:
    """What was chosen: C as above, and of numbers the ℓ1 share."""

    C: float
    l1_ratio: float = 0.0


@dataclass(frozen=True)
class Fit:
    """dev: what the model was chosen by, the larger the better; gap: proved."""

    regularisation: Regularisation
    model: Any = field(repr=False)
    dev: float
    gap: float


def fit_classes(
    X: sparse.csr_matrix,
    y: np.ndarray,
    split: Split,
    given: Sequence[Regularisation] | None = None,
    *,
    n_threads: int | None = None,
    listeners: Sequence[Listener] = (),
) -> Fit:
    """The most accurate on the development documents, of equal ones the most regularised; y: int64 (N,), classes by
    number."""
    rows, asked, truth = X[split.train], X[split.dev], y[split.dev]
    grid = given or [Regularisation(C) for C in CLASS_COSTS]
    model = PLQClassifier("squared_hinge", tol=TOL, time_limit=_FIT_S, n_threads=n_threads, listeners=listeners)
    scale = mean_square(rows)
    best: Fit | None = None
    fits = model.along(rows, y[split.train], [one.C / scale for one in grid])
    for one, regularisation in zip(fits, grid, strict=True):
        dev = float(np.mean(one.predict(asked) == truth)) if len(truth) else 0.0
        if best is None or dev > best.dev:
            best = Fit(regularisation, one, dev, float(one.duality_gap_))
    assert best is not None
    return best


def fit_numbers(
    X: sparse.csr_matrix,
    y: np.ndarray,
    split: Split,
    given: Sequence[Regularisation] | None = None,
    *,
    listeners: Sequence[Listener] = (),
) -> Fit:
    """The least squared error on the development documents; y: float64 (N,), without NaN in the split."""
    grid = given or [Regularisation(C, mixture) for mixture in MIXTURES for C in NUMBER_COSTS]
    best = _best_number(X, y, split, grid, listeners)
    if given is None and best.regularisation.C in FURTHER:
        more = [Regularisation(C, best.regularisation.l1_ratio) for C in FURTHER[best.regularisation.C]]
        best = max(best, _best_number(X, y, split, more, listeners), key=lambda fit: fit.dev)
    return best


def _best_number(
    X: sparse.csr_matrix, y: np.ndarray, split: Split, grid: Sequence[Regularisation], listeners: Sequence[Listener]
) -> Fit:
    """The best of a grid, in a path for each mixture."""
    rows, target = X[split.train], y[split.train]
    center, spread = float(target.mean()), float(target.std()) or 1.0
    scale, asked, truth = mean_square(rows), X[split.dev], (y[split.dev] - center) / spread
    best: Fit | None = None
    for mixture in sorted({one.l1_ratio for one in grid}):
        own = sorted((one for one in grid if one.l1_ratio == mixture), key=lambda one: one.C)
        model = PLQRegressor(
            "squared", l1_ratio=mixture, tol=TOL, time_limit=_FIT_S, n_threads=1, listeners=listeners
        )  # fmt: skip
        fits = model.along(rows, (target - center) / spread, [one.C / scale for one in own])
        for one, regularisation in zip(fits, own, strict=True):
            dev = -float(np.mean((one.predict(asked) - truth) ** 2)) * spread**2 if len(truth) else 0.0
            if best is None or dev > best.dev:
                best = Fit(regularisation, one, dev, float(one.duality_gap_))
    assert best is not None
    best.model.coef_ = best.model.coef_ * spread  # learnt at variance 1, told in the target's own units
    best.model.intercept_ = best.model.intercept_ * spread + center
    return best


def mean_square(X: sparse.csr_matrix) -> float:
    """The mean over rows of ‖x‖², 1 where all are 0."""
    return float((X.data**2).sum() / max(X.shape[0], 1)) or 1.0


def preference(model: Any, X: sparse.csr_matrix, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """float64 (n,): the score of the class that is predicted less that of the true one."""
    scores = model.decision_function(X)
    table = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    at = np.array([place.get(label, -1) for label in truth.tolist()])
    rows = np.arange(len(truth))
    said = table[rows, [place[label] for label in predicted.tolist()]]
    return np.where(at >= 0, said - table[rows, at], np.inf)  # a class that was not there to learn from
