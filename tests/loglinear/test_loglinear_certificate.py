"""Bounds against optima found by scipy, and against what they promise to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cflengine.loglinear.model.certificate import (
    certify_binary,
    certify_chain,
    certify_multinomial,
    lower_bound,
    relative_gap,
)
from cflengine.loglinear.model.chain import ChainModel
from cflengine.loglinear.model.objective import Objective
from cflengine.loglinear.model.problem import chain_features
from naive.loglinear import binary, chain_data, multinomial


def certify(model, w, ridge, lasso=0.0):
    if isinstance(model, ChainModel):
        return certify_chain(model.data, model.features, w, ridge, lasso)
    if hasattr(model, "y"):
        return certify_binary(model.design.X, model.y, w, ridge)
    return certify_multinomial(model.design.X, model.label, w, ridge)


def small(which: int):
    data = chain_data(1, n_sentences=20)
    return [binary(1), multinomial(1), ChainModel(data, chain_features(data, 4))][which]


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("ridge", [1e-4, 1.0, 100.0])
def test_no_bound_exceeds_the_optimum_and_at_the_optimum_there_is_no_gap(which, ridge):
    model = small(which)
    objective = Objective(model, ridge)

    def value(w):
        point = objective.at(w)
        return point.value, point.gradient

    best = minimize(value, np.zeros(model.n_weights), jac=True, method="L-BFGS-B",
                    options={"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 1e-9})  # fmt: skip
    generator = np.random.default_rng(0)
    for size in (0.0, 0.01, 0.1, 1.0, 10.0):
        found = certify(model, best.x + size * generator.normal(size=len(best.x)), ridge)
        assert 0 <= found.lower_bound <= best.fun * (1 + 1e-9)
        assert found.objective >= best.fun * (1 - 1e-9)
    assert certify(model, best.x, ridge).gap < 1e-4


@pytest.mark.parametrize("which", range(3))
def test_the_solvers_own_numbers_are_those_of_the_certificate(which):
    model = small(which)
    w = 0.3 * np.random.default_rng(2).normal(size=model.n_weights)
    point = Objective(model, 0.7).at(w)
    found = certify(model, w, 0.7)
    assert point.value == pytest.approx(found.objective, rel=1e-12)
    assert lower_bound(point.entropy, point.gathered, 0.7) == pytest.approx(found.lower_bound, rel=1e-9)


@pytest.mark.parametrize("which", range(3))
def test_near_the_optimum_it_is_the_bound_of_strong_convexity(which):
    """f − ‖g‖² σ²/2, to the last digits, wherever τ = 1 is the best."""
    model, ridge = small(which), 50.0
    point = Objective(model, ridge).at(np.zeros(model.n_weights))
    square = float(point.gradient @ point.gradient) / (2 * ridge)
    if 2 * float(point.gathered @ point.gathered) / (2 * ridge) <= point.entropy:
        assert lower_bound(point.entropy, point.gathered, ridge) == pytest.approx(point.value - square)
    assert lower_bound(point.entropy, point.gathered, ridge) >= point.value - square - 1e-9


def test_entropy_is_that_of_the_predictions():
    model = small(1)
    w = np.random.default_rng(0).normal(size=model.n_weights)
    point = Objective(model, 1.0).at(w)
    scores = point.scores.reshape(-1, 4)
    probability = np.exp(scores - scores.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    assert point.entropy == pytest.approx(float(-(probability * np.log(probability)).sum()))


@given(
    st.floats(0, 1e3), st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), st.floats(1e-6, 1e3), st.floats(0, 10)
)
def test_the_bound_is_one_of_those_it_may_choose_from(entropy, gathered, ridge, lasso):
    v = np.array(gathered)
    found = lower_bound(entropy, v, ridge, lasso)
    tau = np.append(0.0, np.geomspace(1e-15, 1, 5001))
    excess = np.maximum(np.abs(np.outer(tau, v)) - lasso, 0)
    best = (tau * entropy - np.sum(excess**2, axis=1) / (2 * ridge)).max()
    assert found >= 0 and found <= best * (1 + 1e-2) + 1e-12
    if lasso == 0:
        assert found >= best * (1 - 1e-9) - 1e-12


def test_without_a_ridge_the_bound_stays_within_the_lasso():
    v = np.array([3.0, -1.0])
    assert lower_bound(2.0, v, 0.0, 1.5) == pytest.approx(1.0)
    assert lower_bound(2.0, v, 0.0, 5.0) == 2.0


def test_relative_gaps():
    assert relative_gap(1.1, 1.0) == pytest.approx(0.1) and relative_gap(1.0, 1.0 + 1e-16) == 0.0
    assert (
        relative_gap(1.0, 0.0) == math.inf and relative_gap(0.0, 0.0) == 0.0 and relative_gap(math.inf, 1.0) == math.inf
    )
