"""A search for λ is a classifier or a regressor like its estimator, and ends with a pipeline that can be kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import Ridge
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


@pytest.mark.parametrize("scoring", [["accuracy", "f1_macro"], ("accuracy",), {"a": "accuracy"}])
def test_several_scores_choose_nothing(scoring):
    with pytest.raises(InputError, match="one score chooses"):
        search(scoring=scoring).fit(TEXTS, LABELS)
