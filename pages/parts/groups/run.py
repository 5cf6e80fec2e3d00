"""Solvers of logistic regression side by side in the worker's thread, with the trajectories of the weights.

``results`` is filled by that thread and read by pages; what is in it never changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import Pipeline

from cflengine import ClusteredSettings, IterationStats, LBFGSSettings, LogisticClassifier
from cflengine.engine import threads
from cflengine.linear import (
    Design,
    ModelComparison,
    against_others,
    comparison_pipeline,
    mutual_information,
    read_labels,
    split_documents,
    vectorizer,
)
from cflengine.loglinear import (
    AutoSettings,
    BinaryModel,
    LoglinearResult,
    TiedFit,
    chunks,
    explained_variance,
    optimal_clusters,
    parsimony,
    solve,
    warm_up,
)
from cflengine.text import USUAL_TOKENS, Score, TokenChoice
from pages.parts.shared.jobs import Job, trace_row
from pages.parts.shared.words import gap_words, many

TITLES = {
    "lbfgs": "plain L-BFGS",
    "clustered": "clustered",
    "control": "random clusters",
    "auto": "this project's default",
}
RIDGES = (1e-7, 1e-5, 1e-3, 0.01, 0.1, 1.0, 10.0)
TOL, LIMIT_S = 1e-6, 60.0
TITLE_WORDS = 3
MOST_WATCHED, MOST_VALUES = 5000, 4_000_000  # features whose trajectories are kept; numbers in all of them
TIES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class WeightsChoice:
    """A class against the rest of a column, the ridge 1/σ², and the policies of the clustered scheme."""

    column: str
    name: str
    ridge: float = 0.1
    clustering: str = "chunks"
    cluster_factor: float = 15.0
    rounds: int = 2
    fine_iter: int = 5
    test: float | str = 0.2
    tokens: TokenChoice = USUAL_TOKENS


class _Lane:
    """A solver's listener: its events become rows of the job, by seconds and by passes over the data, and are told."""

    def __init__(self, job: Job, number: int, name: str, tell: Callable[[str], None]) -> None:
        self.job, self.number, self.name, self.tell = job, number, name, tell

    def __call__(self, stats: IterationStats) -> bool:
        self.job.note(trace_row(stats) | {"s": self.number, "who": self.name, "i": stats.work})
        proved = f", proved within {gap_words(stats.gap)} of the best" if math.isfinite(stats.gap) else ""
        self.tell(f"{TITLES[self.name]}: {many(math.ceil(stats.work), 'pass', 'passes')} over the data{proved}")
        return self.job.step()


class WeightsRun:
    """A class of a corpus against the rest, by several solvers."""

    def __init__(self, choice: WeightsChoice) -> None:
        self.choice = choice
        self.stage = "Counting words"
        self.comparison: ModelComparison | None = None
        self.model: BinaryModel | None = None
        self.watch = np.zeros(0, dtype=np.int64)  # features by falling mutual information
        self.information = np.zeros(0)
        self.results: dict[str, LoglinearResult] = {}
        self.fits: list[TiedFit] = []

    # ---- in the solver's thread

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, job: Job) -> None:
        """Make the matrix, run every solver. A stop keeps what is there. Raises ValueError."""
        warm_up()
        choice = self.choice
        names = choice.name, rest(choice.name)
        metadata = metadata.assign(**{choice.column: against_others(metadata[choice.column], *names)})
        labels = read_labels(metadata, choice.column, names)
        split = split_documents(labels, metadata, dev=None, test=choice.test)
        words = vectorizer(token_pattern=choice.tokens.words, lowercase=choice.tokens.lowercase)
        comparison = ModelComparison.of(texts, labels, split, words)
        positive = comparison.labels.classes.index(choice.name)
        y = np.where(comparison.y[comparison.train] == positive, 1.0, -1.0)
        X = comparison.X[comparison.train]
        # the bias is a feature of value 1, as the estimator and the command have it
        self.model = BinaryModel(Design(sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")), y)
        self.information = mutual_information(X, y)
        self.watch = np.argsort(-self.information, kind="stable")[:MOST_WATCHED]
        self.comparison = comparison
        for number, (name, settings) in enumerate(solvers(choice).items()):
            if self.results and not job.poll():
                break
            self.results[name] = self._solve(name, settings, _Lane(job, number, name, self._tell))
        if "lbfgs" not in self.results:
            raise ValueError("Stopped before the first solver was done.")

    def _tell(self, stage: str) -> None:
        self.stage = stage

    def _solve(self, name: str, settings: Any, lane: _Lane) -> LoglinearResult:
        assert self.model is not None
        watch = self.watch if name in ("lbfgs", "clustered") else ()
        solver = {"control": "clustered"}.get(name, name)
        with threads(None):
            result = solve(self.model, self.choice.ridge, solver, settings, watch=watch, listeners=(lane,))
        every = max(1, -(-result.trajectories.size // MOST_VALUES))
        if every == 1:
            return result
        return replace(result, trajectories=result.trajectories[::every].copy(), events=result.events[::every])

    def estimator(self) -> Pipeline:
        """The plain solution, from a text to its class."""
        assert self.comparison is not None
        positive = self.comparison.labels.classes.index(self.choice.name)
        sign = 1.0 if positive else -1.0  # the model's scores are for the second class
        model = LogisticClassifier("lbfgs", C=1.0 / self.choice.ridge)
        result = replace(self.plain, w=sign * self.plain.w)
        return comparison_pipeline(self.comparison, model.adopt(self.comparison.classes, [result]))

    def tie(self, job: Job) -> None:
        """The parsimony curve: how well models of few different weights do on the test set."""
        assert self.model is not None
        with threads(None):
            for fit in parsimony(self.model, self.choice.ridge, self.plain.w, TIES, self.f1, may_go_on=job.poll):
                self.fits.append(fit)

    # ---- what pages ask

    @property
    def ready(self) -> bool:
        """Whether the plain solution is there, which is nearly all that a page shows."""
        return "lbfgs" in self.results

    @property
    def plain(self) -> LoglinearResult:
        return self.results["lbfgs"]

    @property
    def weights(self) -> np.ndarray:
        """float64 (features,): the final weights of words, without the bias."""
        return self.plain.w[:-1]

    @property
    def names(self) -> np.ndarray:
        assert self.comparison is not None
        return self.comparison.names

    def f1(self, w: np.ndarray) -> float:
        """F1 of the class on the test set, or, without one, on the training set."""
        comparison = self.comparison
        assert comparison is not None
        rows = comparison.test if len(comparison.test) else comparison.train
        truth = comparison.y[rows] == comparison.labels.classes.index(self.choice.name)
        guess = comparison.X[rows] @ w[:-1] + w[-1] > 0
        return Score(int((truth & guess).sum()), int(guess.sum()), int(truth.sum())).f1

    @cached_property
    def explained(self) -> np.ndarray:
        """float64 (events,): the share of the final weights' variance that chunks of each moment's weights explain.

        Of the watched features. Clusters of the first moment, where all weights are 0, are arbitrary.
        """
        paths = self.plain.trajectories
        final = paths[-1]
        return np.array([explained_variance(final, chunks(w, self.choice.cluster_factor)) for w in paths])

    def clusters(self, k: int) -> np.ndarray:
        """int64 (features,): the final weights in k clusters, from the smallest up (optimal k-means)."""
        return optimal_clusters(self.weights, [k])[k]

    def titles(self, cluster_of: np.ndarray) -> list[str]:
        """Names of clusters, from the smallest weights up: the words of each that say most, its mean weight."""
        sizes = np.bincount(cluster_of)
        means = np.bincount(cluster_of, weights=self.weights) / sizes
        order = np.argsort(-self.information, kind="stable")
        found = []
        for cluster, mean in enumerate(means.tolist()):
            words = [str(self.names[j]) for j in order[cluster_of[order] == cluster][:TITLE_WORDS].tolist()]
            more = " …" if sizes[cluster] > len(words) else ""
            found.append(f"{', '.join(words)}{more} ({mean:+.2g})")
        return found

    def own_clusters(self) -> np.ndarray | None:
        """int64 (watched,): the clusters of the scheme's last coarse phase; None where it had none."""
        scheme = self.results.get("clustered")
        if scheme is None or not scheme.clusters:
            return None
        return scheme.clusters[-1][1].cluster_of[self.watch]

    def cluster_words(self, cluster_of: np.ndarray, cluster: int, most: int = 200) -> pd.DataFrame:
        """The features of a cluster by falling mutual information: word, weight, documents, information in bits."""
        comparison = self.comparison
        assert comparison is not None and self.model is not None
        inside = np.flatnonzero(cluster_of == cluster)
        inside = inside[np.argsort(-self.information[inside], kind="stable")][:most]
        documents = np.bincount(self.model.design.X.indices, minlength=len(self.names) + 1)
        return pd.DataFrame(
            {
                "word": self.names[inside],
                "weight": self.weights[inside],
                "documents": documents[inside],
                "information (bits)": self.information[inside] / np.log(2),
            }
        )


def solvers(choice: WeightsChoice) -> dict[str, Any]:
    """Name -> settings, in the order of the race."""
    scheme = ClusteredSettings(
        tol=TOL, time_limit=LIMIT_S, rounds=choice.rounds, fine_iter=choice.fine_iter, clustering=choice.clustering,
        cluster_factor=choice.cluster_factor,
    )  # fmt: skip
    return {
        "lbfgs": LBFGSSettings(tol=TOL, time_limit=LIMIT_S),
        "clustered": scheme,
        "control": replace(scheme, clustering=_at_random),
        "auto": AutoSettings(tol=TOL, time_limit=LIMIT_S),
    }


def _at_random(recent: Sequence[np.ndarray], factor: float, generator: np.random.Generator) -> np.ndarray:
    """The control: clusters of (nearly) equal size that know nothing of the weights."""
    return chunks(generator.random(len(recent[-1])), factor)


def rest(name: str) -> str:
    """What all classes but ``name`` are called together."""
    return "the rest" if name != "the rest" else "all others"
