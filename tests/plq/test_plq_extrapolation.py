"""Anderson's extrapolation: where linear maps lead, what a descent takes of it, and that nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cflengine.plq.descent import Descent
from cflengine.plq.extrapolation import PASSES, Extrapolation
from cflengine.plq.losses import named_loss
from cflengine.plq.problem import PLQProblem, no_constraints
from cflengine.plq.settings import DescentSettings
from cflengine.plq.solver import solve
from naive.plq import optimum


def text_like(name: str, seed: int = 0, n: int = 300, d: int = 600, C: float = 30.0, nu: float = 0.0) -> PLQProblem:
    """Rows of few entries, of which many share some features."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.05, "csr", random_state=seed) + sparse.csr_matrix(rng.random((n, 1)) @ rng.random((1, d)))
    X = sparse.csr_matrix(X.multiply(rng.random((n, d)) < 0.1))
    score = X @ rng.normal(size=d)
    y = score + rng.normal(size=n) if named_loss(name).of != "margin" else np.where(score > np.median(score), 1.0, -1.0)
    return PLQProblem(X, named_loss(name).for_data(y, C), no_constraints(d), nu=nu)


def test_a_linear_map_is_followed_to_its_end():
    rng = np.random.default_rng(0)
    turned, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    slow = turned[:, :3] @ np.diag([0.95, 0.7, -0.5]) @ turned[:, :3].T
    end, duals = rng.random((6, 2)), np.zeros((20, 2))
    order, extrapolation = np.array([1, 3, 4, 9, 15, 19], dtype=np.int32), Extrapolation()
    found = None
    start = end.ravel() + turned[:, :3] @ np.array([3.0, -2.0, 1.0])
    for k in range(PASSES + 1):
        assert found is None
        duals[order] = (end.ravel() + np.linalg.matrix_power(slow, k) @ (start - end.ravel())).reshape(6, 2)
        found = extrapolation.follow(duals, order[k % 2 :] if k else order)  # those set aside since then rest
    assert np.array_equal(extrapolation.rows, order)
    np.testing.assert_allclose(found, end, atol=1e-4)
    assert np.abs(duals[order] - end).max() > 0.5


def test_what_does_not_move_leads_nowhere():
    extrapolation, duals = Extrapolation(), np.ones((4, 1))
    for _ in range(3 * PASSES):
        assert extrapolation.follow(duals, np.arange(4, dtype=np.int32)) is None


@pytest.mark.parametrize("nu", [0.0, 0.05])
@pytest.mark.parametrize(
    "name", ["hinge", "smoothed_hinge", "squared_hinge", "quantile:0.8", "epsilon_insensitive:0.5"]
)
def test_a_descent_takes_what_is_better_and_stays_where_its_duals_say(name, nu, monkeypatch):
    problem, taken = text_like(name, nu=nu), []
    extrapolate = Descent._extrapolate

    def watched(run: Descent) -> None:
        before = run.duals.copy()
        value = problem.dual(run.relu_duals, run.rehu_duals, run.xi)
        extrapolate(run)
        if not np.array_equal(before, run.duals):
            taken.append(problem.dual(run.relu_duals, run.rehu_duals, run.xi) - value)
            whole = problem.combination(problem.weights(run.relu_duals, run.rehu_duals), run.xi)
            np.testing.assert_allclose(run.beta, problem.coefficients(whole), atol=1e-9 * np.abs(whole).max())

    monkeypatch.setattr(Descent, "_extrapolate", watched)
    monkeypatch.setattr(Descent, "_few_are_left", lambda run: True)
    result = solve(problem, DescentSettings(tol=1e-9, newton=False))
    assert result.gap <= 1e-9
    assert taken and min(taken) > -1e-9 * abs(result.objective)
    plain = solve(problem, DescentSettings(tol=1e-9, newton=False, extrapolation=False))
    assert plain.objective == pytest.approx(result.objective, rel=2e-9)


def test_the_optimum_is_slsqps():
    problem = text_like("hinge", n=40, d=30)
    assert solve(problem, DescentSettings(tol=1e-8)).objective == pytest.approx(optimum(problem), rel=1e-5)


def test_it_needs_fewer_passes(monkeypatch):
    monkeypatch.setattr(Descent, "_few_are_left", lambda run: True)
    passes = {
        on: sum(
            solve(text_like("hinge", seed), DescentSettings(tol=1e-7, newton=False, extrapolation=on)).n_passes
            for seed in range(5)
        )
        for on in (False, True)
    }
    assert passes[True] < 0.9 * passes[False]
