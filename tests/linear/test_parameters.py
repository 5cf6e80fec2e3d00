"""What was loaded has the parameters of what was saved, and fitted again is the same model."""

from __future__ import annotations

import numpy as np
import pytest
from altering import altered
from sklearn.base import clone

from cflengine import (
    ChainCRF,
    CompressiveFeatures,
    LogisticClassifier,
    PenalisedClassifier,
    PLQClassifier,
    PLQRegressor,
    SentenceLassoClassifier,
    SubwordTokenizer,
    load_model,
    save_model,
)
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.linear.saving import ModelFileError
from cflengine.loglinear.solvers.settings import ClusteredSettings
from cflengine.plq.settings import DescentSettings
from cflengine.sentence_lasso.solvers.settings import ADMMSettings

TEXTS = ["a good start, a good end", "a bad start", "good good plot", "the bad word of a bad plot"] * 5
LABELS = np.array(["pos", "neg"] * 10)
X = np.random.default_rng(0).normal(size=(20, 4))
NUMBERS = X @ [1.0, -2.0, 0.0, 0.5] + 0.1

MATRIX_MODELS = {
    "class weights by number": (LogisticClassifier(class_weight={0: 0.3, 1: 2.0}, max_iter=77), [0, 1] * 10),
    "class weights by name": (PLQClassifier(class_weight={"pos": 2.0, "neg": 1.0}, random_state=3), LABELS),
    "balanced": (LogisticClassifier("newton-cg", class_weight="balanced", tol=1e-7), ["a", "b", "b", "b"] * 5),
    "settings": (LogisticClassifier("clustered", settings=ClusteredSettings(rounds=3, window=2)), LABELS),
    "settings of descent": (PLQClassifier(settings=DescentSettings(tol=1e-3, random_state=5)), LABELS),
    "constraints": (PLQRegressor("quantile:0.9", constraints=("nonnegative",), time_limit=60.0), NUMBERS),
    "one constraint": (PLQRegressor("squared", constraints="box:-1:1", l1_ratio=0.1), NUMBERS),
}
TEXT_MODELS = {
    "sentences": SentenceLassoClassifier(0.02, 0.02, solver="admm", settings=ADMMSettings(max_iter=30)),
    "sentences of k-grams": SentenceLassoClassifier(0.02, 0.02, features=CompressiveFeatures(0.5, 2, "homotopy")),
    "penalised": PenalisedClassifier("elastic", l1=0.05, class_weight="balanced", lowercase=False, tol=1e-6),
    "k-grams": CompressiveFeatures(0.5, 2, settings=GuidedSettings(annealings=0), random_state=9),
    "shards": CompressiveFeatures(0.5, 2, "sharded", settings=ShardedSettings(shards=2, guided=GuidedSettings())),
    "polished": CompressiveFeatures(0.5, 2, "reweighting", polish=True, n_threads=1),
}


def parameters(model) -> dict:
    """But for those that say how a fit is run, and models within, whose own parameters are there anyway."""
    left_out = ("listeners", "n_threads", "features")
    return {name: value for name, value in model.get_params().items() if name.split("__")[-1] not in left_out}


@pytest.mark.parametrize("name", list(MATRIX_MODELS))
def test_a_model_of_a_matrix_is_fitted_again_as_it_was(tmp_path, name):
    model, y = MATRIX_MODELS[name]
    save_model(model.fit(X, y), tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert parameters(again) == parameters(model)
    np.testing.assert_array_equal(clone(again).fit(X, y).coef_, model.coef_)


@pytest.mark.parametrize("name", list(TEXT_MODELS))
def test_a_model_of_texts_is_fitted_again_as_it_was(tmp_path, name):
    model = TEXT_MODELS[name].fit(TEXTS, LABELS)
    save_model(model, tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert parameters(again) == parameters(model)
    refitted = clone(again).fit(TEXTS, LABELS)
    assert refitted.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    if hasattr(model, "coef_"):
        np.testing.assert_array_equal(refitted.coef_, model.coef_)


def test_a_chain_is_fitted_again_as_it_was(tmp_path):
    given = [[["a"], ["b"]], [["b"]], [["a"], ["a"]]], [["x", "y"], ["y"], ["x", "x"]]
    model = ChainCRF("clustered", c2=0.1, tol=1e-7, all_possible_states=True, max_iter=500).fit(*given)
    save_model(model, tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert parameters(again) == parameters(model)
    np.testing.assert_array_equal(clone(again).fit(*given).coef_, model.coef_)


OTHER = {
    "C": 7.0, "l1": 9.0, "l1_ratio": 0.7, "tol": 0.5, "class_weight": {"x": 3.0}, "settings": None, "random_state": 8,
    "constraints": ("box:-2:2",), "fit_intercept": False, "groups": "clause", "lowercase": False, "language": "de",
    "template": None, "c1": 9.0, "unit": "byte", "special_tokens": ("<x>",), "vocab_size": 40, "normalisation": (),
}  # fmt: skip
TEMPLATE = "U00:%x[0,0]"
SENTENCES = [[["a"], ["b"]], [["b"]], [["a"], ["a"]]], [["x", "y"], ["y"], ["x", "x"]]


@pytest.mark.parametrize(
    ("model", "data", "answer"),
    [(model, (X, y), lambda fitted: fitted.predict(X).tolist()) for model, y in MATRIX_MODELS.values()]
    + [
        (SentenceLassoClassifier(0.02), (TEXTS, LABELS), lambda fitted: fitted.cut(["A, b. Good!"]).counts.toarray()),
        (ChainCRF(template=TEMPLATE), SENTENCES, lambda fitted: fitted.predict_marginals(SENTENCES[0])),
        (SubwordTokenizer(280, unit="character"), (TEXTS,), lambda fitted: list(map(fitted.text_of, range(280)))),
    ],
)  # fmt: skip
def test_parameters_that_are_set_after_a_fit_are_the_next_ones(tmp_path, model, data, answer):
    """Neither answers nor files change with them, whatever the estimator."""
    model = clone(model).fit(*data)
    save_model(model, tmp_path / "before.cflm")
    before = answer(model)
    for again in (model, load_model(tmp_path / "before.cflm")):
        again.set_params(**{name: value for name, value in OTHER.items() if name in again.get_params(deep=False)})
        np.testing.assert_equal(answer(again), before)
        save_model(again, tmp_path / "after.cflm")
        assert (tmp_path / "after.cflm").read_bytes() == (tmp_path / "before.cflm").read_bytes()


def as_version_2(header, parts) -> None:
    header["version"] = 2
    for name in ("solver", "tol", "max_iter", "class_weight", "random_state", "settings", "time_limit"):
        del header["parameters"][name]


def test_files_of_version_2_are_read(tmp_path):
    model = LogisticClassifier(C=3.0).fit(X, LABELS)
    model.save(tmp_path / "m.cflm")
    altered(tmp_path / "m.cflm", as_version_2)
    again = load_model(tmp_path / "m.cflm")
    assert again.C == 3.0
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"class of settings": "DescentSettings", "tol": 0.1}},
        {"settings": {"class of settings": "LBFGSSettings", "memory": -1}},
        {"settings": {"class of settings": ["LBFGSSettings"]}},
        {"settings": {"tol": 0.1}},
        {"class_weight": {"pairs": [[[], 1]]}},
        {"class_weight": {"pairs": 3}},
        {"listeners": []},
        {"n_threads": 2},
        {"solver": "none"},
        {"unknown": 1},
    ],
)
def test_parameters_that_are_none_are_said_to_be(tmp_path, change):
    LogisticClassifier().fit(X, LABELS).save(tmp_path / "m.cflm")
    altered(tmp_path / "m.cflm", lambda header, parts: header["parameters"].update(change))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "m.cflm")


def test_generators_are_not_kept_and_functions_refused(tmp_path):
    CompressiveFeatures(random_state=np.random.RandomState(1)).fit(TEXTS).save(tmp_path / "m.cflm")
    assert load_model(tmp_path / "m.cflm").random_state is None
    own = ClusteredSettings(clustering=lambda *_: np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match="clustering is a Python object"):
        LogisticClassifier("clustered", settings=own).fit(X, LABELS).save(tmp_path / "n.cflm")
