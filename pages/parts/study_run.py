"""A study of labelled sentences in the solver's thread: every model's grid, then solves wherever the sliders stand.

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
from cflengine.engine.progress import IterationStats, Listener, TerminationReason
from cflengine.linear.labels import read_labels, split_documents
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import class_signs
from cflengine.linear.search import BestModel, GridPoint, paired_test
from cflengine.sentence_lasso.grid import PAPER_GRID
from cflengine.sentence_lasso.penalties import PENALTIES, Penalty
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.solvers import solve
from cflengine.sentence_lasso.study import SentenceStudy, prepare
from cflengine.text.token_presets import USUAL_TOKENS, TokenChoice
from pages.parts.jobs import Job

MODELS = ("sentence", "elastic", "ridge", "lasso", "frequency")  # the paper's order, then the one it has not
LAMS = tuple(float(f"{10 ** (k / 4):.2g}") for k in range(-12, 9))  # what the sliders offer
TOL = 1e-4
# solutions, each of 8 bytes a feature and as many a word in a sentence; ADMM's, of twice that
KEEP, KEEP_ADMM = 400, 40


@dataclass(frozen=True)
class Wanted:
    """What is to be told apart, and how the documents are split: shares, or COLUMN=VALUE for the test set."""

    column: str
    classes: tuple[str, str]
    dev: float = 0.2
    test: float | str = 0.2
    seed: int = 0
    tokens: TokenChoice = USUAL_TOKENS


@dataclass
class GridProgress:
    """How far a model's grid is."""

    total: int
    done: int = 0
    best: float = math.nan


class _Search:
    """The listener of a grid's solves, and what hears of its points; both stop when the page says so."""

    def __init__(self, job: Job, kind: str, total: int) -> None:
        self.job, self.kind, self.progress = job, kind, GridProgress(total)
        self._lock = threading.Lock()

    def __call__(self, stats: IterationStats) -> bool:
        return self.job.poll()

    def poll(self) -> bool:
        return self.job.poll()

    def on_point(self, point: GridPoint) -> bool:
        """One more model is there."""
        progress = self.progress
        with self._lock:
            progress.done += 1
            progress.best = max(point.accuracy, 0.0 if math.isnan(progress.best) else progress.best)
            self.job.rows.append({"stage": "grid", "i": progress.done, "who": self.kind, "lam": math.nan})
        return self.job.poll()


class StudyRun:
    """The models of two classes on a corpus."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.study: SentenceStudy | None = None
        self.progress: dict[str, GridProgress] = {}
        self.best: dict[str, BestModel] = {}
        self.solved: dict[tuple[float, float], SentenceResult] = {}
        self.by_admm: dict[tuple[float, float], SentenceResult] = {}

    # ---- in the solver's thread

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, job: Job) -> None:
        """Cut, split, search every model's grid. A stop keeps the models that are there. Raises ValueError."""
        wanted = self.wanted
        labels = read_labels(metadata, wanted.column, wanted.classes)
        split = split_documents(labels, metadata, dev=wanted.dev, test=wanted.test, seed=wanted.seed)
        study = prepare(texts, labels, split, token_pattern=wanted.tokens.words, lowercase=wanted.tokens.lowercase)
        for kind in MODELS:
            if not job.poll():
                break
            search = _Search(job, kind, len(PAPER_GRID) ** len(PENALTIES[kind]))
            self.progress[kind] = search.progress
            self.best[kind] = study.find_best(kind, tol=TOL, listeners=(search,), on_point=search.on_point, n_threads=1)
        if "sentence" not in self.best:
            raise ValueError("Stopped before the first model was there.")
        for point in self.best["sentence"].search.points:
            self._keep(point.penalty, point.results[0])
        self._keep(self.best["sentence"].penalty, self.best["sentence"].results[0])
        self.study = study

    def solve_at(self, lam_sen: float, lam_las: float, listener: Listener, *, admm: bool = False) -> None:
        """Solve the sentence model there, from the nearest known solution; one that is stopped leaves nothing.

        admm: by the paper's algorithm instead, from 0 and by its own rule, as it knows no other beginning."""
        assert self.study is not None
        penalty = Penalty("sentence", lam_sen=lam_sen, lam_las=lam_las)
        (signs,) = class_signs(self.study.y[self.study.train], 2)
        data = self.study.data
        if admm:
            result = solve(data.start(signs, penalty), ADMMSettings(), (listener,))
            if result.reason != TerminationReason.INTERRUPTED:
                self.by_admm[lam_sen, lam_las] = result
                _forget(self.by_admm, KEEP_ADMM)
            return
        known = self.nearest(lam_sen, lam_las)
        here = data.start(signs, penalty, known.w, known.bias) if known else data.start(signs, penalty)
        result = solve(here, MajoriseSettings(tol=TOL), (listener,), warm=known is not None)
        if not result.early_stopped or result.reason == "numerical error":
            self._keep(penalty, result)

    def _keep(self, penalty: Penalty, result: SentenceResult) -> None:
        self.solved[penalty.lam_sen, penalty.lam_las] = result
        _forget(self.solved, KEEP)

    def nearest(self, lam_sen: float, lam_las: float) -> SentenceResult | None:
        """The known solution whose λ are nearest in ratio, among those that have a weight at all."""
        here = np.log([lam_sen, lam_las])
        known = [(lams, result) for lams, result in list(self.solved.items()) if result.support]
        if not known:
            return None
        return min(known, key=lambda one: float(np.abs(np.log(one[0]) - here).sum()))[1]

    # ---- what pages ask

    def at(self, lam_sen: float, lam_las: float, *, admm: bool = False) -> SentenceResult | None:
        """The solution at these λ if it is known to the precision of the page; admm: the paper's, which has none."""
        if admm:
            return self.by_admm.get((lam_sen, lam_las))
        result = self.solved.get((lam_sen, lam_las))
        good = result is not None and (result.gap <= TOL or result.reason == "numerical error")
        return result if good else None

    @property
    def chosen(self) -> tuple[float, float]:
        """λ_sen and λ_las that the development set chose."""
        penalty = self.best["sentence"].penalty
        return penalty.lam_sen, penalty.lam_las

    def models(self, here: SentenceResult) -> dict[str, LinearModel]:
        """Every model, the sentence model as it is ``here``."""
        found = {kind: one.model for kind, one in self.best.items()}
        return found | {"sentence": LinearModel.of([here])}

    def accuracy(self, model: LinearModel, part: str) -> float:
        """On "dev" or "test"; NaN without such documents."""
        assert self.study is not None
        where = getattr(self.study, part)
        return model.accuracy(self.study.X[where], self.study.y[where]) if len(where) else math.nan

    def table(self) -> pd.DataFrame:
        """A row a model: accuracy, size, strengths, gap, seconds; p of the sign test against the sentence model."""
        study = self.study
        assert study is not None
        X, y = study.X[study.test], study.y[study.test]
        right = {kind: one.model.predict(X) == y for kind, one in self.best.items()}
        rows = []
        for kind, one in self.best.items():
            row = one.row()
            row["p"] = math.nan if kind == "sentence" else paired_test(right["sentence"], right[kind])
            rows.append(row)
        return pd.DataFrame(rows)

    def path(self, lam_sen: float, lam_las: float, over: str) -> list[tuple[float, SentenceResult]]:
        """The solutions known along one λ, the other as given: (λ, result), rising. over: "lam_sen" or "lam_las"."""
        k = 0 if over == "lam_sen" else 1
        other = (lam_sen, lam_las)[1 - k]
        found = {lams[k]: self.at(*lams) for lams in list(self.solved) if lams[1 - k] == other and lams[k] in LAMS}
        return sorted((lam, result) for lam, result in found.items() if result is not None)


def _forget(results: dict[tuple[float, float], SentenceResult], most: int) -> None:
    """Only the newest of results at many λ."""
    while len(results) > most:
        results.pop(next(iter(results)))
