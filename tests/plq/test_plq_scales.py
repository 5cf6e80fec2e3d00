"""Data, targets and constraints in any units: what is called converged is proved, and what is proved is allowed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from cflengine import PLQClassifier, PLQRegressor
from cflengine.engine.checks import InputError
from cflengine.plq import kernels
from cflengine.plq.arrays import rows_of
from cflengine.plq.constraints import box, check_feasible, equalities, inequalities, monotone, together
from cflengine.plq.losses import Loss, Pieces, named_loss
from cflengine.plq.problem import PLQProblem, no_constraints
from cflengine.plq.projection import Projection, chains_of
from cflengine.plq.solver import solve


@pytest.mark.parametrize(("seed", "C", "scales"), [
    (2, 1e4, (1e-3, 1e6, 1)), (0, 1.0, (1e-3, 1e6, 1)), (0, 1e4, (1e-4, 1, 1e4)),
])  # fmt: skip
@pytest.mark.parametrize("intercept", [True, False])
def test_fairness_holds_whatever_the_units_of_features(seed, C, scales, intercept):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(400, 3))
    group = (Z[:, 1] + rng.normal(size=400) > 0).astype(float)
    y = np.where(Z @ [1, 1, 0.5] + 0.5 * rng.normal(size=400) > 0, 1, -1)
    model = PLQClassifier(C=C, constraints="fair:0.001", fit_intercept=intercept)
    model.fit(Z * scales, y, sensitive=group)
    covariance = np.mean((group - group.mean()) * model.decision_function(Z * scales))
    assert abs(covariance) <= 0.001 * (1 + 1e-6) and 0 <= model.duality_gap_ <= 1e-4


@pytest.mark.parametrize("loss", ["squared", "expectile", "huber:10", "squared_epsilon_insensitive", "quantile:0.9"])
def test_targets_far_from_0_are_learnt_as_those_near_it(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = 0.1 * X @ [1, -2, 0.5] + 0.01 * rng.normal(size=200)
    far, near = (PLQRegressor(loss, C=1e3, tol=1e-6).fit(X, y + shift) for shift in (2e4, 0.0))
    assert far.solver_reason_ == "converged" and far.duality_gap_ <= 1e-6
    assert far.coef_ == pytest.approx(near.coef_, abs=1e-3)
    assert far.intercept_ - 2e4 == pytest.approx(near.intercept_, abs=1e-3)


def test_what_rounding_keeps_from_being_proved_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:, 0] += np.sign(X[:, 0])
    for scale in (1.0, 1e6, 1e9):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = PLQClassifier("hinge", fit_intercept=False).fit(scale * X, y)
        assert bool(told) == (1e-4 < model.duality_gap_ < np.inf), "a finite gap above tol is no silent success"
        assert all(one.category is ConvergenceWarning for one in told)


def test_a_constant_does_not_hide_what_is_left():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1, -2, 0.5] + rng.normal(size=200)
    high = Loss("high", Pieces(np.zeros(1), np.array([[1e6, -1, 0], [1e6, 1, 0.0]])).parts(), "residual")
    assert PLQRegressor(high).fit(X, y).coef_ == pytest.approx(PLQRegressor("absolute").fit(X, y).coef_, abs=1e-12)


@pytest.mark.parametrize(("A", "b"), [
    ([[1e-9, 0]], [-1e-9]), ([[1e-12, 0]], [-1e-12]), ([[1e-10, 0], [0, 1]], [-1, -1]),
    ([[1e-9, 1e-9], [0, 1e9]], [-1e-9, 1e9]), ([[1, 1], [-1, 1]], [-1e9, -1e-9]),
])  # fmt: skip
def test_constraints_of_small_numbers_are_no_contradiction(A, b):
    bounds = inequalities(A, b)
    check_feasible(bounds)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = PLQClassifier(constraints=[bounds]).fit(X, X[:, 0] > 0)
    assert bounds.violation(model.coef_[0]) <= 1e-9 and model.duality_gap_ <= 1e-4


@pytest.mark.parametrize("some", [
    *(inequalities([[1, 0], [0, 1], [0, -1]], [-size, -1, 0.5]) for size in (1.0, 1e7, 1e8, 1e9)),
    inequalities([[1, 0, 0], [0, 1, 1], [0, -1, -1]], [-1e9, -1, 0.5]),
    together(2, [box(2, 1.0), box(2, upper=1.0 - 1e-8)]), inequalities(np.zeros((1, 2)), [-1.0]),
    together(2, [equalities([[1, 1]], [-1]), equalities([[1e-9, 1e-9]], [-2e-9])]), equalities(np.zeros((1, 2)), [1.0]),
    together(3, [monotone(3), inequalities([[1, 0, 0], [0, 0, -1]], [-1e9, 1e8])]),
])  # fmt: skip
def test_contradictions_are_found_beside_large_numbers(some):
    with pytest.raises(InputError, match="contradict"):
        check_feasible(some)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_what_is_called_a_contradiction_is_one(seed, d, K, integers):
    """Constraints that some β meets are never refused."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (K, d)).astype(float) if integers else rng.normal(size=(K, d))
    A *= 10.0 ** rng.integers(-8, 9, (K, 1))
    inside = rng.normal(size=d) * 10.0 ** rng.integers(-3, 4)
    check_feasible(inequalities(A, np.abs(A) @ np.abs(inside) * rng.integers(0, 2, K) * 0.1 - A @ inside))


@pytest.mark.parametrize(("loss", "n", "d"), [("hinge", 100, 900), ("squared", 100, 1100), ("hinge", 300, 1200)])
def test_many_features_in_order(loss, n, d):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) / d**0.5
    Y = X @ np.sort(rng.normal(size=d)) + 0.1 * rng.normal(size=n)
    made, y = (PLQClassifier, np.where(Y > 0, 1, -1)) if loss == "hinge" else (PLQRegressor, Y)
    model = made(loss, constraints="monotone", fit_intercept=False, max_iter=5000).fit(X, y)
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-4
    assert (np.diff(np.ravel(model.coef_)) >= 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 9), st.booleans(), st.booleans())
def test_the_nearest_on_chains_is_the_nearest(seed, d, decreasing, bounded):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    cut = int(rng.integers(2, d + 1))
    some = [monotone(d, order[:cut].tolist(), decreasing=decreasing)]
    some += [box(d, -0.3, 0.4)] if bounded else []
    constraints = together(d, some)
    assert chains_of(constraints) is not None
    beta = rng.normal(size=d)
    A = constraints.A
    rows = rows_of(A, np.asarray(A.multiply(A).sum(axis=1)).ravel())
    found = Projection(constraints, rows, np.ones(d))(beta, np.zeros(len(constraints)))
    assert constraints.violation(found) == 0.0
    reference = minimize(
        lambda x: 0.5 * ((x - beta) ** 2).sum(), np.zeros(d), jac=lambda x: x - beta, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: A @ x + constraints.b, "jac": lambda x: A.toarray()},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert found == pytest.approx(reference.x, abs=1e-5)


@pytest.mark.parametrize("other", [
    inequalities([[1.0, -1.0, 0.0]], [0.5]), inequalities([[1.0, -2.0, 0.0]], [0.0]), equalities([[1, -1, 0]], [0]),
    together(3, [monotone(3), box(3, [0.0, -1.0, -2.0])]), inequalities([[1, -1, 0], [-1, 1, 0]], [0, 0]),
    inequalities([[-1, 1, 0], [-1, 0, 1]], [0, 0]), inequalities(np.ones((1, 3)), [0.0]), box(3, 0.0),
])  # fmt: skip
def test_other_constraints_are_no_chains(other):
    assert chains_of(other) is None


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_one_update_of_a_mirrored_pair_is_that_of_both_in_turn(seed, infinite, both):
    """Huber's loss is ReHU_τ(y) + ReHU_τ'(−y): one closed form, for the difference of its duals."""
    rng = np.random.default_rng(seed)
    s, t, z, norm = *rng.normal(size=3), float(rng.random()) * 3
    tau = rng.random(2) * 2 if not infinite else np.full(2, np.inf)
    parts = np.array([[s, -s, t, -t, *tau]])
    duals = np.array([[min(rng.random(), tau[0]), 0.0 if not both else min(rng.random(), tau[1])]])
    if rng.random() < 0.5:
        duals = duals[:, ::-1].copy() * 0.5 if tau[0] == tau[1] else np.zeros((1, 2))
    if rng.random() < 0.3:
        z = -t / s  # at the kink of both
    known = kernels.examine(parts, 0, 0, z, duals)
    turns, one, at, whole = duals.copy(), duals.copy(), z, 0.0
    for _ in range(300):  # in turn they only come near to rest
        step = kernels.update_duals(parts, 0, 0, at, norm, turns)
        at, whole = at - step * norm, whole + step
    violation, distance, gap, grew = kernels.rest_mirrored(parts, 0, z, norm, one)
    assert gap == pytest.approx(known[2], abs=1e-12)
    assert (violation == 0.0) == (known[0] == 0.0)
    assert violation > 0.0 or distance == pytest.approx(known[1], abs=1e-12)
    assert one == pytest.approx(turns, abs=1e-6) and grew == pytest.approx(whole, abs=1e-6)


def test_slopes_of_any_size_are_kept():
    for drawn, slopes in (("-1e9,1/0,0/1e9,1", [1e-9, -1e-9]), ("-1,1/0,0/2e9,1", [5e-10, -1.0])):
        assert [u for u, _ in named_loss(f"drawn:{drawn}").parts.relu] == pytest.approx(slopes, rel=1e-12)
    with pytest.raises(InputError, match="not continuous"):
        Pieces(np.zeros(1), np.array([[0, -1e-10, 0], [5e-10, 1e-10, 0.0]])).parts()
    with pytest.raises(InputError, match="not convex"):
        Pieces(np.zeros(1), np.array([[0, -1e-12, 0], [0, -3e-12, 0.0]])).parts()


def test_parameters_that_are_none_get_a_sentence():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    for changes, words in (
        ({"constraints": 3}, "constraints are names"), ({"constraints": [3]}, "constraints are names"),
        ({"fit_intercept": "no"}, "True or False"), ({"tol": -1}, "from 0 on"), ({"loss": "huber"}, "not one for"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            PLQClassifier(**changes).fit(X, y)
    weight = np.r_[np.zeros(4), np.ones(16)]
    for made, target in ((PLQClassifier, y), (PLQRegressor, y.astype(float))):
        with pytest.raises(InputError, match="16 values for 20 rows"):
            made(constraints="fair:0.1").fit(X, target, sample_weight=weight, sensitive=np.arange(16) % 2)


@pytest.mark.parametrize(("n", "value"), [(3, 0.1), (3, 0.7), (6, 0.1), (10, 0.1), (1000, 1e9 + 0.1)])
def test_a_column_without_spread_constrains_nothing(n, value):
    """Rounding of its mean is no covariance."""
    generator = np.random.default_rng(n)
    X = generator.normal(size=(n, 2)) + 3.0
    y = X @ [1.0, 2.0]
    model = PLQRegressor("squared", C=10.0, fit_intercept=False, tol=1e-8)
    free = model.fit(X, y).coef_
    model.set_params(constraints=["fair:0"]).fit(X, y, sensitive=np.full(n, value))
    np.testing.assert_allclose(model.coef_, free, rtol=1e-6)


@pytest.mark.parametrize("n", [3, 7, 1001])
def test_nor_do_rows_that_are_all_equal(n):
    X, g = np.full((n, 1), 0.7), np.random.default_rng(0).normal(size=n)
    model = PLQRegressor("squared", C=10.0, constraints=["fair:0"], fit_intercept=False).fit(
        X, np.arange(n), sensitive=g
    )
    free = PLQRegressor("squared", C=10.0, fit_intercept=False).fit(X, np.arange(n))
    np.testing.assert_allclose(model.coef_, free.coef_, rtol=1e-2)


def test_beside_a_constant_what_rounding_leaves_is_nothing():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for loss in ("drawn:-1,2/0,1/1,2", "drawn:-1,1/1,1", "drawn:0,1e6/1,1e6"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = PLQRegressor(loss).fit(X, np.full(20, 3.0))
        assert model.solver_reason_ == "converged" and 0 <= model.duality_gap_ < 1e-10


def test_weights_that_lose_their_digits_are_refused():
    X, y = np.eye(3), np.array([0, 1, 1])
    with pytest.raises(InputError, match="C must be at least"):
        PLQClassifier(C=1e-320).fit(X, y)
    with pytest.raises(InputError, match="weight of a row"):
        PLQClassifier().fit(X, y, [1.0, 1.0, 1e-300])
    assert PLQClassifier(C=1e-280).fit(X, y, [1.0, 1.0, 0.0]).duality_gap_ < 1e-3


def test_what_is_no_path_and_no_listener():
    X, y = np.eye(3), np.array([0, 1, 1])
    for Cs in (None, 5, ["a"], [True], []):
        with pytest.raises(InputError, match="path needs"):
            PLQClassifier().path(X, y, Cs)
    for listeners in (5, ["a"]):
        with pytest.raises(InputError, match="listeners must be functions"):
            PLQClassifier(listeners=listeners).fit(X, y)
    one, none = PLQProblem(X, named_loss("hinge").for_data(2.0 * y - 1.0), no_constraints(3)), np.zeros(2)
    start = solve(PLQProblem(X[:2], named_loss("hinge").for_data(none - 1.0), no_constraints(3)))
    with pytest.raises(InputError, match="result to begin from"):
        solve(one, start=start)
    with pytest.raises(InputError, match="no number is the slope"):
        PLQRegressor("drawn:0,1e308/1e-308,0").fit(X, y)
