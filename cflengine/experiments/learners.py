"""Linear models with their regularisation chosen on documents beside: the learners that features are judged by.

Classes: a linear SVM with squared hinge loss, one class against the rest. Numbers: squared loss with an elastic net,
as in Section 5.1.2. The penalty of either may be adaptive. All are problems of :mod:`cflengine.plq`, with a proved gap
for every fit. C is told in units that do not depend on the features' scale, C · mean ‖x_i‖², and numbers are learnt at
variance 1.

Adaptive: feature j is penalised by β_j²/|t_j|^(2γ), t_j the t statistic of its correlation with the number (of classes
the largest with any) in the documents learnt from, so that what says something by itself is shrunken less (weights from
marginal regressions: Huang, Ma and Zhang, "Adaptive lasso for sparse high-dimensional regression models", Statistica
Sinica 2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
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
AROUND = (1 / 3, 1.0, 3.0)  # times the best C: where the adaptive penalty is tried
GAMMA = 0.5
_FIT_S = 60.0


@dataclass(frozen=True)
class Regularisation:
    """What was chosen: C as above, and of numbers the ℓ1 share and γ."""

    C: float
    l1_ratio: float = 0.0
    adaptive: float = 0.0


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
    model = PLQClassifier("squared_hinge", tol=TOL, time_limit=_FIT_S, n_threads=n_threads, listeners=listeners)

    def tried(grid: Sequence[Regularisation]) -> Iterator[Fit]:
        for regularisation, one in _along(model, rows, y[split.train], grid):
            dev = float(np.mean(one.predict(asked) == truth)) if len(truth) else 0.0
            yield Fit(regularisation, one, dev, float(one.duality_gap_))

    if given:
        return _best(tried(given))
    best = _best(tried([Regularisation(C) for C in CLASS_COSTS]))
    return _best(chain([best], tried(_adaptive(best))))


def fit_numbers(
    X: sparse.csr_matrix,
    y: np.ndarray,
    split: Split,
    given: Sequence[Regularisation] | None = None,
    *,
    listeners: Sequence[Listener] = (),
) -> Fit:
    """The least squared error on the development documents; y: float64 (N,), without NaN in the split."""
    rows, target = X[split.train], y[split.train]
    center, spread = float(target.mean()), float(target.std()) or 1.0
    target, asked, truth = (target - center) / spread, X[split.dev], (y[split.dev] - center) / spread
    model = PLQRegressor("squared", tol=TOL, time_limit=_FIT_S, n_threads=1, listeners=listeners)

    def tried(grid: Sequence[Regularisation]) -> Iterator[Fit]:
        for regularisation, one in _along(model, rows, target, grid):
            dev = -float(np.mean((one.predict(asked) - truth) ** 2)) * spread**2 if len(truth) else 0.0
            yield Fit(regularisation, one, dev, float(one.duality_gap_))

    if given:
        best = _best(tried(given))
    else:
        ridge, mixed = (_best(tried([Regularisation(C, mixture) for C in NUMBER_COSTS])) for mixture in MIXTURES)
        best = _best([ridge, mixed])
        further = [replace(best.regularisation, C=C) for C in FURTHER.get(best.regularisation.C, ())]
        best = _best(chain([best], tried(further)))
        ridge = ridge if best.regularisation.l1_ratio else best
        best = _best(chain([best], tried(_adaptive(ridge))))
    best.model.coef_ = best.model.coef_ * spread  # learnt at variance 1, told in the target's own units
    best.model.intercept_ = best.model.intercept_ * spread + center
    return best


def _best(fits: Iterable[Fit]) -> Fit:
    return max(fits, key=lambda fit: fit.dev)  # the first of equal ones


def _adaptive(ridge: Fit) -> list[Regularisation]:
    """What is tried beside the best ridge that knows of no t."""
    return [Regularisation(times * ridge.regularisation.C, adaptive=GAMMA) for times in AROUND]


def _along(
    model: Any, rows: sparse.csr_matrix, target: np.ndarray, grid: Sequence[Regularisation]
) -> Iterator[tuple[Regularisation, Any]]:
    """The models of a grid, a path over C for each kind of penalty, with coefficients of the features as they are."""
    t = largest_t(rows, target) if any(one.adaptive for one in grid) else np.ones(rows.shape[1])
    for l1_ratio, gamma in sorted({(one.l1_ratio, one.adaptive) for one in grid}):
        own = sorted((one for one in grid if (one.l1_ratio, one.adaptive) == (l1_ratio, gamma)), key=lambda one: one.C)
        factor = t**gamma
        scaled = sparse.csr_matrix((rows.data * factor[rows.indices], rows.indices, rows.indptr), rows.shape)
        fits = model.set_params(l1_ratio=l1_ratio).along(scaled, target, [one.C / mean_square(scaled) for one in own])
        for regularisation, one in zip(own, fits, strict=True):
            one.coef_ = one.coef_ * factor
            yield regularisation, one


def largest_t(X: sparse.csr_matrix, target: np.ndarray) -> np.ndarray:
    """float64 (d,): |t| of each column with a number; with classes, whole numbers, the largest of any of them."""
    if not np.issubdtype(target.dtype, np.integer):
        return marginal_t(X, target)
    classes = np.unique(target)
    found = np.zeros(X.shape[1])
    for one in classes[1:] if len(classes) == 2 else classes:
        np.maximum(found, marginal_t(X, (target == one).astype(np.float64)), out=found)
    return found


def marginal_t(X: sparse.csr_matrix, y: np.ndarray) -> np.ndarray:
    """float64 (d,): |t| of each column's correlation with y, √(n − 2) · |r|/√(1 − r²), at most 10⁶; 0 of a column, or a
    y, without spread."""
    n, d, centred = X.shape[0], X.shape[1], y - y.mean()
    total, squares = (np.bincount(X.indices, weights, minlength=d) for weights in (X.data, X.data**2))
    spread = squares - total**2 / max(n, 1)
    spread[spread <= 1e-10 * squares] = np.inf  # rounding alone
    r = np.abs(X.T @ centred) / np.sqrt(spread * max(float(centred @ centred), 1e-300))
    return np.minimum(np.sqrt(max(n - 2, 0)) * r / np.sqrt(np.maximum(1.0 - r**2, 1e-300)), 1e6)


def mean_square(X: sparse.csr_matrix) -> float:
    """The mean over rows of ‖x‖², 1 where all are 0."""
    return float((X.data**2).sum() / max(X.shape[0], 1)) or 1.0


def preference(model: Any, X: sparse.csr_matrix, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """float64 (n,): the score of the class that is predicted less that of the true one; of two classes, which have one
    score for both, that score."""
    scores = model.decision_function(X)
    table = np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    at = np.array([place.get(label, -1) for label in truth.tolist()])
    rows = np.arange(len(truth))
    said = table[rows, [place[label] for label in predicted.tolist()]]
    return np.where(at >= 0, said - table[rows, at], np.inf)  # a class that was not there to learn from
