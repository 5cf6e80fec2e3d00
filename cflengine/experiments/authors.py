"""Author identification as in Section 5.1.1: whose are these texts?

Authors with enough documents take part; documents of few words do not. Some documents of each author are held out; an
author is the centroid of the others, and the average of the held-out ones is given to the nearest centroid. A quarter
of the authors is to choose by (λ, the way to count), the others are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.checks import InputError, check_whole, is_number
from cflengine.engine.progress import Listener
from cflengine.experiments.centroids import DISTANCES, ShrunkenCentroids, class_means, judged
from cflengine.experiments.learners import fit_classes
from cflengine.experiments.statistics import Resampling
from cflengine.experiments.targets import Target
from cflengine.experiments.tasks import (
    Matrix,
    Outcome,
    coefficient_bytes,
    matrix_of,
    require_at_most,
)
from cflengine.experiments.weights import Weights, centroid_weights
from cflengine.linear.labels import Labels, Split
from cflengine.text.check import words_in

DELTAS = (0.0, 0.5, 1.0, 2.0)
SVM_AUTHORS = 150
_MOST_DENSE = 100_000_000  # classes × features that shrunken centroids may have


@dataclass(frozen=True)
class AuthorRules:
    """Which authors take part, and how they are judged.

    Parameters
    ----------
    min_words : int, default: 10
        Words (between white space) of a document, at least.
    min_documents : int, default: 10
        Documents of an author, at least.
    held_out : int, default: 3
        Documents of each that are not learnt from.
    dev : float, default: 0.25
        Share of authors to choose by.
    most_authors : int or None, default: None
        So many, drawn at random; None for all.
    """

    min_words: int = 10
    min_documents: int = 10
    held_out: int = 3
    dev: float = 0.25
    most_authors: int | None = None

    def __post_init__(self) -> None:
        check_whole(
            self, {"min_words": 0, "min_documents": 2, "held_out": 1, "most_authors": 2}, optional=("most_authors",)
        )
        if not (is_number(self.dev) and 0 < self.dev < 1):
            raise InputError(f"dev must be a share of authors between 0 and 1, not {self.dev!r}.")
        if self.min_documents <= self.held_out:
            raise InputError("an author needs more documents than are held out.")


class AuthorTask:
    """Authors as classes; the units are the authors that are judged.

    Parameters
    ----------
    target : Target
        The column of authors.
    texts : Sequence[str]
        The documents.
    rules : AuthorRules or None, default: None
        None for the paper's.
    distance : str, default: 'cosine'
        "cosine" or "euclidean".
    single : bool, default: False
        Whether one held-out document of each author is asked about, not the average.
    random_state : int, default: 0
        Of what is drawn.

    Raises
    ------
    ValueError where fewer than four authors have enough documents.
    """

    measure, larger_is_better, linear = "accuracy", True, False

    def __init__(
        self,
        target: Target,
        texts: Sequence[str],
        rules: AuthorRules | None = None,
        *,
        distance: str = "cosine",
        single: bool = False,
        random_state: int = 0,
    ) -> None:
        if distance not in DISTANCES:
            raise InputError(f"distance must be {' or '.join(DISTANCES)}, not {distance!r}.")
        self.rules, self.distance, self.single = rules or AuthorRules(), distance, single
        self.random_state = random_state
        self.listeners: tuple[Listener, ...] = ()
        rules, y = self.rules, target.labels.y
        long = np.array([n >= rules.min_words for n in words_in(texts)]) & (y >= 0)
        counts = np.bincount(y[long], minlength=len(target.labels.classes))
        authors = np.flatnonzero(counts >= rules.min_documents)
        rng = np.random.default_rng(random_state)
        if rules.most_authors is not None and len(authors) > rules.most_authors:
            authors = np.sort(rng.choice(authors, rules.most_authors, replace=False))
        if len(authors) < 4:
            raise InputError(
                f"column {target.column!r}: {len(authors)} of {len(counts):,} authors have {rules.min_documents} or "
                f"more documents of {rules.min_words} or more words; at least four are needed."
            )
        labels = Labels(target.column, target.labels.classes, np.where(long, y, -1)).only(authors)
        self.y = labels.y
        self.target = Target(
            target.column, "author", labels, n_missing=target.n_missing,
            n_rare=int(long.sum() - (self.y >= 0).sum()) + target.n_rare, n_short=int(((y >= 0) & ~long).sum()),
        )  # fmt: skip
        self.held = np.stack(
            [rng.permutation(np.flatnonzero(self.y == k))[: rules.held_out] for k in range(len(authors))]
        )
        self.train = np.setdiff1d(np.flatnonzero(self.y >= 0), self.held.ravel())
        beside = rng.permutation(len(authors))[: max(1, int(rules.dev * len(authors)))]
        self.dev = np.zeros(len(authors), dtype=bool)
        self.dev[beside] = True
        of = "one held-out document" if single else f"the average of {rules.held_out} held-out documents"
        self.learner = f"nearest centroid, {distance}"
        learnt = f"{len(authors):,} values of {target.column}, {len(self.train):,} documents to learn from"
        judged = f"{len(authors) - len(beside):,} of them, {len(beside):,} to choose by"
        self.how = f"{learnt}; judged on {of} of {judged}"

    def bytes_needed(self, n_features: int) -> int:
        """Centroids are as sparse as their documents."""
        return 0

    @property
    def truth(self) -> np.ndarray:
        """(units,): the authors that are judged, by number."""
        return np.flatnonzero(~self.dev)

    @property
    def training(self) -> list[np.ndarray]:
        """int64: the documents that are learnt from."""
        return [self.train]

    @property
    def held_out(self) -> list[np.ndarray]:
        """int64: the documents that are not."""
        return [np.sort(self.held.ravel())]

    def judge(
        self, X: Matrix, *, share: float = 1.0, chosen: tuple[Any, ...] = (), distance: str | None = None
    ) -> Outcome:
        """share: of each author's training documents; distance: another than the task's own."""
        X = matrix_of(X, 0)
        train = self.train
        if share < 1.0:
            train = self._share(share)
        means = class_means(X[train], self.y[train], self.target.n_classes)
        found, more = judged(self._asked(X), means, distance or self.distance, np.arange(self.target.n_classes))
        return replace(self._outcome(found), wrong=more[~self.dev])

    def _asked(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """CSR (authors, d): what is asked about."""
        if self.single:
            return X[self.held[:, 0]]
        total = X[self.held[:, 0]]
        for column in self.held.T[1:]:
            total = total + X[column]
        return sparse.csr_matrix(total / self.held.shape[1])

    def _outcome(self, found: np.ndarray, chosen: tuple[Any, ...] = ()) -> Outcome:
        dev = float(np.mean((found == np.arange(len(found)))[self.dev]))
        return Outcome(found[~self.dev], (dev,), (int((~self.dev).sum()),), chosen)

    def _share(self, share: float) -> np.ndarray:
        order = np.random.default_rng(self.random_state).permutation(self.train)
        y = self.y[order]
        by_author = np.argsort(y, kind="stable")
        rank = np.arange(len(y)) - np.searchsorted(y[by_author], y[by_author])
        counts = np.bincount(y, minlength=self.target.n_classes)
        kept = rank < np.maximum(np.round(share * counts[y[by_author]]), 1)
        return np.sort(order[by_author[kept]])

    def judge_shrunken(self, X: sparse.csr_matrix) -> Outcome:
        """Shrunken centroids, Δ chosen on the authors beside. ValueError where their table would be too large."""
        n_classes = self.target.n_classes
        if n_classes * X.shape[1] > _MOST_DENSE:
            raise InputError(f"shrunken centroids of {n_classes:,} classes and {X.shape[1]:,} features are too large.")
        model, asked = ShrunkenCentroids(X[self.train], self.y[self.train], n_classes), self._asked(X)
        found = [self._outcome(model.predict(asked, delta), (delta,)) for delta in DELTAS]
        return max(found, key=lambda outcome: outcome.dev)

    def judge_svm(self, X: sparse.csr_matrix, n_threads: int | None = None) -> float:
        """Share of single held-out documents that a linear SVM gives to the right one of SVM_AUTHORS seeded authors.

        Its C is chosen on the first held-out documents, it is judged on the others. ValueError where there are
        none, MemoryError where coefficients would be too many."""
        if self.held.shape[1] < 2:
            raise InputError("a linear SVM needs two held-out documents of each author.")
        require_at_most(coefficient_bytes(min(SVM_AUTHORS, self.target.n_classes), X.shape[1]))
        rng = np.random.default_rng(self.random_state)
        n = self.target.n_classes
        drawn = np.sort(rng.choice(n, min(SVM_AUTHORS, n), replace=False))
        inside = np.isin(self.y, drawn)
        train, held = self.train[inside[self.train]], self.held[drawn]
        fit = fit_classes(
            X, self.y, Split(train, held[:, 0], held[:, 1:].ravel()), n_threads=n_threads, listeners=self.listeners
        )
        return float(np.mean(fit.model.predict(X[held[:, 1:].ravel()]) == self.y[held[:, 1:].ravel()]))

    def worth(self, outcome: Outcome) -> np.ndarray:
        """bool (units,)."""
        return np.asarray(outcome.predicted == self.truth)

    @cached_property
    def resampling(self) -> Resampling:
        """Of the authors."""
        return Resampling(len(self.truth), None, self.random_state)

    def interval(self, outcome: Outcome) -> tuple[float, float]:
        """95 %, of the accuracy."""
        return self.resampling.share_interval(self.worth(outcome))

    def score(self, outcome: Outcome) -> dict[str, Any]:
        """Accuracy with a 95 % interval."""
        worth = self.worth(outcome)
        return {"accuracy": float(np.mean(worth)), "accuracy_interval": list(self.interval(outcome))}

    def baseline(self) -> dict[str, Any]:
        """Of an author drawn at random."""
        return {"accuracy": 1.0 / self.target.n_classes}

    def over_guessing(self, outcome: Outcome) -> dict[str, Any]:
        """By how much an outcome is above that, and the 95 % interval."""
        found, guess = self.score(outcome), 1.0 / self.target.n_classes
        interval = [end - guess for end in found["accuracy_interval"]]
        return {"gain_over_guessing": found["accuracy"] - guess, "gain_over_guessing_interval": interval}

    def weights(self, X: sparse.csr_matrix, chosen: tuple[Any, ...] = (), split: int = 0) -> Weights:
        """The centroids of the most prolific authors."""
        return centroid_weights(X[self.train], self.y[self.train], self.target.labels.classes)

    def split_of(self, document: int) -> int:
        """There is one."""
        return 0

    def final(self, X: sparse.csr_matrix, chosen: tuple[Any, ...]) -> None:
        """Centroids are not kept as a model."""

    def units(self) -> pd.DataFrame:
        """A row a unit: the author, and the first document of theirs that is asked about."""
        return pd.DataFrame({"document": self.held[~self.dev, 0]})
