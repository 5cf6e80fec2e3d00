"""Targets as tasks: what features are worth for one, judged on documents that nothing was learnt from.

A task is given features of all documents and answers with an :class:`Outcome`: what each unit that is judged (a
document; an author in authors.py) was predicted to be. Outcomes of the same task are compared unit by unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.progress import Listener
from cflengine.experiments.centroids import class_means, judged, nearest
from cflengine.experiments.learners import Regularisation, fit_classes, fit_numbers, preference
from cflengine.experiments.splits import Plan, restricted, share_of
from cflengine.experiments.statistics import Resampling, macro_f1, paired_p, r_squared, weighted_mean, whole
from cflengine.experiments.targets import Target
from cflengine.experiments.weights import Weights, centroid_weights
from cflengine.linear.labels import Split

MOST_LINEAR = 50  # classes; beyond, centroids, since a linear model for each class would take too long
_FEWEST = 5  # documents of a part, where there are ten times as many
_MOST_BYTES = 6 << 30  # for the coefficients of one task; the same on every machine, so that the same is tried


#: features of all documents, CSR (N, d); or what makes them, of the number of a split, where they depend on labels
Matrix: TypeAlias = sparse.csr_matrix | Callable[[int], sparse.csr_matrix]


def coefficient_bytes(n_models: int, n_features: int) -> int:
    """What learning linear models holds at its peak beside the features: coefficients of each, of three fits, twice."""
    return 48 * n_models * n_features


def require_at_most(n_bytes: int) -> None:
    """MemoryError for more than what one task may hold."""
    if n_bytes > _MOST_BYTES:
        raise MemoryError(f"{n_bytes / 2**30:.1f} GiB of coefficients are too many.")


def matrix_of(X: Matrix, split: int) -> sparse.csr_matrix:
    """The features for one split."""
    return X(split) if callable(X) else X


@dataclass(frozen=True)
class Outcome:
    """What was said of every unit, a part for each split.

    predicted: (units,); devs: on each split's documents beside, the larger the better; sizes: how many units each split
    judges; chosen: C and the like, by split; gap: the largest proved one, 0 where nothing was optimised; wrong:
    float64 (units,), by how much what was predicted was preferred to the truth, or how far off a number is; None where
    it is not known.
    """

    predicted: np.ndarray = field(repr=False)
    devs: tuple[float, ...]
    sizes: tuple[int, ...]
    chosen: tuple[Any, ...] = ()
    gap: float = 0.0
    wrong: np.ndarray | None = field(repr=False, default=None)

    @property
    def dev(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.devs))

    @classmethod
    def joined(cls, parts: Sequence[Outcome]) -> Outcome:
        """Splits put together, each an outcome of one split."""
        wrong = [part.wrong for part in parts if part.wrong is not None]
        return cls(
            np.concatenate([part.predicted for part in parts]),
            tuple(dev for part in parts for dev in part.devs),
            tuple(size for part in parts for size in part.sizes),
            tuple(one for part in parts for one in part.chosen),
            max(part.gap for part in parts),
            np.concatenate(wrong) if len(wrong) == len(parts) else None,
        )

    def of_split(self, k: int) -> Outcome:
        """The part of one split."""
        inside = slice(sum(self.sizes[:k]), sum(self.sizes[: k + 1]))
        wrong = None if self.wrong is None else self.wrong[inside]
        chosen = self.chosen[k : k + 1]
        return Outcome(self.predicted[inside], (self.devs[k],), (self.sizes[k],), chosen, self.gap, wrong)


class Task(Protocol):
    """A target with its plan. measure: the score that is reported; larger_is_better: whether a larger one is better."""

    target: Target
    measure: str
    learner: str
    larger_is_better: bool
    linear: bool
    listeners: tuple[Listener, ...]

    def bytes_needed(self, n_features: int) -> int: ...
    @property
    def truth(self) -> np.ndarray: ...
    @property
    def training(self) -> list[np.ndarray]: ...
    @property
    def held_out(self) -> list[np.ndarray]: ...
    def judge(self, X: Matrix, *, share: float = 1.0, chosen: tuple[Any, ...] = ()) -> Outcome: ...
    def worth(self, outcome: Outcome) -> np.ndarray: ...
    def score(self, outcome: Outcome) -> dict[str, Any]: ...
    def baseline(self) -> dict[str, Any]: ...
    def over_guessing(self, outcome: Outcome) -> dict[str, Any]: ...
    def weights(self, X: sparse.csr_matrix, chosen: tuple[Any, ...], split: int = 0) -> Weights: ...
    def split_of(self, document: int) -> int: ...
    def units(self) -> pd.DataFrame: ...
    @property
    def resampling(self) -> Resampling: ...
    def interval(self, outcome: Outcome) -> tuple[float, float]: ...


@contextmanager
def to_the_end(task: Task) -> Iterator[None]:
    """What is wanted also after a stop: within the block no listener is asked whether to go on.

    Parameters
    ----------
    task : Task
        Whose listeners.

    Returns
    -------
    context manager
        Of nothing.
    """
    before, task.listeners = task.listeners, ()
    try:
        yield
    finally:
        task.listeners = before


class DocumentTask:
    """A class or a number of each document.

    Parameters
    ----------
    target : Target
        The column.
    plan : Plan
        The splits.
    random_state : int, default: 0
        Of what is drawn.
    n_threads : int or None, default: None
        None for all cores.
    """

    def __init__(
        self,
        target: Target,
        plan: Plan,
        *,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.target, self.random_state, self.n_threads = target, random_state, n_threads
        self.listeners: tuple[Listener, ...] = ()  # of everything that is fitted
        self.how = plan.how
        known = target.known
        self.splits = [restricted(split, known) for split in plan.splits]
        for split in self.splits:
            _check_parts(split, target)
        if target.values is None:
            unknown = sum(int((~_learnt(split, target)).sum()) for split in self.splits)
            self.how += f"; {unknown:,} judged documents are of classes that were not learnt" if unknown else ""
        self.documents = np.concatenate([split.test for split in self.splits])
        if target.values is None and len(seen := np.unique(target.labels.y[self.documents])) == 1:
            name = target.labels.classes[int(seen[0])]
            raise InputError(
                f"split so, the documents to judge {target.column!r} by are all {name!r}, and any guess would be "
                "right: split otherwise."
            )
        self.groups = None if plan.groups is None else plan.groups[self.documents]
        self.numbers = target.values is not None
        self.linear = self.numbers or target.n_classes <= MOST_LINEAR
        self.learner = "elastic net" if self.numbers else "linear SVM" if self.linear else "nearest centroid, cosine"
        self.measure, self.larger_is_better = ("mse", False) if self.numbers else ("accuracy", True)

    def bytes_needed(self, n_features: int) -> int:
        """What learning holds at its peak beside the features."""
        rows = 1 if self.numbers or self.target.n_classes == 2 else self.target.n_classes
        return coefficient_bytes(rows, n_features) if self.linear else 0

    @property
    def truth(self) -> np.ndarray:
        """(units,): of the documents that are judged."""
        return self.target.truth[self.documents]

    @property
    def training(self) -> list[np.ndarray]:
        """int64: the documents of each split that are learnt from."""
        return [split.train for split in self.splits]

    @property
    def held_out(self) -> list[np.ndarray]:
        """int64: the documents of each split that are not."""
        return [np.concatenate([split.dev, split.test]) for split in self.splits]

    def judge(self, X: Matrix, *, share: float = 1.0, chosen: tuple[Any, ...] = ()) -> Outcome:
        """share: of the training documents, the first of a seeded order; chosen: that of an earlier outcome, not
        to be searched again."""
        found = []
        for k, split in enumerate(self.splits):
            own = Split(share_of(split.train, share, self.random_state, self.target), split.dev, split.test)
            found.append(self._fit(matrix_of(X, k), own, chosen[k] if chosen else None))
        return Outcome.joined(found)

    def _fit(self, X: sparse.csr_matrix, split: Split, chosen: Regularisation | None) -> Outcome:
        y, size = self.target.truth, (len(split.test),)
        if not self.linear:
            means = class_means(X[split.train], y[split.train], self.target.n_classes)
            dev = nearest(X[split.dev], means, "cosine") == y[split.dev]
            said, wrong = judged(X[split.test], means, "cosine", y[split.test])
            return Outcome(said, (float(np.mean(dev)),), size, (None,), 0.0, wrong)
        fit, asked, truth = self._linear(X, split, chosen), X[split.test], y[split.test]
        predicted = fit.model.predict(asked)
        if self.numbers:
            return Outcome(predicted, (fit.dev,), size, (fit.regularisation,), fit.gap, np.abs(predicted - truth))
        wrong = preference(fit.model, asked, predicted, truth)
        return Outcome(predicted, (fit.dev,), size, (fit.regularisation,), fit.gap, wrong)

    def _linear(self, X: sparse.csr_matrix, split: Split, chosen: Regularisation | None) -> Any:
        grid = None if chosen is None else [chosen]
        if self.numbers:
            return fit_numbers(X, self.target.truth, split, grid, listeners=self.listeners)
        return fit_classes(X, self.target.labels.y, split, grid, n_threads=self.n_threads, listeners=self.listeners)

    def worth(self, outcome: Outcome) -> np.ndarray:
        """(units,): right or wrong (bool), or squared errors."""
        if self.numbers:
            return (outcome.predicted - self.truth) ** 2
        return np.asarray(outcome.predicted == self.truth)

    @cached_property
    def resampling(self) -> Resampling:
        """Of the documents, or their groups."""
        return Resampling(len(self.documents), self.groups, self.random_state)

    def interval(self, outcome: Outcome) -> tuple[float, float]:
        """95 %, of the measure."""
        worth = self.worth(outcome)
        return self.resampling.mean_interval(worth) if self.numbers else self.resampling.share_interval(worth)

    def score(self, outcome: Outcome) -> dict[str, Any]:
        """The measures, each with a 95 % interval; of macro-F1 there is none where all are right, or none is."""
        drawn, n, worth = self.resampling, len(self.documents), self.worth(outcome)
        main = weighted_mean(worth.astype(np.float64))
        if self.numbers:
            name, second = "r2", r_squared(self.truth, outcome.predicted)
            other = drawn.interval(second)
        else:
            name, second = "macro_f1", macro_f1(self.truth, outcome.predicted, self.target.n_classes)
            differ = bool(worth.any()) and not worth.all()
            other = drawn.interval(second) if differ else (np.nan, np.nan)
        found: dict[str, Any] = {self.measure: whole(main, n), f"{self.measure}_interval": list(self.interval(outcome))}
        return found | {name: whole(second, n), f"{name}_interval": list(other)}

    def baseline(self) -> dict[str, Any]:
        """The score of guessing."""
        return self.score(self._guess())

    def over_guessing(self, outcome: Outcome) -> dict[str, Any]:
        """How much better an outcome is, and the 95 % interval of that, on the same documents."""
        found = compare(self, outcome, self._guess())
        return {"gain_over_guessing": found["gain"], "gain_over_guessing_interval": found["gain_interval"]}

    def _guess(self) -> Outcome:
        """Always the most frequent class, or the mean, of the documents that are not judged."""
        parts = []
        for split in self.splits:
            y = self.target.truth[np.concatenate([split.train, split.dev])]
            best = y.mean() if self.numbers else np.bincount(y).argmax()
            parts.append(np.full(len(split.test), best))
        return Outcome(np.concatenate(parts), (0.0,), (len(self.documents),))

    def weights(self, X: sparse.csr_matrix, chosen: tuple[Any, ...], split: int = 0) -> Weights:
        """Coefficients of the model that one split learns; of centroids those of the most frequent classes."""
        own = self.splits[split]
        if not self.linear:
            return centroid_weights(X[own.train], self.target.labels.y[own.train], self.target.labels.classes)
        model = self._linear(X, own, chosen[split] if chosen else None).model
        names = ("",) if self.numbers else tuple(self.target.labels.classes[k] for k in model.classes_.tolist())
        names = names[1:] if len(names) == 2 else names
        return Weights(np.atleast_2d(model.coef_), names, np.bincount(X[own.train].indices, minlength=X.shape[1]))

    def split_of(self, document: int) -> int:
        """Which split judges a document."""
        return next(k for k, split in enumerate(self.splits) if document in split.test)

    def final(self, X: sparse.csr_matrix, chosen: tuple[Any, ...]) -> Any:
        """A model learnt from every document with a target, at the first split's regularisation; None of centroids."""
        if not self.linear:
            return None
        none = np.zeros(0, dtype=np.int64)
        everything = Split(np.flatnonzero(self.target.known), none, none)
        with to_the_end(self):
            model = self._linear(X, everything, chosen[0]).model
        if not self.numbers:
            model.classes_ = np.array(self.target.labels.classes, dtype=object)[model.classes_]
        return model.set_params(listeners=())

    def units(self) -> pd.DataFrame:
        """A row a unit: its document."""
        return pd.DataFrame({"document": self.documents})


def _learnt(split: Split, target: Target) -> np.ndarray:
    """bool: of the documents that are judged, those whose class is among those learnt from."""
    return np.isin(target.labels.y[split.test], target.labels.y[split.train])


def _check_parts(split: Split, target: Target) -> None:
    """InputError for parts of a split from which nothing can be learnt, or which say nothing."""
    n, column = sum(map(len, (split.train, split.dev, split.test))), target.column
    if not (len(split.train) and len(split.dev) and len(split.test)):
        raise InputError(f"of the documents with {column!r}, none is left to learn from, to choose by or to judge by.")
    for part, purpose in ((split.train, "to learn from"), (split.dev, "to choose by"), (split.test, "to judge by")):
        if len(part) < _FEWEST and n >= 10 * _FEWEST:
            raise InputError(
                f"split so, only {len(part)} of {n:,} documents with {column!r} are left {purpose}: split otherwise."
            )
    if target.values is None and len(np.unique(target.labels.y[split.train])) < 2:
        raise InputError(f"split so, the documents to learn {column!r} from are all of one class: split otherwise.")
    if target.values is None and not _learnt(split, target).any():
        raise InputError(
            f"split so, no class of {column!r} that is to be judged is among those learnt from: the split and the "
            "target are one, split otherwise."
        )


def compare(task: Task, first: Outcome, second: Outcome) -> dict[str, Any]:
    """How much better the first of two outcomes is.

    Parameters
    ----------
    task : Task
        Whose documents both predicted.
    first : Outcome
        One method's.
    second : Outcome
        The other's.

    Returns
    -------
    dict
        gain (difference of accuracies; of squared errors as a share of the second's), gain_interval, and p of a paired
        test.
    """
    a, b = task.worth(first), task.worth(second)
    one, other = a.astype(np.float64), b.astype(np.float64)

    def gain(weights: np.ndarray) -> np.ndarray:
        mean_a, mean_b = weighted_mean(one)(weights), weighted_mean(other)(weights)
        if task.larger_is_better:
            return mean_a - mean_b
        return 1.0 - mean_a / np.maximum(mean_b, 1e-300)

    facts: dict[str, Any] = {"gain": whole(gain, len(one)), "gain_interval": list(task.resampling.interval(gain))}
    return facts | {"p": paired_p(a, b, task.resampling.groups)}
