"""The certificate: from any weights and multipliers a bound that no value of the problem undercuts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from cflengine.sentence_lasso.model.certificate import best_bias, certify, clipped, dual_value, relative_gap
from cflengine.sentence_lasso.model.problem import SentenceProblem, no_sentences
from cflengine.sentence_lasso.solvers import majorise
from cflengine.sentence_lasso.solvers.settings import MajoriseSettings
from naive.sentence_lasso import Case, cases, low_value, minus_gradient, parts, random_case

SIZES = st.sampled_from([0.0, 0.01, 0.3, 1.0, 10.0, 1e3])


def points_of(case: Case, seed: int, size_w: float, size_u: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n_entries = len(case.problem().groups.feature)
    return rng.normal(size=case.counts.shape[1]) * size_w, rng.normal(size=n_entries) * size_u


@settings(max_examples=30)
@given(cases(), st.integers(0, 1000), SIZES, SIZES)
def test_any_point_proves_a_bound_below_every_value(case, seed, size_w, size_u):
    assume(case.lam_sen == 0 or case.counts.any())
    problem = case.problem()
    w, u = points_of(case, seed, size_w, size_u)
    found = certify(problem, w, u)
    slack = 1e-9 * (1 + abs(found.lower_bound))
    rng = np.random.default_rng(seed + 1)
    for size in (0.0, 0.1, 1.0, 5.0):
        there = rng.normal(size=len(w)) * size
        assert found.lower_bound <= case.objective(there, rng.normal() * size) + slack
    assert found.lower_bound <= low_value(case) + slack


@given(cases(), st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]), SIZES)
def test_objective_is_the_problems_at_the_best_bias(case, seed, size_w, size_u):
    problem = case.problem()
    w, u = points_of(case, seed, size_w, size_u)
    found = certify(problem, w, u)
    assert found.objective == pytest.approx(case.objective(w, found.bias), rel=1e-12)
    assert found.objective <= case.objective(w, found.bias + 0.01) and 0 <= found.shrink <= 1
    assert found.objective <= case.objective(w, found.bias - 0.01)
    assert found.gap == relative_gap(found.objective, found.lower_bound)


@given(cases(), st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0, 10.0]), SIZES)
def test_bound_is_the_dual_of_a_feasible_point(case, seed, size_w, size_u):
    """Both dual points spelt out: that shrunk is feasible in every constraint of (D); the better value is the bound."""
    problem = case.problem()
    w, u = points_of(case, seed, size_w, size_u)
    found = certify(problem, w, u)
    alpha = expit(-case.y * (case.X @ w + found.bias))
    assert abs(case.y @ alpha) < 1e-9 and ((alpha >= 0) & (alpha <= 1)).all()
    r, stiffness = case.X.T @ (case.y * alpha), np.full(len(w), case.lam_las)
    for feature, count, weight, at in parts(problem.groups):
        radius = case.lam_sen * weight
        inside = u[at] * min(1.0, radius / max(np.linalg.norm(u[at]), 1e-300))
        r[feature] -= np.sqrt(count) * inside
        stiffness[feature] += radius * np.sqrt(count)
    hard = case.kappa == 0
    assert (found.shrink * np.abs(r[hard]) <= case.lam_las * (1 + 1e-9)).all()

    def value(alpha, r):
        over = np.maximum(np.abs(r[~hard]) - case.lam_las, 0.0)
        inner = alpha[(alpha > 0) & (alpha < 1)]
        entropy = -(inner * np.log(inner) + (1 - inner) * np.log(1 - inner)).sum()
        return entropy - (over**2 / (2 * case.kappa[~hard])).sum()

    expected = max(0.0, value(found.shrink * alpha, found.shrink * r))
    if found.shrink < 1:
        missed = np.maximum(np.abs(r[hard]) - case.lam_las, 0.0) * found.objective / stiffness[hard]
        expected = max(expected, value(alpha, r) - missed.sum())
    assert found.lower_bound == pytest.approx(expected, abs=1e-8)


def test_bound_of_the_solution_is_its_value():
    case = random_case(0)
    result = majorise.solve(case.start(), MajoriseSettings(tol=1e-9))
    found = certify(case.problem(), result.w, result.multipliers)
    assert found.gap <= 1e-8 and found.shrink > 1 - 1e-6


def test_ridge_needs_no_multipliers():
    """κ > 0 throughout, no ℓ1: nothing has to be shrunk."""
    case = replace(random_case(1), lam_las=0.0, kappa=np.full(30, 0.5))
    problem = SentenceProblem(sparse.csr_matrix(case.X), case.y, no_sentences(), 0.0, 0.0, case.kappa)
    w = np.random.default_rng(0).normal(size=30)
    found = certify(problem, w, np.zeros(0))
    r = minus_gradient(case, w, found.bias)
    alpha = expit(-case.y * (case.X @ w + found.bias))
    assert found.shrink == 1.0 and found.lower_bound == pytest.approx(
        max(0.0, dual_value(alpha) - (r**2 / case.kappa).sum() / 2)
    )


# multipliers


@given(cases(sentences=True), st.integers(0, 1000), SIZES)
def test_clipping_brings_every_group_into_its_ball_and_moves_no_other(case, seed, size):
    problem = case.problem()
    _, u = points_of(case, seed, 0.0, size)
    inside = clipped(problem, u)
    for _, _, weight, at in parts(problem.groups):
        radius, norm = case.lam_sen * weight, np.linalg.norm(u[at])
        assert np.linalg.norm(inside[at]) <= radius * (1 + 1e-12)
        np.testing.assert_allclose(inside[at], u[at] if norm <= radius else u[at] * radius / norm, rtol=1e-12)


def test_multipliers_of_zero_are_in_the_ball_of_radius_zero():
    problem = replace(random_case(0), lam_sen=0.0).problem()
    n = len(problem.groups.feature)
    assert not clipped(problem, np.zeros(n)).any() and not clipped(problem, np.ones(n)).any()


# the bias

SCORES = {
    "moderate": np.array([0.3, -1.2, 2.0, 0.0, 0.5]),
    "equal": np.full(5, 7.0),
    "far apart": np.array([-800.0, 900.0, 0.0, 1.0, -5.0]),
    "far from 0": np.array([1e5, 1e5 + 1, 1e5 - 2, 1e5, 1e5 + 3]),
    "separated": np.array([50.0, 60.0, -50.0, -70.0, 55.0]),
    "one far away": np.array([1e6, 0.1, 0.2, -0.1, 0.0]),
}


@pytest.mark.parametrize("start", [0.0, -1e9, 1e9])
@pytest.mark.parametrize("labels", [[1, 1, -1, -1, 1], [1, -1, -1, -1, -1], [-1, 1, 1, 1, 1]], ids=str)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_best_bias_balances_the_classes(scores, labels, start):
    y = np.array(labels, dtype=float)

    def excess(b: float) -> float:
        return float(expit(scores + b).sum() - (y > 0).sum())

    b = best_bias(scores, y, start)
    size = 1 + np.abs(scores).max()
    assert abs(excess(b)) < 1e-11 * size
    root = brentq(excess, -scores.max() - 50, -scores.min() + 50, xtol=1e-12 * size)
    if abs(excess(root + 1e-3)) > 1e-6:  # where the sum is flat, many a bias is best
        assert b == pytest.approx(root, rel=1e-9, abs=1e-9 * size)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=8), st.integers(0, 100))
def test_best_bias_minimises_the_loss(scores, seed):
    scores, rng = np.array(scores), np.random.default_rng(seed)
    y = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], len(scores) - 2))

    def loss(b: float) -> float:
        return float(np.logaddexp(0.0, -y * (scores + b)).sum())

    best = minimize_scalar(loss, bounds=(-80, 80), method="bounded", options={"xatol": 1e-9}).fun
    assert loss(best_bias(scores, y)) <= best + 1e-9


@pytest.mark.parametrize("size", [1e6, 1e10, 1e16, 1e30])
def test_weights_however_large_prove_nothing_false(size):
    """A feature in every document: beside its score the bias has no digits left, and yet Σ y α must be 0."""
    X, y = sparse.csr_matrix(np.ones((3, 1))), np.array([1.0, -1.0, -1.0])
    problem = SentenceProblem(X, y, no_sentences(), 1.0, 0.0, np.zeros(1))
    optimum = problem.objective(np.zeros(1), math.log(0.5))
    found = certify(problem, np.array([size]), np.zeros(0))
    assert found.lower_bound <= optimum * (1 + 1e-9) <= found.objective * (1 + 2e-9)


# edges


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_not_certified(wrong):
    problem = random_case(0).problem()
    w, u = np.zeros(problem.n_features), np.zeros(len(problem.groups.feature))
    for place in (w, u):
        place[0] = wrong
        with pytest.raises(ValueError, match="not a number"):
            certify(problem, w, u)
        place[0] = 0.0


def test_dual_value_at_its_ends_and_in_the_middle():
    assert dual_value(np.array([0.0, 1.0])) == 0.0
    assert dual_value(np.array([0.5, 0.0, 0.5])) == pytest.approx(2 * math.log(2))


def test_gap_where_nothing_is_proved():
    assert relative_gap(1.0, 0.0) == relative_gap(1.0, -3.0) == math.inf
    assert relative_gap(1.5, 1.0) == 0.5 and relative_gap(1.0, 1.0 + 1e-16) == 0.0
