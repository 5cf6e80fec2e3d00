"""An evaluation: targets, methods, a λ-path found once, and what each method is worth for each target.

Every candidate's features are made once for all targets. A method's candidate (λ, temperature, size) is chosen on the
development documents, and its scores are those on the test documents. Dictionaries are found in all documents,
without any label, as in Section 5.1; how much that helps is measured beside, by the same λ in training documents alone.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.compression.counting import COUNTINGS
from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.solvers.lambda_path import PATH_SETTINGS, path_lams
from cflengine.engine.checks import InputError
from cflengine.engine.jit import threads
from cflengine.engine.progress import Listener
from cflengine.experiments.budget import Budget
from cflengine.experiments.dictionaries import DictionaryPath, find_dictionaries
from cflengine.experiments.methods import TEMPERATURES, Candidate, Features, check_tried, method_name
from cflengine.experiments.tasks import Matrix, Outcome, Task, require_at_most
from cflengine.linear.weighting import idf_of, weigh
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer

_PATH_SHARE = 0.5  # of the time that is left, for dictionaries: what is learnt from none is worth nothing


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """What is tried.

    Parameters
    ----------
    lams : tuple[float, ...], optional
        Of the path.
    max_gram : int, default: 3
        K.
    countings : tuple[str, ...], default: ('pointers', 'occurrences', 'soft')
        Which ways to count are tried.
    temperatures : tuple[float, ...], default: (0.5, 3.0)
        Of counting "soft".
    weighting : str, default: 'damped'
        Of all features alike.
    token_pattern : str, default: '\\w+|[^\\w\\s]'
        As CompressiveFeatures has it.
    lowercase : bool, default: True
        As CompressiveFeatures has it.
    sentence_borders : bool, default: False
        As CompressiveFeatures has it.
    rivals : bool, default: True
        Whether words weighted by tf-idf, selected K-grams and other phrases are tried, too.
    n_threads : int or None, default: None
        None for all cores.
    time_limit : float or None, default: None
        Seconds for all; None for no limit.
    """

    lams: tuple[float, ...] = tuple(path_lams(0.01, 3.0, 10))
    max_gram: int = 3
    countings: tuple[str, ...] = COUNTINGS
    temperatures: tuple[float, ...] = TEMPERATURES
    weighting: str = "damped"
    token_pattern: str = DEFAULT_TOKEN_PATTERN
    lowercase: bool = True
    sentence_borders: bool = False
    rivals: bool = True
    n_threads: int | None = None
    time_limit: float | None = None

    @property
    def tokenizer(self) -> Tokenizer:
        """Which cuts every text of the evaluation."""
        return Tokenizer(self.token_pattern, self.lowercase, self.sentence_borders)

    def __post_init__(self) -> None:
        check_tried(self)


@dataclass(frozen=True)
class Judged:
    """A candidate's outcome for a task; features: their number; seconds: of learning."""

    candidate: Candidate
    outcome: Outcome
    features: int
    seconds: float


@dataclass
class Standing:
    """What is known of one task, by method, and a row for every candidate that was tried.

    Parameters
    ----------
    task : Task
        The target with its plan.
    best : dict[str, Judged], optional
        The candidate that is best over all splits, with what ``by_split`` predicted and the regularisation of each.
    winner : dict[str, Judged], optional
        The same one as it was judged itself.
    by_split : dict[str, list[Judged]], optional
        The candidate that judges each split's documents.
    rows : list[dict[str, Any]], optional
        One for each candidate.
    learning_s : dict[str, float], optional
        Seconds of learning, by method.
    features_s : dict[str, float], optional
        Seconds that features took, of methods that look at the target.
    """

    task: Task
    best: dict[str, Judged] = field(default_factory=dict)
    winner: dict[str, Judged] = field(default_factory=dict)
    by_split: dict[str, list[Judged]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    learning_s: dict[str, float] = field(default_factory=dict)
    features_s: dict[str, float] = field(default_factory=dict)

    def add(self, judged: Judged) -> dict[str, Any]:
        """Note an outcome; returns its row.

        Each split chooses by its own development documents, which are other splits' test documents; of equal ones fewer
        features win. The candidate that is best over all splits gives the method's name and size.
        """
        method, task = judged.candidate.method, self.task
        self.learning_s[method] = self.learning_s.get(method, 0.0) + judged.seconds
        n_splits = len(judged.outcome.devs)
        chosen = self.by_split.setdefault(method, [judged] * n_splits)
        for k in range(n_splits):
            if _rank(judged, k) > _rank(chosen[k], k):
                chosen[k] = judged
        before = self.winner.get(method)
        winner = self.winner[method] = judged if before is None or _rank(judged) > _rank(before) else before
        joined = Outcome.joined([one.outcome.of_split(k) for k, one in enumerate(chosen)])
        self.best[method] = replace(winner, outcome=replace(joined, devs=winner.outcome.devs))
        dev = judged.outcome.dev if task.larger_is_better else -judged.outcome.dev
        row = {"target": task.target.column, "method": method} | dict(judged.candidate.label)
        row |= {"features": judged.features, "dev": dev, "test": float(np.mean(task.worth(judged.outcome)))}
        row |= dict(zip(("test_low", "test_high"), task.interval(judged.outcome), strict=True))
        row |= {"gap": judged.outcome.gap, "dictionary_gap": judged.candidate.gap, "seconds": judged.seconds}
        self.rows.append(row)
        return row

    @property
    def recommended(self) -> Judged | None:
        """The best compressed one on the development documents; None before there is any."""
        return self.best_of(lambda judged: True)

    def best_of(self, wanted: Callable[[Judged], bool]) -> Judged | None:
        """The best of those compressed ones that are wanted."""
        own = [one for name, one in self.best.items() if name.startswith("compressed:") and wanted(one)]
        return max(own, key=_rank, default=None)

    def matrices(self, method: str, made: Callable[[Candidate], sparse.csr_matrix]) -> Matrix:
        """The features by which each split is judged; made: those of a candidate, asked for once."""
        known: dict[int, sparse.csr_matrix] = {}

        def of_split(split: int) -> sparse.csr_matrix:
            candidate = self.by_split[method][split].candidate
            if id(candidate) not in known:
                known[id(candidate)] = made(candidate)
            return known[id(candidate)]

        return of_split


def _rank(judged: Judged, split: int | None = None) -> tuple[float, int]:
    """The larger the better, on the development documents of one split or of all."""
    return judged.outcome.dev if split is None else judged.outcome.devs[split], -judged.features


class Evaluation:
    """One run.

    ``standings``, ``features`` and ``notes`` may be read while it runs.

    Parameters
    ----------
    texts : Sequence[str]
        The documents.
    tasks : Sequence[Task]
        What is to be predicted.
    settings : EvaluationSettings or None, default: None
        None for the defaults.
    budget : Budget or None, default: None
        None for no limit.
    on_row : Callable[[dict[str, Any]], None], optional
        Called with each outcome's row.
    on_stage : Callable[[str], None], optional
        Called with what is being done, in words.
    listeners : Sequence[Listener], default: ()
        Of the λ-path.
    folder : Path or None, default: None
        Where features are cached; None for nowhere.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tasks: Sequence[Task],
        settings: EvaluationSettings | None = None,
        *,
        budget: Budget | None = None,
        on_row: Callable[[dict[str, Any]], None] = lambda row: None,
        on_stage: Callable[[str], None] = lambda stage: None,
        listeners: Sequence[Listener] = (),
        folder: Path | None = None,
    ) -> None:
        self.settings = settings or EvaluationSettings()
        self.texts, self.folder, self.listeners = list(texts), folder, tuple(listeners)
        self.budget = budget or Budget(self.settings.time_limit)
        for task in tasks:
            task.listeners = (self.budget,)
            if len(task.target.known) != len(self.texts):
                raise InputError(
                    f"there are {len(self.texts):,} texts, but {len(task.target.known):,} rows of targets."
                )
        self.on_row, self.on_stage = on_row, on_stage
        self.standings = [Standing(task) for task in tasks]
        self.features: Features | None = None
        self.notes: list[str] = []

    @property
    def model(self) -> CompressiveFeatures:
        """Features as the path finds them, not fitted."""
        own = self.settings
        return CompressiveFeatures(
            max_gram=own.max_gram, token_pattern=own.token_pattern, lowercase=own.lowercase,
            sentence_borders=own.sentence_borders, n_threads=own.n_threads, settings=PATH_SETTINGS,
        )  # fmt: skip

    def run(self) -> None:
        """Everything, until it is done or stopped; what is there stays."""
        for candidate in self._shared():
            if not self._try(candidate, self.standings):
                return
        if not self.settings.rivals:
            return
        for standing in self.standings:
            for candidate in self._rivals(standing):
                if not self._try(candidate, [standing]):
                    return

    def prepare(self) -> Features:
        """Tokens and K-grams."""
        self.on_stage("Cutting texts into words")
        table = self.settings.tokenizer(self.texts)
        self.features = Features(table, self.model.prepare(table).index)
        return self.features

    def find_path(self, features: Features) -> None:
        """Dictionaries at every λ."""
        self.on_stage("Finding dictionaries at every λ")
        heard: tuple[Listener, ...] = (*self.listeners, self.budget, self.budget.part(_PATH_SHARE))
        lams = self.settings.lams
        features.path = find_dictionaries(self.model, features.table, lams, listeners=heard, folder=self.folder)
        if features.path.stopped:
            found = len(features.path.dictionaries)
            where = f"at {found} of {len(lams)} λ" if found < len(lams) else "before the last one was as good as asked"
            self.notes.append(f"stopped while dictionaries were found, {where}")

    def _shared(self) -> Iterator[Candidate]:
        """Candidates for all tasks; words first, so that all others can be set beside them."""
        features = self.prepare()
        self.on_stage("Learning from words")
        yield features.unigrams()
        if self.settings.rivals:
            yield features.tf_idf()
        self.find_path(features)
        self.on_stage("Learning from compressive features")
        yield from features.compressed(self.settings.countings, self.settings.temperatures)
        if len(features.path.dictionaries) > 1 and "occurrences" in self.settings.countings:
            yield features.several()
        self.on_stage("Learning from all K-grams")
        every = features.all_kgrams()
        if every is None:
            self.notes.append("all K-grams together do not fit, and were left out")
        else:
            yield every
        if self.settings.rivals:
            self.on_stage("Learning from other tools' phrases")
            sizes = [one.recommended.features for one in self.standings if one.recommended]
            yield from features.phrases(max(sizes, default=0), self.budget.poll)

    def _rivals(self, standing: Standing) -> Iterator[Candidate]:
        assert self.features is not None
        self.on_stage(f"Learning {standing.task.target.column} from selected K-grams")
        found = standing.recommended
        size = found.features if found else 10_000

        def best(method: str) -> Mapping[str, float]:
            return standing.winner[method].candidate.label if method in standing.winner else {}

        yield from self.features.merged(size)
        yield from self.features.selected(standing.task, size, best, self.budget.poll)

    def _try(self, candidate: Candidate, standings: Sequence[Standing]) -> bool:
        """Judge a candidate for some tasks, side by side; False if there is no time left."""
        assert self.features is not None
        if not self.budget.poll():
            at = f" at λ = {candidate.label['lam']:.3g}" if candidate.label.get("lam") else ""
            name = method_name(candidate.method)
            self.notes.append(f"stopped before {name}{at}: what comes after it was not tried")
            return False
        counts = self.features.counts(candidate)
        whole = None if candidate.columns else (candidate.weighted or self.weighted)(counts)
        lock = threading.Lock()

        def judge(standing: Standing) -> None:
            began, task = time.perf_counter(), standing.task
            try:
                made, width = (whole, counts.shape[1]) if whole is not None else self._selected(counts, candidate, task)
                if candidate.beforehand is not None:
                    spent = standing.features_s.get(candidate.method, candidate.beforehand)
                    standing.features_s[candidate.method] = spent + time.perf_counter() - began
                    began = time.perf_counter()
                require_at_most(task.bytes_needed(width))
                outcome = task.judge(made)
            except MemoryError:
                self._note(f"{candidate.method} has too many features to learn {task.target.column} from")
                return
            if not self.budget.poll():
                return  # what was cut off says nothing of its features
            with lock:
                self.on_row(standing.add(Judged(candidate, outcome, width, time.perf_counter() - began)))

        # once for all threads, since filters belong to the process; gaps are told
        with warnings.catch_warnings(), threads(self.settings.n_threads, counts.nnz) as n_threads:
            warnings.simplefilter("ignore")
            if len(standings) == 1 or n_threads == 1:
                for standing in standings:
                    judge(standing)
            else:
                with ThreadPoolExecutor(min(len(standings), n_threads)) as pool:
                    list(pool.map(judge, standings))
        return True

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def weighted(self, counts: sparse.csr_matrix, unseen: np.ndarray | None = None) -> sparse.csr_matrix:
        """As learners get them; unseen: documents that idf is not to know of."""
        known = counts if unseen is None else counts[np.setdiff1d(np.arange(counts.shape[0]), unseen)]
        return weigh(counts, self.settings.weighting, idf_of(known))

    def _selected(
        self, counts: sparse.csr_matrix, candidate: Candidate, task: Task
    ) -> tuple[Callable[[int], sparse.csr_matrix], int]:
        assert candidate.columns is not None
        chosen = [candidate.columns(counts, task, train) for train in task.training]
        return (lambda split: self.weighted(counts[:, chosen[split]])), len(chosen[0])

    def frame(self) -> pd.DataFrame:
        """A row a target, method and candidate; dev and test: accuracy, or mean squared error."""
        rows = [row for standing in self.standings for row in standing.rows]
        return pd.DataFrame(rows)

    @property
    def path(self) -> DictionaryPath:
        """The dictionaries."""
        assert self.features is not None
        return self.features.path

    def saved_seconds(self) -> float:
        """What did not have to be waited for: dictionaries that were kept, and, by every target after the first, all
        features, since they are made once."""
        if self.features is None:
            return 0.0
        shared = sum(self.features.seconds.values())
        kept = self.path.seconds if self.path.read else 0.0
        return kept + (len(self.standings) - 1) * (self.path.seconds + shared)
