"""The projection onto covers (NIPS 2013, supplement §1.2 and §2): nearest, and monotone on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.kernels import projection
from cflengine.compression.kernels import projection_pass as passes
from cflengine.compression.kernels.arrays import Projection
from naive.reweighting import cover_nearby


def coverage_of(n, max_gram):
    """X of one document, pointers by length, then start."""
    token = np.arange(n)
    starts = [(k, i) for k in range(1, max_gram + 1) for i in range(n - k + 1)]
    return np.array([(token >= i) & (token < i + k) for k, i in starts], dtype=float).T


def dense_product(n, max_gram):
    """H as the kernel multiplies by it."""
    table = projection.overlaps(max_gram)
    H = np.zeros((n, n))
    for j in range(n):
        projection.add_product(table, np.eye(n)[j], 0, H[j])
    return H


@pytest.mark.parametrize("max_gram", range(1, 9))
def test_h_is_x_times_its_transpose_and_banded(max_gram):
    for n in (1, 2, 3, max_gram, 2 * max_gram - 1, 2 * max_gram + 3):
        X = coverage_of(n, max_gram)
        H = X @ X.T
        np.testing.assert_array_equal(dense_product(n, max_gram), H)
        j, i = np.nonzero(H)
        assert np.abs(j - i).max() == min(n, max_gram) - 1
    inside = H[max_gram, max_gram : 2 * max_gram] if n > 2 * max_gram else H[0]
    assert inside.tolist() == [(max_gram - d) * (max_gram - d + 1) / 2 for d in range(max_gram)]


def project(X, max_gram, point, beta, tol=1e-9, limit=60):
    """β of the point's projection by the kernel, from ``beta``, which z = point + Xᵀβ belongs to; and the rounds."""
    n = len(X)
    g, beta = X @ point - 1 + X @ X.T @ beta, beta.copy()
    rule = Projection(projection.overlaps(max_gram), tol, limit, 0.0, 1.0, 1.0)
    rounds = projection.project_tokens(rule, g, beta, 0, np.full((max_gram, n + 3), 7.0), np.full(n, 7.0))
    np.testing.assert_allclose(g, X @ (point + X.T @ beta) - 1, atol=1e-9 * max(1.0, np.abs(point).max()))
    return beta, rounds


@given(st.integers(1, 8), st.integers(1, 14), st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 1.0, 30.0]))
def test_projection_is_nearest_and_covers_every_token(max_gram, n, seed, spread):
    rng = np.random.default_rng(seed)
    X = coverage_of(n, max_gram)
    point = rng.normal(0.3, spread, X.shape[1])
    start = rng.choice([0.0, 0.5, 3.0], n)
    beta, rounds = project(X, max_gram, point, start)
    z, expected_beta = cover_nearby(X, point)
    np.testing.assert_allclose(point + X.T @ beta, z, atol=1e-7 * max(1.0, spread))
    np.testing.assert_allclose(beta, expected_beta, atol=1e-7 * max(1.0, spread))  # H is positive definite: one β
    slack = X @ (point + X.T @ beta) - 1
    assert rounds < 60 and beta.min() >= 0 and slack.min() >= -1e-9
    assert np.abs(slack[beta > 0]).max(initial=0.0) <= 1e-9


@pytest.mark.parametrize("max_gram", [3, 8])
def test_every_round_of_the_projection_lowers_its_objective(max_gram):
    """Also where Newton's projected step would not: it is undone then."""
    X = coverage_of(60, max_gram)
    H = X @ X.T
    undone = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        point = rng.normal(0.0, 1.0, X.shape[1]) * 10.0 ** rng.integers(-2, 3)
        right, start = 1 - X @ point, rng.choice([0.0, 5.0], 60)
        values = [0.5 * beta @ H @ beta - right @ beta for beta in
                  (project(X, max_gram, point, start, 1e-10, limit)[0] for limit in range(12))]  # fmt: skip
        assert all(b <= a + 1e-9 * (1 + abs(a)) for a, b in pairwise(values))
        step, g = np.empty(60), X @ point - 1 + H @ start
        projection.newton_step(projection.overlaps(max_gram), g, start, 0, np.empty((max_gram, 60)), step)
        undone += step @ (2 * g + H @ step) > 0
    assert undone > 0, "the examples must contain a step that has to be undone"


def test_newton_step_solves_for_the_free_variables():
    rng = np.random.default_rng(3)
    for max_gram in (1, 2, 5):
        X = coverage_of(23, max_gram)
        H = X @ X.T
        beta, g = rng.choice([0.0, 0.5, 90.0], 23), rng.normal(size=23)
        free = (beta > 0) | (g < 0)
        step = np.empty(23)
        projection.newton_step(projection.overlaps(max_gram), g, beta, 0, np.empty((max_gram, 23)), step)
        p = np.zeros(23)
        p[free] = np.linalg.solve(H[np.ix_(free, free)], -g[free])
        np.testing.assert_allclose(step, np.maximum(beta + p, 0) - beta, atol=1e-12)


def test_gauss_seidel_alone_finds_the_same():
    X = coverage_of(15, 3)
    point = np.random.default_rng(0).normal(0.2, 0.5, X.shape[1])
    g, beta = X @ point - 1, np.zeros(15)
    for _ in range(200):
        projection.gauss_seidel(projection.overlaps(3), g, beta, 0, len(g))
    assert projection.optimality(g, beta, 0, len(g)) < 1e-12
    np.testing.assert_allclose(beta, cover_nearby(X, point)[1], atol=1e-9)


def test_uncovered_tokens_are_counted():
    cover = np.array([1, 4, 0, 0, 0, 2, 1, 0, 0], np.uint8)  # bit k-1: a pointer of length k
    assert passes.uncovered_tokens(cover, 0, 0, 9) == 3  # tokens 4, 7 and 8
    assert passes.uncovered_tokens(cover, 0, 0, 4) == 0
    assert passes.uncovered_tokens(cover, 0, 2, 5) == 3
