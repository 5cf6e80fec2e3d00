"""Models side by side (Tables 1 and 2 of the paper): each penalty's best on a development set, judged on a test set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from cflengine.engine.progress import Listener
from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso.grid import PAPER_GRID, GridPoint, GridSearch, fit_classes, grid_search
from cflengine.sentence_lasso.penalties import Penalty, TrainingData
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.sentences import SentenceTable
from cflengine.sentence_lasso.settings import MajoriseSettings, Settings


@dataclass(frozen=True)
class LabelledSentences:
    """Documents cut into sentences, and their classes: int (N,), 0, 1, ..."""

    table: SentenceTable
    y: np.ndarray


@dataclass(frozen=True)
class Contender:
    """A penalty's best model: fitted once more to the precision asked for, judged on the test documents.

    test_accuracy: NaN without test documents. seconds: of the search and of the last fit.
    """

    penalty: Penalty
    search: GridSearch = field(repr=False)
    results: tuple[SentenceResult, ...] = field(repr=False)
    dev_accuracy: float
    test_accuracy: float
    seconds: float

    @property
    def model(self) -> LinearModel:
        """The classifier."""
        return LinearModel.of(self.results)

    @property
    def gap(self) -> float:
        """Proved, the largest of all classes'."""
        return max(result.gap for result in self.results)

    def row(self) -> dict[str, Any]:
        """For a table: Table 2's columns, the gap and the seconds."""
        model = self.model
        facts = {"penalty": self.penalty.kind, "accuracy": self.test_accuracy, "dev_accuracy": self.dev_accuracy}
        facts |= {"model_size": model.size / model.coef.shape[1], "features": model.size, "gap": self.gap}
        return facts | {"seconds": self.seconds} | self.penalty.strengths


def compete(
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
) -> Contender:
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
    judged = np.nan
    if test is not None and len(test.y):
        judged = LinearModel.of(results).accuracy(test.table.by_document(), test.y)
    seconds = sum(result.seconds for point in search.points for result in point.results)
    seconds += sum(result.seconds for result in results)
    return Contender(best.penalty, search, results, best.accuracy, judged, seconds)


def comparison_frame(contenders: Iterable[Contender]) -> pd.DataFrame:
    """A row a penalty: accuracy, model size, gap, seconds, strengths."""
    return pd.DataFrame([contender.row() for contender in contenders])


def paired_test(first: np.ndarray, second: np.ndarray) -> float:
    """p of the two-sided exact binomial (sign) test that two models are right equally often, from which documents each
    got right: bool arrays of one length. 1 where they never differ."""
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    n = only_first + only_second
    return float(binomtest(only_first, n).pvalue) if n else 1.0
