"""Kernels of the majorising solver, of its Newton's method and of ADMM, against the formulas one sentence at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cflengine.sentence_lasso.kernels import active as kernels_active
from cflengine.sentence_lasso.kernels import admm as kernels_admm
from cflengine.sentence_lasso.kernels import majorise as kernels_majorise
from cflengine.sentence_lasso.kernels.arrays import Columns, Groups, HessianParts, ModelPoint, NewtonModel, Search
from cflengine.sentence_lasso.solvers.active import Restricted, restrict
from cflengine.sentence_lasso.solvers.iterate import LEAST_HESSIAN, Iterate, columns_of, proximal_newton_step
from naive.sentence_lasso import Case, cases, parts, random_case, shrink

LAM, RHO = 0.7, 1.3


@pytest.fixture(scope="module", params=[0, 1])
def case(request) -> Case:
    return random_case(request.param)


@pytest.fixture
def w(case) -> np.ndarray:
    """Half of the weights are 0."""
    rng = np.random.default_rng(9)
    return rng.normal(size=case.counts.shape[1]) * rng.integers(0, 2, case.counts.shape[1])


@pytest.fixture
def here(case, w) -> Iterate:
    return Iterate(case.problem(), w=w)


# majorising


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1e-8])
def test_majorise_adds_up_every_sentence(case, here, w, epsilon):
    eta = np.sqrt(case.counts @ w**2 + epsilon**2)
    q = np.empty(len(w))
    total = kernels_majorise.majorise(here.groups, w, LAM, epsilon, q)
    assert total == pytest.approx(LAM * eta.sum())
    np.testing.assert_allclose(q, LAM * (case.counts / eta[:, None]).sum(axis=0), rtol=1e-10)
    assert kernels_majorise.smooth_norms(here.groups, w, LAM, epsilon) == pytest.approx(total)


@given(cases(sentences=True), st.integers(0, 1000), st.sampled_from([1.0, 0.1, 1e-3]))
def test_the_quadratic_lies_above_the_norms_and_touches_them(case, seed, epsilon):
    rng = np.random.default_rng(seed)
    w, v = rng.normal(size=(2, case.counts.shape[1]))
    groups, q = Iterate(case.problem()).groups, np.empty(len(w))
    touched = kernels_majorise.majorise(groups, w, LAM, epsilon, q)
    above = touched + 0.5 * q @ (v**2 - w**2)
    assert kernels_majorise.smooth_norms(groups, v, LAM, epsilon) <= above * (1 + 1e-12) + 1e-12


def test_sums_by_feature(case, here):
    rng = np.random.default_rng(0)
    derivative, hessian = rng.normal(size=len(case.y)), rng.uniform(0.1, 1, len(case.y))
    np.testing.assert_allclose(here.gathered(derivative), case.X.T @ derivative, atol=1e-12)
    features = np.array([0, 3, 17])
    expected = np.zeros(case.X.shape[1])
    expected[features] = (case.X**2).T[features] @ hessian
    np.testing.assert_allclose(here.curvature(hessian, features), expected)


def descended(case, here, w, active, passes, q, linear, tol=0.0):
    derivative, hessian = here.derivatives()
    curvature = here.curvature(hessian, active)
    there, moved, after = w.copy(), np.zeros(len(case.y)), derivative.copy()
    bias = kernels_majorise.descend(
        here.columns, active, case.lam_las, NewtonModel(q, linear, curvature, hessian),
        ModelPoint(after, moved, there), here.bias, passes, tol,
    )  # fmt: skip
    return there, bias, moved, derivative, hessian, after


def test_descend_ends_in_the_minimum_of_its_model(case, here, w):
    """There the model's derivative is within ±λ where a weight is 0, and exactly ∓λ where it is not."""
    rng = np.random.default_rng(1)
    q, linear = rng.uniform(0.1, 2, len(w)), rng.normal(size=len(w))
    active = np.arange(len(w))
    there, bias, moved, derivative, hessian, after = descended(case, here, w, active, 5000, q, linear)
    np.testing.assert_allclose(moved, case.X @ (there - w) + bias - here.bias, atol=1e-10)
    np.testing.assert_allclose(after, derivative + hessian * moved, atol=1e-10)
    g = case.X.T @ after + q * there - linear
    assert abs(after.sum()) < 1e-8 and there.any() and not there.all()
    np.testing.assert_allclose(g[there != 0], -case.lam_las * np.sign(there[there != 0]), atol=1e-8)
    assert (np.abs(g[there == 0]) <= case.lam_las + 1e-8).all()


def test_descend_touches_active_features_alone_and_stops_when_told(case, here, w):
    q = np.ones(len(w))
    active = np.flatnonzero(np.arange(len(w)) % 2)
    there, *_ = descended(case, here, w, active, 20, q, np.zeros(len(w)))
    np.testing.assert_array_equal(there[::2], w[::2])
    assert (there[1::2] != w[1::2]).any()
    once, *_ = descended(case, here, w, active, 1, q, np.zeros(len(w)))
    generous, *_ = descended(case, here, w, active, 20, q, np.zeros(len(w)), tol=1e9)
    np.testing.assert_array_equal(once, generous)


@pytest.mark.parametrize("seed", range(3))
def test_proximal_newton_steps_find_the_minimum_of_a_smooth_penalty(seed):
    case = random_case(seed, 12, 8)
    rng = np.random.default_rng(seed)
    q, linear = rng.uniform(0.2, 1, 8), rng.normal(size=8)
    here = Iterate(case.problem())

    def penalty(w):
        return 0.5 * float(q @ w**2) - float(linear @ w)

    def value(z):
        w = z[:8] - z[8:16]
        loss = np.logaddexp(0.0, -case.y * (case.X @ w + z[-1])).sum()
        return loss + case.lam_las * z[:16].sum() + penalty(w)

    values = []
    for _ in range(60):
        fall = proximal_newton_step(here, q, linear, penalty, 50)
        values.append(value(np.concatenate([np.maximum(here.w, 0), np.maximum(-here.w, 0), [here.bias]])))
        assert fall >= -1e-12
        np.testing.assert_allclose(here.scores, case.X @ here.w + here.bias, atol=1e-9)
    assert (np.diff(values) <= 1e-12).all()
    best = minimize(value, np.zeros(17), bounds=[(0, None)] * 16 + [(None, None)], options={"ftol": 1e-14}).fun
    assert values[-1] == pytest.approx(best, rel=1e-8) and values[-1] <= best + 1e-9


def test_second_derivatives_of_documents_far_from_the_border_are_kept_above_zero():
    case = random_case(0)
    here = Iterate(case.problem(), w=np.full(30, 500.0))
    derivative, hessian = here.derivatives()
    assert hessian.min() == LEAST_HESSIAN and np.isfinite(derivative).all()


# Newton's method on the support


class Smooth:
    """(P) and its derivatives on the support of w, densely; z = (w_F, b)."""

    def __init__(self, case: Case, features: np.ndarray) -> None:
        self.case, self.features = case, features
        self.counts = case.counts[:, features][case.counts[:, features].any(axis=1)].astype(float)
        self.X = np.column_stack([case.X[:, features], np.ones(len(case.y))])

    def value(self, z: np.ndarray) -> float:
        w = np.zeros(self.case.X.shape[1])
        w[self.features] = z[:-1]
        return self.case.objective(w, z[-1])

    def gradient(self, z: np.ndarray) -> np.ndarray:
        case, w = self.case, z[:-1]
        g = -self.X.T @ (case.y / (1 + np.exp(case.y * (self.X @ z))))
        eta = np.sqrt(self.counts @ w**2)
        g[:-1] += case.lam_las * np.sign(w) + case.kappa[self.features] * w
        g[:-1] += case.lam_sen * (self.counts / eta[:, None]).sum(axis=0) * w
        return g

    def hessian(self, z: np.ndarray) -> np.ndarray:
        case, w = self.case, z[:-1]
        p = 1 / (1 + np.exp(-self.X @ z))
        H = self.X.T @ ((p * (1 - p))[:, None] * self.X)
        H[:-1, :-1] += np.diag(case.kappa[self.features])
        for c in self.counts:
            eta = np.sqrt(c @ w**2)
            H[:-1, :-1] += case.lam_sen / eta * (np.diag(c) - np.outer(c * w, c * w) / eta**2)
        return H


@pytest.fixture
def newton(case, w):
    """The kernels' arguments at w on its support, and the same problem densely."""
    kappa = np.random.default_rng(2).uniform(0, 1, len(w))
    dense_case = Case(case.counts, case.document, case.y, case.lam_las, case.lam_sen, kappa)
    here = Iterate(dense_case.problem(), w=w)
    features = np.flatnonzero(w)
    part = restrict(here.problem, here.columns, features)
    z = np.append(w[features], here.bias)
    derivative, hessian = here.derivatives()
    gradient, diagonal = part.gathered(derivative), part.squares(hessian)
    gradient[:-1] += dense_case.lam_las * np.sign(z[:-1]) + part.kappa * z[:-1]
    diagonal[:-1] += part.kappa
    scale, inverse = np.empty((2, len(part.groups.weight)))
    kernels_active.penalty_derivatives(part.groups, z, dense_case.lam_sen, scale, inverse, gradient, diagonal)
    common = (part.columns, part.groups, HessianParts(hessian, part.kappa, scale, inverse, z))
    return Smooth(dense_case, features), part, z, gradient, diagonal, common


def product_of(common, p: np.ndarray, n_documents: int) -> np.ndarray:
    out = np.empty(len(p))
    kernels_active.hessian_product(*common, p, np.empty(n_documents), out)
    return out


def test_the_dense_reference_is_right(newton):
    """Its derivatives against differences."""
    dense, _, z, *_ = newton
    step = 1e-6
    for k, unit in enumerate(np.eye(len(z)) * step):
        assert (dense.value(z + unit) - dense.value(z - unit)) / (2 * step) == pytest.approx(
            dense.gradient(z)[k], abs=1e-6
        )
        column = (dense.gradient(z + unit) - dense.gradient(z - unit)) / (2 * step)
        np.testing.assert_allclose(column, dense.hessian(z)[:, k], atol=1e-6)


def test_gradient_and_diagonal_on_the_support(newton):
    dense, _, z, gradient, diagonal, _ = newton
    np.testing.assert_allclose(gradient, dense.gradient(z), atol=1e-10)
    np.testing.assert_allclose(diagonal, np.diag(dense.hessian(z)), rtol=1e-10)


def test_hessian_products(newton):
    dense, _, z, _, _, common = newton
    H = dense.hessian(z)
    for p in (*np.eye(len(z)), np.random.default_rng(0).normal(size=len(z))):
        np.testing.assert_allclose(product_of(common, p, len(dense.X)), H @ p, atol=1e-10)


def direction_of(common, gradient, diagonal, enough: float, steps: int, chunk: int):
    """Conjugate gradients in chunks: p, the products taken, the last status."""
    work = np.empty(len(common[2].hessian))
    search = Search(np.zeros_like(gradient), -gradient, -gradient / diagonal, np.empty_like(gradient), work)
    rz, taken, status = float(search.residual @ search.direction), 0, 0
    goal = enough * enough * rz
    while rz > goal and taken < steps and status == 0:
        rz, more, status = kernels_active.conjugate_gradients(
            *common, diagonal, search, rz, goal, min(chunk, steps - taken)
        )
        taken += more
    return search.p, taken, status


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_conjugate_gradients_solve_the_system(newton, chunk):
    dense, _, z, gradient, diagonal, common = newton
    p, products, status = direction_of(common, gradient, diagonal, 1e-10, 10_000, chunk)
    np.testing.assert_allclose(p, np.linalg.solve(dense.hessian(z), -gradient), rtol=1e-6, atol=1e-8)
    assert products < 10_000 and status == 0


def test_conjugate_gradients_keep_to_their_limit_and_descend_all_the_same(newton):
    *_, gradient, diagonal, common = newton
    for limit in (1, 2, 5):
        p, products, _ = direction_of(common, gradient, diagonal, 1e-10, limit, 2)
        assert products == limit and gradient @ p < 0


def test_conjugate_gradients_tell_of_a_direction_without_curvature():
    # two equal columns, and a gradient that pulls them apart
    X = Columns(np.array([0, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32), np.ones(4))
    nothing = np.zeros(0)
    groups = Groups(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), nothing, nothing)
    smooth = HessianParts(np.full(2, 0.25), np.zeros(2), nothing, nothing, np.array([1.0, -1.0, 0.0]))
    common = (X, groups, smooth)
    _, _, status = direction_of(common, np.array([1.0, -1.0, 0.0]), np.array([0.5, 0.5, 0.5]), 1e-6, 10, 10)
    assert status == 1


def test_restricted_norms_are_those_of_the_whole(newton):
    dense, part, z, *_ = newton
    expected = sum(np.sqrt(c @ z[:-1] ** 2) for c in dense.counts)
    assert kernels_majorise.smooth_norms(part.groups, z, 1.0, 0.0) == pytest.approx(expected)


def test_restriction_products(newton):
    dense, part, z, *_ = newton
    rng = np.random.default_rng(3)
    derivative, n = rng.normal(size=len(dense.X)), len(dense.X)
    np.testing.assert_allclose(part.product(z, n), dense.X @ z, atol=1e-12)
    np.testing.assert_allclose(part.gathered(derivative), dense.X.T @ derivative, atol=1e-12)
    np.testing.assert_allclose(part.squares(np.abs(derivative)), (dense.X**2).T @ np.abs(derivative), atol=1e-12)


def test_restriction_to_nothing_and_to_everything(case):
    problem = case.problem()
    nothing = restrict(problem, columns_of(problem.X), np.zeros(0, dtype=np.int64))
    assert isinstance(nothing, Restricted) and len(nothing.groups[3]) == 0 and nothing.columns[0].tolist() == [0]
    everything = restrict(problem, columns_of(problem.X), np.arange(problem.n_features))
    for found, whole in zip(everything.groups, Iterate(problem).groups, strict=True):
        np.testing.assert_array_equal(found, whole)


# ADMM


@pytest.fixture
def copies(here) -> np.ndarray:
    """v and u, any two vectors over the entries."""
    return np.random.default_rng(4).normal(size=(2, len(here.problem.groups.feature)))


def by_token(case: Case, here: Iterate, entries: np.ndarray) -> np.ndarray:
    """One value for each token: equal copies share an entry √c times as large."""
    groups = here.problem.groups
    values = np.empty(len(case.tokens))
    for n, (s, j) in enumerate(case.tokens):
        at = slice(groups.ptr[groups.of_sentence[s]], groups.ptr[groups.of_sentence[s] + 1])
        place = at.start + int(np.searchsorted(groups.feature[at], j))
        values[n] = entries[place] / np.sqrt(groups.count[place])
    return values


def test_mean_of_copies_sums_over_every_token(case, here, copies):
    v, u = copies
    out = np.empty(case.X.shape[1])
    kernels_admm.mean_of_copies(here.groups, v, u, RHO, out)
    np.testing.assert_allclose(out, case.M.T @ (by_token(case, here, v) + by_token(case, here, u) / RHO), atol=1e-10)


@pytest.mark.parametrize("relaxation", [1.0, 1.5])
@pytest.mark.parametrize("lam_sen", [0.1, 1.0, 50.0])
def test_copies_and_multipliers_are_equations_5_and_4(case, here, w, copies, lam_sen, relaxation):
    v, u = copies
    tokens_v, tokens_u = by_token(case, here, v), by_token(case, here, u)
    ahead = relaxation * (case.M @ w) + (1 - relaxation) * tokens_v
    z = ahead - tokens_u / RHO
    expected = np.empty(len(z))
    for s in range(len(case.counts)):
        at = case.tokens[:, 0] == s
        expected[at] = shrink(z[at], lam_sen / RHO)
    kernels_admm.copies_and_multipliers(here.groups, w, lam_sen, RHO, relaxation, v, u, (0, len(here.groups.ptr) - 1))
    np.testing.assert_allclose(by_token(case, here, v), expected, atol=1e-12)
    np.testing.assert_allclose(by_token(case, here, u), tokens_u + RHO * (expected - ahead), atol=1e-10)
    for _, _, _, at in parts(here.problem.groups):
        assert np.linalg.norm(u[at]) <= lam_sen * (1 + 1e-12)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=3), st.sampled_from([0.0, 0.5, 1.0, 4.0]), st.integers(0, 99))
def test_the_proximal_step_is_at_least_as_good_as_any_other(z, lam, seed):
    z, rng = np.array(z), np.random.default_rng(seed)

    def value(v):
        return lam * np.linalg.norm(v, axis=-1) + 0.5 * ((v - z) ** 2).sum(axis=-1)

    best = shrink(z, lam)
    grid = np.linspace(0, 1.2, 121)[:, None] * z
    around = best + rng.normal(size=(200, len(z))) * 10.0 ** rng.uniform(-4, 0.5, (200, 1))
    assert value(best) <= min(value(grid).min(), value(around).min()) + 1e-12
