"""The paper's grid search (§5.2): every combination of strengths, the best on a development set.

Chains of solves run side by side in threads (the kernels hold no lock): in a chain λ_las falls, and each solve begins
where the one before it ended. Of models with equal accuracy the smallest wins, then the one with stronger penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs, solve_rows
from cflengine.sentence_lasso.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.settings import ADMMSettings, MajoriseSettings, Settings
from cflengine.sentence_lasso.solvers import solve

#: The paper's values for every strength.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class GridPoint:
    """A model of the grid, a result for each of its rows, and its accuracy on the development set."""

    penalty: Penalty
    results: tuple[SentenceResult, ...] = field(repr=False)
    accuracy: float

    @property
    def model(self) -> LinearModel:
        """The classifier."""
        return LinearModel.of(self.results)

    @property
    def whole(self) -> bool:
        """Whether it ended by its own rule, not by a stop or a limit of time: else it says nothing of its penalty."""
        cut = (TerminationReason.INTERRUPTED, TerminationReason.TIME_LIMIT)
        return not any(result.reason in cut for result in self.results)


@dataclass(frozen=True)
class GridSearch:
    """Every point, by chain, and the best."""

    points: tuple[GridPoint, ...]

    @property
    def best(self) -> GridPoint:
        """Most accurate, then smallest, then most strongly penalised; of those that were cut off only if all were, the
        one with the smallest gap."""
        whole = [point for point in self.points if point.whole]
        if not whole:
            return min(self.points, key=lambda point: max(result.gap for result in point.results))
        return max(
            whole,
            key=lambda point: (point.accuracy, -point.model.size, tuple(point.penalty.strengths.values())),
        )

    def frame(self) -> pd.DataFrame:
        """A row a point: the strengths, accuracy, features with a weight, objective, gap, seconds, why it ended."""
        rows: list[dict[str, Any]] = []
        for point in self.points:
            row = {"penalty": point.penalty.kind} | point.penalty.strengths | {"accuracy": point.accuracy}
            row["features"] = point.model.size
            row["objective"] = sum(result.objective for result in point.results)
            row["gap"] = max(result.gap for result in point.results)
            row["seconds"] = sum(result.seconds for result in point.results)
            row["reason"] = ", ".join(sorted({str(result.reason) for result in point.results}))
            rows.append(row)
        return pd.DataFrame(rows)


def fit_classes(
    data: TrainingData,
    y: np.ndarray,
    n_classes: int,
    penalty: Penalty,
    settings: Settings,
    listeners: Iterable[Listener] = (),
    before: Sequence[SentenceResult] | None = None,
) -> tuple[SentenceResult, ...]:
    """One result for each of :func:`~cflengine.linear.one_vs_rest.class_signs`, their time limit for all together;
    before: those of a similar penalty, to begin from."""

    def solver(k: int, signs: np.ndarray) -> Callable[..., SentenceResult]:
        known = before[k] if before and before[k].support else None
        here = data.start(signs, penalty, known.w, known.bias) if known else data.start(signs, penalty)
        return lambda own, heard: solve(here, own, heard, warm=known is not None)

    solves = [solver(k, signs) for k, signs in enumerate(class_signs(y, n_classes))]
    return solve_rows(solves, settings, listeners)


def grid_search(
    data: TrainingData,
    y: np.ndarray,
    dev_X: sparse.csr_matrix,
    dev_y: np.ndarray,
    kind: str = "sentence",
    values: Sequence[float] | Mapping[str, Sequence[float]] = PAPER_GRID,
    *,
    settings: Settings | None = None,
    listeners: Iterable[Listener] = (),
    on_point: Callable[[GridPoint], bool | None] | None = None,
    n_threads: int = 2,
) -> GridSearch:
    """Solve for every combination of ``values``, which are for every strength, or given by its name.

    y, dev_y: int, classes 0, 1, ...; with more than two, one against the rest. dev_X: CSR (N, V). settings: a gap of
    1e-3 by default, finer than accuracies can tell. listeners: of every solve, called in the thread it runs in.
    on_point: called with each finished point, in that thread; False ends the search with the points so far.
    Raises ValueError for one class only, an empty development set, no values, or a kind that is unknown.
    """
    if kind not in PENALTIES:
        raise InputError(f"penalty must be one of {', '.join(PENALTIES)}, not {kind!r}.")
    if not len(dev_y):
        raise InputError("the development set is empty: there is nothing to choose by.")
    by_name = {name: values[name] if isinstance(values, Mapping) else values for name in PENALTIES[kind]}
    if not all(map(len, by_name.values())):
        raise InputError("the grid is empty: give at least one value for every strength.")
    n_classes = int(np.max(y)) + 1
    if len(np.unique(y)) < n_classes or n_classes < 2:
        raise InputError("the training documents must have at least two classes, and some of each.")
    chosen = settings or MajoriseSettings(tol=1e-3)
    stopped = False

    def chain(penalties: list[Penalty]) -> list[GridPoint]:
        nonlocal stopped
        found: list[GridPoint] = []
        for penalty in penalties:
            if stopped:
                break
            before = found[-1].results if found else None
            results = fit_classes(data, y, n_classes, penalty, chosen, listeners, before)
            found.append(GridPoint(penalty, results, LinearModel.of(results).accuracy(dev_X, dev_y)))
            if on_point is not None and on_point(found[-1]) is False:
                stopped = True
        return found

    # the sentences of an ADMM step are parallel already, and two threads must not enter such kernels at once
    with ThreadPoolExecutor(1 if isinstance(chosen, ADMMSettings) else n_threads) as pool:
        points = [point for one in pool.map(chain, _chains(kind, by_name)) for point in one]
    if not points:
        raise InputError("the search was stopped before its first model was there.")
    return GridSearch(tuple(points))


def _chains(kind: str, values: Mapping[str, Sequence[float]]) -> list[list[Penalty]]:
    """Penalties that are solved one after the other: λ_las falling, else the only strength."""
    *others, last = PENALTIES[kind]
    falling = {name: sorted({float(value) for value in values[name]}, reverse=True) for name in PENALTIES[kind]}
    return [
        [Penalty(kind, **dict(zip(others, fixed, strict=True)), **{last: value}) for value in falling[last]]
        for fixed in product(*(falling[name] for name in others))
    ]
