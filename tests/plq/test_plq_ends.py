"""A fit that says that it converged has the gap it was asked for: small problems, where duals soon come to rest; losses
below 0; targets much larger than what the features can do; an elastic net that is almost a lasso."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import isotonic_regression
from test_plq_solver import assert_solved, problem_of

from cflengine import PLQClassifier, PLQRegressor
from cflengine.engine.progress import TerminationReason
from cflengine.plq.arrays import losses_of, rows_of
from cflengine.plq.constraints import box, inequalities, monotone, nonnegative, together
from cflengine.plq.problem import Constraints
from cflengine.plq.projection import Projection
from cflengine.plq.settings import DescentSettings
from cflengine.plq.shift import best_shift
from cflengine.plq.solver import solve
from naive.plq import optimum

NOTHING = 1e-8  # of the objective of β = 0: there the optimum is 0, and a relative gap says nothing


def constraints_of(rng: np.random.Generator, X: np.ndarray):
    d = X.shape[1]
    if rng.random() < 0.5:
        return box(d, -float(rng.random()), float(rng.random()))
    return inequalities(rng.normal(size=(3, d)), 0.1 * np.abs(rng.normal(size=3)))


@given(
    st.integers(0, 10**6), st.sampled_from(["hinge", "quantile:0.9", "absolute", "epsilon_insensitive:0.1", "huber:1"]),
    st.integers(2, 9), st.integers(1, 3), st.booleans(), st.sampled_from([1e-2, 1e-5, 1e-8]),
)  # fmt: skip
@settings(max_examples=150)
def test_converged_is_proved(seed, name, n, d, intercept, tol):
    rng = np.random.default_rng(seed)
    problem = problem_of(
        name, seed, n, d, float(np.exp(rng.normal())), bounds=lambda X: constraints_of(rng, X), intercept=intercept
    )
    result = solve(problem, DescentSettings(tol=tol))
    shift = best_shift(losses_of(problem.loss), np.zeros(n), 0.0) if intercept else 0.0
    start = float(problem.loss.value(np.full(n, shift)).sum())
    proved = result.gap <= tol or result.objective - result.lower_bound <= NOTHING * start + 1e-13
    assert (result.reason == TerminationReason.CONVERGED) == proved


def test_a_violation_has_no_unit_of_a_coefficient():
    """A large coefficient of a small feature does not excuse what others fail by."""
    row = np.array([[1e-6, 1.0, 1.0]])
    one = inequalities(row, np.array([-1.0]))
    assert one.violation(np.array([1e5, 0.2, 0.2])) == pytest.approx(0.5 / 1.5)
    assert inequalities([[1, 0], [0, -1]], [-1e9, 0.5]).violation(np.array([1e9, 1.0])) == pytest.approx(1 / 3)


def test_a_box_on_one_feature():
    X, y = np.array([[0.3], [-0.3], [-1.9], [-0.1], [0.2]]), [1, 1, -1, -1, 1]
    model = PLQClassifier("hinge", C=0.176, constraints=["box:-0.4:0.1"], tol=1e-5).fit(X, y)
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-5


def test_constraints_of_ones_own_on_one_feature():
    X, y = np.array([[-2.0], [1.0], [-1.0]]), [1.2133262, -2.3352405, 1.6485660]
    A, b = np.array([[0.1291794], [-0.4135807], [-0.2486519]]), np.array([0.0580343, 0.0708894, 0.0414164])
    model = PLQRegressor(
        "quantile:0.9", C=1.789, constraints=[inequalities(A, b)], fit_intercept=False, tol=1e-8
    ).fit(X, y, sample_weight=[0.5, 3.0, 3.0])  # fmt: skip
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-8


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("least", [-100, -2, 0, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_loss_may_be_below_0(least, intercept, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=80)
    drawn, plain = (
        PLQRegressor(f"drawn:-1,{c + 1}/0,{c}/1,{c + 1}", C=C, tol=1e-6, fit_intercept=intercept).fit(X, y)
        for c in (least, 0)
    )
    assert drawn.solver_reason_ == "converged" and 0.0 <= drawn.duality_gap_ <= 1e-6
    found = drawn.result_
    assert found.objective - 80 * C * least == pytest.approx(
        plain.result_.objective, rel=1e-6, abs=1e-6 * abs(found.objective)
    )


@pytest.mark.parametrize("name", ["absolute", "epsilon_insensitive:0.1", "huber:1", "quantile:0.3"])
@pytest.mark.parametrize("of_features", [0.0, 1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("of_targets", [1.0, 1e6])
def test_targets_much_larger_than_what_features_do(name, of_features, of_targets):
    rng = np.random.default_rng(0)
    y, X = of_targets * rng.normal(size=60), of_features * rng.normal(size=(60, 3))
    model = PLQRegressor(name, tol=1e-6).fit(X, y)
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-6 and max(model.n_iter_) <= 200


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_no_feature_at_all_but_an_intercept(scale):
    y = scale * np.random.default_rng(1).normal(size=61)
    model = PLQRegressor("absolute", tol=1e-6).fit(np.zeros((61, 2)), y)
    assert model.intercept_ == pytest.approx(np.median(y), rel=1e-9) and model.duality_gap_ <= 1e-6


@pytest.mark.parametrize("l1_ratio", [0.5, 0.99, 0.9999])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_elastic_net_that_is_almost_a_lasso(l1_ratio, loss, C, fit_intercept):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 30)) @ (np.eye(30) + 0.5 * rng.normal(size=(30, 30)))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
    model = PLQClassifier(loss, C=C, l1_ratio=l1_ratio, fit_intercept=fit_intercept, tol=1e-6).fit(X, y)
    assert model.solver_reason_ == "converged" and model.duality_gap_ <= 1e-6


@pytest.mark.parametrize("name", ["hinge", "huber:0.5"])
@pytest.mark.parametrize("nu", [0.3, 0.999])
def test_a_coefficient_that_is_0_is_0_in_the_end(name, nu):
    problem = problem_of(name, n=40, d=6, C=0.1, mu=1.0 - nu, nu=nu)
    result = solve(problem, DescentSettings(tol=1e-8))
    assert_solved(problem, result, optimum(problem), 1e-5)
    assert result.support < 6


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 10.0])
@pytest.mark.parametrize("beside", [[], ["fair:0.05"], ["monotone:0,1,2,3"]])
def test_no_coefficient_is_below_0_where_none_may_be(beside, scale, tol):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 30))
    y, group = X @ rng.normal(size=30) + rng.normal(size=200) > 0, X[:, 0] + rng.normal(size=200) > 0
    X[:, 5] *= scale
    model = PLQClassifier("hinge", C=1.0, constraints=["nonnegative", *beside], tol=tol)
    beta = model.fit(X, y, sensitive=group).coef_[0]
    assert model.solver_reason_ == "converged" and model.violation_ <= 1e-9
    assert beta.min() == 0.0
    if tol == 1e-3:
        assert not ((beta > 0.0) & (beta < 1e-8)).any(), "what is 0 is exactly 0"


def test_a_box_of_coefficients_of_any_size_is_met_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) * 1e6
    y, group = X @ rng.normal(size=30) > 0, X[:, 0] + 1e6 * rng.normal(size=200) > 0
    model = PLQClassifier("hinge", C=1e-12, constraints=["box:-1e-7:2e-7", "fair:0.01"], tol=1e-5)
    beta = model.fit(X, y, sensitive=group).coef_[0]
    assert model.solver_reason_ == "converged" and beta.min() == -1e-7 and beta.max() == 2e-7
    assert len(np.unique(beta)) < 25, "many of 30 lie on an end"


@pytest.mark.parametrize(("of_x", "of_y"), [(1.0, 1.0), (1.0, 1e-8), (1e5, 1.0), (1e9, 1.0)])
def test_an_order_is_kept_in_whatever_units_the_data_are(of_x, of_y):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X @ np.arange(8)[::-1] + rng.normal(size=60)
    C = 1e3 / of_x**2  # the same problem for every X
    model = PLQRegressor("squared", C=C, constraints=["monotone"], fit_intercept=False, tol=1e-6)
    beta = model.fit(of_x * X, of_y * y).coef_ * of_x / of_y
    assert model.solver_reason_ == "converged" and -1e-6 <= model.duality_gap_ <= 1e-6
    slope = float(X.sum(axis=1) @ y / (X.sum(axis=1) @ X.sum(axis=1)))  # all are pressed to one
    assert beta == pytest.approx(np.full(8, slope), rel=1e-3) and model.violation_ <= 1e-9


def test_a_violation_has_no_unit():
    constraints = inequalities(np.array([[-1.0, 1.0]]), np.zeros(1))
    found = [constraints.violation(scale * np.array([1.0, 0.5])) for scale in (1e-12, 1.0, 1e12)]
    assert found == pytest.approx([1 / 3] * 3) and constraints.violation(np.zeros(2)) == 0.0
    assert inequalities(np.eye(1), np.full(1, -1e-9)).violation(np.zeros(1)) == 1.0
    assert np.isnan(constraints.violation(np.full(2, np.nan))), "what is no number meets nothing"


@pytest.mark.parametrize("intercept", [False, True])
def test_classes_that_a_plane_parts_have_one_margin_for_every_large_C(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    y = np.arange(200) % 2
    X[:, 0] += np.where(y, 3, -3)
    fits = [PLQClassifier("hinge", C=C, fit_intercept=intercept, tol=1e-4).fit(X, y) for C in (1e4, 1e6, 1e8)]
    assert all(model.solver_reason_ == "converged" and 0 <= model.duality_gap_ <= 1e-4 for model in fits)
    objectives = [model.result_.objective for model in fits]
    assert max(objectives) <= min(objectives) * (1 + 2e-4)


def test_duals_that_no_pass_moves_and_that_prove_too_little_are_not_called_converged():
    with pytest.warns(ConvergenceWarning, match="no further progress .* scale the data"):
        model = PLQClassifier("hinge", C=1e300).fit([[1.0], [2.0], [-1.0]], [1, 1, 0])
    assert model.duality_gap_ > 1.0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_nearest_coefficients_in_order_are_those_of_isotonic_regression(scale):
    beta = scale * np.random.default_rng(0).normal(size=80)
    found = nearest(monotone(80), beta)
    assert found == pytest.approx(isotonic_regression(beta), abs=1e-3 * scale)
    assert monotone(80).violation(found) <= 1e-9


def test_the_nearest_coefficients_may_be_none():
    """Those that descend from 0 at most, and are at least 0: rounding leaves nothing that meets both."""
    both = together(30, [monotone(30, decreasing=True), nonnegative(30), inequalities(-np.eye(1, 30), np.zeros(1))])
    found = nearest(both, np.random.default_rng(0).normal(size=30))
    assert both.violation(found) == 0.0 and found == pytest.approx(np.zeros(30), abs=1e-9)


def nearest(constraints: Constraints, beta: np.ndarray) -> np.ndarray:
    """As a proof finds them: without duals, and of features of one size."""
    A = constraints.A
    rows = rows_of(A, np.asarray(A.multiply(A).sum(axis=1)).ravel())
    return Projection(constraints, rows, np.ones(len(beta)))(beta, np.zeros(len(constraints)))
