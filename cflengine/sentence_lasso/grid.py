"""The paper's grid search (§5.2): every combination of parameters, the best on a development set (linear/search.py).

In a chain of solves λ_las falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError, check_choice
from cflengine.engine.gaps import open_gap
from cflengine.engine.progress import Listener
from cflengine.linear.one_vs_rest import class_signs, solve_rows
from cflengine.linear.search import BestModel, GridPoint, GridSearch, cut_off, search_chains
from cflengine.sentence_lasso.model.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.sentences import SentenceTable
from cflengine.sentence_lasso.solvers.registry import solve
from cflengine.sentence_lasso.solvers.settings import ADMMSettings, MajoriseSettings, Settings

#: The paper's values for every regularisation parameter.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class LabelledSentences:
    """Documents cut into sentences, and their classes: int (N,), 0, 1, ..."""

    table: SentenceTable
    y: np.ndarray


def fit_classes(
    data: TrainingData,
    y: np.ndarray,
    n_classes: int,
    penalty: Penalty,
    settings: Settings,
    listeners: Iterable[Listener] = (),
    before: Sequence[SentenceResult] | None = None,
) -> tuple[SentenceResult, ...]:
    """One result for each of :func:`~cflengine.linear.one_vs_rest.class_signs`, their time limit for all together.

    Parameters
    ----------
    data : TrainingData
        Counts by document and by sentence.
    y : int ndarray (D,)
        Classes, 0 to n_classes − 1.
    n_classes : int
        How many classes there are.
    penalty : Penalty
        The regulariser.
    settings : MajoriseSettings or ADMMSettings
        The solver's.
    listeners : iterable of callables
        Told of every event.
    before : sequence of SentenceResult, optional
        Those of a similar penalty, to begin from.

    Returns
    -------
    tuple of SentenceResult
        In the order of the problems.
    """

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
    """Solve for every combination of ``values``, which are for every parameter, or given by its name.

    y, dev_y: int, classes 0, 1, ...; with more than two, one against the rest. dev_X: CSR (N, V). settings: a gap of
    1e-3 by default, finer than accuracies can tell. listeners: of every solve, called in the thread it runs in.
    on_point: called with each finished point, in that thread; False ends the search with the points so far.
    Raises ValueError for one class only, an empty development set, no values, or a kind that is unknown.
    """
    check_choice(kind, "penalty", PENALTIES)
    by_name = {name: values[name] if isinstance(values, Mapping) else values for name in PENALTIES[kind]}
    if not all(map(len, by_name.values())):
        raise InputError("the grid is empty: give at least one value for every parameter.")
    n_classes = int(np.max(y)) + 1
    if len(np.unique(y)) < n_classes or n_classes < 2:
        raise InputError("the training documents must have at least two classes, and some of each.")
    chosen = settings or MajoriseSettings(tol=1e-3)

    def fit(penalty: Penalty, before: tuple[SentenceResult, ...] | None) -> tuple[SentenceResult, ...]:
        return fit_classes(data, y, n_classes, penalty, chosen, listeners, before)

    # the sentences of an ADMM step are divided among threads already
    n_threads = 1 if isinstance(chosen, ADMMSettings) else n_threads
    return search_chains(_chains(kind, by_name), fit, dev_X, dev_y, on_point=on_point, n_threads=n_threads)


def find_best(
    train: LabelledSentences,
    dev: LabelledSentences,
    test: LabelledSentences | None,
    kind: str,
    values: Sequence[float] | Mapping[str, Sequence[float]] = PAPER_GRID,
    *,
    data: TrainingData | None = None,
    tol: float = 1e-4,
    settings: Settings | None = None,
    listeners: Iterable[Listener] = (),
    on_point: Callable[[GridPoint], bool | None] | None = None,
    n_threads: int = 2,
) -> BestModel:
    """Search the grid of a penalty, fit its best to a gap of ``tol``, judge it.

    data: of ``train``, where it has been made already. settings: of the search. Raises what ``grid_search`` raises.
    """
    data = data or TrainingData(train.table.by_document(), train.table.counts)
    search = grid_search(
        data, train.y, dev.table.by_document(), dev.y, kind, values, settings=settings, listeners=listeners,
        on_point=on_point, n_threads=n_threads,
    )  # fmt: skip
    best = search.best
    last: Settings = settings or MajoriseSettings()
    if isinstance(last, MajoriseSettings):  # ADMM's own rule and number of steps are part of the method
        last = replace(last, tol=tol)
    results = fit_classes(data, train.y, int(train.y.max()) + 1, best.penalty, last, listeners, best.results)
    # one that was cut off before it had proved as much leaves what the search had found
    found = zip(best.results, results, strict=True)
    results = tuple(old if cut_off(new) and open_gap(old.gap) < open_gap(new.gap) else new for old, new in found)
    return BestModel.of(search, results, test.table.by_document() if test else None, test.y if test else None)


def _chains(kind: str, values: Mapping[str, Sequence[float]]) -> list[list[Penalty]]:
    """Penalties that are solved one after the other: λ_las falling, else the only parameter."""
    *others, last = PENALTIES[kind]
    falling = {name: sorted({float(value) for value in values[name]}, reverse=True) for name in PENALTIES[kind]}
    return [
        [Penalty(kind, **dict(zip(others, fixed, strict=True)), **{last: value}) for value in falling[last]]
        for fixed in product(*(falling[name] for name in others))
    ]
