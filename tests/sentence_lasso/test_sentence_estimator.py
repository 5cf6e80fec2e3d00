"""The scikit-learn contract of the classifiers, for texts and for matrices."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from cflengine import (
    ADMMSettings,
    CompressiveFeatures,
    GuidedSettings,
    PenalisedClassifier,
    SentenceLassoClassifier,
    load_model,
)
from naive.sklearn_checks import TO_THE_GAP, check_scores

TEXTS = [
    "Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word.", "The bad word. Plot of it.",
    "A good start. Good end.", "Bad start. Why?",
]  # fmt: skip
LABELS = np.array(["pos", "neg"] * 3)
UNSEEN = ["good GOOD zebra", "", "zebra zebra", "A bad bad word"]
KINDS = ["lasso", "ridge", "elastic", "frequency"]
MATRIX = np.array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0], [0, 0, 1]])


def models() -> list:
    lams = {"l1": 0.02, "l2": 0.02}
    return [SentenceLassoClassifier(0.02, 0.02), *(PenalisedClassifier(kind, **lams) for kind in KINDS)]


def name_of(model) -> str:
    return getattr(model, "penalty", "sentence")


@pytest.mark.filterwarnings("ignore:without sentences every document")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "poor"),
    [
        (PenalisedClassifier(max_iter=1), True),
        (SentenceLassoClassifier(10.0, 10.0), True),
        (PenalisedClassifier("ridge", l2=0.1), False),
    ],
)
def test_parameters_that_need_not_predict_well_say_so(estimator, poor):
    check_scores(estimator, poor=poor)


@parametrize_with_checks(
    [
        SentenceLassoClassifier(),
        SentenceLassoClassifier(0.01, 0.01),
        PenalisedClassifier(),
        PenalisedClassifier("ridge", class_weight="balanced"),
    ],
    expected_failed_checks=lambda estimator: TO_THE_GAP,
)
@pytest.mark.filterwarnings("ignore:without sentences every document")
def test_matrices_pass_scikit_learns_own_checks(estimator, check):
    check(estimator)


# parameters


def test_parameters_are_stored_as_they_are_and_can_be_changed():
    listeners = [print]
    model = SentenceLassoClassifier(0.5, 2, listeners=listeners, solver="admm")
    parameters = model.get_params()
    assert (parameters["lam_sen"], parameters["l1"], parameters["solver"]) == (0.5, 2, "admm")
    assert parameters["listeners"] is listeners
    assert model.set_params(l1=3.5).l1 == 3.5
    with pytest.raises(ValueError, match="no_such"):
        model.set_params(no_such=1)


def test_settings_beyond_the_lams_are_keyword_only():
    with pytest.raises(TypeError):
        SentenceLassoClassifier(1.0, 1.0, "admm")
    with pytest.raises(TypeError):
        PenalisedClassifier("lasso", 1.0)


def test_tags_say_that_strings_may_come_in():
    for model in models():
        tags = get_tags(model)
        assert tags.input_tags.string and tags.input_tags.sparse and tags.input_tags.two_d_array
        assert tags.estimator_type == "classifier" and tags.target_tags.required


class LockedListener:
    """What a user interface passes: it holds a lock, so it can be neither pickled nor deep-copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.heard = 0

    def __call__(self, stats) -> None:
        with self.lock:
            self.heard += 1


def test_clone_has_the_parameters_and_not_the_fit_whatever_listens():
    listener = LockedListener()
    model = SentenceLassoClassifier(0.02, 0.03, listeners=(listener,), settings=None).fit(TEXTS, LABELS)
    heard = listener.heard
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)
    copy.fit(TEXTS, LABELS)
    assert heard > 1 and listener.heard == 2 * heard


# texts


@pytest.mark.parametrize("model", models(), ids=name_of)
def test_texts_are_learnt(model):
    assert model.fit(TEXTS, LABELS) is model
    assert model.classes_.tolist() == ["neg", "pos"] and model.coef_.shape == (1, len(model.get_feature_names_out()))
    assert model.score(TEXTS, LABELS) == 1.0 and 0 <= model.duality_gap_ <= 1e-4
    assert model.predict(UNSEEN)[[0, 3]].tolist() == ["pos", "neg"]
    assert model.n_iter_ >= 1 and model.n_features_in_ == model.coef_.shape[1]


@pytest.mark.parametrize("model", models(), ids=name_of)
def test_probabilities_sum_to_one_and_agree_with_scores_and_predictions(model):
    model.fit(TEXTS, LABELS)
    probabilities, scores = model.predict_proba(UNSEEN), model.decision_function(UNSEEN)
    assert probabilities.shape == (4, 2) and scores.shape == (4,)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities[:, 1] / probabilities[:, 0]), scores, atol=1e-9)
    assert model.predict(UNSEEN).tolist() == model.classes_[probabilities.argmax(axis=1)].tolist()
    np.testing.assert_allclose(scores[[1, 2]], model.intercept_[0])  # nothing is known of them


def test_features_are_the_words_of_a_bag_of_words():
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    names = model.get_feature_names_out()
    bag = CountVectorizer(token_pattern=r"\w+").fit(TEXTS)
    assert names.dtype == object and sorted(names) == sorted(bag.get_feature_names_out())
    columns = [bag.vocabulary_[name] for name in names]
    np.testing.assert_array_equal(model.data_.X.toarray(), bag.transform(TEXTS).toarray()[:, columns])


def test_words_can_be_something_else():
    model = SentenceLassoClassifier(0.02, 0.02, token_pattern=r"[A-Za-z]{4,}", lowercase=False).fit(TEXTS, LABELS)
    assert set(model.get_feature_names_out()) == {"Good", "word", "plot", "good", "Word", "Plot", "start"}


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, np.array, lambda x: np.array(x, dtype=object)])
def test_documents_in_any_container(kind):
    expected = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    model = SentenceLassoClassifier(0.02, 0.02).fit(kind(TEXTS), pd.Series(LABELS))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.predict(kind(UNSEEN)).tolist() == expected.predict(UNSEEN).tolist()


def test_texts_and_their_matrix_give_the_same_model():
    text = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    table = text.sentences_
    matrix = SentenceLassoClassifier(0.02, 0.02).fit(table.by_document(), LABELS, sentences=table.counts)
    np.testing.assert_array_equal(matrix.coef_, text.coef_)
    assert matrix.predict(text.cut(UNSEEN).by_document()).tolist() == text.predict(UNSEEN).tolist()
    assert text.predict(text.cut(UNSEEN)).tolist() == text.predict(UNSEEN).tolist()


def test_classes_against_the_rest():
    labels = np.array([2, 0, 2, 0, 1, 1])
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, labels)
    assert model.classes_.tolist() == [0, 1, 2] and model.coef_.shape[0] == 3 == len(model.results_)
    probabilities = model.predict_proba(UNSEEN)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    scores = model.decision_function(TEXTS)
    assert scores.shape == (6, 3) and model.predict(TEXTS).tolist() == scores.argmax(axis=1).tolist()
    for k in range(3):
        one = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, labels == k)
        np.testing.assert_array_equal(model.coef_[k], one.coef_[0])
        assert model.duality_gap_ >= one.duality_gap_
    assert model.score(TEXTS, labels) == 1.0


def test_probabilities_of_classes_that_all_seem_impossible_sum_to_one():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = SentenceLassoClassifier(1e-4, 1e-4).fit(X, np.repeat([0, 1, 2], 4))
    probabilities = model.predict_proba(np.array([[-1e6, -1e6, -1e6], [1e6, 0, 0]]))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_the_papers_algorithm():
    model = SentenceLassoClassifier(0.02, 0.02, solver="admm", settings=ADMMSettings(rho=0.5, max_iter=30))
    model.fit(TEXTS, LABELS)
    assert model.results_[0].solver == "admm" and model.results_[0].early_stopped and model.score(TEXTS, LABELS) == 1.0


def test_tol_is_the_gap_it_ends_at():
    assert SentenceLassoClassifier(0.02, 0.02, tol=1e-9).fit(TEXTS, LABELS).duality_gap_ <= 1e-9


def test_l1_may_be_0_where_every_word_has_a_sentence():
    model = SentenceLassoClassifier(lam_sen=0.1, l1=0.0).fit(TEXTS, LABELS)
    assert model.duality_gap_ <= 1e-4 and np.mean(model.coef_ != 0) > np.mean(
        SentenceLassoClassifier(lam_sen=0.1, l1=0.1).fit(TEXTS, LABELS).coef_ != 0
    )
    with pytest.raises(ValueError, match="l1 must be a number not below 0"):
        SentenceLassoClassifier(l1=-1.0).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="l1 must be a number above 0"):
        PenalisedClassifier("lasso", l1=0.0).fit(TEXTS, LABELS)
    X = sparse.csr_matrix([[1.0, 1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match="a feature is in no sentence"):
        SentenceLassoClassifier(l1=0.0).fit(X, [0, 1], sentences=sparse.csr_matrix([[1.0, 0.0]]))


def test_cross_validation_and_grid_search_over_texts():
    texts, labels = TEXTS * 4, np.tile(LABELS, 4)
    assert cross_val_score(SentenceLassoClassifier(0.02, 0.02), texts, labels, cv=2).tolist() == [1.0, 1.0]
    grid = {"lam_sen": [0.01, 10.0], "l1": [0.01]}
    search = GridSearchCV(SentenceLassoClassifier(), grid, cv=2).fit(texts, labels)
    assert search.best_params_ == {"lam_sen": 0.01, "l1": 0.01}


# K-grams as features


def grams() -> CompressiveFeatures:
    quick = GuidedSettings(relaxation_iterations=30, annealings=1, anneal_rounds=1)
    return CompressiveFeatures(max_gram=3, token_pattern=r"\w+", settings=quick)


@pytest.mark.parametrize("model", [SentenceLassoClassifier(0.02, 0.02), PenalisedClassifier("lasso", l1=0.02)])
def test_compressive_features(model):
    texts, features = TEXTS * 3, grams()
    model = clone(model).set_params(features=features).fit(texts, np.tile(LABELS, 3))
    expected = grams().fit(texts)
    assert model.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(model.data_.X.toarray(), expected.transform(texts).toarray())
    np.testing.assert_array_equal(model.sentences_.by_document().toarray(), expected.transform(texts).toarray())
    assert model.score(texts, np.tile(LABELS, 3)) == 1.0 and len(model.predict(UNSEEN)) == 4


def test_features_that_are_given_stay_as_they_are():
    """fit changes no parameter: two models may share one, and the first must still know its own K-grams."""
    features = grams()
    one = SentenceLassoClassifier(0.02, 0.02, features=features).fit(TEXTS, LABELS)
    before = one.predict(UNSEEN).tolist()
    SentenceLassoClassifier(0.02, 0.02, features=features).fit(
        ["other words", "words alone", "other", "alone"], [0, 1, 0, 1]
    )
    assert one.predict(UNSEEN).tolist() == before
    assert not hasattr(features, "grams_")


# matrices, and one model used again


def test_matrix_with_sentences_of_its_own():
    sentences = np.array([[1, 0, 1], [0, 1, 0]])
    model = SentenceLassoClassifier(0.02, 0.02).fit(MATRIX, [1, 0, 1, 0], sentences=sentences)
    same = SentenceLassoClassifier(0.02, 0.02).fit(MATRIX, [1, 0, 1, 0], sentences=sparse.coo_matrix(sentences))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.sentence_norms_.shape == (2,) and model.get_feature_names_out().tolist() == ["x0", "x1", "x2"]


def test_negative_values_count_by_their_size_in_sentences():
    model = SentenceLassoClassifier(0.02, 0.02).fit(-MATRIX, [1, 0, 1, 0])
    mirrored = SentenceLassoClassifier(0.02, 0.02).fit(MATRIX, [1, 0, 1, 0])
    np.testing.assert_allclose(model.coef_, -mirrored.coef_, atol=1e-12)


def test_names_of_a_frame_are_the_names_of_the_features():
    frame = pd.DataFrame(MATRIX, columns=["good", "bad", "plot"])
    model = SentenceLassoClassifier(0.02, 0.02).fit(frame, [1, 0, 1, 0])
    assert model.feature_names_in_.tolist() == model.get_feature_names_out().tolist() == ["good", "bad", "plot"]


def test_what_is_given_stays_as_it_is():
    arrays = np.array([1.0, 2, 0, 3, 1]), np.array([2, 0, 1, 1, 1], np.int32), np.array([0, 3, 5], np.int32)
    sentences = sparse.csr_matrix(tuple(array.copy() for array in arrays), shape=(2, 3))
    SentenceLassoClassifier(0.02, 0.02).fit(sparse.csr_matrix(MATRIX), [1, 0, 1, 0], sentences=sentences)
    for array, after in zip(arrays, (sentences.data, sentences.indices, sentences.indptr), strict=True):
        np.testing.assert_array_equal(after, array)


@pytest.mark.parametrize("first", ["texts", "matrix", "frame"])
@pytest.mark.parametrize("second", ["texts", "matrix"])
def test_refit_leaves_no_state(first, second):
    inputs = {
        "texts": (TEXTS, LABELS),
        "matrix": (MATRIX, [1, 0, 1, 0]),
        "frame": (pd.DataFrame(MATRIX, columns=list("abc")), [1, 0, 1, 0]),
    }
    model = SentenceLassoClassifier(0.02, 0.02).fit(*inputs[first]).fit(*inputs[second])
    fresh = SentenceLassoClassifier(0.02, 0.02).fit(*inputs[second])
    np.testing.assert_array_equal(model.coef_, fresh.coef_)
    assert set(vars(model)) == set(vars(fresh))


def test_a_fit_that_fails_leaves_the_model_of_before_as_it_was():
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS)
    before = model.predict_proba(UNSEEN)
    with pytest.raises(ValueError, match="one class"):
        model.fit(["other words", "here"], [1, 1])
    np.testing.assert_array_equal(model.predict_proba(UNSEEN), before)


def test_what_is_set_after_a_fit_is_not_what_is_saved(tmp_path):
    texts = ["a good film. we liked it.", "a bad film. we left it."] * 6
    model = SentenceLassoClassifier(lam_sen=0.05, l1=0.1).fit(texts, np.array([0, 1] * 6))
    model.set_params(lowercase=False, token_pattern=r"\w\w\w\w+")
    model.save(tmp_path / "m.cflm")
    assert np.array_equal(load_model(tmp_path / "m.cflm").predict_proba(texts), model.predict_proba(texts))
