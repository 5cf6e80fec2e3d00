"""What train-logistic writes is what the model says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cflengine import ClusteredSettings, Corpus, LogisticClassifier
from cflengine.linear.labels import read_labels, split_documents
from cflengine.linear.model_comparison import ModelComparison
from cflengine.linear.text_features import vectorizer
from cflengine.loglinear.export import logistic_weights, write_logistic


@pytest.fixture
def comparison():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 5)) for _ in range(60)]
    metadata = pd.DataFrame({"c": ["x", "y", "z"] * 20})
    labels = read_labels(metadata, "c")
    return ModelComparison.of(texts, labels, split_documents(labels, metadata, dev=None, test=0.2), vectorizer())


def fitted(comparison, **parameters):
    return LogisticClassifier(**parameters).fit(
        comparison.X[comparison.train], comparison.classes[comparison.y[comparison.train]]
    )


def test_documents_have_the_class_that_the_model_gives_them(comparison, tmp_path):
    """Also where probabilities are 1 for several classes, and only the scores tell them apart."""
    model = fitted(comparison)
    model.coef_, model.intercept_ = model.coef_ * 1e-3, np.array([40.0, 50.0, 45.0])
    write_logistic(tmp_path, comparison, model, Corpus.from_texts(["a b"] * 60), {})
    written = pd.read_csv(tmp_path / "documents.csv")
    assert written["predicted"].tolist() == model.predict(comparison.X).tolist() == ["y"] * 60


def test_clusters_of_some_classes_are_written(comparison):
    """A class whose solve ended before its first clustering has none."""
    model = fitted(comparison, solver="clustered", settings=ClusteredSettings(tol=1e-9, rounds=1, cluster_factor=2.0))
    first, *others = model.results_
    assert all(result.clusters for result in model.results_)
    object.__setattr__(first, "clusters", ())
    model.results_ = [first, *others]
    frame = logistic_weights(comparison, model)
    assert frame["cluster"].isna().groupby(frame["class"]).mean().tolist() == [1.0, 0.0, 0.0]
    for result in others:
        object.__setattr__(result, "clusters", ())
    assert "cluster" not in logistic_weights(comparison, model)
