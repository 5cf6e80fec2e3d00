"""LogisticClassifier as scikit-learn's users meet it, and model files."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from altering import altered
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from cflengine import ChainCRF, ClusteredSettings, LBFGSSettings, LogisticClassifier
from cflengine.engine.memory import MemoryLimitError
from cflengine.linear.saving import ModelFileError
from naive.sklearn_checks import NO_INTERCEPT, TO_THE_GAP, check_scores


@parametrize_with_checks(
    [
        LogisticClassifier(),
        LogisticClassifier("lbfgs", multiclass="multinomial"),
        LogisticClassifier("newton-cg", fit_intercept=False),
        LogisticClassifier("clustered"),
        LogisticClassifier("dual", tol=1e-3),
        LogisticClassifier(l1_ratio=0.5, class_weight="balanced"),
    ],
    expected_failed_checks=lambda estimator: TO_THE_GAP | ({} if estimator.fit_intercept else NO_INTERCEPT),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("own", "poor"), [({"max_iter": 1}, True), ({"C": 1e-6}, True), ({"l1_ratio": 0.9}, False), ({"C": 9.0}, False)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_that_need_not_predict_well_say_so(own, poor):
    check_scores(LogisticClassifier(**own), poor=poor)


def test_what_was_fitted_stays_though_parameters_are_set(tmp_path):
    X, y = digits(3)
    model = LogisticClassifier(multiclass="multinomial", tol=1e-2).fit(X, y)
    proba = model.predict_proba(X)
    model.set_params(multiclass="ovr").save(tmp_path / "m.cflm")
    assert model.predict_proba(X).tobytes() == LogisticClassifier.load(tmp_path / "m.cflm").predict_proba(X).tobytes()
    assert model.predict_proba(X).tobytes() == proba.tobytes()


def digits(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=n_classes, return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg", "clustered", "dual"])
def test_two_classes_against_liblinear(solver):
    X, y = digits(2)
    peer = LogisticRegression(C=0.5, solver="liblinear", tol=1e-10, max_iter=10_000).fit(X, y)
    model = LogisticClassifier(solver, C=0.5, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert model.duality_gap_ <= 1e-10 and model.n_passes_ > 0


def test_many_classes_both_ways():
    X, y = digits(4)
    labels = np.array(["zero", "one", "two", "three"])[y]
    rest = LogisticClassifier(C=2.0, tol=1e-8).fit(X, labels)
    peer = [LogisticRegression(C=2.0, solver="liblinear", tol=1e-10).fit(X, labels == c) for c in rest.classes_]
    np.testing.assert_allclose(rest.coef_, np.vstack([p.coef_ for p in peer]), atol=1e-3)
    assert rest.coef_.shape == (4, 64) and len(rest.results_) == 4 and rest.score(X, labels) > 0.99
    np.testing.assert_allclose(rest.predict_proba(X).sum(axis=1), 1.0)

    joint = LogisticClassifier(C=2.0, multiclass="multinomial", tol=1e-8).fit(X, labels)
    Z = np.hstack([X, np.ones((len(X), 1))])
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(Z, labels)
    np.testing.assert_allclose(np.hstack([joint.coef_, joint.intercept_[:, None]]), other.coef_, atol=1e-3)
    np.testing.assert_allclose(joint.predict_proba(X), other.predict_proba(Z), atol=1e-4)
    assert len(joint.results_) == 1 and joint.why_.startswith("L-BFGS,")


def test_settings_listeners_and_why():
    X, y = digits(2)
    heard = []
    settings = ClusteredSettings(rounds=1, cluster_factor=4)
    model = LogisticClassifier("clustered", settings=settings, listeners=[lambda s: heard.append(s.stage)]).fit(X, y)
    assert {"start", "fine", "coarse", "lifted"} <= set(heard) and model.why_ == ""
    assert "dual" in LogisticClassifier().fit(X, y).why_
    copy = clone(model)
    assert copy.listeners is model.listeners and not hasattr(copy, "coef_")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"C": 0.0}, "without a penalty"),
        ({"C": np.inf}, "without a penalty"),
        ({"C": "1"}, "C must be"),
        ({"multiclass": "ovo"}, "multiclass must be"),
        ({"multiclass": ["ovr"]}, "multiclass must be"),
        ({"solver": "sgd"}, "solver must be one of"),
        ({"solver": ["lbfgs"]}, "solver must be one of"),
        ({"settings": LBFGSSettings()}, "must be a AutoSettings"),
        ({"tol": -1}, "tol must be"),
        ({"n_threads": 0}, "n_threads must be"),
    ],
)
def test_wrong_parameters_are_said(wrong, said):
    X, y = digits(2)
    with pytest.raises(ValueError, match=said):
        LogisticClassifier(**wrong).fit(X, y)


def test_one_class_and_labels_that_are_missing():
    X, y = digits(2)
    with pytest.raises(ValueError, match="one class"):
        LogisticClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="missing"):
        LogisticClassifier().fit(X, np.array(["a", None] * (len(y) // 2)))


def test_features_without_a_value_get_no_weight():
    X, y = digits(2)
    X = sparse.csr_matrix(np.hstack([X, np.zeros((len(X), 3))]))
    assert not LogisticClassifier().fit(X, y).coef_[0, -3:].any()


# ---- files


def test_a_saved_model_predicts_as_before(tmp_path):
    X, y = digits(3)
    frame = pd.DataFrame(X, columns=[f"pixel {j}" for j in range(64)])
    for multiclass in ("ovr", "multinomial"):
        for labels in (y, np.array(["ä", "b", "c"])[y]):
            model = LogisticClassifier(multiclass=multiclass).fit(frame, labels)
            model.save(tmp_path / "model.cflm")
            again = LogisticClassifier.load(tmp_path / "model.cflm")
            assert (again.predict(frame) == model.predict(frame)).all()
            np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
            assert again.get_feature_names_out().tolist() == frame.columns.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["model.cflm"]


def test_a_saved_chain_tags_as_before(tmp_path):
    sentences = [[["w=He", "x"], ["w=runs"]], [["w=She", "x"], ["w=ran"]]]
    model = ChainCRF(c2=0.1).fit(sentences, [["N", "V"], ["N", "V"]])
    model.save(tmp_path / "chain.cflm")
    again = ChainCRF.load(tmp_path / "chain.cflm")
    assert again.predict(sentences) == model.predict(sentences) == [["N", "V"], ["N", "V"]]
    np.testing.assert_array_equal(again.predict_marginals(sentences)[0], model.predict_marginals(sentences)[0])
    with pytest.raises(ModelFileError, match="kind 'chain', not 'logistic'"):
        LogisticClassifier.load(tmp_path / "chain.cflm")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"version": 1}, "version 1 of the format; this program reads version 3"),
        ({"format": "other"}, "not a model of cflengine"),
        ({"classes": ["a", "b", "c"]}, "damaged"),
        ({"parameters": {"C": 1.0, "l1_ratio": 0.0, "multiclass": "x", "fit_intercept": True}}, "damaged"),
        ({"features": ["only one"]}, "damaged"),
        ({"parameters": {"C": 0, "l1_ratio": 0.0, "multiclass": "ovr", "fit_intercept": True}}, "damaged"),
        ({"parameters": {"C": 1.0}}, "damaged"),
        ({"classes": 2}, "damaged"),
        ({"features": "ab"}, "damaged"),
    ],
)
def test_files_of_another_version_or_damaged_are_refused(tmp_path, header, said):
    X, y = digits(2)
    path = tmp_path / "model.cflm"
    LogisticClassifier().fit(X, y).save(path)
    altered(path, lambda known, parts: known.update(header))
    with pytest.raises(ModelFileError, match=said):
        LogisticClassifier.load(path)


@pytest.mark.parametrize(
    "header",
    [{"classes": "xy"}, {"attributes": [1, 2]}, {"attributes": ["a"]}, {"template": 3}, {"gap": "small"}, {"c1": None}],
)
def test_chains_with_a_damaged_header_are_refused(tmp_path, header):
    path = tmp_path / "chain.cflm"
    ChainCRF().fit([[["a"], ["b"]]], [["x", "y"]]).save(path)
    altered(path, lambda known, parts: known.update(header))
    with pytest.raises(ModelFileError, match="damaged"):
        ChainCRF.load(path)


def test_truncated_files_and_files_of_another_kind(tmp_path):
    X, y = digits(2)
    path = tmp_path / "model.cflm"
    LogisticClassifier().fit(X, y).save(path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match="is not a model of cflengine, or it is truncated"):
            LogisticClassifier.load(path)
    # a byte of an array: the archive's check sum finds it
    spoilt = bytearray(whole)
    spoilt[whole.index(b"coef.npy") + 200] ^= 0xFF
    path.write_bytes(spoilt)
    with pytest.raises(ModelFileError):
        LogisticClassifier.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.txt", "no model")
    with pytest.raises(ModelFileError, match="not a model"):
        LogisticClassifier.load(path)
    with pytest.raises(FileNotFoundError):
        LogisticClassifier.load(tmp_path / "absent.cflm")


def test_pickles_in_a_file_are_never_opened(tmp_path):
    X, y = digits(2)
    path = tmp_path / "model.cflm"
    LogisticClassifier().fit(X, y).save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    np.save(tmp_path / "evil.npy", np.array([print], dtype=object), allow_pickle=True)
    parts["coef.npy"] = (tmp_path / "evil.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ModelFileError, match="damaged"):
        LogisticClassifier.load(path)


def test_arrays_of_a_chain_that_point_outside_are_refused(tmp_path):
    model = ChainCRF().fit([[["a"], ["b"]]], [["x", "y"]])
    path = tmp_path / "chain.cflm"
    for name, value in (("label", 7), ("ptr", 99), ("before", -1)):
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            parts = {entry: archive.read(entry) for entry in archive.namelist()}
        array = np.load(io.BytesIO(parts[f"{name}.npy"]))
        array[0] = value
        np.save(tmp_path / "part.npy", array)
        parts[f"{name}.npy"] = (tmp_path / "part.npy").read_bytes()
        with zipfile.ZipFile(path, "w") as archive:
            for entry, data in parts.items():
                archive.writestr(entry, data)
        with pytest.raises(ModelFileError, match="do not fit together"):
            ChainCRF.load(path)


def test_labels_that_json_has_not_are_refused(tmp_path):
    X, y = digits(2)
    model = LogisticClassifier().fit(X, y)
    model.classes_ = np.array([b"a", b"b"])
    with pytest.raises(ValueError, match="labels are strings"):
        model.save(tmp_path / "model.cflm")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("memory", [10**12, 10**15])
def test_a_memory_that_does_not_fit_is_refused_before_any_work(memory):
    X, y = np.eye(30), np.arange(30) % 2
    with pytest.raises(MemoryLimitError, match="memory of L-BFGS"):
        LogisticClassifier("lbfgs", settings=LBFGSSettings(memory=memory)).fit(X, y)
    with pytest.raises(MemoryLimitError, match="memory of L-BFGS"):
        ChainCRF(settings=LBFGSSettings(memory=memory)).fit([[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]])


def test_features_that_nearly_cancel_do_not_slow_the_lasso_down():
    """A narrow valley across the axes: 10,000 steps left a gap of 0.5 % where the fit may move along them only."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(100.0, 1.0, (100, 2)), rng.integers(0, 2, 100)
    model = LogisticClassifier(l1_ratio=0.5, tol=1e-6, max_iter=200).fit(X, y)
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-6
