"""Weights of documents and classes: a whole weight is so many copies, 0 leaves a document out; and probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from cflengine import LogisticClassifier, PenalisedClassifier, PLQClassifier, SentenceLassoClassifier
from cflengine.linear.design import Design
from cflengine.loglinear.model.certificate import certify_binary, certify_multinomial
from cflengine.loglinear.model.losses import BinaryModel, MultinomialModel
from cflengine.loglinear.solvers.registry import SOLVERS, solve
from cflengine.loglinear.solvers.settings import NewtonSettings

MODELS = {
    "auto": LogisticClassifier(tol=1e-9),
    "dual": LogisticClassifier("dual", tol=1e-9),
    "newton": LogisticClassifier("newton-cg", tol=1e-9),
    "clustered": LogisticClassifier("clustered", tol=1e-9),
    "multinomial": LogisticClassifier(multiclass="multinomial", tol=1e-9),
    "lasso": LogisticClassifier(l1_ratio=0.7, tol=1e-9),
    "sentences": SentenceLassoClassifier(0.05, 0.05, tol=1e-8),
    "elastic": PenalisedClassifier("elastic", l1=0.3, l2=0.1, tol=1e-8),
    "svm": PLQClassifier("squared_hinge", tol=1e-9, max_iter=100_000),
}


def data(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    X = np.abs(generator.normal(size=(40, 6)).round(2))
    y = np.array(["a", "b", "c"])[generator.integers(0, n_classes, 40)]
    return X, y, generator.integers(0, 4, 40).astype(np.float64)


@pytest.mark.parametrize("name", ["auto", "svm"])
def test_weights_reach_the_models_of_a_cloned_search(name):
    X, y, weights = data()
    with config_context(enable_metadata_routing=True):
        asked = clone(MODELS[name]).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = clone(GridSearchCV(asked, {"tol": [1e-9]}, cv=2)).fit(X, y, sample_weight=weights)
    alone = clone(MODELS[name]).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


@pytest.mark.filterwarnings("ignore:without sentences every document")
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_so_many_copies_and_0_is_none(name, n_classes):
    X, y, weight = data(n_classes)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = MODELS[name].fit(X, y, sample_weight=weight)
    coef, intercept, gap = weighted.coef_.copy(), weighted.intercept_.copy(), weighted.duality_gap_
    values = [result.objective for result in weighted.results_]
    repeated = MODELS[name].fit(X[copies], y[copies])
    assert gap <= 1e-8 and repeated.duality_gap_ <= 1e-8
    if name != "sentences":  # a copy of a document is one more sentence, a weight is not
        np.testing.assert_allclose(values, [result.objective for result in repeated.results_], rtol=2e-8)
        np.testing.assert_allclose(coef, repeated.coef_, atol=2e-3)
        np.testing.assert_allclose(intercept, repeated.intercept_, atol=2e-3)


@pytest.mark.filterwarnings("ignore:without sentences every document")
@pytest.mark.parametrize("name", list(MODELS))
def test_class_weights_are_weights_of_documents(name):
    X, y, _ = data()
    by_class = {"a": 2.0, "b": 0.5, "c": 1.0}
    model = MODELS[name]
    given = model.set_params(class_weight=by_class).fit(X, y).coef_.copy()
    same = model.set_params(class_weight=None).fit(X, y, sample_weight=np.array([by_class[c] for c in y])).coef_
    np.testing.assert_array_equal(given, same)
    with pytest.raises(ValueError, match="above 0"):
        model.set_params(class_weight={"a": 0.0, "b": 1.0, "c": 1.0}).fit(X, y)
    model.set_params(class_weight=None)
    for wrong, said in ((-np.ones(40), "[Nn]egative"), (np.zeros(40), "non-zero"), (np.ones(39), "shape")):
        with pytest.raises(ValueError, match=said):
            model.fit(X, y, sample_weight=wrong)


@pytest.mark.filterwarnings("ignore:without sentences every document")
@pytest.mark.parametrize("name", list(MODELS))
def test_balanced_classes_have_the_same_sum_of_weights(name):
    X, y, weight = data()
    counts = {c: weight[y == c].sum() for c in "abc"}
    by_hand = np.array([weight.sum() / (3 * counts[c]) for c in y]) * weight
    model = MODELS[name]
    balanced = model.set_params(class_weight="balanced").fit(X, y, sample_weight=weight).coef_.copy()
    by_hand_too = model.set_params(class_weight=None).fit(X, y, sample_weight=by_hand).coef_
    np.testing.assert_allclose(balanced, by_hand_too, rtol=1e-6, atol=1e-6)


def test_balanced_and_weighted_as_in_scikit_learn():
    X, y, weight = data()
    ours = LogisticClassifier(
        "newton-cg", multiclass="multinomial", class_weight="balanced", tol=1e-12, fit_intercept=False
    )
    theirs = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000, fit_intercept=False)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    theirs.fit(X[copies], y[copies])
    np.testing.assert_allclose(ours.fit(X, y, sample_weight=weight).coef_, theirs.coef_, atol=1e-5)


def test_a_class_without_weight_is_no_class():
    X, y, _ = data()
    for model in (LogisticClassifier(), PLQClassifier()):
        assert model.fit(X, y, sample_weight=(y != "c").astype(float)).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_every_solver_ends_at_the_weighted_optimum(solver):
    generator = np.random.default_rng(3)
    X = sparse.csr_matrix(generator.normal(size=(60, 8)) * (generator.random((60, 8)) < 0.6))
    y, weight = np.where(generator.random(60) < 0.4, 1.0, -1.0), generator.uniform(0.1, 5.0, 60)
    model = BinaryModel(Design(X), y, weight)
    best = solve(model, 0.3, "newton-cg", NewtonSettings(tol=1e-12)).objective
    result = solve(model, 0.3, solver, SOLVERS[solver].settings(tol=1e-9))
    assert result.gap <= 1e-9 and result.objective == pytest.approx(best, rel=2e-9)
    found = certify_binary(X, y, result.w, 0.3, alpha=result.alpha, weight=weight)
    assert found.lower_bound <= best * (1 + 1e-12) <= found.objective * (1 + 1e-9)


def test_weighted_bounds_hold_anywhere():
    generator = np.random.default_rng(5)
    X = sparse.csr_matrix(generator.normal(size=(30, 5)))
    label, weight = generator.integers(0, 3, 30).astype(np.int32), generator.uniform(0.01, 9.0, 30)
    model = MultinomialModel(Design(X), label, 3, weight)
    best = solve(model, 0.5, "newton-cg", NewtonSettings(tol=1e-11)).objective
    for scale in (0.0, 0.1, 1.0, 30.0):
        w = scale * generator.normal(size=15)
        found = certify_multinomial(X, label, w, 0.5, weight=weight)
        assert 0 <= found.lower_bound <= best <= found.objective


def test_log_probabilities_have_digits_where_probabilities_have_none():
    X = np.array([[0.0], [1.0], [2.0]] * 10)
    for y in ((X[:, 0] > 0.5), X[:, 0].astype(int)):
        for multiclass in ("ovr", "multinomial"):
            model = LogisticClassifier(C=100.0, multiclass=multiclass).fit(X, y)
            np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-9)
            far = model.predict_log_proba([[1e4]])
            assert np.isfinite(far).all() and far.min() < -800
