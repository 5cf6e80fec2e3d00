"""A labelled corpus as a matrix: documents with a class, in parts to learn from, to choose by and to be judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.linear.labels import Labels, Split

PARTS = ("train", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class ModelComparison:
    """The n documents of a corpus that have a class; features are learnt from those of the training part.

    Parameters
    ----------
    labels : Labels
        The classes.
    documents : ndarray
        int64 (n,), their numbers in the corpus, ascending.
    y : ndarray
        int64 (n,), their classes.
    train : ndarray
        int64, positions in ``documents``.
    dev : ndarray
        int64, positions in ``documents``.
    test : ndarray
        int64, positions in ``documents``.
    X : csr_matrix
        float64 (n, V).
    names : ndarray
        Of the features, in the order of the columns.
    reader : Any, default: None
        The fitted pipeline that made X from texts, where there is one.
    """

    labels: Labels
    documents: np.ndarray
    y: np.ndarray
    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    X: sparse.csr_matrix = field(repr=False)
    names: np.ndarray = field(repr=False)
    reader: Any = field(repr=False, default=None)

    @classmethod
    def of(cls, texts: Sequence[str], labels: Labels, split: Split, features: Any) -> Self:
        """By a pipeline of scikit-learn, whose first step names the features. ValueError where it finds none."""
        rows = labelled_rows(labels, split)
        chosen = [texts[d] for d in rows["documents"].tolist()]
        try:
            features.fit([chosen[i] for i in rows["train"].tolist()])
        except ValueError as error:
            if "empty vocabulary" in str(error):
                raise InputError("the training documents hold no word: nothing to learn from.") from None
            raise
        X = sparse.csr_matrix(features.transform(chosen), dtype=np.float64)
        names = np.asarray(features[0].get_feature_names_out(), dtype=object)
        return cls(labels=labels, X=X, names=names, reader=features, **rows)

    @property
    def classes(self) -> np.ndarray:
        """Names of the classes, object."""
        return np.array(self.labels.classes, dtype=object)

    def numbers_of(self, names: np.ndarray) -> np.ndarray:
        """int64: which class each of these names is, as a model predicts them."""
        number = {name: k for k, name in enumerate(self.labels.classes)}
        return np.array([number[str(name)] for name in names.tolist()], dtype=np.int64)

    @property
    def part_names(self) -> np.ndarray:
        """object (n,): "train", "dev" or "test" for each document."""
        names = np.empty(len(self.documents), dtype=object)
        for part in PARTS:
            names[getattr(self, part)] = part
        return names

    def guess(self, where: np.ndarray) -> tuple[str, float]:
        """The most frequent class of all other documents, and its share of some (positions): what saying it of each
        would be right on; NaN for none."""
        others = np.setdiff1d(np.arange(len(self.y)), where)
        usual = int(np.bincount(self.y[others if len(others) else where]).argmax())
        return self.labels.classes[usual], self.accuracy(np.full(len(self.y), usual), where)

    def accuracy(self, predicted: np.ndarray, where: np.ndarray) -> float:
        """Share of some documents (positions) whose predicted class, int64 (n,), is their own; NaN for none."""
        return float(np.mean(predicted[where] == self.y[where])) if len(where) else math.nan


def labelled_rows(labels: Labels, split: Split) -> dict[str, np.ndarray]:
    """documents, y, train, dev and test of a :class:`ModelComparison`."""
    documents = np.sort(np.concatenate([split.train, split.dev, split.test]))
    places = {part: np.searchsorted(documents, getattr(split, part)) for part in PARTS}
    return {"documents": documents, "y": labels.y[documents]} | places
