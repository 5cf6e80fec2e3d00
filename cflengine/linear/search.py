"""Search over regularisation, and models side by side: the best of each penalty, chosen on one part and judged on
another.

Penalties are solved in chains, side by side in threads (kernels hold no lock); in a chain each solve begins where the
one before it ended. Of models with equal accuracy the smallest wins, then the one with stronger penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import binomtest

from cflengine.engine.checks import InputError
from cflengine.engine.gaps import open_gap
from cflengine.engine.progress import TerminationReason
from cflengine.linear.model import LinearModel


class Regulariser(Protocol):
    """What is searched: a kind of penalty and its regularisation parameters by name."""

    @property
    def kind(self) -> str: ...
    @property
    def parameters(self) -> dict[str, float]: ...


Penalty = TypeVar("Penalty", bound=Regulariser)


@dataclass(frozen=True)
class GridPoint:
    """A model of the grid.

    Parameters
    ----------
    penalty : Any
        Its regulariser.
    results : tuple[Any, ...]
        One for each of its rows.
    accuracy : float
        On the development set.
    """

    penalty: Any
    results: tuple[Any, ...] = field(repr=False)
    accuracy: float

    @property
    def model(self) -> LinearModel:
        """The classifier."""
        return LinearModel.of(self.results)

    @property
    def whole(self) -> bool:
        """Whether it ended by its own rule, not by a stop or a limit of time: else it says nothing of its penalty."""
        return not any(cut_off(result) for result in self.results)


def cut_off(result: Any) -> bool:
    """Whether a stop or a limit of time ended it."""
    return result.reason in (TerminationReason.INTERRUPTED, TerminationReason.TIME_LIMIT)


@dataclass(frozen=True)
class GridSearch:
    """Every model of a grid, and the best.

    Parameters
    ----------
    points : tuple[GridPoint, ...]
        By chain.
    """

    points: tuple[GridPoint, ...]

    @property
    def best(self) -> GridPoint:
        """Most accurate, then smallest, then most strongly penalised; of those that were cut off only if all were, the
        one with the smallest gap."""
        whole = [point for point in self.points if point.whole]
        if not whole:
            return min(self.points, key=lambda point: max(open_gap(result.gap) for result in point.results))
        return max(
            whole,
            key=lambda point: (point.accuracy, -point.model.size, tuple(point.penalty.parameters.values())),
        )

    def frame(self) -> pd.DataFrame:
        """A row a point: the parameters, accuracy, features with a weight, objective, gap, seconds, why it ended."""
        rows: list[dict[str, Any]] = []
        for point in self.points:
            row = {"penalty": point.penalty.kind} | point.penalty.parameters | {"accuracy": point.accuracy}
            row["features"] = point.model.size
            row["objective"] = sum(result.objective for result in point.results)
            row["gap"] = max((result.gap for result in point.results), key=open_gap)
            row["seconds"] = sum(result.seconds for result in point.results)
            row["reason"] = ", ".join(sorted({str(result.reason) for result in point.results}))
            rows.append(row)
        return pd.DataFrame(rows)


def search_chains(
    chains: Iterable[Sequence[Penalty]],
    fit: Callable[[Penalty, tuple[Any, ...] | None], tuple[Any, ...]],
    X: sparse.csr_matrix,
    y: np.ndarray,
    *,
    on_point: Callable[[GridPoint], bool | None] | None = None,
    n_threads: int = 2,
) -> GridSearch:
    """Fit every penalty of every chain and judge it on documents that were not learnt from.

    Parameters
    ----------
    chains : iterable of sequences of penalties
        Within a chain each fit begins from the one before it.
    fit : callable
        From a penalty, and the results of the one before it or None, to a result for each row of a model.
    X : CSR matrix (N, V)
        Features of the development set.
    y : int ndarray (N,)
        Its classes, 0, 1, ...
    on_point : callable, optional
        Called with each finished point, in the thread that found it; False ends the search with the points so far.
    n_threads : int
        How many chains are fitted at once.

    Returns
    -------
    GridSearch
        The points, in the order of the chains.

    Raises
    ------
    InputError
        For an empty development set, or if it was stopped before its first point.
    """
    if not len(y):
        raise InputError("the development set is empty: there is nothing to choose by.")
    stopped = False

    def solve(penalties: Sequence[Penalty]) -> list[GridPoint]:
        nonlocal stopped
        found: list[GridPoint] = []
        for penalty in penalties:
            if stopped:
                break
            results = fit(penalty, found[-1].results if found else None)
            found.append(GridPoint(penalty, results, LinearModel.of(results).accuracy(X, y)))
            if on_point is not None and on_point(found[-1]) is False:
                stopped = True
        return found

    with ThreadPoolExecutor(n_threads) as pool:
        points = [point for one in pool.map(solve, chains) for point in one]
    if not points:
        raise InputError("the search was stopped before its first model was there.")
    return GridSearch(tuple(points))


@dataclass(frozen=True)
class BestModel:
    """A penalty's best model: fitted once more to the precision asked for, judged on the test documents.

    Parameters
    ----------
    penalty : Any
        With the parameters that were chosen.
    search : GridSearch
        What they were chosen from.
    results : tuple[Any, ...]
        One for each row of the model.
    dev_accuracy : float
        On the development set.
    test_accuracy : float
        On the test set; NaN without test documents.
    seconds : float
        Of the search and of the last fit.
    """

    penalty: Any
    search: GridSearch = field(repr=False)
    results: tuple[Any, ...] = field(repr=False)
    dev_accuracy: float
    test_accuracy: float
    seconds: float

    @classmethod
    def of(
        cls, search: GridSearch, results: tuple[Any, ...], X: sparse.csr_matrix | None, y: np.ndarray | None
    ) -> BestModel:
        """The best of a search, whose last fit ``results`` are; X, y: of the test documents, if there are any."""
        best, judged = search.best, np.nan
        if X is not None and y is not None and len(y):
            judged = LinearModel.of(results).accuracy(X, y)
        seconds = sum(result.seconds for point in search.points for result in point.results)
        seconds += sum(result.seconds for result in results)
        return cls(best.penalty, search, results, best.accuracy, judged, seconds)

    @property
    def model(self) -> LinearModel:
        """The classifier."""
        return LinearModel.of(self.results)

    @property
    def gap(self) -> float:
        """Proved, the largest of all classes'."""
        return max((result.gap for result in self.results), key=open_gap)

    def row(self) -> dict[str, Any]:
        """For a table: accuracies, model size (the paper's Table 2), the gap, the seconds and the parameters."""
        model = self.model
        facts = {"penalty": self.penalty.kind, "accuracy": self.test_accuracy, "dev_accuracy": self.dev_accuracy}
        facts |= {"model_size": model.size / model.coef.shape[1], "features": model.size, "gap": self.gap}
        return facts | {"seconds": self.seconds} | self.penalty.parameters


def comparison_frame(models: Iterable[BestModel]) -> pd.DataFrame:
    """A row a penalty: accuracy, model size, gap, seconds, parameters."""
    return pd.DataFrame([model.row() for model in models])


def paired_test(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided exact binomial (sign) test that two models are right equally often.

    Parameters
    ----------
    first : bool ndarray (n,)
        Which documents the first model got right.
    second : bool ndarray (n,)
        Which documents the second model got right.

    Returns
    -------
    float
        p; 1 where they never differ.
    """
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    n = only_first + only_second
    return float(binomtest(only_first, n).pvalue) if n else 1.0
