"""What the Embeddings page runs in the worker's thread: a comparison of classes, a network, a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cflengine import Corpus, IterationStats, WordMMD, WordMMDEmbedding
from cflengine.embedding import (
    DEFAULT_LAMS,
    BetaBinomial,
    Comparison,
    DivergedError,
    EmbeddingAnalysis,
    Kernel,
    PowerSettings,
    power,
    warm_up,
)
from cflengine.engine import InputError, Stopped
from cflengine.linear import Labels, Split, read_labels, split_documents
from cflengine.text import USUAL_TOKENS, TokenChoice
from pages.parts.shared.jobs import Job

SIZES = (10, 20, 50, 100, 200)  # documents of a simulation
OVERLAP_SIZE = 50  # documents, where the laws' overlap varies
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # how far the second law is from the first, of what the user has chosen
LARGE_TOKENS = 200_000  # beyond, words that occur once are left out
MOST_DOCUMENTS = 20_000  # that a network learns from on the page
PATIENCE, CLIPPED = 5, 1.0  # epochs without a better one; the length of a gradient that is cut
_TOO_FAR = (
    "Training diverged in its first epoch: choose a smaller λ, or under “How it is trained” a smaller learning rate or "
    "to cut long gradients."
)
_GONE = "The file of vectors is not here any more: upload it again, or learn them from the corpus."


@dataclass(frozen=True)
class EmbedChoice:
    """column, classes: what is compared; vectors: the path of a file and its name, None to learn them; kernel; stop:
    whether English stop words are left out; permutations."""

    column: str
    classes: tuple[str, ...]
    vectors: tuple[str, str] | None = None
    kernel: str = "gaussian"
    stop: bool = False
    permutations: int = 999
    tokens: TokenChoice = USUAL_TOKENS


@dataclass
class EmbedRun:
    """``comparison`` is there once the job is done, unless it was stopped before. documents: int64, of the classes."""

    choice: EmbedChoice
    stage: str = "Waiting"
    labels: Labels | None = None
    documents: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    comparison: Comparison | None = None
    min_count: int = 1

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, n_tokens: int, job: Job) -> None:
        """Compare. Raises ValueError for classes and vectors that cannot be compared."""
        choice = self.choice
        self.labels = read_labels(metadata, choice.column, choice.classes)
        self.documents = np.flatnonzero(self.labels.y >= 0)
        self.stage, self.min_count = "Loading the engine", 2 if n_tokens > LARGE_TOKENS else 1
        warm_up()
        model = WordMMD(
            choice.kernel, n_permutations=choice.permutations, stop_words="english" if choice.stop else None,
            min_count=self.min_count, listeners=(_Stage(self, job),), token_pattern=choice.tokens.words,
            lowercase=choice.tokens.lowercase,
        )  # fmt: skip
        chosen = [texts[d] for d in self.documents.tolist()]
        try:
            found = model.fit(
                chosen, self.labels.of(self.documents), None if choice.vectors is None else choice.vectors[0]
            ).comparison_
        except Stopped:
            return
        except FileNotFoundError as error:
            raise InputError(_GONE) from error
        except InputError as error:  # of a file that was uploaded: by the name that the user knows
            raise InputError(self._named(str(error))) from error
        vectors = replace(found.words.vectors, name=self._named(found.words.vectors.name))
        self.comparison = replace(found, words=replace(found.words, vectors=vectors))

    def _named(self, text: str) -> str:
        """Files by the names that they were uploaded with."""
        return (
            text
            if self.choice.vectors is None
            else text.replace(Path(self.choice.vectors[0]).name, self.choice.vectors[1])
        )


class _Stage:
    """Notes which part of a comparison is under way."""

    def __init__(self, run: EmbedRun, job: Job) -> None:
        self.run, self.job = run, job

    def __call__(self, stats: IterationStats) -> bool:
        self.run.stage = {
            "words and vectors": "Cutting texts into words, making vectors", "width": "Finding the kernel's width",
            "pairs of words": "Comparing all pairs of words", "permutations": "Exchanging labels at random",
        }.get(stats.stage, stats.stage)  # fmt: skip
        return self.job.step()

    def poll(self) -> bool:
        return self.job.poll()


@dataclass(frozen=True)
class TrainChoice:
    """network, regulariser, lam, dimension, rate (of learning): as :class:`~cflengine.WordMMDEmbedding` takes them;
    given: whether vectors begin as those that were compared, not at random; test: what it is judged by; dev: the share
    to stop early by; clip: whether gradients are cut to length 1."""

    network: str = "cnn"
    regulariser: str = "wmmd"
    lam: float = DEFAULT_LAMS["wmmd"]
    given: bool = False
    epochs: int = 30
    test: float | str = 0.5
    dimension: int = 20
    rate: float = 0.1
    dev: float = 0.0
    clip: bool = False


@dataclass
class TrainRun:
    """``rows`` and ``film`` grow while it runs; ``model`` is there once the job is done. checkpoint: a file, written
    after each epoch, from which a training that was stopped goes on."""

    choice: TrainChoice
    checkpoint: Path | None = None
    stage: str = "Loading JAX"
    rows: list[dict[str, float]] = field(default_factory=list)
    film: list[np.ndarray] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # of the film: the most frequent
    model: WordMMDEmbedding | None = None
    right: dict[str, float] = field(default_factory=dict)
    n_learnt: int = 0  # documents
    of_words: float = math.nan  # wMMD² of the documents learnt from, of the words themselves
    split: Split | None = None

    @property
    def can_go_on(self) -> bool:
        """Whether it was stopped between its first epoch and its last."""
        if self.model is None or self.checkpoint is None or not self.checkpoint.exists():
            return False
        return self.model.n_iter_ > 0 and self.model.solver_reason_ == "interrupted"

    def further(self) -> TrainRun:
        """One that goes on from the last epoch of this one."""
        return TrainRun(self.choice, self.checkpoint, rows=list(self.rows), film=list(self.film), words=self.words)

    def run(self, run: EmbedRun, texts: Sequence[str], metadata: pd.DataFrame, job: Job) -> None:
        """Train. Raises ValueError for what cannot be trained."""
        assert run.labels is not None and run.comparison is not None
        labels, choice = run.labels, self.choice
        warm_up()
        split = split_documents(labels, metadata, dev=choice.dev or None, test=choice.test)
        begin = None
        if choice.given:
            vectors = run.comparison.words.vectors
            begin = (vectors.words, vectors.M) if run.choice.vectors is None else run.choice.vectors[0]
        model = WordMMDEmbedding(
            choice.network, choice.regulariser, choice.lam, epochs=choice.epochs, listeners=(_Epoch(self, job),),
            stop_words="english" if run.choice.stop else None, token_pattern=run.choice.tokens.words,
            lowercase=run.choice.tokens.lowercase, min_count=run.min_count, checkpoint=self.checkpoint,
            dimension=choice.dimension, learning_rate=choice.rate, max_gradient=CLIPPED if choice.clip else None,
            patience=PATIENCE if choice.dev else None,
        )  # fmt: skip
        if len(split.train) > MOST_DOCUMENTS:
            some = np.sort(np.random.default_rng(0).permutation(split.train)[:MOST_DOCUMENTS])
            split = replace(split, train=some)
        self.n_learnt, used = len(split.train), np.concatenate([split.train, split.dev])
        dev = np.arange(len(used)) >= len(split.train) if len(split.dev) else None
        try:
            model.fit([texts[d] for d in used.tolist()], labels.of(used), begin, dev=dev)
        except Stopped:  # while the vectors were read
            return
        except FileNotFoundError as error:
            raise InputError(_GONE) from error
        except DivergedError as error:
            raise InputError(_TOO_FAR) from error
        model.set_params(listeners=(), checkpoint=None)  # the model outlives the job
        for part in ("train", "dev", "test"):
            if len(where := getattr(split, part)):
                found = model.predict([texts[d] for d in where.tolist()])
                self.right[part] = float(np.mean(found == labels.of(where)))
        learnt = [texts[d] for d in split.train.tolist()]
        self.of_words = model.word_discrepancy(learnt, np.unique(labels.y[split.train], return_inverse=True)[1])
        self.model, self.split = model, split

    def predictions(self, about: EmbedRun, corpus: Corpus) -> pd.DataFrame:
        """A row a labelled document, as the command writes them."""
        assert about.labels is not None and about.comparison is not None and self.split is not None
        return EmbeddingAnalysis(
            corpus=corpus, labels=about.labels, documents=about.documents, comparison=about.comparison,
            split=self.split, model=self.model,
        ).predictions  # fmt: skip

    def wmmd(self) -> dict[str, float]:
        """wMMD² of the documents learnt from, by the vectors before and after training."""
        assert self.model is not None
        return dict(zip(("before", "after"), self.model.result_.discrepancies(), strict=True))


class _Epoch:
    """A training's listener: its events become rows, its vectors frames of a film."""

    def __init__(self, run: TrainRun, job: Job) -> None:
        self.run, self.job = run, job

    def vectors(self, words: list[str], M: np.ndarray) -> None:
        """Of the most frequent words, before each event."""
        self.run.words = words
        self.run.film.append(M)

    def __call__(self, stats: IterationStats) -> bool:
        row = {"epoch": stats.iteration, "loss": stats.objective} | dict(stats.extra)
        self.run.rows.append(row)
        self.run.stage = f"Epoch {stats.iteration} of {self.run.choice.epochs}"
        return self.job.step()

    def poll(self) -> bool:
        return self.job.poll()


@dataclass(frozen=True)
class SimulationChoice:
    """Two laws of words, how long documents are, how many words mean nothing."""

    first: tuple[float, float] = (0.5, 0.5)
    second: tuple[float, float] = (5.0, 5.0)
    length: int = 10
    irrelevant: float = 0.5
    n_words: int = 500

    @property
    def laws(self) -> BetaBinomial:
        """The laws."""
        return BetaBinomial(self.n_words, self.first, self.second, self.irrelevant)


KERNELS = {"gaussian": Kernel("gaussian", (0.25,)), "linear": Kernel("linear")}


@dataclass
class SimulationRun:
    """Rows of :func:`power` by kernel, which grow while it runs. frames: over the number of documents; overlaps: as the
    second law moves towards the first, with OVERLAP_SIZE documents."""

    choice: SimulationChoice
    frames: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in KERNELS})
    overlaps: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in KERNELS})

    def run(self, job: Job) -> None:
        """Simulate. The vector of a word is its number, from 0 to 1, a single coordinate."""
        warm_up()
        laws = self.choice.laws
        M = np.linspace(0.0, 1.0, laws.laws().shape[1])[:, None]
        settings = PowerSettings(n_repeats=60, n_permutations=99, length=self.choice.length)
        moved = [(laws.towards(share), OVERLAP_SIZE, self.overlaps) for share in SHARES]
        for law, n, frames in [(laws, n, self.frames) for n in SIZES] + moved:
            for name, kernel in KERNELS.items():
                try:
                    found = power(law, [n], M, kernel, settings, poll=job.poll)
                except Stopped:
                    return
                frames[name] += found.to_dict("records")
