"""The solver against SLSQP, scikit-learn and itself; its certificate; stopping; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from cflengine.engine.checks import InputError
from cflengine.engine.progress import TerminationReason
from cflengine.linear.kernels_products import add_row, dot_sparse
from cflengine.plq import constraints as limits
from cflengine.plq import kernels
from cflengine.plq.arrays import losses_of, rows_of
from cflengine.plq.certificate import Sizes, balance, certify
from cflengine.plq.descent import Descent
from cflengine.plq.losses import named_loss
from cflengine.plq.problem import CompositeLoss, PLQProblem, no_constraints
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings
from cflengine.plq.shift import best_shift, shift_range
from cflengine.plq.solver import solve
from naive.plq import optimum

MARGINS = ("hinge", "squared_hinge", "smoothed_hinge")
RESIDUALS = (
    "quantile:0.9", "expectile:0.8", "huber:0.5", "epsilon_insensitive:0.3", "squared_epsilon_insensitive:0.3",
    "absolute", "squared",
)  # fmt: skip
TIGHT = DescentSettings(tol=1e-9, max_iter=20_000)


def problem_of(
    name: str, seed: int = 0, n: int = 12, d: int = 3, C: float = 0.7, *, form=np.asarray, bounds=None, **more
) -> PLQProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    loss = named_loss(name)
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) + 0.3
    y = np.where(y > 0, 1.0, -1.0) if loss.of == "margin" else y
    own = no_constraints(d) if bounds is None else bounds(X)
    return PLQProblem(form(X), loss.for_data(y, C * rng.uniform(0.5, 2, n)), own, **more)


def assert_solved(problem: PLQProblem, result: PLQResult, value: float, close: float = 2e-6) -> None:
    """Certified, on both sides of a value that something else found."""
    proof = certify(problem, result.w, result.bias, (result.lam, result.gam, result.xi))
    assert (proof.objective, proof.lower_bound) == (result.objective, result.lower_bound)
    assert result.violation <= 1e-9 and proof.proved
    assert result.lower_bound <= value * (1 + close) + 1e-9
    assert result.objective >= value * (1 - close) - 1e-9
    assert result.objective == pytest.approx(value, rel=close, abs=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("nu", [0.0, 0.3])
@pytest.mark.parametrize("name", MARGINS + RESIDUALS)
def test_it_finds_what_slsqp_finds(name, nu, intercept):
    problem = problem_of(name, mu=0.8, nu=nu, intercept=intercept)
    result = solve(problem, DescentSettings(tol=1e-7, max_iter=50_000))
    assert result.reason is TerminationReason.CONVERGED and result.gap <= 1e-7
    assert_solved(problem, result, optimum(problem))


CONSTRAINTS = {
    "nonnegative": lambda X: limits.nonnegative(X.shape[1]),
    "box": lambda X: limits.box(X.shape[1], -0.2, 0.3),
    "monotone": lambda X: limits.monotone(X.shape[1]),
    "decreasing": lambda X: limits.monotone(X.shape[1], decreasing=True),
    "fair": lambda X: limits.fair(X, np.arange(len(X)) % 2, 0.01),
    "equality": lambda X: limits.equalities(np.ones((1, X.shape[1])), [-0.25]),
    "any": lambda X: limits.inequalities([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]], [-0.3, 0.1]),
    "several": lambda X: limits.together(
        X.shape[1], [limits.nonnegative(X.shape[1]), limits.equalities([[1.0, 1.0, 1.0]], [-1.0])]
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("name", ["hinge", "huber:0.5", "quantile:0.7"])
@pytest.mark.parametrize("intercept", [False, True])
def test_constraints_hold_and_the_optimum_is_slsqps(name, kind, intercept):
    problem = problem_of(name, bounds=CONSTRAINTS[kind], intercept=intercept)
    result = solve(problem, DescentSettings(tol=1e-7, max_iter=50_000))
    assert result.gap <= 1e-7
    assert_solved(problem, result, optimum(problem))


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("name", ["hinge", "huber:0.5", "quantile:0.7"])
def test_no_gap_is_below_0_however_constraints_fail(name, kind):
    """The optimum without constraints has the lower objective; what it fails by has its price in the gap."""
    problem = problem_of(name, bounds=CONSTRAINTS[kind])
    best, free = (solve(one, TIGHT) for one in (problem, problem_of(name)))
    below = 0
    for share in (0.0, 1e-12, 1e-10, 1e-9, 1e-6, 0.1, 1.0):
        proof = certify(problem, (1 - share) * best.w + share * free.w, 0.0, (best.lam, best.gam, best.xi))
        assert proof.gap >= 0 and proof.gap >= proof.objective / proof.lower_bound - 1.0
        below += proof.objective < proof.lower_bound
    assert below or problem.constraints.violation(free.w) == 0, "the case that this is about"


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_it_finds_what_liblinear_finds(loss, C):
    problem = problem_of(loss, seed=3, n=200, d=6, C=1.0)
    X, rng = problem.X, np.random.default_rng(1)
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=200) > 0, 1.0, -1.0)
    problem = PLQProblem(X, named_loss(loss).for_data(y, C), no_constraints(6))
    peer = LinearSVC(loss=loss, C=C, tol=1e-10, fit_intercept=False, max_iter=10**6, dual=True).fit(X, y)
    result = solve(problem, DescentSettings(tol=1e-8, max_iter=10**6))
    assert result.gap <= 1e-8
    assert problem.objective(peer.coef_[0]) == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("name", ["hinge", "huber:0.5", "quantile:0.9"])
@pytest.mark.parametrize("nu", [0.0, 0.2])
def test_dense_and_sparse_are_one(name, nu):
    dense, csr = (problem_of(name, n=60, d=5, form=form, nu=nu) for form in (np.asarray, sparse.csr_matrix))
    first, second = solve(dense, TIGHT), solve(csr, TIGHT)
    np.testing.assert_allclose(first.w, second.w, atol=1e-7)
    assert first.objective == pytest.approx(second.objective, rel=1e-8)


@pytest.mark.parametrize("name", ["hinge", "smoothed_hinge", "epsilon_insensitive:0.3", "huber:0.5"])
@pytest.mark.parametrize("switches", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_shrinking_and_screening_change_nothing(name, switches, intercept):
    problem = problem_of(name, n=300, d=4, C=0.05, intercept=intercept)
    shrinking, screening = switches
    result = solve(problem, DescentSettings(tol=1e-8, max_iter=50_000, shrinking=shrinking, screening=screening))
    plain = solve(problem, DescentSettings(tol=1e-8, max_iter=50_000, shrinking=False, screening=False))
    assert result.gap <= 1e-8 and result.objective == pytest.approx(plain.objective, rel=1e-7)
    assert (result.n_screened > 0) == screening or name == "huber:0.5"


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["hinge", "smoothed_hinge", "epsilon_insensitive:0.3"])
def test_what_is_screened_is_settled_in_the_solution(name, intercept):
    problem = problem_of(name, n=400, d=3, C=0.02, intercept=intercept)
    run = Descent(problem, DescentSettings(tol=1e-3))
    early = run.run()
    final = solve(problem, DescentSettings(tol=1e-11, max_iter=10**6, screening=False))
    assert 0 < early.n_screened == run.screened.sum() < 400 and final.gap <= 1e-11
    np.testing.assert_allclose(run.relu_duals[run.screened], final.lam[run.screened], atol=1e-12)
    np.testing.assert_allclose(run.rehu_duals[run.screened], final.gam[run.screened], atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(MARGINS + RESIDUALS), st.floats(0.0, 2.0))
@settings(max_examples=60)
def test_the_best_intercept_of_scores_nearby_is_in_the_range(seed, name, size):
    problem, rng = problem_of(name, seed, n=20), np.random.default_rng(seed)
    losses, z, far = losses_of(problem.loss), rng.normal(size=20), size * (1.0 + rng.random(20))
    z += best_shift(losses, z)
    lo, hi = shift_range(losses, z, far)
    for sign in (-1.0, 1.0, rng.uniform(-1.0, 1.0, 20)):
        assert lo <= best_shift(losses, z + sign * far) <= hi
    if name in ("squared", "expectile:0.8"):  # whose best intercept is the only one: not much wider than it has to be
        ends = best_shift(losses, z + far), best_shift(losses, z - far)
        assert (lo, hi) == pytest.approx(ends, rel=0.26, abs=1e-9)


def test_same_bytes_again_and_other_seeds_the_same_value():
    problem = problem_of("hinge", n=200, d=5)
    first, again = solve(problem), solve(problem)
    assert first.w.tobytes() == again.w.tobytes() and first.lam.tobytes() == again.lam.tobytes()
    other = solve(problem, DescentSettings(random_state=7))
    assert other.objective == pytest.approx(first.objective, rel=2e-4)


def test_a_warm_start_from_the_solution_is_at_its_end_at_once():
    problem = problem_of("hinge", n=200, d=5)
    known = solve(problem, DescentSettings(tol=1e-6, max_iter=50_000))
    again = solve(problem, DescentSettings(tol=1e-6), start=known)
    assert again.n_iterations <= 5 and again.gap <= 1e-6


def test_a_warm_start_with_a_bias_does_not_give_one_to_a_problem_without():
    free, held = (problem_of("huber:0.5", n=60, d=3, intercept=intercept) for intercept in (True, False))
    known = solve(free, DescentSettings(tol=1e-6))
    again = solve(held, DescentSettings(tol=1e-6), start=known)
    assert known.bias != 0 and again.bias == 0.0
    assert again.gap <= 1e-6 and again.objective == pytest.approx(solve(held, TIGHT).objective, rel=2e-6)


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"time_limit": 1e-9}])
def test_a_limit_leaves_what_is_proved(limit):
    problem = problem_of("hinge", n=200, d=5, C=50.0)
    result = solve(problem, DescentSettings(tol=1e-9, **limit))
    assert result.reason in (TerminationReason.ITERATION_LIMIT, TerminationReason.TIME_LIMIT)
    best = solve(problem, DescentSettings(tol=1e-6, max_iter=10**5))
    assert result.lower_bound <= best.objective and result.objective >= best.lower_bound
    assert result.gap >= 0


def test_a_listener_can_stop_it_and_hears_bounds_that_hold():
    problem = problem_of("quantile:0.9", n=200, d=5)
    best = solve(problem, DescentSettings(tol=1e-8, max_iter=10**5))
    heard = []

    def listen(stats):
        heard.append(stats)
        return len(heard) < 3

    result = solve(problem, DescentSettings(tol=1e-8), listeners=[listen])
    assert result.reason is TerminationReason.INTERRUPTED and len(heard) >= 3
    for stats in heard:
        assert stats.lower_bound <= best.objective and stats.best_objective >= best.lower_bound
    assert len(result.trace) == len(heard)


def test_results_are_saved_and_loaded(tmp_path):
    result = solve(problem_of("huber:0.5", bounds=CONSTRAINTS["nonnegative"]))
    result.save(tmp_path)
    loaded = PLQResult.load(tmp_path)
    assert loaded.w.tobytes() == result.w.tobytes() and loaded.gap == result.gap and loaded.xi.shape == (3,)


# the certificate


@given(st.integers(0, 10**6), st.sampled_from(MARGINS + RESIDUALS), st.booleans())
@settings(max_examples=60)
def test_any_duals_prove_a_bound_and_any_point_an_objective(seed, name, intercept):
    problem = problem_of(name, seed=seed, n=20, nu=0.1 * (seed % 3), intercept=intercept)
    rng = np.random.default_rng(seed)
    loss = problem.loss
    duals = (rng.uniform(-0.5, 1.5, loss.U.shape), rng.uniform(-0.5, 2, loss.S.shape), np.zeros(0))
    best = solve(problem, DescentSettings(tol=1e-6, max_iter=10**5))
    proof = certify(problem, rng.normal(size=3), float(rng.normal()) * intercept, duals)
    assert proof.lower_bound <= best.objective and proof.objective >= best.lower_bound


def test_bounds_do_not_cross_where_the_gap_is_nothing():
    for seed in range(20):
        problem = problem_of("squared", seed=seed, n=30, C=10.0 ** (seed % 7 - 3))
        result = solve(problem, DescentSettings(tol=1e-13, max_iter=3_000))
        assert result.lower_bound <= result.objective


def test_duals_are_balanced_within_their_boxes():
    problem = problem_of("quantile:0.9", intercept=True, n=40)
    rng = np.random.default_rng(0)
    lam, gam = balance(problem, rng.uniform(0, 1, problem.loss.U.shape), np.zeros((40, 0)))
    assert (lam >= 0).all() and (lam <= 1).all() and abs(problem.weights(lam, gam).sum()) < 1e-12


def test_points_that_fail_a_constraint_prove_no_gap():
    problem = problem_of("squared", bounds=CONSTRAINTS["nonnegative"])
    proof = certify(problem, np.array([1.0, -1.0, 0.0]), 0.0, (np.zeros((12, 0)), np.zeros((12, 2)), np.zeros(3)))
    assert proof.violation > 0.1 and not proof.proved


def test_sizes_of_dense_and_sparse():
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    dense, csr = Sizes.of(X), Sizes.of(sparse.csr_matrix(X))
    np.testing.assert_allclose(dense.rows, [5, 9])
    np.testing.assert_allclose(csr.rows, [5, 9])
    np.testing.assert_allclose(dense.columns, csr.columns)
    assert csr.entries.tolist() == [2, 1] and dense.entries.tolist() == [3, 3]


# parts of the solver


@given(st.integers(0, 10**6), st.sampled_from(MARGINS + RESIDUALS))
def test_the_best_shift_is_where_the_slope_changes_sign(seed, name):
    rng = np.random.default_rng(seed)
    loss = named_loss(name)
    y = np.array([-1.0, 1.0] * 9) if loss.of == "margin" else rng.normal(size=18)
    own = loss.for_data(y, rng.uniform(0.1, 2, 18))
    z = rng.normal(size=18)
    found = best_shift(losses_of(own), z, float(rng.normal()))
    here = own.value(z + found).sum()
    for step in (1e-3, 0.1, 1.0):
        assert here <= own.value(z + found + step).sum() + 1e-9 and here <= own.value(z + found - step).sum() + 1e-9


def test_updates_are_the_best_single_coordinates():
    problem = problem_of("epsilon_insensitive:0.3", n=1, d=2)
    loss, X = problem.loss, problem.X
    lam, gam = np.full((1, 2), 0.3), np.zeros((1, 0))
    beta = problem.coefficients(problem.combination(problem.weights(lam, gam), np.zeros(0)))
    before = problem.dual(lam, gam, np.zeros(0))
    step = kernels.update_duals(*losses_of(loss)[:2], 0, float(X[0] @ beta), float(X[0] @ X[0]), lam)
    beta -= step * X[0]
    np.testing.assert_allclose(beta, problem.coefficients(problem.combination(problem.weights(lam, gam), np.zeros(0))))
    assert problem.dual(lam, gam, np.zeros(0)) >= before
    for k in range(2):
        for other in np.linspace(0, 1, 21):
            tried = lam.copy()
            tried[0, k] = other
            assert problem.dual(tried, gam, np.zeros(0)) <= problem.dual(lam, gam, np.zeros(0)) + 1e-12


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "smoothed_hinge"])
def test_a_loss_of_one_part_is_looked_at_and_updated_at_once(name):
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 300)
    losses = losses_of(named_loss(name).for_data(y, np.where(rng.random(300) < 0.1, 0.0, 0.7)))
    top = np.minimum(losses.parts[:, 2:3], 1e3) if losses.n_relu == 0 else np.ones((300, 1))
    duals = top * rng.choice([0.0, 0.3, 1.0], (300, 1))
    for i, z in enumerate(rng.choice([-2.0, -0.4, 0.0, 0.5, 1.0, 3.0], 300)):
        for norm in (0.0, 0.3, 2.0):
            first, second = duals.copy(), duals.copy()
            violation, distance, gap = kernels.examine(losses.parts, losses.n_relu, i, z, first)
            step = kernels.update_duals(losses.parts, losses.n_relu, i, z, norm, first) if violation > 0.0 else 0.0
            found = kernels.rest_alone(losses.parts, losses.n_relu, i, z, norm, second)
            wanted = (violation, distance if violation == 0.0 else 0.0, gap, step)  # of no use otherwise
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(first, second, rtol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])
def test_products_with_rows(form, d):
    X = np.random.default_rng(d).normal(size=(4, d))
    rows, beta = rows_of(form(X), np.zeros(4)), np.arange(1.0, d + 1)
    out = beta.copy()
    for i in range(4):
        if len(rows.dense):
            assert kernels.dot_dense(rows.dense, i, beta) == pytest.approx(X[i] @ beta)
        else:
            ends = rows.indptr[i], rows.indptr[i + 1]
            assert dot_sparse(rows.data, rows.indices, *ends, beta) == pytest.approx(X[i] @ beta)
    if len(rows.dense):
        kernels.add_dense(rows.dense, 2, -0.5, out)
    else:
        add_row(rows.data, rows.indices, rows.indptr[2], rows.indptr[3], -0.5, out)
    np.testing.assert_allclose(out, beta - 0.5 * X[2])


# what is refused, and what is odd


def test_contradictory_constraints_are_said():
    bounds = limits.together(2, [limits.box(2, 1.0, 2.0), limits.equalities([[1.0, 1.0]], [0.0])])
    problem = PLQProblem(np.eye(2), named_loss("squared").for_data(np.ones(2)), bounds)
    with pytest.raises(InputError, match="contradict"):
        solve(problem)


@pytest.mark.parametrize("size", [1e-8, 1e-4, 1.0, 1e6])
def test_contradictions_of_any_size_are_said(size):
    with pytest.raises(InputError, match="contradict"):
        limits.check_feasible(limits.together(2, [limits.box(2, size), limits.box(2, upper=0.0)]))
    limits.check_feasible(limits.together(2, [limits.box(2, size), limits.box(2, upper=1.001 * size)]))


@pytest.mark.parametrize(("lower", "upper"), [(np.inf, np.inf), (-np.inf, -np.inf), (np.inf, 1.0)])
def test_no_box_is_beyond_all_numbers(lower, upper):
    with pytest.raises(InputError, match="no coefficient is in a box"):
        limits.box(2, lower, upper)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"X": np.array([[np.nan, 0.0]])}, "NaN"),
        ({"loss": named_loss("squared").for_data(np.ones(2))}, "1 rows but 2 losses"),
        ({"constraints": no_constraints(3)}, "3 coefficients"),
        ({"mu": 0.0}, "mu > 0"),
        ({"nu": -1.0}, "nu >= 0"),
    ],
)
def test_problems_that_do_not_fit_together_are_refused(change, says):
    whole = {"X": np.ones((1, 2)), "loss": named_loss("squared").for_data(np.ones(1)), "constraints": no_constraints(2)}
    with pytest.raises(InputError, match=says):
        solve(PLQProblem(**(whole | change)))


@pytest.mark.parametrize("field", ["U", "V", "S", "T", "tau"])
def test_losses_with_nan_are_refused(field):
    parts = {name: np.ones((1, 1)) for name in ("U", "V", "S", "T", "tau")} | {field: np.full((1, 1), np.nan)}
    with pytest.raises(InputError, match="loss"):
        solve(PLQProblem(np.ones((1, 1)), CompositeLoss(**parts), no_constraints(1)))


@pytest.mark.parametrize("name", ["hinge", "squared", "quantile:0.9"])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_of_zeros_a_single_row_and_constant_columns(name, intercept):
    loss = named_loss(name)
    for X in (np.zeros((3, 2)), np.ones((1, 2)), np.ones((4, 2))):
        y = np.array([1.0, -1.0, 1.0, -1.0])[: len(X)]
        problem = PLQProblem(X, loss.for_data(y), no_constraints(2), intercept=intercept)
        if intercept and name == "hinge" and len(X) == 1:
            continue  # one class only: estimators refuse it
        result = solve(problem, DescentSettings(tol=1e-6, max_iter=5_000))
        assert result.objective == pytest.approx(optimum(problem), abs=1e-5)


@pytest.mark.parametrize(
    "given", ["", "nonneg", "box:1", "box:a:b", "monotone:0,9", "monotone:x", "fair:0.1", "fair:x"]
)
def test_constraints_that_are_none_are_refused(given):
    with pytest.raises(InputError):
        limits.named(given, np.ones((3, 2)))


def test_constraints_by_name():
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert len(limits.named("nonnegative", X)) == 3 and len(limits.named("nonnegative:1", X)) == 1
    assert limits.named("monotone", X).A.toarray().tolist() == [[-1, 1, 0], [0, -1, 1]]
    assert limits.named("decreasing:0,2", X).A.toarray().tolist() == [[1, 0, -1]]
    assert len(limits.named("box:-1:", X)) == 3 and len(limits.named("box:-1:2", X)) == 6
    assert len(limits.named("fair:0.5", X, np.arange(5) % 2)) == 2
    with pytest.raises(InputError, match="covariance"):
        limits.fair(X, np.arange(5), -1.0)
    with pytest.raises(InputError, match="sensitive"):
        limits.fair(X, np.arange(4), 0.1)
