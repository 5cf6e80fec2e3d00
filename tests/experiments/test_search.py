"""A search for λ is a classifier or a regressor like its estimator, and ends with a pipeline that can be kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.utils import get_tags

from cflengine import CompressiveFeatures, CompressiveSearchCV, LogisticClassifier, load_model
from cflengine.engine.checks import InputError

TEXTS = ["good plot and good end", "a bad plot", "good good end", "so bad a bad end", "a plot"] * 6
LABELS = np.array(["pos", "neg", "pos", "neg", "neg"] * 6)


def search(estimator=None, **more) -> CompressiveSearchCV:
    return CompressiveSearchCV(estimator or LogisticClassifier(), CompressiveFeatures(), [0.1, 1.0], cv=2, **more)


def test_it_is_what_its_estimator_is():
    assert is_classifier(search()) and not is_regressor(search())
    assert is_regressor(search(Ridge())) and get_tags(search()).input_tags.string


def test_what_it_ends_with_is_kept(tmp_path):
    found = search().fit(TEXTS, LABELS)
    found.save(tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    unseen = ["a good end", "bad", ""]
    assert again.predict(unseen).tolist() == found.predict(unseen).tolist()
    assert again.predict_log_proba(unseen).tobytes() == found.predict_log_proba(unseen).tobytes()
    np.testing.assert_allclose(np.exp(found.predict_log_proba(unseen)), found.predict_proba(unseen))
    with pytest.raises(InputError, match="Ridge cannot be saved"):
        search(Ridge()).fit(TEXTS, np.arange(30.0)).save(tmp_path / "n.cflm")


def test_a_search_that_is_stopped_chooses_nothing():
    stopped = search().set_params(features=CompressiveFeatures(listeners=[lambda event: False]))
    with pytest.raises(InputError, match="stopped before every λ"):
        stopped.fit(TEXTS, LABELS)
    twice = search().set_params(lams=[1.0, 1.0, 3])
    assert twice.fit(TEXTS, LABELS).cv_results_["param_lam"].tolist() == [1.0, 3.0]


def test_scores_that_are_not_known_come_last():
    asked = []

    def score(estimator, X, y) -> float:
        asked.append(0)
        return float("nan") if len(asked) in (1, 4) else float(len(asked))

    found = search(scoring=score).set_params(lams=[0.1, 1.0, 3.0]).fit(TEXTS, LABELS)  # of two folds, three λ each
    assert found.cv_results_["rank_test_score"].tolist() == [3, 2, 1] and found.best_index_ == 2
    with pytest.raises(InputError, match="NaN"):
        search(scoring=lambda estimator, X, y: float("nan")).fit(TEXTS, LABELS)


def test_splits_may_be_masks_and_groups_and_have_to_be_there():
    masks = [(np.arange(30) < 15, np.arange(30) >= 15)]
    places = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks]
    by_masks, by_places = (
        search().set_params(cv=cv).fit(TEXTS, LABELS).cv_results_["mean_test_score"] for cv in (masks, places)
    )
    np.testing.assert_array_equal(by_masks, by_places)
    grouped = search().set_params(cv=GroupKFold(3)).fit(TEXTS, LABELS, groups=np.arange(30) // 10)
    assert len([name for name in grouped.cv_results_ if name.startswith("split")]) == 3
    for wrong, message in (({"cv": []}, "no split"), ({"lams": 1.0}, "several of them")):
        with pytest.raises(InputError, match=message):
            search().set_params(**wrong).fit(TEXTS, LABELS)


@pytest.mark.parametrize("scoring", [["accuracy", "f1_macro"], ("accuracy",), {"a": "accuracy"}])
def test_several_scores_choose_nothing(scoring):
    with pytest.raises(InputError, match="one score chooses"):
        search(scoring=scoring).fit(TEXTS, LABELS)
