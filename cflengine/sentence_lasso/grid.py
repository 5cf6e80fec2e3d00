"""The paper's grid search (§5.2): every combination of strengths, the best on a development set.

Chains of solves run side by side in threads (the kernels hold no lock): in a chain λ_las falls, and each solve begins
where the one before it ended. Of models with equal accuracy the smallest wins, then the one with stronger penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.progress import Listener
from cflengine.sentence_lasso.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.settings import MajoriseSettings, Settings
from cflengine.sentence_lasso.solvers import solve

#: The paper's values for every strength.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class GridPoint:
    """A model of the grid with its accuracy on the development set."""

    penalty: Penalty
    result: SentenceResult = field(repr=False)
    accuracy: float


@dataclass(frozen=True)
class GridSearch:
    """Every point, in the order in which they were asked for, and the best."""

    points: tuple[GridPoint, ...]

    @property
    def best(self) -> GridPoint:
        """Most accurate, then smallest, then most strongly penalised."""
        return max(
            self.points,
            key=lambda point: (point.accuracy, -point.result.support, tuple(point.penalty.strengths.values())),
        )

    def frame(self) -> pd.DataFrame:
        """A row a point: the strengths, accuracy, features with a weight, gap, seconds, why it ended."""
        rows: list[dict[str, Any]] = []
        for point in self.points:
            result = point.result
            row = {"penalty": point.penalty.kind} | point.penalty.strengths | {"accuracy": point.accuracy}
            row |= {"features": result.support, "objective": result.objective, "gap": result.gap}
            rows.append(row | {"seconds": result.seconds, "reason": str(result.reason)})
        return pd.DataFrame(rows)


def grid_search(
    data: TrainingData,
    y: np.ndarray,
    dev_X: sparse.csr_matrix,
    dev_y: np.ndarray,
    kind: str = "sentence",
    values: Sequence[float] = PAPER_GRID,
    *,
    settings: Settings | None = None,
    listeners: Iterable[Listener] = (),
    on_point: Callable[[GridPoint], bool | None] | None = None,
    n_threads: int = 2,
) -> GridSearch:
    """Solve for every combination of ``values``; y, dev_y: float64, −1 or 1; dev_X: CSR (N, V).

    settings: a gap of 1e-3 by default, finer than accuracies can tell. listeners: of every solve, from the thread it
    runs in. on_point: called with each finished point, in that thread; False ends the search with the points so far.
    Raises ValueError for an empty development set, no values, or a kind that is unknown.
    """
    if kind not in PENALTIES:
        raise ValueError(f"penalty must be one of {', '.join(PENALTIES)}, not {kind!r}.")
    if not len(dev_y):
        raise ValueError("the development set is empty: there is nothing to choose by.")
    if not len(values):
        raise ValueError("the grid is empty: give at least one value.")
    settings = settings or MajoriseSettings(tol=1e-3)
    stopped = False

    def chain(penalties: list[Penalty]) -> list[GridPoint]:
        nonlocal stopped
        found: list[GridPoint] = []
        for penalty in penalties:
            if stopped:
                break
            before = found[-1].result if found and found[-1].result.support else None
            here = data.start(y, penalty, before.w, before.bias) if before else data.start(y, penalty)
            result = solve(here, settings, listeners, warm=before is not None)
            right = np.where(dev_X @ result.w + result.bias > 0, 1.0, -1.0) == dev_y
            found.append(GridPoint(penalty, result, float(right.mean())))
            if on_point is not None and on_point(found[-1]) is False:
                stopped = True
        return found

    with ThreadPoolExecutor(n_threads) as pool:
        chains = list(pool.map(chain, _chains(kind, values)))
    points = [point for one in chains for point in one]
    if not points:
        raise ValueError("the search was stopped before its first model was there.")
    return GridSearch(tuple(points))


def _chains(kind: str, values: Sequence[float]) -> list[list[Penalty]]:
    """Penalties that are solved one after the other: λ_las falling, else the only strength."""
    names = PENALTIES[kind]
    falling = sorted({float(value) for value in values}, reverse=True)
    others = names[:-1] if len(names) > 1 else ()
    chains = []
    for fixed in product(falling, repeat=len(others)):
        strengths = dict(zip(others, fixed, strict=True))
        chains.append([Penalty(kind, **strengths, **{names[-1]: value}) for value in falling])
    return chains
