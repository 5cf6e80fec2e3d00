"""The most telling sentences, and the classifier that reads some of them, against loops over documents."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from cflengine.linear.labels import read_labels, split_documents
from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso.comparison import prepare
from cflengine.sentence_lasso.grid import fit_classes
from cflengine.sentence_lasso.model.penalties import Penalty
from cflengine.sentence_lasso.shares import SHARES, quick_penalties, reading, telling_sentences, towards
from cflengine.sentence_lasso.solvers.settings import MajoriseSettings


def studied(n_classes: int):
    rng = np.random.default_rng(3)
    telling = [["good", "nice"], ["bad", "grim"], ["odd", "queer"]]
    texts, labels = [], []
    for d in range(90):
        k = d % n_classes
        said = ["The sky is " + rng.choice(["blue", "grey"]) + "." for _ in range(3)]
        said.insert(int(rng.integers(3)), f"It was {rng.choice(telling[k])} beer.")
        texts.append(" ".join(said) if d else "")
        labels.append("abc"[k])
    frame = pd.DataFrame({"mood": labels})
    found = read_labels(frame, "mood", None)
    comparison = prepare(texts, found, split_documents(found, frame, dev=0.3, test=0.3, random_state=0))
    y = comparison.y[comparison.train]
    results = fit_classes(
        comparison.data, y, n_classes, Penalty("sentence", lam_sen=0.05, lam_las=0.05), MajoriseSettings()
    )
    return comparison, texts, LinearModel.of(results)


@pytest.fixture(scope="module", params=[2, 3])
def case(request):
    return studied(request.param)


def test_reading_is_the_classifier_on_documents_without_the_other_sentences(case):
    comparison, _, model = case
    found = reading(comparison, model)
    for k in (0, 5, len(SHARES) - 1):
        read = found.read(k)
        kept = comparison.table.counts.copy()
        for s in np.flatnonzero(~read):
            kept.data[kept.indptr[s] : kept.indptr[s + 1]] = 0.0
        X = np.zeros((len(comparison.documents), kept.shape[1]))
        for s, d in enumerate(comparison.table.document):
            X[d] += kept[[s]].toarray()[0]
        right = model.predict(X) == comparison.y
        assert found.dev[k] == pytest.approx(right[comparison.dev].mean())
        assert found.test[k] == pytest.approx(right[comparison.test].mean())


def test_shares_are_those_of_the_training_sentences_and_rise(case):
    comparison, _, model = case
    found = reading(comparison, model)
    own = np.isin(comparison.table.document, comparison.train)
    assert (np.diff(found.threshold) <= 0).all()
    for k, share in enumerate(SHARES):
        at_least = np.mean(found.read(k)[own])  # of equally strong sentences all are read
        assert at_least >= min(share, np.mean(found.group_norm[own] > 0)) - 1e-9
    assert found.dev[-1] == pytest.approx(model.accuracy(comparison.X[comparison.dev], comparison.y[comparison.dev]))


def test_the_smallest_share_within_one_standard_error_is_chosen(case):
    comparison, _, model = case
    found = reading(comparison, model)
    best = found.dev.max()
    assert found.dev[found.chosen] >= best - found.error
    assert (found.dev[: found.chosen] < best - found.error).all()
    assert found.shares[found.chosen] <= 0.5, "a quarter of the sentences say everything"


def test_telling_sentences_are_the_strongest_and_listed_once(case):
    comparison, texts, model = case
    found = reading(comparison, model)
    for k in range(len(comparison.classes)):
        frame = telling_sentences(comparison, texts, found, k, most=5)
        said = towards(found.added, k)
        assert frame["said"].is_monotonic_decreasing and frame["said"].iloc[0] == pytest.approx(said.max())
        words = [texts[comparison.documents[row.position]][row.start : row.end].lower() for row in frame.itertuples()]
        assert len(set(words)) == len(words)
        every = [
            texts[comparison.documents[d]][a:e].lower().strip()
            for d, a, e in zip(comparison.table.document, comparison.table.start, comparison.table.end, strict=True)
        ]
        assert frame["times"].iloc[0] == every.count(words[0].strip())
        assert any(word in words[0] for word in (("good", "nice"), ("bad", "grim"), ("odd", "queer"))[k])


def test_a_model_without_weights_tells_nothing(case):
    comparison, texts, model = case
    none = LinearModel(np.zeros_like(model.coef), model.intercept)
    found = reading(comparison, none)
    assert not found.read(0).any() and not len(telling_sentences(comparison, texts, found, 0))


def test_quick_penalties_fall():
    for chain in quick_penalties():
        assert all(a.lam_las > b.lam_las and a.lam_sen > b.lam_sen for a, b in pairwise(chain))
