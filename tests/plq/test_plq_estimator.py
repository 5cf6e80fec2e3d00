"""PLQClassifier and PLQRegressor as scikit-learn's users meet them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import HuberRegressor, QuantileRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from cflengine import LogisticClassifier, PenalisedClassifier, PLQClassifier, PLQRegressor
from cflengine.engine.checks import InputError
from cflengine.plq import constraints as limits
from cflengine.plq.losses import Loss as OwnLoss
from cflengine.plq.losses import Parts, drawn_loss
from naive.sklearn_checks import TO_THE_GAP, check_scores


@parametrize_with_checks(
    [
        PLQClassifier(),
        PLQClassifier("squared_hinge", l1_ratio=0.5, class_weight="balanced"),
        PLQClassifier(constraints=("box:-50:50",)),
        PLQRegressor("quantile:0.7", C=10.0),
        PLQRegressor("squared", fit_intercept=False, l1_ratio=0.3),
    ],
    expected_failed_checks=lambda estimator: TO_THE_GAP,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "poor"),
    [
        (PLQRegressor("quantile:0.05"), True),
        (PLQRegressor(constraints=("decreasing",), max_iter=1), True),
        (PLQRegressor(C=1e-6, time_limit=1e-3), True),
        (PLQRegressor("absolute", C=10.0), False),
        (PLQClassifier(constraints=("nonnegative",), fit_intercept=False), True),
        (PLQClassifier(C=1e-6, time_limit=1e-3), True),
        (PLQClassifier("smoothed_hinge", intercept_scaling=1.0), False),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_parameters_that_need_not_predict_well_say_so(estimator, poor):
    check_scores(estimator, poor=poor)


def classes(n: int = 300, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = np.argmax(X @ rng.normal(size=(5, k)) + 0.5 * rng.normal(size=(n, k)), axis=1)
    return X, y


def numbers(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X @ rng.normal(size=5) + rng.standard_t(2, size=n) + 4.0


def test_against_liblinears_svm():
    X, y = classes()
    peer = LinearSVC(C=0.3, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6, dual=True).fit(X, y)
    model = PLQClassifier(C=0.3, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert model.duality_gap_ <= 1e-8 and model.intercept_.tolist() == [0.0]


def test_several_classes_are_one_against_the_rest():
    X, y = classes(k=4)
    names = np.array(["north", "east", "south", "west"])[y]
    model = PLQClassifier(C=0.5, tol=1e-6, max_iter=50_000).fit(X, names)
    assert model.coef_.shape == (4, 5) and model.intercept_.shape == (4,) and len(model.results_) == 4
    assert model.score(X, names) > 0.7 and model.n_iter_.shape == (4,)
    assert model.result_.gap == model.duality_gap_ and model.trace_ is model.result_.trace
    one = PLQClassifier(C=0.5, tol=1e-6, max_iter=50_000).fit(X, names == "east")
    np.testing.assert_allclose(one.coef_[0], model.coef_[list(model.classes_).index("east")], atol=1e-3)


def test_against_ridge_the_quantile_programme_and_huber():
    X, y = numbers()
    ridge = Ridge(alpha=2.0).fit(X, y)
    squared = PLQRegressor("squared", C=0.5, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(squared.coef_, ridge.coef_, atol=1e-4)
    assert squared.intercept_ == pytest.approx(ridge.intercept_, abs=1e-4)
    C = 10.0  # hardly a penalty
    quantile = PLQRegressor("quantile:0.8", C=C, tol=1e-5, max_iter=20_000).fit(X, y)
    peer = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(quantile.coef_, peer.coef_, atol=5e-2)
    assert np.mean(y <= quantile.predict(X)) == pytest.approx(0.8, abs=0.02)
    huber = PLQRegressor("huber:1.35", C=C, tol=1e-6).fit(X, y)
    scaled = HuberRegressor(epsilon=1.35, alpha=1e-6).fit(X, y)
    assert np.abs(huber.coef_ - scaled.coef_).max() < 0.3, "HuberRegressor also fits a scale"


@pytest.mark.parametrize("make", [PLQClassifier, PLQRegressor])
def test_a_weight_of_0_is_a_row_left_out_and_one_of_2_a_row_twice(make):
    X, y = classes() if make is PLQClassifier else numbers()
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(y))
    weighted = make(tol=1e-9, max_iter=10**5).fit(X, y, sample_weight=weight)
    repeated = make(tol=1e-9, max_iter=10**5).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    without = make().fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_array_equal(make().fit(X, y, sample_weight=weight).coef_, without.coef_)


def test_class_weight_moves_the_border():
    X, y = classes()
    plain, heavy = (PLQClassifier(class_weight=w).fit(X, y) for w in (None, {0: 1.0, 1: 20.0}))
    assert heavy.predict(X).mean() > plain.predict(X).mean()


def test_constraints_by_name_and_by_hand():
    X, y = numbers()
    free = PLQRegressor(C=0.1).fit(X, y)
    held = PLQRegressor(C=0.1, constraints=("nonnegative",), tol=1e-6).fit(X, y)
    assert free.coef_.min() < -0.1 and held.coef_.min() >= -1e-9 and held.violation_ <= 1e-9
    rising = PLQRegressor(C=0.1, constraints="monotone").fit(X, y)
    assert (np.diff(rising.coef_) >= -1e-9).all()
    total = PLQRegressor(C=0.1, constraints=(limits.equalities(np.ones((1, 5)), [-2.0]),)).fit(X, y)
    assert total.coef_.sum() == pytest.approx(2.0, abs=1e-7)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_a_sensitive_column_with_gaps_is_refused(nothing):
    X = np.random.default_rng(0).normal(size=(60, 3))
    column = np.array(["a", nothing] * 30, dtype=object)
    with pytest.raises(ValueError, match="for each of the 60 rows"):
        PLQRegressor(constraints=["fair:0"]).fit(X, X[:, 0], sensitive=column)
    assert PLQRegressor(constraints=None).fit(X, X[:, 0]).violation_ == 0.0


def test_weights_that_fail_a_constraint_are_not_called_proved():
    X = np.random.default_rng(0).normal(size=(60, 3))
    less = limits.inequalities([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], [-1.0, 1.0 - 1e-8])  # than a linear programme sees
    with pytest.warns(ConvergenceWarning, match="fail a constraint, so that nothing is proved"):
        PLQRegressor(constraints=[less], max_iter=50).fit(X, X[:, 0])


def test_numbers_whose_squares_are_none_are_refused():
    X = np.random.default_rng(0).normal(size=(3, 2))
    with pytest.raises(ValueError, match="y holds numbers so small"):
        PLQRegressor().fit(X, np.full(len(X), 1e-320))
    with pytest.raises(ValueError, match="y holds numbers so large"):
        PLQRegressor("squared").fit(X, [1e200, 2.0, 3.0])


def test_a_fair_classifier_covers_little_of_the_sensitive_column():
    X, y = classes(n=600)
    group = (X[:, 0] + 0.3 * np.random.default_rng(0).normal(size=600) > 0).astype(float)
    free = PLQClassifier(C=0.1).fit(X, y)
    fair = PLQClassifier(C=0.1, constraints="fair:0.01").fit(X, y, sensitive=group)
    unfair, held = (abs(np.cov(model.decision_function(X), group, bias=True)[0, 1]) for model in (free, fair))
    assert unfair > 0.05 and held <= 0.01 * (1 + 1e-6)
    with pytest.raises(InputError, match="sensitive"):
        PLQClassifier(constraints="fair:0.01").fit(X, y)


def test_l1_leaves_weights_out():
    X, y = numbers()
    X = np.hstack([X, np.random.default_rng(1).normal(size=(300, 30))])
    some = PLQRegressor(C=0.02, l1_ratio=0.9, tol=1e-6).fit(X, y)
    assert 1 <= np.count_nonzero(some.coef_) < 30 and np.count_nonzero(PLQRegressor(C=0.02).fit(X, y).coef_) == 35


def test_a_loss_of_ones_own():
    X, y = numbers()
    drawn = PLQRegressor(drawn_loss([(-3, 3), (-1, 0.2), (0, 0), (1, 0.2), (3, 3)])).fit(X, y)
    assert drawn.duality_gap_ <= 1e-4
    with pytest.raises(InputError, match="classes"):
        PLQClassifier(OwnLoss("mine", Parts(relu=((1.0, 0.0),)), "residual")).fit(*classes())


def test_text_in_a_pipeline_and_sparse_as_dense():
    texts = ["good malt and hops", "bad and sour", "good beer", "sour bad beer"] * 10
    y = [1, 0, 1, 0] * 10
    model = make_pipeline(TfidfVectorizer(), PLQClassifier()).fit(texts, y)
    assert model.predict(["good hops", "sour"]).tolist() == [1, 0]
    X, y = classes()
    dense, csr = (PLQClassifier(tol=1e-8, max_iter=10**5).fit(form(X), y) for form in (np.asarray, sparse.csr_matrix))
    np.testing.assert_allclose(dense.coef_, csr.coef_, atol=1e-4)


def test_pickles_are_slim_and_predict_the_same():
    X, y = classes(n=5_000)
    model = PLQClassifier(C=1e-3).fit(np.hstack([X] * 40), y)
    data = pickle.dumps(model)
    assert len(data) < 2 * model.coef_.nbytes + 2_000
    wide = np.hstack([X] * 40)
    np.testing.assert_array_equal(pickle.loads(data).decision_function(wide), model.decision_function(wide))


def test_clones_share_listeners_and_a_listener_can_stop_a_fit():
    heard = []
    X, y = classes(n=2_000)
    model = PLQClassifier(C=100.0, tol=1e-12, listeners=[lambda stats: heard.append(stats) or False])
    assert clone(model).listeners is model.listeners
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert heard and model.solver_reason_ == "interrupted" and np.isfinite(model.duality_gap_)


def test_a_time_limit_is_for_all_classes_and_warned_of():
    X, y = classes(n=2_000, k=3)
    with pytest.warns(ConvergenceWarning):
        model = PLQClassifier(C=100.0, tol=1e-13, time_limit=1e-3).fit(X, y)
    assert model.coef_.shape == (3, 5)


@pytest.mark.parametrize(
    "settings",
    [{"C": 0}, {"C": -1.0}, {"C": np.nan}, {"C": "1"}, {"l1_ratio": 1.0}, {"l1_ratio": -0.1}, {"tol": -1.0},
     {"max_iter": 0}, {"time_limit": 0.0}, {"random_state": -1}, {"loss": "nonsense"}, {"loss": "huber"},
     {"constraints": ("nonsense",)}, {"constraints": ("monotone:0,99",)}],
    ids=str,
)  # fmt: skip
def test_wrong_settings_are_named(settings):
    with pytest.raises(InputError):
        PLQClassifier(**settings).fit(*classes())


def test_data_that_cannot_be():
    X, y = classes()
    with pytest.raises(InputError, match="one class"):
        PLQClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(InputError, match="one class, 'a':"):
        PLQClassifier().fit(X, np.full(len(y), "a"))
    with pytest.raises(ValueError, match="NaN"):
        PLQClassifier().fit(np.full_like(X, np.nan), y)
    for model in (PLQClassifier(), LogisticClassifier(), PenalisedClassifier()):
        with pytest.raises(InputError, match="scale the features"):
            model.fit(1e200 * X, y)
    with pytest.raises(InputError, match="one of two values"):
        PLQClassifier(constraints="fair:0.1").fit(X, y, sensitive=np.array(["a", "b", "c"])[np.arange(len(y)) % 3])
    with pytest.raises(ValueError, match="non-zero"):
        PLQRegressor().fit(*numbers(), sample_weight=np.zeros(300))
    with pytest.raises(InputError, match="weight of a class"):
        PLQClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        PLQRegressor().fit(*numbers(), sample_weight=-np.ones(300))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        single = PLQRegressor().fit(np.ones((1, 2)), [3.0])
    assert single.predict(np.ones((1, 2)))[0] == pytest.approx(3.0, abs=1e-2)


def test_a_sensitive_column_may_have_two_words_and_a_seed_any_type():
    X, y = classes()
    group = np.arange(len(y)) % 2
    fits = [
        PLQClassifier(constraints="fair:0.01", random_state=np.int64(3)).fit(X, y, sensitive=column)
        for column in (group, np.array(["f", "m"])[group])
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()


def test_a_penalised_intercept_is_liblinears():
    X, y = classes()
    for scaling in (0.5, 10.0):
        model = PLQClassifier("squared_hinge", C=0.3, intercept_scaling=scaling, tol=1e-9, max_iter=10**6).fit(X, y)
        peer = LinearSVC(C=0.3, loss="squared_hinge", intercept_scaling=scaling, tol=1e-10, max_iter=10**6).fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-4)
    kept = PLQRegressor("huber", intercept_scaling=1.0, constraints=["nonnegative"]).fit(*numbers())
    assert kept.coef_.min() >= -1e-9 and kept.violation_ <= 1e-9 and len(kept.coef_) == numbers()[0].shape[1]
    for wrong in (0.0, -1.0, "1", np.inf):
        with pytest.raises(InputError, match="intercept_scaling"):
            PLQClassifier(intercept_scaling=wrong).fit(X, y)


def test_classes_are_the_same_one_by_one_and_side_by_side():
    X, y = classes(k=4)
    heard = []
    alone = PLQClassifier(n_threads=1).fit(X, y)
    beside = PLQClassifier(n_threads=2, listeners=[lambda stats: heard.append(stats.iteration)]).fit(X, y)
    np.testing.assert_array_equal(alone.coef_, beside.coef_)
    assert len(heard) == sum(len(result.trace) for result in beside.results_)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        stopped = PLQClassifier(tol=1e-12, listeners=[lambda stats: False]).fit(X, y)
    assert all(result.gap >= 0 for result in stopped.results_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_more_passes_than_allowed(fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    for most in (1, 7, 33):
        with pytest.warns(ConvergenceWarning):
            model = PLQClassifier(tol=1e-15, max_iter=most, fit_intercept=fit_intercept).fit(X, y)
        assert model.n_iter_.tolist() == [most]
