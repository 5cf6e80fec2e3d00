"""What the classifiers refuse, how they say so, and odd data that they must take."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from cflengine import ADMMSettings, MajoriseSettings, PenalisedClassifier, SentenceLassoClassifier
from cflengine.engine.memory import MemoryLimitError
from cflengine.sentence_lasso import classifier as module

TEXTS = ["Good word. A plot.", "Bad word!", "Good plot.", "Bad, bad."]
LABELS = [1, 0, 1, 0]
MATRIX = np.array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
NO_LAMS = (0, -1.0, math.nan, math.inf, "0.1", None, True, [1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        *({"lam_sen": lam} for lam in NO_LAMS),
        *({"l1": lam} for lam in NO_LAMS if lam != 0),
        *({"tol": tol} for tol in (0, -1, math.nan, "1e-3", None)),
        *({"solver": solver} for solver in ("simplex", None, "")),
        *({"settings": value} for value in (ADMMSettings(), {"tol": 1e-3}, 3)),
        *({"token_pattern": pattern} for pattern in ("(", "", "a*", None)),
    ],
    ids=lambda wrong: "-".join(f"{key}-{str(value)[:14]}" for key, value in wrong.items()),
)
def test_wrong_settings_raise_and_leave_the_model_unfitted(wrong):
    model = SentenceLassoClassifier(**wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model.fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(TEXTS)


@pytest.mark.parametrize("lam", NO_LAMS)
def test_wrong_lams_of_the_other_penalties(lam):
    with pytest.raises(ValueError, match="l1"):
        PenalisedClassifier("lasso", l1=lam).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="l2"):
        PenalisedClassifier("ridge", l2=lam).fit(TEXTS, LABELS)
    assert PenalisedClassifier("lasso", l2=lam).fit(TEXTS, LABELS).coef_.any()  # a λ it does not have


@pytest.mark.parametrize("penalty", ["group", "", None, "sentence", ["lasso"]])
def test_unknown_penalties(penalty):
    with pytest.raises(ValueError, match=r"penalty must be|SentenceLassoClassifier"):
        PenalisedClassifier(penalty).fit(TEXTS, LABELS)


def test_settings_of_the_other_solver():
    with pytest.raises(ValueError, match="ADMMSettings"):
        SentenceLassoClassifier(solver="admm", settings=MajoriseSettings()).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1], "one class"),
        (["a"] * 4, "one class"),
        ([1, 0, 1], "4 documents but 3 labels"),
        ([1, 0, 1, 0, 1], "4 documents but 5 labels"),
        ([0.1, 0.7, 0.3, 0.2], "continuous"),
        ([1.0, math.nan, 0.0, 1.0], "NaN|missing|label"),
        (["a", None, "b", "a"], "None|missing|label"),
        (None, "requires y|label"),
        (np.array([[1, 0], [0, 1], [1, 0], [0, 1]]), "1d|multilabel|label"),
    ],
    ids=["one class", "one word", "too few", "too many", "numbers", "NaN", "None among them", "none", "two columns"],
)  # fmt: skip
@pytest.mark.parametrize("texts", [True, False], ids=["texts", "matrix"])
def test_labels_that_are_none(texts, y, message):
    if not texts and isinstance(y, list) and len(y) != 4:
        message = "inconsistent"  # scikit-learn's own words
    with pytest.raises(ValueError, match=message):
        SentenceLassoClassifier().fit(TEXTS if texts else MATRIX, y)


@pytest.mark.parametrize("texts", [True, False], ids=["texts", "matrix"])
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_in_a_column_are_labels(texts):
    X = TEXTS if texts else MATRIX
    expected = SentenceLassoClassifier(0.02, 0.02).fit(X, LABELS)
    for y in (np.array(LABELS)[:, None], pd.DataFrame({"y": LABELS})):
        np.testing.assert_array_equal(SentenceLassoClassifier(0.02, 0.02).fit(X, y).coef_, expected.coef_)


@pytest.mark.parametrize("X", ["one text", "", np.str_("text")])
def test_one_string_is_no_list_of_documents(X):
    with pytest.raises(ValueError, match="one string"):
        SentenceLassoClassifier().fit(X, LABELS)
    fitted = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    for method in (fitted.predict, fitted.predict_proba, fitted.decision_function, fitted.cut):
        with pytest.raises(ValueError, match="one string"):
            method(X)
    with pytest.raises(ValueError, match="one string"):
        fitted.sentence_relevance(X)


@pytest.mark.parametrize(
    "X", [["a", None, "b", "c"], ["a", 3, "b", "c"], ["a", math.nan, "b", "c"], ["a", b"x", "b", "c"]]
)
def test_what_is_no_string_among_documents(X):
    with pytest.raises(TypeError, match="document 1 is a"):
        SentenceLassoClassifier().fit(X, LABELS)


@pytest.mark.parametrize("X", [[""] * 4, ["...", "?!", " ", "\n"]], ids=["empty", "marks"])
def test_texts_without_a_word(X):
    with pytest.raises(ValueError, match="no word"):
        SentenceLassoClassifier().fit(X, LABELS)


def test_no_documents_at_all():
    with pytest.raises(ValueError):
        SentenceLassoClassifier().fit([], [])
    fitted = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    assert len(fitted.cut([])) == 0


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (np.ones((2, 4)), "4 features, documents 3"),
        (np.ones((2, 2)), "2 features, documents 3"),
        (-np.ones((2, 3)), "at least 0"),
        (np.full((2, 3), math.nan), "finite"),
        (np.full((2, 3), math.inf), "finite"),
    ],
    ids=["too wide", "too narrow", "negative", "NaN", "infinite"],
)
def test_sentences_that_do_not_fit(sentences, message):
    with pytest.raises(ValueError, match=message):
        SentenceLassoClassifier().fit(MATRIX, LABELS, sentences=sentences)


def test_sentences_do_not_go_with_texts():
    with pytest.raises(ValueError, match="matrix"):
        SentenceLassoClassifier().fit(TEXTS, LABELS, sentences=MATRIX)


def test_unfitted_models_say_so():
    model = SentenceLassoClassifier()
    for method in (model.predict, model.predict_proba, model.decision_function, model.sentence_relevance):
        with pytest.raises(NotFittedError):
            method(TEXTS)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    with pytest.raises(ValueError, match="not fitted"):
        model.cut(TEXTS)


def test_a_model_of_a_matrix_knows_no_words():
    model = SentenceLassoClassifier(0.02, 0.02).fit(MATRIX, LABELS)
    for method in (model.predict, model.sentence_relevance, model.cut):
        with pytest.raises(ValueError, match="no words"):
            method(TEXTS)


def test_data_that_does_not_fit_is_refused(monkeypatch):
    def refuse(needed, what, advice):
        raise MemoryLimitError(f"{what} {advice}")

    monkeypatch.setattr(module, "require_bytes", refuse)
    with pytest.raises(MemoryLimitError, match="take fewer documents"):
        SentenceLassoClassifier().fit(TEXTS, LABELS)


# odd, and right


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b", "a", "b"],
        ["a", "a", "a", "a"],
        ["a", "", "", "b"],
        ["a. a. a. a.", "b", "a", "..."],
        ["x\ud83d y", "\u00e9", "\U0001f600 a", "a"],
        ["word " * 3000, "b", "b", "c"],
        ["Same.", "Same.", "Same. Same.", "Same."],
    ],
    ids=["words", "one word", "empty ones", "repeats", "symbols", "one long", "same"],
)
@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_odd_texts(texts, lam):
    model = SentenceLassoClassifier(lam, lam).fit(texts, LABELS)
    assert model.duality_gap_ <= 1e-4 and np.isfinite(model.predict_proba(texts)).all()
    assert len(model.sentence_relevance(texts)) == len(model.sentences_)


def test_numpy_numbers_and_booleans():
    one = SentenceLassoClassifier(np.float64(0.02), np.float32(0.5)).fit(TEXTS, np.array(LABELS, dtype=bool))
    assert one.classes_.dtype == bool and one.predict(TEXTS).dtype == bool
    assert SentenceLassoClassifier(1, np.int64(2)).fit(TEXTS, LABELS).duality_gap_ <= 1e-4


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_values_of_any_size(size):
    model = SentenceLassoClassifier(0.02, 0.02).fit(MATRIX * size, LABELS)
    assert model.duality_gap_ <= 1e-4 and np.isfinite(model.coef_).all()
