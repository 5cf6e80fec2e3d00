"""Labels and splits: classes out of a column, every document in one part, one clear sentence for what cannot be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from cflengine import LogisticClassifier, PLQClassifier
from cflengine.linear import coverage, judged, prediction_frame
from cflengine.linear.labels import Labels, against_others, read_labels, read_sensitive, split_documents

TABLE = pd.DataFrame(
    {
        "kind": ["b", "a", None, "b", "a", "c", "a", "b"],
        "stars": [1, 2, 1, 2, 1, 2, 1, 1],
        "split": ["train", "train", "train", "test", "test", "train", "train", "train"],
        "one": ["x"] * 8,
        "id": [f"id{k}" for k in range(8)],
    }
)


def test_classes_are_the_values_of_the_column_in_order():
    found = read_labels(TABLE, "kind")
    assert found.classes == ("a", "b", "c") and found.y.tolist() == [1, 0, -1, 1, 0, 2, 0, 1]
    assert found.n_unlabelled == 1


def test_classes_can_be_chosen():
    found = read_labels(TABLE, "kind", ["c", "a"])
    assert found.classes == ("a", "c") and found.y.tolist() == [-1, 0, -1, -1, 0, 1, 0, -1]


def test_a_class_against_all_others_keeps_gaps_and_names_numbers_as_classes_are():
    values = pd.Series([1.0, 2.0, None, 1.0, 3.0])  # whole numbers, which the gap made float
    assert against_others(values, "1", "the rest").tolist()[:2] == ["1", "the rest"]
    assert against_others(values, "1", "the rest").isna().tolist() == [False, False, True, False, False]
    frame = pd.DataFrame({"predicted": ["1", "1", "1", "the rest", "the rest"], "score": 0.0})
    about = {"target": "stars", "one_class": "1", "others": "the rest"}
    assert judged(frame, pd.DataFrame({"stars": values}), about) == "50.0 % of 4 have the stars that is predicted"
    assert judged(frame, pd.DataFrame({"marks": values}), about) == ""


def test_numbers_are_labels_too():
    assert read_labels(TABLE, "stars").classes == ("1", "2")


@pytest.mark.parametrize(
    ("column", "classes", "says"),
    [
        ("nothing", None, "columns are: kind, stars"),
        ("one", None, "needs two classes"),
        ("kind", ["a", "z"], "no value 'z'"),
        ("kind", ["a"], "needs two classes"),
        ("kind", ["a", "a"], "needs two classes"),
    ],
)
def test_what_gives_no_two_classes_is_told(column, classes, says):
    with pytest.raises(ValueError, match=says):
        read_labels(TABLE, column, classes)


def test_a_column_of_names_is_no_column_of_labels():
    with pytest.raises(ValueError, match="60 different values"):
        read_labels(pd.DataFrame({"id": [str(k) for k in range(60)]}), "id")


@given(st.integers(0, 99), st.sampled_from([0.1, 0.3, 0.5]), st.sampled_from([None, 0.2, "part=t"]))
def test_every_labelled_document_is_in_one_part(seed, dev, test):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat([0, 1], 10), rng.integers(-1, 2, 30)])
    part = np.where(np.arange(50) % 4 == 3, "t", "r")
    labels, metadata = Labels("c", ("a", "b"), y), pd.DataFrame({"part": part})
    split = split_documents(labels, metadata, dev=dev, test=test, random_state=seed)
    together = np.sort(np.concatenate([split.train, split.dev, split.test]))
    assert np.array_equal(together, np.flatnonzero(y >= 0))
    assert all(np.array_equal(part, np.sort(part)) for part in (split.train, split.dev, split.test))
    if test == "part=t":
        assert np.array_equal(split.test, np.flatnonzero((y >= 0) & (part == "t")))
    for k in (0, 1):  # a share of each class
        rest = np.count_nonzero(y == k) - np.count_nonzero(y[split.test] == k)
        assert np.count_nonzero(y[split.dev] == k) == round(dev * rest)


def test_the_same_seed_gives_the_same_split():
    labels = Labels("c", ("a", "b"), np.arange(40) % 2)
    first, again, other = (split_documents(labels, pd.DataFrame(), random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.dev, again.dev) and not np.array_equal(first.dev, other.dev)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"dev": 0.01}, "development set is empty"),
        ({"dev": "split=none"}, "development set is empty"),
        ({"test": "nothing=1"}, "no column 'nothing'"),
        ({"test": 1.5}, "share between 0 and 1"),
        ({"dev": "much"}, "share between 0 and 1"),
        ({"dev": 0.99}, "no training document is left"),
    ],
)
def test_a_split_that_leaves_a_part_empty_is_refused(more, says):
    with pytest.raises(ValueError, match=says):
        split_documents(read_labels(TABLE, "kind", ["a", "b"]), TABLE, **more)


def test_a_sensitive_column_may_have_decimal_commas():
    table = pd.DataFrame({"y": ["1", "2", "3,5", None]})
    np.testing.assert_array_equal(read_sensitive(table, "y"), [1.0, 2.0, 3.5, np.nan])


@pytest.mark.parametrize("labels", [[1, "x"] * 6, [True, "x"] * 6, [1.5, b"x"] * 6])
def test_a_mixture_of_labels_is_said_to_be_one(labels):
    for model in (PLQClassifier(), LogisticClassifier()):
        with pytest.raises(ValueError, match="all of one kind, not a mixture of"):
            model.fit(np.eye(12), np.array(labels, dtype=object))


@pytest.mark.parametrize("labels", [[True, False] * 6, [np.True_, np.False_] * 6, [3, 4] * 6, [1, 2.0] * 6])
def test_objects_that_are_numbers_are_labels(labels):
    X = np.random.default_rng(0).normal(size=(12, 2))
    found, expected = (PLQClassifier().fit(X, y) for y in (np.array(labels, dtype=object), np.array(labels)))
    assert found.classes_.dtype == expected.classes_.dtype and (found.predict(X) == expected.predict(X)).all()


def test_labels_are_accepted_as_the_file_writes_them():
    metadata = pd.DataFrame({"flag": [True, False, True], "score": [2.5, 1000.0, 2.5], "name": ["true", "2.50", "x"]})
    assert read_labels(metadata, "flag", ["true", "false"]).classes == ("False", "True")
    assert read_labels(metadata, "score", ["2.50", "1e3"]).classes == ("1000.0", "2.5")
    assert read_labels(metadata, "name", ["true", "2.50"]).classes == ("2.50", "true")
    with pytest.raises(ValueError, match="no value '7'"):
        read_labels(metadata, "score", ["2.5", "7"])


def test_texts_that_a_model_knows_little_of_are_told_of():
    texts = ["good beer and fine hops here", "bad beer and flat water there"] * 6
    model = make_pipeline(CountVectorizer(), LogisticClassifier()).fit(texts, ["up", "down"] * 6)
    rows = np.arange(4)
    assert coverage(prediction_frame(model, texts[:4], rows)) == ""
    strange = prediction_frame(model, ["co to jest", "beer", "nie ma", "i good"], rows)
    assert coverage(strange) == "2 of 4 documents hold no word or phrase that the model knows: it guesses"
    some = prediction_frame(model, ["beer and", "good beer", "hops here", "and there"], rows)
    assert coverage(some) == "half of the documents hold at most 2 that it knows"
