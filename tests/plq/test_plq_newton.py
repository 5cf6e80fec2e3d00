"""Newton's method on the augmented Lagrangian: alone from nothing, against SLSQP and descent; where it takes over."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from test_plq_solver import CONSTRAINTS, MARGINS, RESIDUALS, assert_solved, problem_of

from cflengine import PLQClassifier, PLQRegressor
from cflengine.engine.jit import threads
from cflengine.engine.progress import TerminationReason
from cflengine.plq import descent, newton
from cflengine.plq.arrays import losses_of
from cflengine.plq.certificate import Sizes, certify
from cflengine.plq.losses import named_loss
from cflengine.plq.newton import AugmentedNewton, Iterate, is_sooner, passes_of_newton
from cflengine.plq.problem import PLQProblem, no_constraints
from cflengine.plq.settings import DescentSettings
from cflengine.plq.shift import best_shift
from cflengine.plq.solver import solve
from naive.plq import optimum


def alone(problem: PLQProblem, rounds: int = 30, poll=lambda: True):
    """(certificate after each round): without a pass of descent, from duals of 0."""
    n, loss = problem.shape[0], problem.loss
    nothing = np.zeros_like(loss.U), np.zeros_like(loss.S), np.zeros(len(problem.constraints))
    found = []
    start = Iterate(*nothing, np.zeros(problem.shape[1]), 0.0)
    for one, _ in AugmentedNewton(problem, Sizes.of(problem.X).columns, start, 1e-3, poll):
        bias = best_shift(losses_of(loss), problem.scores(one.beta), one.bias) if problem.intercept else 0.0
        found.append(certify(problem, one.beta, bias, (one.lam, one.gam, one.xi)))
        assert one.lam.shape == loss.U.shape and len(found[-1].scores) == n
        if (abs(found[-1].gap) <= 1e-8 and found[-1].violation <= 1e-8) or len(found) == rounds:
            break
    return found


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("nu", [0.0, 0.3])
@pytest.mark.parametrize("name", MARGINS + RESIDUALS)
def test_every_round_proves_a_bound_and_the_last_the_optimum(name, nu, form, intercept):
    problem = problem_of(name, mu=0.8, nu=nu, form=form, intercept=intercept)
    value = optimum(problem)
    found = alone(problem)
    assert all(
        proof.lower_bound <= value * (1 + 2e-6) + 1e-9 <= proof.objective + 2e-6 * value + 2e-9 for proof in found
    )
    assert found[-1].gap <= 1e-7 and found[-1].objective == pytest.approx(value, rel=2e-6, abs=1e-8)


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("name", ["hinge", "huber:0.5"])
@pytest.mark.parametrize("intercept", [False, True])
def test_constraints_are_met_in_the_end(name, kind, intercept):
    problem = problem_of(name, bounds=CONSTRAINTS[kind], intercept=intercept)
    last = alone(problem)[-1]
    assert last.violation <= 1e-5 and last.lower_bound == pytest.approx(optimum(problem), rel=1e-4, abs=1e-6)


def hard(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Data on which coordinate descent had gaps above 100 % after 10,000 passes."""
    rng = np.random.default_rng(0)
    if kind == "far from 0":
        return rng.normal(100.0, 1.0, (200, 3)), rng.integers(0, 2, 200)
    X = rng.normal(size=(300, 8)) * 10.0 ** rng.integers(-3, 4, 8)
    return X, (X @ (1.0 / np.abs(X).mean(axis=0)) + rng.normal(size=300) > 0).astype(int)


@pytest.mark.parametrize("kind", ["far from 0", "of all sizes"])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "smoothed_hinge", "huber:1", "quantile:0.9", "squared"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_data_on_which_descent_crawls_are_solved(name, kind, fit_intercept):
    X, y = hard(kind)
    model = PLQClassifier if named_loss(name).of == "margin" else PLQRegressor
    fitted = model(name, fit_intercept=fit_intercept, tol=1e-6, max_iter=1000).fit(X, y)
    assert fitted.duality_gap_ <= 1e-6 and fitted.solver_reason_ == "converged"
    assert "Newton" in set(fitted.trace_["stage"])


def test_constraints_on_such_data_too():
    X, y = hard("far from 0")
    fitted = PLQClassifier(constraints=["nonnegative", "fair:0.01"], tol=1e-5, max_iter=2000)
    fitted.fit(X, y, sensitive=np.arange(len(y)) % 2)
    assert fitted.duality_gap_ <= 1e-5 and fitted.violation_ <= 1e-9 and fitted.coef_.min() >= -1e-9


@pytest.mark.parametrize("constraints", [["monotone"], ["decreasing", "nonnegative"], ["monotone", "box:-1:1"]])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "huber:1", "quantile:0.9", "squared"])
def test_orders_of_many_coefficients_are_met_soon(name, constraints):
    """Before constraints are met nothing is proved; passes over one after the other take thousands."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 50))
    y = X @ rng.normal(size=50) + rng.normal(size=1000)
    kind, y = (PLQClassifier, y > 0) if named_loss(name).of == "margin" else (PLQRegressor, y)
    fitted = kind(name, constraints=constraints, max_iter=1000).fit(X, y)
    assert fitted.solver_reason_ == "converged" and abs(fitted.duality_gap_) <= 1e-4 and fitted.violation_ <= 1e-9


@pytest.mark.parametrize("constraints", [(), ("monotone",), ("nonnegative",)])
@pytest.mark.parametrize(
    ("name", "of_x", "of_y"),
    [
        ("hinge", 1e6, 1.0),
        ("smoothed_hinge", 1e6, 1.0),
        ("squared_hinge", 1e6, 1.0),
        ("hinge", 1e-6, 1.0),
        ("absolute", 1e5, 1.0),
        ("absolute", 1e5, 1e-8),
        ("quantile:0.9", 1e5, 1e-8),
        ("squared", 1.0, 1e9),
        ("huber:1", 1.0, 1e-9),
    ],
)
def test_units_of_the_data_cost_no_passes(name, of_x, of_y, constraints):
    """Between kinks are fewer observations than there are features, where these are large: steps are damped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = X @ rng.normal(size=30) + rng.normal(size=400)
    kind, y = (PLQClassifier, y > 0) if named_loss(name).of == "margin" else (PLQRegressor, of_y * y)
    fitted = kind(name, constraints=constraints, max_iter=1000).fit(of_x * X, y)
    assert fitted.solver_reason_ == "converged" and abs(fitted.duality_gap_) <= 1e-4 and fitted.violation_ <= 1e-9


def test_where_it_fails_it_is_tried_again_after_twice_the_passes(monkeypatch):
    X, y = hard("far from 0")
    model, tried = PLQRegressor("absolute", tol=1e-6, max_iter=5000), []

    def fails_twice(*given):
        tried.append(model.listeners[0].work)
        return AugmentedNewton(*given) if len(tried) > 2 else ()

    def listener(stats):
        listener.work = stats.work

    monkeypatch.setattr(descent, "AugmentedNewton", fails_twice)
    model.listeners = (listener,)
    model.fit(X, y)
    assert model.solver_reason_ == "converged" and "Newton" in set(model.trace_["stage"])
    assert len(tried) == 3 and tried[1] >= 2 * tried[0] and tried[2] >= 2 * tried[1]


def test_descent_alone_ends_at_the_same_value_where_it_can():
    problem = problem_of("hinge", n=300, d=8, C=20.0, intercept=True)
    with_newton = solve(problem, DescentSettings(tol=1e-7, max_iter=10**6))
    without = solve(problem, DescentSettings(tol=1e-7, max_iter=10**6, newton=False))
    assert "Newton" in set(with_newton.trace["stage"]) and "Newton" not in set(without.trace["stage"])
    assert_solved(problem, with_newton, without.objective)
    assert with_newton.n_passes < 0.5 * without.n_passes


def test_the_bytes_do_not_depend_on_threads():
    X, y = hard("of all sizes")
    results = []
    for n in (1, 2):
        with threads(n):
            results.append(PLQRegressor("quantile:0.7", tol=1e-5, n_threads=n).fit(np.tile(X, (9, 1)), np.tile(y, 9)))
    assert "Newton" in set(results[0].trace_["stage"])
    assert results[0].coef_.tobytes() == results[1].coef_.tobytes()


@pytest.mark.parametrize("asked", [1, 2, 5, 9])
def test_it_can_be_stopped_before_any_step(asked):
    left = [asked]

    def poll() -> bool:
        left[0] -= 1
        return left[0] >= 0

    X, y = hard("of all sizes")
    problem = PLQProblem(X, named_loss("hinge").for_data(2.0 * y - 1.0), no_constraints(8), intercept=True)
    assert len(alone(problem, poll=poll)) < asked and left[0] == -1


def test_a_stop_or_a_limit_in_it_leaves_what_is_proved():
    X, y = hard("of all sizes")
    problem = PLQProblem(X, named_loss("hinge").for_data(2.0 * y - 1.0), no_constraints(8), intercept=True)
    best = solve(problem, DescentSettings(tol=1e-8, max_iter=10**5))
    result = solve(problem, DescentSettings(tol=1e-8), listeners=[lambda stats: stats.stage != "Newton"])
    assert result.reason is TerminationReason.INTERRUPTED and result.trace["stage"].iloc[-1] == "Newton"
    assert result.lower_bound <= best.objective and best.lower_bound <= result.objective
    limited = solve(problem, DescentSettings(tol=1e-8, max_iter=50))
    assert limited.reason is TerminationReason.ITERATION_LIMIT


def test_it_is_left_alone_where_it_cannot_be_had():
    plain = problem_of("hinge")
    assert passes_of_newton(plain, 3, 3.0) < 100
    wide = PLQProblem(np.ones((2, newton.MOST_FEATURES + 1)), plain.loss, no_constraints(newton.MOST_FEATURES + 1))
    assert passes_of_newton(wide, 2, 1001.0) == np.inf
    assert not is_sooner(np.inf, [(1.0, 1.0), (100.0, 0.99)], 1e-4)


def test_it_takes_over_where_the_gap_hardly_falls():
    assert is_sooner(30.0, [(10.0, 1.0), (40.0, 0.9)], 1e-4)
    assert is_sooner(30.0, [(10.0, np.inf), (40.0, np.inf)], 1e-4), "or nothing is proved yet"
    assert not is_sooner(30.0, [(10.0, 1.0), (40.0, 1e-3)], 1e-4), "nearly there"
    assert not is_sooner(90.0, [(10.0, 1.0), (20.0, 0.9)], 1e-4), "too early to tell"
    assert not is_sooner(30.0, [(40.0, 0.9)], 1e-4), "nothing to tell it by"


def test_after_it_failed_the_fall_of_the_gap_is_measured_anew(monkeypatch):
    asked = []

    class Fails:
        def __init__(self, *given) -> None:
            self.least = 0.0

        def __iter__(self):
            return iter(())

    def sooner(cost, proofs, tol) -> bool:
        asked.append([work for work, _ in proofs])
        return True

    monkeypatch.setattr(descent, "AugmentedNewton", Fails)
    monkeypatch.setattr(descent, "is_sooner", sooner)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)) + 3.0, np.where(rng.random(300) < 0.5, 1.0, -1.0)
    problem = PLQProblem(X, named_loss("hinge").for_data(y, 100.0), no_constraints(5))
    solve(problem, DescentSettings(tol=1e-14, max_iter=400))
    assert len(asked) > 2 and all(later[0] > earlier[-1] for earlier, later in pairwise(asked))
