"""The problems of the PLQ benchmark: data, a loss, C, constraints, and what peers call them."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.corpora import corpus_path
from benchmarks.report import say
from cflengine.plq import Constraints, PLQProblem, fair, named_loss, no_constraints


@dataclass(frozen=True)
class Task:
    """Data, a loss by name and C; rehline: its name for the loss; liblinear, sgd: theirs, "" where they have it not.

    constraints: on the coefficients, None for none. conic: whether a conic solver is asked, too.
    """

    name: str
    X: Any = field(repr=False)
    y: np.ndarray = field(repr=False)
    loss: str
    C: float
    rehline: dict[str, Any]
    liblinear: str = ""
    sgd: dict[str, Any] | None = None
    constraints: Constraints | None = None
    conic: bool = False

    def problem(self, rows: slice = slice(None)) -> PLQProblem:
        """The problem, or that of some rows."""
        own = named_loss(self.loss).for_data(self.y[rows], self.C)
        return PLQProblem(self.X[rows], own, self.constraints or no_constraints(self.X.shape[1]))


def tasks(chosen: list[str], arguments: argparse.Namespace) -> Iterator[Task]:
    """Those of some sections."""
    quick = arguments.quick
    if "dense" in chosen:
        yield from _dense(2_000 if quick else None)
    if "fair" in chosen:
        yield from _fair(1_000 if quick else None)
    if "text" in chosen:
        yield from _newsgroups(arguments.data, 500 if quick else None)
        yield from _ratebeer(arguments.data, 500 if quick else None)


def _dense(limit: int | None) -> Iterator[Task]:
    from sklearn.datasets import make_classification, make_regression

    for n, d, C in ((200_000, 18, 1e-3), (20_000, 100, 1e-2), (1_000_000, 20, 1e-4)):
        n = min(n, limit or n)
        X, y = make_classification(n, d, n_informative=min(d // 2, 30), random_state=0)
        y = 2.0 * y - 1.0
        where = f"{n:,} × {d}"
        yield Task(f"SVM, {where}", X, y, "hinge", C, {"name": "svm"}, "hinge", {"loss": "hinge"})
        yield Task(f"smoothed SVM, {where}", X, y, "smoothed_hinge", C, {"name": "sSVM"})
    for n, d in ((100_000, 50), (10_000, 200)):
        n = min(n, limit or n)
        X, y = make_regression(n, d, noise=20.0, random_state=0)
        y = (y + np.random.default_rng(0).standard_t(2, n) * 20.0) / 100.0
        where, huber = f"{n:,} × {d}", {"loss": "huber", "epsilon": 0.5}
        yield Task(f"Huber, {where}", X, y, "huber:0.5", 1e-2, {"name": "huber", "tau": 0.5}, sgd=huber)
        yield Task(f"quantile 0.9, {where}", X, y, "quantile:0.9", 1e-3, {"name": "QR", "qt": 0.9})


def _fair(limit: int | None) -> Iterator[Task]:
    """SVM whose score may covary with a column by 0.01 at most."""
    from sklearn.datasets import make_classification

    for n in (10_000, 100_000):
        n = min(n, limit or n)
        X, y = make_classification(n, 20, n_informative=10, random_state=0)
        sensitive = (X[:, 0] + np.random.default_rng(0).normal(size=n) > 0).astype(np.float64)
        bounds = fair(X, sensitive, 0.01)
        name = f"fair SVM, {n:,} × 20"
        yield Task(name, X, 2.0 * y - 1.0, "hinge", 1e-3, {"name": "svm"}, constraints=bounds, conic=True)


def _newsgroups(data: str | None, limit: int | None) -> Iterator[Task]:
    documents = _documents("20news_bydate", data, limit)
    if not documents:
        return
    X = _tfidf(documents)
    groups = np.array([one["label"] for one in documents])
    for group in sorted(set(groups))[:: 10 if limit is None else 100]:  # two of the twenty
        y = np.where(groups == group, 1.0, -1.0)
        where = f"{group} of 20 Newsgroups ({X.shape[0]:,} × {X.shape[1]:,})"
        yield Task(f"SVM, {where}", X, y, "hinge", 1.0, {"name": "svm"}, "hinge", {"loss": "hinge"})
        squared = {"loss": "squared_hinge"}
        yield Task(
            f"squared SVM, {where}", X, y, "squared_hinge", 1.0, {"name": "squared svm"}, "squared_hinge", squared
        )
        yield Task(f"smoothed SVM, {where}", X, y, "smoothed_hinge", 1.0, {"name": "sSVM"})


def _ratebeer(data: str | None, limit: int | None) -> Iterator[Task]:
    documents = _documents("ratebeer", data, limit)
    documents = [one for one in documents if isinstance(one.get("rating"), int | float)]
    if not documents:
        return
    X = _tfidf(documents)
    y = np.array([float(one["rating"]) for one in documents])
    y = (y - y.mean()) / y.std()
    where, huber = f"ratings of RateBeer ({X.shape[0]:,} × {X.shape[1]:,})", {"loss": "huber", "epsilon": 0.5}
    yield Task(f"Huber, {where}", X, y, "huber:0.5", 1.0, {"name": "huber", "tau": 0.5}, sgd=huber)
    yield Task(f"quantile 0.9, {where}", X, y, "quantile:0.9", 0.3, {"name": "QR", "qt": 0.9})


def _documents(name: str, data: str | None, limit: int | None) -> list[dict[str, Any]]:
    """The documents of a corpus; none, saying so, where it is absent."""
    try:
        path = corpus_path(name, data)
    except FileNotFoundError as error:
        say(str(error))
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][:limit]


def _tfidf(documents: list[dict[str, Any]]) -> sparse.csr_matrix:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return sparse.csr_matrix(TfidfVectorizer(min_df=2).fit_transform([one["text"] for one in documents]))
