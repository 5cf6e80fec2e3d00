"""What learners ask for before they begin, against what they then take (compression: test_state_bytes.py)."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from cflengine import ChainCRF, LogisticClassifier, PLQClassifier, PLQRegressor, SentenceLassoClassifier
from cflengine.linear.labels import read_labels, split_documents
from cflengine.loglinear import crf, logistic, training
from cflengine.loglinear.solvers.settings import (
    AutoSettings,
    ClusteredSettings,
    DualSettings,
    LBFGSSettings,
    NewtonSettings,
)
from cflengine.plq import base as plq
from cflengine.sentence_lasso import classifier, comparison


@pytest.fixture
def share(monkeypatch):
    """A function that runs another and answers with the peak of its memory as a share of what it asked for."""
    asked: list[int] = []
    for module in (logistic, crf, training, classifier, comparison, plq):
        monkeypatch.setattr(module, "require_bytes", lambda needed, *_: asked.append(needed))

    def measure(run) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()  # kernels are loaded, and modules imported, before memory is counted
            asked.clear()
            tracemalloc.start()
            try:
                run()
                return tracemalloc.get_traced_memory()[1] / sum(asked)
            finally:
                tracemalloc.stop()

    return measure


def matrix(n: int, d: int, per_row: int) -> sparse.csr_matrix:
    """Numbers in (0, 1) at random places, some of them twice."""
    rng = np.random.default_rng(0)
    where = np.repeat(np.arange(n), per_row), rng.integers(0, d, n * per_row)
    return sparse.csr_matrix((rng.random(n * per_row), where), (n, d))


@pytest.mark.parametrize(
    ("solver", "settings", "multiclass", "n_classes"),
    [
        ("auto", AutoSettings(max_iter=3), "ovr", 2),
        ("auto", AutoSettings(max_iter=3), "ovr", 12),
        ("lbfgs", LBFGSSettings(max_iter=25), "ovr", 12),
        ("lbfgs", LBFGSSettings(max_iter=25), "multinomial", 2),
        ("lbfgs", LBFGSSettings(max_iter=25), "multinomial", 12),
        ("newton-cg", NewtonSettings(max_iter=2), "multinomial", 12),
        ("dual", DualSettings(max_iter=2), "ovr", 2),
        ("clustered", ClusteredSettings(max_iter=20), "ovr", 2),
        ("clustered", ClusteredSettings(max_iter=20, merge=True), "ovr", 12),
    ],
)
def test_logistic_models(share, solver, settings, multiclass, n_classes):
    rng = np.random.default_rng(0)
    X = matrix(4_000, 3_000, 30)
    y = rng.integers(0, n_classes, 4_000)
    model = LogisticClassifier(solver, settings=settings, multiclass=multiclass)
    assert 0.3 < share(lambda: model.fit(X, y)) < 1.1


def test_the_history_is_in_the_estimate(share):
    """What L-BFGS remembers is most of what it takes on many features and few documents."""
    X = matrix(40, 200_000, 200)
    model = LogisticClassifier("lbfgs", settings=LBFGSSettings(memory=20, max_iter=30, tol=1e-12))
    assert 0.3 < share(lambda: model.fit(X, np.arange(40) % 2)) < 1.1


@pytest.mark.parametrize("memory", [10**5, 10**6, 10**12])
def test_a_history_that_does_not_fit_is_refused_before_it_is_made(memory):
    """Also where there are few weights: the products among the pairs are as many as their square."""
    sentences, labels = [[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]]
    fits = (
        lambda: LogisticClassifier("lbfgs", settings=LBFGSSettings(memory=memory)).fit(np.eye(4), [0, 1, 0, 1]),
        lambda: ChainCRF(settings=LBFGSSettings(memory=memory)).fit(sentences, labels),
    )
    for fit in fits:
        with pytest.raises(MemoryError, match="a smaller memory of L-BFGS"):
            fit()


@pytest.mark.parametrize(
    ("n_sentences", "length", "n_labels"), [(1_500, 12, 8), (400, 12, 30), (100, 120, 8), (3_000, 3, 8)]
)
def test_chains(share, n_sentences, length, n_labels):
    rng = np.random.default_rng(0)
    sentences = [
        [[f"a={a}", f"b={b}", "c"] for a, b in rng.integers(0, 400, (length, 2)).tolist()] for _ in range(n_sentences)
    ]
    labels = [[str(label) for label in row] for row in rng.integers(0, n_labels, (n_sentences, length)).tolist()]
    assert 0.4 < share(lambda: ChainCRF(max_iter=25).fit(sentences, labels)) < 1.1


def reviews(size: int) -> tuple[list[str], np.ndarray]:
    """Texts of ten sentences of eight words of about ``size`` letters, with a label."""
    rng = np.random.default_rng(0)
    words = ["".join(letters) for letters in rng.choice(list("abcdefghijklmnopqrst"), (2_000, size))]
    chosen = rng.integers(0, len(words), (400, 10, 8)).tolist()
    texts = [" ".join(" ".join(words[k] for k in one) + "." for one in sentences) for sentences in chosen]
    return texts, rng.integers(0, 2, len(texts))


def test_a_sentence_classifier(share):
    texts, y = reviews(4)
    assert 0.3 < share(lambda: SentenceLassoClassifier().fit(texts, y)) < 1.1


@pytest.mark.parametrize("size", [2, 8])
def test_a_comparison_of_sentences(share, size):
    texts, y = reviews(size)
    metadata = pd.DataFrame({"label": y.astype(str)})
    labels = read_labels(metadata, "label")
    split = split_documents(labels, metadata, test=0.2)
    assert 0.1 < share(lambda: comparison.prepare(texts, labels, split)) < 1.1


@pytest.mark.parametrize(
    "model", [PLQClassifier(), PLQClassifier("squared_hinge"), PLQRegressor("quantile:0.9")], ids=str
)
@pytest.mark.parametrize("d", [3, 30])
def test_plq_models(share, model, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, d))
    y = (X[:, 0] > 0).astype(float)
    short = clone(model).set_params(max_iter=50)  # later passes take no more
    assert 0.3 < share(lambda: short.fit(X, y)) < 1.1
