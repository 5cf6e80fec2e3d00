"""A loss fitted to a corpus in the worker's thread, with the other quantile of a band, or as a race of two solvers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine import CompressiveFeatures, IterationStats
from cflengine.engine import InputError
from cflengine.linear import largest_weights, vectorizer
from cflengine.plq import (
    FORMS,
    LOSSES,
    DescentSettings,
    DualSVM,
    Loss,
    PLQResult,
    RiskComparison,
    drawn_loss,
    named_loss,
    warm_up,
)
from cflengine.text import USUAL_TOKENS, TokenChoice
from pages.parts.shared.jobs import Job, trace_row

TOL, LIMIT_S, CHECK_EVERY = 1e-6, 120.0, 1
RACE_DOCUMENTS, RACE_TOL, RACE_LIMIT_S = 1500, 1e-8, 20.0
DRAWN = "drawn"
COSTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

#: what the losses are called on the page, those for classes first
TITLES = {
    "hinge": "hinge: the support vector machine",
    "squared_hinge": "squared hinge",
    "smoothed_hinge": "smoothed hinge",
    "quantile": "quantile: so many in a hundred lie below",
    "huber": "Huber: squared near, absolute far away",
    "absolute": "absolute: the median",
    "squared": "squared: the mean",
    "expectile": "expectile: squared, the sides weighted",
    "epsilon_insensitive": "ε-insensitive: small errors are free",
    "squared_epsilon_insensitive": "ε-insensitive, squared",
    DRAWN: "your own, drawn",
}
#: where one's own begins, by what it is of
POINTS = {
    "residual": ((-2.0, 1.5), (-1.0, 0.5), (0.0, 0.0), (1.0, 1.0), (2.0, 3.0)),
    "margin": ((-2.0, 3.5), (-1.0, 2.0), (0.0, 1.0), (1.0, 0.25), (2.0, 0.0)),
}


@dataclass(frozen=True)
class LossChoice:
    """What to predict, and how. numbers: whether the column is one of numbers; level: of a loss with a number; points:
    of a drawn one, none for those it begins with; band: the opposite quantile beside it; constraints: as estimators
    take them; lam, max_gram: of K-grams."""

    column: str
    numbers: bool
    loss: str
    level: float = 0.9
    points: tuple[tuple[float, float], ...] = ()
    C: float = 1.0
    features: str = "words"
    constraints: tuple[str, ...] = ()
    sensitive: str | None = None
    band: bool = False
    test: float | str = 0.2
    lam: float = 1.0
    max_gram: int = 3
    tokens: TokenChoice = USUAL_TOKENS

    @property
    def of(self) -> str:
        """What a loss of this target is of."""
        return "residual" if self.numbers else "margin"

    @property
    def shape(self) -> tuple[tuple[float, float], ...]:
        """The points of a drawn loss."""
        return self.points or POINTS[self.of]

    @property
    def imposed(self) -> tuple[str, ...]:
        """The constraints, but for an order of fewer than two features."""
        return tuple(one for one in self.constraints if not one.startswith("monotone:") or "," in one)

    def made(self, level: float | None = None) -> Loss:
        """The loss. Raises ValueError for a number out of range, and points that give none."""
        if self.loss == DRAWN:
            return drawn_loss(self.shape, self.of)
        takes_number = LOSSES[self.loss][2] is not None
        return named_loss(f"{self.loss}:{self.level if level is None else level:g}" if takes_number else self.loss)


@dataclass
class LossRun:
    """``risk`` and ``model`` are there once the job is done; ``other``: of the opposite quantile."""

    choice: LossChoice
    risk: RiskComparison | None = None
    model: Any = None
    other: Any = None
    races: dict[str, PLQResult] = field(default_factory=dict)

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, grams: CompressiveFeatures | None, job: Job) -> None:
        """Make the matrix and fit. grams: an estimator of K-grams, for features of that kind. Raises ValueError."""
        choice = self.choice
        loss = choice.made()
        warm_up()
        if grams is not None:
            grams.set_params(listeners=(lambda stats: job.step(),))
        pipeline = vectorizer(
            "tf-idf",
            grams=grams if choice.features == "kgrams" else None,
            token_pattern=choice.tokens.words,
            lowercase=choice.tokens.lowercase,
        )
        self.risk = RiskComparison.of(
            texts,
            metadata,
            choice.column,
            pipeline,
            numbers=choice.numbers,
            test=choice.test,
            sensitive=choice.sensitive,
        )  # fmt: skip
        if grams is not None:
            grams.set_params(listeners=())
        self.model = self._fit(loss, _Fit(job))
        if choice.band and choice.loss == "quantile" and job.poll():
            self.other = self._fit(choice.made(round(1.0 - choice.level, 6)), lambda stats: job.step())

    def _fit(self, loss: Loss, listener: Any) -> Any:
        assert self.risk is not None
        model = self.risk.estimator(
            loss.name, C=self.choice.C, constraints=self.choice.imposed, listeners=(listener,),
            settings=DescentSettings(tol=TOL, max_iter=1_000_000, time_limit=LIMIT_S, check_every=CHECK_EVERY),
        )  # fmt: skip
        fitted = self.risk.fit(model)
        return fitted.set_params(listeners=())  # the model outlives the job

    def coefficients(self, row: int = 0) -> pd.DataFrame:
        """Features with a weight, largest first: feature, weight, documents of the training part that have it."""
        assert self.risk is not None
        comparison, coef = self.risk.comparison, np.atleast_2d(self.model.coef_)[row]
        documents = np.bincount(comparison.X[comparison.train].indices, minlength=len(coef))
        return largest_weights(comparison.names, coef, len(coef), documents=documents)

    def proof_rows(self) -> list[dict[str, Any]]:
        """The fit's events as rows of the live chart; of several classes those of the one with the largest gap."""
        trace = self.model.trace_
        names = {"elapsed_s": "t", "work": "i", "objective": "objective", "best_objective": "best"}
        names |= {"lower_bound": "bound", "gap": "gap"}
        return trace[list(names)].rename(columns=names).to_dict("records")

    def race(self, job: Job) -> None:
        """Pure against primal-dual coordinate descent on the second class against the others, of some of the documents.
        Raises ValueError for numbers."""
        assert self.risk is not None
        if self.choice.numbers:
            raise InputError("The race is one of support vector machines: predict a class.")
        comparison = self.risk.comparison
        where = _of_both(comparison.train, comparison.y[comparison.train] == 1, RACE_DOCUMENTS)
        X, y = comparison.X[where], np.where(comparison.y[where] == 1, 1.0, -1.0)
        settings = DescentSettings(tol=RACE_TOL, max_iter=100_000, time_limit=RACE_LIMIT_S)
        for number, name in enumerate(FORMS):
            if not job.poll():
                break
            self.races[name] = DualSVM(name, X, y, self.choice.C, settings, (_Lane(job, number),)).run()


def _of_both(documents: np.ndarray, second: np.ndarray, most: int) -> np.ndarray:
    """At most so many documents, in their order, drawn with a seed from those of the second class (bool) and from the
    others in their proportions, and some of either: a corpus may be sorted."""
    if len(documents) <= most:
        return documents
    random, chosen = np.random.default_rng(0), []
    n_second = int(np.clip(round(most * second.mean()), 1, most - 1))
    for own, size in ((second, n_second), (~second, most - n_second)):
        places = np.flatnonzero(own)
        chosen.append(random.permutation(places)[:size])
    return documents[np.sort(np.concatenate(chosen))]


class _Fit:
    """The fit's listener: its events become rows of the job, by passes; of several classes the first one's, since the
    others' objectives have another scale."""

    def __init__(self, job: Job) -> None:
        self.job, self.last, self.first, self.thread = job, -1, True, 0

    def __call__(self, stats: IterationStats) -> bool:
        here = threading.get_ident()  # classes are fitted side by side
        self.thread = self.thread or here
        if here == self.thread:
            self.first = self.first and stats.iteration >= self.last
        if self.first and here == self.thread:
            self.last = stats.iteration
            self.job.note(trace_row(stats) | {"i": stats.work})
        return self.job.step()


class _Lane:
    """A solver's listener: its events become rows of the job, by operations."""

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.number = job, number

    def __call__(self, stats: IterationStats) -> bool:
        row = trace_row(stats) | {"s": self.number, "t": stats.extra["sweep_s"], "i": stats.extra["operations"]}
        self.job.note(row)
        return self.job.step()
