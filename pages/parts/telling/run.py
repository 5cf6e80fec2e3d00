"""Models of labelled sentences in the solver's thread: first a model in about a second, then every model's grid
beside it, and solves wherever the sliders stand.

``best``, ``solved`` and ``by_admm`` are filled by that thread and read by pages; what is in them never changes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cflengine import ADMMSettings, MajoriseSettings
from cflengine.engine import IterationStats, Listener, TerminationReason
from cflengine.linear import (
    BestModel,
    GridPoint,
    GridSearch,
    LinearModel,
    paired_test,
    read_labels,
    search_chains,
    split_documents,
)
from cflengine.sentence_lasso import (
    PAPER_GRID,
    PENALTIES,
    Penalty,
    Reading,
    SentenceComparison,
    SentenceResult,
    fit_classes,
    prepare,
    quick_penalties,
    reading,
)
from cflengine.text import USUAL_TOKENS, TokenChoice
from pages.parts.shared.jobs import Job

MODELS = ("sentence", "elastic", "ridge", "lasso", "frequency")  # the paper's order, then the one it has not
LAMS = tuple(float(f"{10 ** (k / 4):.2g}") for k in range(-12, 13))  # what the sliders offer: all of the paper's grid
TOL, QUICK_TOL = 1e-4, 1e-3
# solutions, each of 8 bytes a feature and class and as many a word in a sentence; ADMM's, of twice that
KEEP, KEEP_ADMM = 120, 20

#: A result for each row of a model: one for two classes, else one a class.
Rows = tuple[SentenceResult, ...]


@dataclass(frozen=True)
class Wanted:
    """Which classes of which column; how the documents are split: shares, or COLUMN=VALUE; what the groups of words
    are, and their weights."""

    column: str
    classes: tuple[str, ...]
    dev: float | str = 0.2
    test: float | str = 0.2
    seed: int = 0
    tokens: TokenChoice = USUAL_TOKENS
    groups: str = "sentence"
    group_weights: str = "equal"


@dataclass
class GridProgress:
    """How far a model's grid is."""

    total: int
    done: int = 0
    best: float = math.nan


class _Search:
    """The listener of a grid's solves, and what hears of its points; both stop when the page says so. Between two
    points it solves what the sliders have asked for."""

    def __init__(self, run: ComparisonRun, job: Job, kind: str, total: int) -> None:
        self.run, self.job, self.kind, self.progress = run, job, kind, GridProgress(total)
        self._lock = threading.Lock()

    def __call__(self, stats: IterationStats) -> bool:
        return self.job.step()

    def poll(self) -> bool:
        return self.job.poll()

    def on_point(self, point: GridPoint) -> bool:
        """One more model is there."""
        progress = self.progress
        with self._lock:
            progress.done += 1
            progress.best = max(point.accuracy, 0.0 if math.isnan(progress.best) else progress.best)
            self.job.rows.append({"stage": "grid", "i": progress.done, "who": self.kind, "lam": math.nan})
        self.run.solve_asked(self.job)
        return self.job.poll()


class ComparisonRun:
    """The models of some classes on a corpus. ``comparison`` and the first solution are there after the first stage."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.stage = f"Cutting the documents into {wanted.groups}s"
        self.comparison: SentenceComparison | None = None
        self.first: GridPoint | None = None  # the best of the quick models
        self.progress: dict[str, GridProgress] = {}
        self.best: dict[str, BestModel] = {}
        self.solved: dict[tuple[float, float], Rows] = {}
        self.by_admm: dict[tuple[float, float], Rows] = {}
        self.asked: tuple[float, float, bool] | None = None
        self._readings: dict[tuple[float, float, bool], tuple[Rows, Reading]] = {}

    @property
    def ready(self) -> bool:
        """Whether there is a first model to show."""
        return self.first is not None

    # ---- in the solver's thread

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, job: Job) -> None:
        """Cut, split, find a first model, then search every model's grid. A stop keeps what is there. Raises
        ValueError."""
        wanted = self.wanted
        labels = read_labels(metadata, wanted.column, wanted.classes)
        split = split_documents(labels, metadata, dev=wanted.dev, test=wanted.test, random_state=wanted.seed)
        comparison = prepare(
            texts, labels, split, token_pattern=wanted.tokens.words, lowercase=wanted.tokens.lowercase,
            groups=wanted.groups, group_weights=wanted.group_weights,
        )  # fmt: skip
        self.stage = "Looking for a first model"
        search = self._quick(comparison, job)
        if not job.poll() and not any(point.whole and point.model.size for point in search.points):
            raise ValueError("Stopped before the first model was there.")
        for point in search.points:
            self._keep(point.penalty, point.results)
        self.comparison, self.first = comparison, search.best
        for kind in MODELS:
            if not job.poll():
                break
            self.stage = f"Comparing models: {kind}"
            self._grid(comparison, kind, job)

    def _quick(self, comparison: SentenceComparison, job: Job) -> GridSearch:
        """A few sentence models, from the strongest penalty on."""
        y, n_classes = comparison.y[comparison.train], len(comparison.classes)
        settings = MajoriseSettings(tol=QUICK_TOL)

        def fit(penalty: Penalty, before: Rows | None) -> Rows:
            return fit_classes(comparison.data, y, n_classes, penalty, settings, (lambda stats: job.step(),), before)

        def seen(point: GridPoint) -> bool:
            job.rows.append({"stage": "first models", "i": len(job.rows) + 1, "who": "sentence", "lam": math.nan})
            return job.poll()

        return search_chains(
            quick_penalties(),
            fit,
            comparison.X[comparison.dev],
            comparison.y[comparison.dev],
            on_point=seen,
            n_threads=2,
        )

    def _grid(self, comparison: SentenceComparison, kind: str, job: Job) -> None:
        search = _Search(self, job, kind, len(PAPER_GRID) ** len(PENALTIES[kind]))
        self.progress[kind] = search.progress
        best = comparison.find_best(kind, tol=TOL, listeners=(search,), on_point=search.on_point, n_threads=1)
        if not job.poll() and search.progress.done < search.progress.total:
            self.progress.pop(kind)  # cut short: it says nothing of this kind of model
            return
        self.best[kind] = best
        if kind == "sentence":
            for point in best.search.points:
                self._keep(point.penalty, point.results)
            self._keep(best.penalty, best.results)

    def solve_asked(self, job: Job) -> None:
        """What a slider has asked for meanwhile."""
        asked, self.asked = self.asked, None
        if asked is not None:
            self.solve_at(asked[0], asked[1], job, admm=asked[2])

    def solve_at(self, lam_sen: float, lam_las: float, listener: Listener, *, admm: bool = False) -> None:
        """Solve the sentence model there, from the nearest known solution; one that is stopped leaves nothing.

        admm: by the paper's algorithm instead, from 0 and by its own rule, as it knows no other beginning."""
        assert self.comparison is not None
        comparison, penalty = self.comparison, Penalty("sentence", lam_sen=lam_sen, lam_las=lam_las)
        y, n_classes = comparison.y[comparison.train], len(comparison.classes)
        if admm:
            results = fit_classes(comparison.data, y, n_classes, penalty, ADMMSettings(), (listener,))
            if not any(result.reason == TerminationReason.INTERRUPTED for result in results):
                self.by_admm[lam_sen, lam_las] = results
                _forget(self.by_admm, KEEP_ADMM)
            return
        settings, known = MajoriseSettings(tol=TOL), self.nearest(lam_sen, lam_las)
        results = fit_classes(comparison.data, y, n_classes, penalty, settings, (listener,), known)
        if not any(result.early_stopped and result.reason != "numerical error" for result in results):
            self._keep(penalty, results)

    def _keep(self, penalty: Penalty, results: Rows) -> None:
        place = penalty.lam_sen, penalty.lam_las
        before = self.solved.get(place)
        if before is None or _gap(results) <= _gap(before):
            self.solved[place] = results
        _forget(self.solved, KEEP)

    def nearest(self, lam_sen: float, lam_las: float) -> Rows | None:
        """The known solution whose λ are nearest in ratio, among those that have a weight at all."""
        here = np.log([lam_sen, lam_las])
        known = [(lams, rows) for lams, rows in list(self.solved.items()) if any(result.support for result in rows)]
        if not known:
            return None
        return min(known, key=lambda one: float(np.abs(np.log(one[0]) - here).sum()))[1]

    # ---- what pages ask

    def at(self, lam_sen: float, lam_las: float, *, admm: bool = False) -> Rows | None:
        """The solution at these λ if it is known to the precision of the page; admm: the paper's, which has none."""
        if admm:
            return self.by_admm.get((lam_sen, lam_las))
        rows = self.solved.get((lam_sen, lam_las))
        tol = QUICK_TOL if self.first is not None and (lam_sen, lam_las) == self.place_of(self.first) else TOL
        good = rows is not None and (_gap(rows) <= tol or any(one.reason == "numerical error" for one in rows))
        return rows if good else None

    @staticmethod
    def place_of(point: GridPoint | BestModel) -> tuple[float, float]:
        """λ_sen and λ_las of a model."""
        return point.penalty.lam_sen, point.penalty.lam_las

    @property
    def chosen(self) -> tuple[float, float]:
        """λ_sen and λ_las that the development set chose: of the grid, or, until that is searched, of the first
        models."""
        best = self.best.get("sentence") or self.first
        assert best is not None
        return self.place_of(best)

    def reading(self, lams: tuple[float, float], rows: Rows, *, admm: bool = False) -> Reading:
        """Which sentences a solution goes by; kept for the last few."""
        assert self.comparison is not None
        key = (*lams, admm)
        known = self._readings.get(key)
        if known is None or known[0] is not rows:
            if len(self._readings) > 8:
                self._readings.pop(next(iter(self._readings)))
            known = self._readings[key] = (rows, reading(self.comparison, LinearModel.of(rows)))
        return known[1]

    def models(self, here: Rows) -> dict[str, LinearModel]:
        """Every model that is there, the sentence model as it is ``here``, first."""
        others = {kind: one.model for kind, one in list(self.best.items()) if kind != "sentence"}
        return {"sentence": LinearModel.of(here)} | others

    def accuracy(self, model: LinearModel, part: str) -> float:
        """On "dev" or "test"; NaN without such documents."""
        assert self.comparison is not None
        where = getattr(self.comparison, part)
        return model.accuracy(self.comparison.X[where], self.comparison.y[where]) if len(where) else math.nan

    def table(self) -> pd.DataFrame:
        """A row a model: accuracy, size, parameters, gap, seconds; p of the sign test against the sentence model."""
        comparison, best = self.comparison, dict(self.best)
        assert comparison is not None
        X, y = comparison.X[comparison.test], comparison.y[comparison.test]
        right = {kind: one.model.predict(X) == y for kind, one in best.items()}
        rows = []
        for kind, one in best.items():
            row = one.row()
            row["p"] = math.nan if kind == "sentence" else paired_test(right["sentence"], right[kind])
            rows.append(row)
        return pd.DataFrame(rows)

    def path(self, lam_sen: float, lam_las: float, over: str) -> list[tuple[float, Rows]]:
        """The solutions known along one λ, the other as given: (λ, rows), rising. over: "lam_sen" or "lam_las"."""
        k = 0 if over == "lam_sen" else 1
        other = (lam_sen, lam_las)[1 - k]
        found = {lams[k]: self.at(*lams) for lams in list(self.solved) if lams[1 - k] == other and lams[k] in LAMS}
        return sorted((lam, rows) for lam, rows in found.items() if rows is not None)


def _gap(rows: Rows) -> float:
    return max(result.gap for result in rows)


def _forget(results: dict[tuple[float, float], Rows], most: int) -> None:
    """Only the newest of results at many λ."""
    while len(results) > most:
        results.pop(next(iter(results)))
