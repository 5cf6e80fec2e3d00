"""Several classes under one budget: what a stop leaves without a fit does not win, and the user is told."""

from __future__ import annotations

import time
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cflengine import (
    ADMMSettings,
    ChainCRF,
    LogisticClassifier,
    MajoriseSettings,
    PLQClassifier,
    SentenceLassoClassifier,
)
from cflengine.compression.solvers import registry as compression
from cflengine.embedding.settings import CompareSettings, TrainSettings
from cflengine.engine.progress import TerminationReason
from cflengine.engine.settings import Limits
from cflengine.linear import one_vs_rest
from cflengine.linear.one_vs_rest import solve_rows
from cflengine.linear.saving import ModelFileError, write_model
from cflengine.loglinear.solvers.settings import AutoSettings, ClusteredSettings, LBFGSSettings

WORDS = ("apple", "bear", "cat", "dog", "egg")


def texts_of(n: int = 40) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    texts, labels = [], []
    for k, word in enumerate(WORDS):
        for _ in range(n // (k + 1)):
            texts.append(" ".join([word, *generator.choice(["the", "a", "of", "and"], 6)]) + ".")
            labels.append(word)
    return texts, labels


def matrix() -> tuple[np.ndarray, np.ndarray]:
    texts, labels = texts_of()
    names = sorted({word.strip(".") for text in texts for word in text.split()})
    X = np.array([[text.replace(".", "").split().count(name) for name in names] for text in texts], dtype=np.float64)
    return X, np.array(labels)


class StopAfter:
    def __init__(self, events: int) -> None:
        self.left = events

    def __call__(self, stats) -> bool:
        self.left -= 1
        return self.left > 0


@pytest.mark.parametrize("events", [1, 4, 9])
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "dual"])
def test_classes_a_stop_left_alone_do_not_win(solver, events):
    X, y = matrix()
    model = LogisticClassifier(solver, C=10.0, listeners=(StopAfter(events),))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    shares = {word: float(np.mean(model.predict(X) == word)) for word in WORDS}
    begun = [word for word, row in zip(model.classes_, model.coef_, strict=True) if row.any()]
    rest = [row for row, word in zip(model.intercept_, model.classes_, strict=True) if word not in begun]
    assert all(value < 0 for value in rest), "a class of which nothing is known is as likely as it is frequent"
    assert model.score(X, y) >= 0.35
    if events > 1:
        assert max(shares.values()) < 0.99
    assert all(result.gap >= 0 and result.lower_bound >= 0 for result in model.results_)


def test_nor_does_the_first_of_a_multinomial_model():
    X, y = matrix()
    y = np.where(y == "apple", "zebra", y)  # the most frequent class comes last
    weight = np.where(y == "dog", 9.0, 1.0)
    for weights, most in ((None, "zebra"), (weight, "dog")):
        model = LogisticClassifier(multiclass="multinomial", listeners=(StopAfter(1),))
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model.fit(X, y, weights)
        assert set(model.predict(X)) == {most} and not model.coef_.any()
        v = np.ones(len(y)) if weights is None else weights
        shares = [v[y == one].sum() / v.sum() for one in model.classes_]
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares)
        number = np.searchsorted(model.classes_, y)
        loss = -(v * np.log(model.predict_proba(X)[np.arange(len(y)), number])).sum()
        assert model.result_.objective == pytest.approx(loss + 0.5 * (model.intercept_**2).sum())
        assert 0 < model.result_.lower_bound < model.result_.objective


def test_sentence_models_too():
    texts, labels = texts_of()
    model = SentenceLassoClassifier(0.01, 0.05, listeners=(StopAfter(6),))
    with pytest.warns(ConvergenceWarning):
        model.fit(texts, labels)
    assert np.mean(model.predict(texts) == np.array(labels)) >= 0.35


def test_a_time_limit_is_for_all_classes_together():
    X, y = matrix()
    X, y = np.tile(X, (30, 60)), np.tile(y, 30)
    settings = LBFGSSettings(tol=1e-14, time_limit=0.05)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = LogisticClassifier("lbfgs", C=1e9, settings=settings).fit(X, y)
    assert time.perf_counter() - began < 3.0
    assert all(result.settings["time_limit"] == 0.05 for result in model.results_)
    assert np.isfinite(model.coef_).all()


@pytest.fixture
def loaded(monkeypatch):
    """The solver has run before in this process."""
    monkeypatch.setattr(one_vs_rest, "_LOADED", {LBFGSSettings})


@pytest.mark.usefixtures("loaded")
def test_what_is_left_of_the_time_is_shared_equally():
    given, result = [], LogisticClassifier("lbfgs").fit(np.eye(2), [0, 1]).results_[0]

    def solve(own, heard):
        given.append(own.time_limit)
        return result

    solve_rows([solve] * 4, LBFGSSettings(time_limit=1.0))
    assert given[0] == pytest.approx(0.25, abs=0.01) and given == sorted(given), "what one leaves the others have"
    solve_rows([solve], LBFGSSettings())
    assert given[-1] is None


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize(("beside", "limit"), [(0.02, 0.4), (0.05, 0.2)])
def test_what_rows_take_beside_their_steps_is_not_taken_from_the_last(beside, limit, n_workers):
    """Each begins and is certified, which no limit ends."""
    given, taken = [], []  # what is taken beside is measured: a machine at work sleeps longer
    result = LogisticClassifier("lbfgs").fit(np.eye(2), [0, 1]).results_[0]

    def solve(own, heard):
        given.append(own.time_limit)
        began = time.perf_counter()
        time.sleep(own.time_limit + beside)
        taken.append(time.perf_counter() - began - own.time_limit)
        return replace(result, reason=TerminationReason.TIME_LIMIT)

    solve_rows([solve] * 8, LBFGSSettings(time_limit=limit), n_workers=n_workers)
    equal = limit * n_workers / 8
    assert min(given) >= 0.249 * equal and given[-1] > 0.5 * min(given[n_workers:])
    assert sum(given[n_workers:]) > 0.5 * max(limit * n_workers - sum(taken), 0.25 * limit * n_workers)


@pytest.mark.parametrize(
    "ends", [{"time_limit": 1e-3}, {"listeners": (StopAfter(1),)}, {"time_limit": 1e-3, "tol": 1e-12}]
)
def test_admm_that_is_stopped_or_out_of_time_is_told(ends):
    """Its own rule, a number of steps, is told nothing of."""
    with pytest.warns(ConvergenceWarning, match="interrupted|time limit"):
        SentenceLassoClassifier(0.01, 0.05, solver="admm", **ends).fit(*texts_of())


def test_a_fit_that_converges_warns_of_nothing():
    X, y = matrix()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticClassifier().fit(X, y)
        SentenceLassoClassifier(solver="admm", settings=ADMMSettings(max_iter=3)).fit(*texts_of(4))


def test_copies_and_weights_of_admm_are_of_one_step():
    texts, labels = texts_of(12)
    y = [label == "apple" for label in labels]
    for steps in (1, 2, 3, 7):
        model = SentenceLassoClassifier(0.3, 0.5, solver="admm", settings=ADMMSettings(max_iter=steps)).fit(texts, y)
        result = model.results_[0]
        if not result.w.any():
            assert result.copies is None or not model.selected_sentences_.any() or result.n_iterations == steps
        groups = model.data_.groups
        by_weights = result.sentence_norms(groups, by="weights")
        assert (by_weights > 0).any() == bool(result.w.any())


def test_merging_is_refused_where_it_has_no_meaning():
    X, y = matrix()
    settings = ClusteredSettings(merge=True)
    with pytest.raises(ValueError, match="two classes"):
        LogisticClassifier("clustered", multiclass="multinomial", settings=settings).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        ChainCRF("clustered", settings=settings).fit([[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]])
    assert LogisticClassifier("clustered", settings=settings).fit(X, y).score(X, y) > 0.9


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    crf = ChainCRF(template=lambda sentence: [[word] for word in sentence]).fit(
        [["a", "b"], ["b"]], [["x", "y"], ["y"]]
    )
    with pytest.raises(ValueError, match="cannot be saved"):
        crf.save(tmp_path / "model.cflm")
    assert not list(tmp_path.iterdir())
    X, y = matrix()
    model = LogisticClassifier().fit(X, y)
    with pytest.raises(ValueError, match="names for"):
        model.save(tmp_path / "model.cflm", features=["one"])
    names = [f"word {j}" for j in range(X.shape[1])]
    model.save(tmp_path / "model.cflm", features=names)
    assert LogisticClassifier.load(tmp_path / "model.cflm").get_feature_names_out().tolist() == names


def test_labels_that_end_in_nul_stay_apart(tmp_path):
    X = np.eye(6)
    y = ["a", "a\0", "b"] * 2
    model = LogisticClassifier(C=100.0).fit(X, y)
    assert set(model.predict(X)) == {"a", "a\0", "b"}
    model.save(tmp_path / "m.cflm")
    assert set(LogisticClassifier.load(tmp_path / "m.cflm").predict(X)) == {"a", "a\0", "b"}
    tags = ChainCRF(c2=0.01).fit([[["p"], ["q"], ["r"]]], [["a", "a\0", "b"]])
    assert tags.predict([[["p"], ["q"], ["r"]]]) == [["a", "a\0", "b"]]


@pytest.mark.parametrize("cut", [0, 10, 60, -30, -1])
def test_damaged_files_are_said_to_be(tmp_path, cut):
    X, y = matrix()
    path = tmp_path / "model.cflm"
    LogisticClassifier().fit(X, y).save(path)
    data = path.read_bytes()
    path.write_bytes(data[:cut] if cut else b"")
    with pytest.raises(ModelFileError):
        LogisticClassifier.load(path)
    with pytest.raises(FileNotFoundError):
        LogisticClassifier.load(tmp_path / "none.cflm")


def test_classes_that_are_none_are_refused(tmp_path):
    path = tmp_path / "model.cflm"
    arrays = {"coef": np.ones((1, 2)), "intercept": np.ones(1)}
    for classes in ([None, None], ["a"], ["a", "a"], "ab", [["a"], ["b"]]):
        parameters = {"C": 1.0, "l1_ratio": 0.0, "multiclass": "ovr", "fit_intercept": True}
        header = {"classes": classes, "parameters": parameters, "features": None, "gap": 0.0, "reason": "converged"}
        write_model(path, "logistic", header, arrays)
        with pytest.raises(ModelFileError, match="damaged"):
            LogisticClassifier.load(path)


def test_settings_share_their_names():
    for settings in (MajoriseSettings(), AutoSettings(), LBFGSSettings()):
        assert settings.time_limit is None and settings.tol > 0
    kinds, found = [Limits], []
    while kinds:
        found.append(kinds.pop())
        kinds += found[-1].__subclasses__()
    assert {TrainSettings, *(solver.settings for solver in compression.SOLVERS.values())} < set(found)
    for kind in [*found, CompareSettings]:
        names = {one.name for one in fields(kind)}
        assert not names & {"seed", "gap", "tolerance", "seconds", "max_seconds", "budget"}, kind


def test_a_row_that_fails_stops_those_beside_it():
    from cflengine.engine.progress import IterationStats

    def endless(own, heard):
        stats = IterationStats(0, "s", 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0, {})
        until = time.perf_counter() + 20.0
        while heard[0](stats) and heard[0].poll():
            assert time.perf_counter() < until, "stop was not said"
            time.sleep(0.001)
        return LogisticClassifier("lbfgs").fit(np.eye(2), [0, 1]).results_[0]

    def fails(own, heard):
        time.sleep(0.05)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve_rows([fails, endless], LBFGSSettings(), n_workers=2)


def test_entries_that_stand_twice_are_added_up():
    X, y = matrix()
    from scipy import sparse

    whole = sparse.coo_matrix(X)
    split = sparse.csr_matrix((len(y), X.shape[1]))
    rows, columns = np.tile(whole.row, 4), np.tile(whole.col, 4)
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(y)))])
    split = sparse.csr_matrix((np.tile(whole.data / 4, 4)[order], columns[order], indptr), X.shape)
    assert not split.has_canonical_format
    for model in (PLQClassifier(tol=1e-8, max_iter=10**6), LogisticClassifier("dual", tol=1e-8)):
        first, second = (model.fit(data, y).result_.objective for data in (whole.tocsr(), split))
        assert first == pytest.approx(second, rel=1e-7)


def test_what_is_loaded_first_is_not_taken_from_the_first_row(monkeypatch):
    """Kernels are compiled or loaded when they are first called: once, and before shares are given."""
    shares, steps = [], []
    result = LogisticClassifier("lbfgs").fit(np.eye(2), [0, 1]).results_[0]
    monkeypatch.setattr(one_vs_rest, "_LOADED", set())

    def solve(own, heard):
        if not steps:
            time.sleep(0.3)
            steps.append(own.max_iter)
        else:
            shares.append(own.time_limit)
            time.sleep(own.time_limit)
        return replace(result, reason=TerminationReason.TIME_LIMIT)

    solve_rows([solve] * 3, LBFGSSettings(time_limit=0.9))
    assert steps == [1] and len(shares) == 3 and max(shares) < 1.3 * min(shares) and shares[0] < 0.21
    solve_rows([solve] * 3, LBFGSSettings(time_limit=0.3))
    assert len(shares) == 6
