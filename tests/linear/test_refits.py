"""A fit that does not come to its end leaves what the last one left: never some of either."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from cflengine import (
    ChainCRF,
    CompressiveFeatures,
    CompressiveSearchCV,
    LogisticClassifier,
    PenalisedClassifier,
    PLQClassifier,
    PLQRegressor,
    SentenceLassoClassifier,
)

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
Y = np.where(X["a"] - 0.3 * X["b"] > 0, "yes", "no")
TEXTS = ["good plot and good end", "a bad plot", "good good end", "so bad a bad end", "a plot"] * 6
LABELS = np.array(["pos", "neg", "pos", "neg", "neg"] * 6)


def interrupt(stats) -> bool:
    raise KeyboardInterrupt


MATRICES = [LogisticClassifier, PLQClassifier, PLQRegressor, PenalisedClassifier]


@pytest.mark.filterwarnings("ignore:without sentences")
@pytest.mark.parametrize("kind", [*MATRICES, SentenceLassoClassifier])
def test_linear_models(kind):
    y = X["a"] if kind is PLQRegressor else Y
    model = kind().fit(X, y)
    before, learnt = model.predict(X), dict(vars(model))
    model.listeners = (interrupt,)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[["b", "a"]].assign(c=0.0), y)
    assert vars(model) == learnt | {"listeners": (interrupt,)}
    assert (model.predict(X) == before).all()


def test_what_a_first_fit_began_is_gone():
    model = LogisticClassifier(listeners=(interrupt,))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_searches():
    class Fails(LogisticClassifier):
        def fit(self, X, y, sample_weight=None):
            if len(y) == len(LABELS) - 1:  # on all documents of the second fit
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    search = CompressiveSearchCV(Fails(), CompressiveFeatures(), [0.1, 1.0], cv=2).fit(TEXTS, LABELS)
    learnt = dict(vars(search))
    with pytest.raises(KeyboardInterrupt):
        search.fit(TEXTS[1:], LABELS[1:])
    assert vars(search) == learnt
    assert (search.pipeline_.predict(TEXTS) == LABELS).all()


def test_taggers():
    sentences, labels = [["a", "b"], ["b"]] * 5, [["X", "Y"], ["Y"]] * 5
    model = ChainCRF(template=lambda sentence: [[word] for word in sentence]).fit(sentences, labels)
    learnt = dict(vars(model))
    model.listeners = (interrupt,)
    with pytest.raises(KeyboardInterrupt):
        model.fit(sentences, [["Z"] * len(one) if len(one) > 1 else ["Y"] for one in sentences])
    assert vars(model) == learnt | {"listeners": (interrupt,)}


def test_warnings_name_the_line_that_called():
    with pytest.warns(ConvergenceWarning) as given:
        LogisticClassifier(max_iter=1, tol=1e-12).fit(X, Y)
        PLQClassifier(max_iter=1, tol=1e-12).fit(X, Y)
    with pytest.warns(UserWarning, match="without sentences") as more:
        SentenceLassoClassifier().fit(abs(X), Y)
    assert {one.filename for one in [*given, *more]} == {__file__}
