"""Features at every λ of a path, and the choice of λ by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from cflengine import CompressiveFeatures, CompressiveSearchCV, GuidedSettings
from cflengine.compression.model.certificate import certify
from cflengine.text.tokens import Tokenizer
from naive.corpora import SMALL, costs_of, index_of, repeated_phrases
from naive.programs import solve_exactly

TEXTS = repeated_phrases(1, 14, 3)
LAMS = [0.01, 0.5, 1.0, 4.0]
UNSEEN = ["the quick brown fox jumps over a zebra", "", "in the end"]


@pytest.fixture(scope="module")
def path():
    return CompressiveFeatures(2.0, 3, weighting="tf").path(TEXTS, [1.0, 0.5, 4.0, 0.01])


# a path of features


@pytest.mark.parametrize("lam", LAMS)
def test_model_is_a_fitted_estimator_at_its_lam(path, lam):
    model = path.model(lam)
    index = index_of(TEXTS)
    costs = costs_of(index, lam)
    result = model.result_
    assert model.lam == lam and model.weighting == "tf" and model.max_gram == 3
    assert result.objective >= solve_exactly(index, costs) * (1 - 1e-7) >= result.lower_bound * (1 - 2e-7)
    assert certify(result.cover, result.alpha, index.gram_of, costs).covered
    matrix = model.transform(UNSEEN)
    assert matrix.shape == (3, len(model.grams_)) and model.transform(TEXTS).sum(axis=1) == pytest.approx(1.0)
    table = Tokenizer()(UNSEEN)
    assert model.decode(model.encode(UNSEEN)) == [table.words(d) for d in range(3)]
    assert sum(model.dictionary_["cost"]) + lam * result.n_pointers == pytest.approx(result.objective)
    assert model.dictionary_["count"].sum() == result.n_pointers == len(model.encoding_.gram)


def test_models_are_as_fit_would_find_them(path):
    for lam in LAMS:
        fitted = CompressiveFeatures(lam, 3).fit(TEXTS).result_
        assert path.model(lam).result_.objective <= 1.01 * fitted.objective
    for point in path.points:
        assert point.mean_length == pytest.approx(path.model(point.lam).encoding_.length.mean())
    lengths = [path.model(lam).dictionary_["length"].mean() for lam in LAMS]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]


def test_literals_of_unseen_words_cost_what_they_do_at_that_lam(path):
    """A word that the dictionary lacks is carried at λ and the storage of a word."""
    for lam in LAMS:
        fitted = CompressiveFeatures(lam, 3, weighting="tf").fit(TEXTS)
        if fitted.grams_ == path.model(lam).grams_:
            one, other = fitted.encode(UNSEEN), path.model(lam).encode(UNSEEN)
            np.testing.assert_array_equal(one.gram, other.gram)
            np.testing.assert_array_equal(one.start, other.start)


def test_model_of_another_lam_is_the_nearest(path):
    assert path.model(0.8).lam == 1.0 and path.model(1e-9).lam == 0.01 and path.model(100).lam == 4.0
    assert path.lams == LAMS and len(path) == 4 and path.frame["lam"].tolist() == LAMS
    assert [point.lam for point in path.points] == LAMS
    for lam in (-5, float("nan"), float("inf"), "1"):
        with pytest.raises(ValueError, match="lam"):
            path.model(lam)


def test_path_of_a_token_table_is_that_of_the_texts(path):
    other = CompressiveFeatures(2.0, 3, weighting="tf").path(Tokenizer()(TEXTS), LAMS)
    assert other.frame.drop(columns="seconds").equals(path.frame.drop(columns="seconds"))


def test_dictionary_costs_hold_along_the_path():
    path = CompressiveFeatures(dictionary_cost="characters").path(TEXTS, [1.0, 5.0])
    for lam in (1.0, 5.0):
        model = path.model(lam)
        paid = sum(len(" ".join(gram)) for gram in model.grams_) + lam * model.result_.n_pointers
        assert model.result_.objective == pytest.approx(paid)


def test_estimator_of_a_path_is_not_fitted_itself():
    estimator = CompressiveFeatures(settings=GuidedSettings(random_state=5))
    path = estimator.path(TEXTS, [1.0])
    assert path.model(1.0).result_.settings["random_state"] == 5 and path.model(1.0) is not estimator
    with pytest.raises(NotFittedError):
        estimator.transform(TEXTS)


def test_listeners_of_the_estimator_can_stop_a_path():
    heard = []

    def stop(stats):
        heard.append(stats)
        return len(heard) < 3

    path = CompressiveFeatures(listeners=[stop]).path(TEXTS, LAMS)
    assert path.lams == [0.01] and path.frame["reason"].tolist() == ["interrupted"]
    assert path.model(1.0).transform(TEXTS).shape[0] == len(TEXTS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"solver": "homotopy"}, "guided"), ({"pointer_cost": np.ones(3)}, "pointer_cost"), ({"max_gram": 0}, "max_gram")],
)
def test_what_has_no_path_raises(wrong, message):
    with pytest.raises(ValueError, match=message):
        CompressiveFeatures(**wrong).path(TEXTS, LAMS)


def test_documents_that_make_no_path_raise():
    with pytest.raises(ValueError, match="no token"):
        CompressiveFeatures().path(["", " "], LAMS)
    with pytest.raises(TypeError, match="sequence"):
        CompressiveFeatures().path("one text", LAMS)
    with pytest.raises(ValueError, match="at least one"):
        CompressiveFeatures().path(TEXTS, [])


# the choice of λ


def phrases_decide() -> tuple[list[str], np.ndarray]:
    """Both classes use the same words equally often; only their order tells the classes apart."""
    rng = np.random.default_rng(0)
    texts, y = [], []
    for i in range(60):
        words = [["not good", "very bad"], ["very good", "not bad"]][i % 2]
        filler = [f"w{k}" for k in rng.integers(0, 6, 3)]
        texts.append(" ".join(rng.permutation([*words, *filler])))
        y.append(i % 2)
    return texts, np.array(y)


@pytest.fixture(scope="module")
def search():
    texts, y = phrases_decide()
    found = CompressiveSearchCV(LogisticRegression(C=100.0), CompressiveFeatures(), (0.0, 0.03, 3.0))
    return texts, y, found.fit(texts, y)


def test_the_lam_that_finds_the_phrases_is_chosen(search):
    texts, y, found = search
    assert found.best_lam_ == 3.0 and found.best_score_ == 1.0
    table = found.results_.set_index("lam")
    assert table.loc[0.0, "mean_score"] < 0.7, "words alone say nothing"
    assert found.best_score_ == table["mean_score"].max()
    assert ("not", "good") in found.features_.grams_ and found.features_.lam == 3.0
    assert found.score(texts, y) == 1.0
    assert found.predict(["w1 not good very bad w2", "very good not bad"]).tolist() == [0, 1]


def test_each_lam_is_judged_by_documents_its_dictionary_has_not_seen(search):
    texts, y, found = search
    lams = found.path_.lams
    for k, (train, test) in enumerate(StratifiedKFold(5).split(texts, y)):
        own = CompressiveFeatures().path([texts[i] for i in train], lams)
        for lam, score in zip(lams, found.cv_results_[f"split{k}_test_score"], strict=True):
            model = own.model(lam)
            fitted = LogisticRegression(C=100.0).fit(model.features(), y[train])
            assert score == fitted.score(model.transform([texts[i] for i in test]), y[test])
    results = found.cv_results_
    assert results["mean_test_score"].tolist() == found.results_["mean_score"].tolist()
    assert results["params"][found.best_index_] == found.best_params_ == {"lam": found.best_lam_}
    assert results["rank_test_score"][found.best_index_] == 1 and results["param_lam"].tolist() == lams
    assert found.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(found.predict_proba(texts).sum(axis=1), 1.0)
    assert ((found.decision_function(texts) > 0) == (found.predict(texts) == 1)).all()


def test_transductive_scores_are_those_of_cross_validation_at_each_lam():
    texts, y = phrases_decide()
    found = CompressiveSearchCV(LogisticRegression(C=100.0), CompressiveFeatures(), (0.0, 3.0), transductive=True)
    for row in found.fit(texts, y).results_.itertuples():
        model = found.path_.model(row.lam)
        scores = cross_val_score(LogisticRegression(C=100.0), model.transform(texts), y, cv=5)
        assert row.mean_score == pytest.approx(scores.mean()) and row.std_score == pytest.approx(scores.std())
    assert {"objective", "gap", "share_3", "mean_score"} <= set(found.results_.columns)


def test_smaller_dictionary_wins_a_tie():
    texts, y = phrases_decide()
    found = CompressiveSearchCV(DummyClassifier(), CompressiveFeatures(), [0.0, 0.3, 3.0, 30.0], cv=2).fit(texts, y)
    assert found.results_["mean_score"].nunique() == 1
    sizes = found.results_.set_index("lam")["dictionary_size"]
    assert sizes[found.best_lam_] == sizes.min() < sizes.max()


def test_cv_and_scoring_are_passed_on():
    texts, y = phrases_decide()
    found = CompressiveSearchCV(
        LogisticRegression(), CompressiveFeatures(), [3.0], cv=3, scoring="neg_log_loss", transductive=True
    ).fit(texts, y)  # fmt: skip
    matrix = found.features_.transform(texts)
    expected = cross_val_score(LogisticRegression(), matrix, y, cv=3, scoring="neg_log_loss").mean()
    assert found.best_score_ == pytest.approx(expected) and found.best_score_ < 0


def test_search_is_a_scikit_learn_estimator(search):
    found = CompressiveSearchCV(LogisticRegression(C=2.0), CompressiveFeatures(max_gram=2), LAMS, cv=3)
    parameters = found.get_params()
    assert (parameters["estimator__C"], parameters["features__max_gram"], parameters["cv"]) == (2.0, 2, 3)
    assert parameters["lams"] is LAMS
    copy = clone(found).set_params(estimator__C=5.0, features__weighting="tf-idf", lams=[1.0])
    assert copy.estimator.C == 5.0 and copy.features.weighting == "tf-idf" and copy.lams == [1.0]
    assert found.estimator.C == 2.0 and found.features.weighting == "count"
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)
    with pytest.raises(NotFittedError):
        clone(search[2]).score(TEXTS, np.zeros(len(TEXTS)))


def test_fit_leaves_what_it_was_given_alone():
    texts, y = phrases_decide()
    estimator, features = LogisticRegression(), CompressiveFeatures(7.0)
    found = CompressiveSearchCV(estimator, features, [1.0]).fit(texts, y)
    assert not hasattr(estimator, "coef_") and not hasattr(features, "result_") and features.lam == 7.0
    assert found.estimator_ is not estimator and found.features_ is not features
    assert clone(features).fit(SMALL["random words"]).lam == 7.0
