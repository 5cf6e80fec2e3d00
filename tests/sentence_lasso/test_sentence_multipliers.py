"""Multipliers: given where a sentence has weight, free elsewhere; they prove, or say which weights are wrongly 0."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine.sentence_lasso.kernels import dual as kernels
from cflengine.sentence_lasso.kernels.arrays import Dual, Free
from cflengine.sentence_lasso.model.problem import soft_threshold
from cflengine.sentence_lasso.solvers import majorise
from cflengine.sentence_lasso.solvers.iterate import Iterate
from cflengine.sentence_lasso.solvers.multipliers import Multipliers
from cflengine.sentence_lasso.solvers.settings import MajoriseSettings
from naive.sentence_lasso import Case, left_over, minus_gradient, multipliers, parts, random_case

LAM_SEN, LAM = 0.2, 0.3


@pytest.fixture(scope="module", params=[0, 1, 2])
def case(request) -> Case:
    return random_case(request.param, lam_las=LAM, lam_sen=LAM_SEN)


@pytest.fixture
def here(case) -> Iterate:
    """Three features of thirty have a weight."""
    w = np.zeros(case.X.shape[1])
    w[[4, 9, 20]] = [0.5, -1.0, 0.1]
    return Iterate(case.problem(), w=w)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3])
def test_smooth_multipliers_stay_within_their_balls(here, epsilon):
    groups = here.problem.groups
    u = np.full(len(groups.feature), np.nan)
    kernels.smooth_multipliers(here.groups, here.w, LAM_SEN, epsilon, u)
    np.testing.assert_allclose(u, multipliers(groups, here.w, LAM_SEN, epsilon))
    assert (groups.norms(u) <= LAM_SEN * groups.weight * (1 + 1e-12)).all()


def owned(here: Iterate, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The free groups and their counts; u changes where it is given."""
    free = np.empty(here.problem.groups.n_groups, dtype=np.int64)
    free_count = np.full(here.problem.n_features, np.nan)
    n = kernels.own_multipliers(here.groups, here.w, LAM_SEN, u, Free(free, free_count))
    return free[:n], free_count


def test_multipliers_are_given_where_a_sentence_has_weight_and_stay_elsewhere(here):
    groups = here.problem.groups
    before = np.random.default_rng(0).normal(size=len(groups.feature))
    u = before.copy()
    free, free_count = owned(here, u)
    given = multipliers(groups, here.w, LAM_SEN, 0.0)
    expected_count, expected_free = np.zeros(len(here.w)), []
    for g, (feature, count, _, at) in enumerate(parts(groups)):
        if here.w[feature].any():
            np.testing.assert_allclose(u[at], given[at])
        else:
            np.testing.assert_array_equal(u[at], before[at])
            expected_count[feature] += count
            expected_free.append(g)
    assert free.tolist() == expected_free
    np.testing.assert_array_equal(free_count, expected_count)


def test_subtract_gathered(here):
    groups = here.problem.groups
    u, r = np.random.default_rng(0).normal(size=len(groups.feature)), np.ones(len(here.w))
    kernels.subtract_gathered(here.groups, u, r)
    np.testing.assert_allclose(r, 1.0 - groups.gathered(u, len(here.w)))


def polished(case: Case, here: Iterate, steps: int, u: np.ndarray | None = None, enough: float = 0.0):
    groups = here.problem.groups
    u = np.zeros(len(groups.feature)) if u is None else u.copy()
    free, free_count = owned(here, u)
    start = minus_gradient(case, here.w, here.bias) - groups.gathered(u, len(here.w))
    r = start.copy()
    beginning = np.array([1.0, np.inf])
    kernels.polish(here.groups, LAM_SEN, LAM, Free(free, free_count), Dual(u, r), beginning, steps, enough)
    return free, free_count, start, r, u


@pytest.mark.parametrize("steps", [1, 3, 50, 1000])
def test_polishing_keeps_balls_and_books_and_does_not_raise_what_is_left(case, here, steps):
    groups = here.problem.groups
    free, free_count, start, r, u = polished(case, here, steps)
    assert len(free) > 3 and left_over(groups, start, free_count, LAM) > 0, "the case must tell"
    assert left_over(groups, r, free_count, LAM) <= left_over(groups, start, free_count, LAM)
    assert (groups.norms(u) <= LAM_SEN * groups.weight * (1 + 1e-12)).all()
    np.testing.assert_allclose(r, minus_gradient(case, here.w, here.bias) - groups.gathered(u, len(here.w)), atol=1e-10)
    given = multipliers(groups, here.w, LAM_SEN, 0.0)
    bound = np.isin(groups.group, free, invert=True)
    np.testing.assert_allclose(u[bound], given[bound])


def test_polishing_ends_in_the_minimum(case, here):
    """A step of projected gradient from there leads back to where it began."""
    groups = here.problem.groups
    free, free_count, _, r, u = polished(case, here, 20_000)
    excess = np.where(free_count > 0, soft_threshold(r, LAM) / np.maximum(free_count, 1), 0.0)
    for g, (feature, count, weight, at) in enumerate(parts(groups)):
        if g in free:
            there = u[at] + np.sqrt(count) * excess[feature]
            there *= min(1.0, LAM_SEN * weight / max(np.linalg.norm(there), 1e-300))
            np.testing.assert_allclose(u[at], there, atol=1e-8)
    # and no other multipliers leave less
    rng = np.random.default_rng(0)
    least = left_over(groups, r, free_count, LAM)
    for _ in range(50):
        other = u.copy()
        for g, (_, _, weight, at) in enumerate(parts(groups)):
            if g in free:
                other[at] += rng.normal(size=len(other[at])) * 10.0 ** rng.uniform(-4, 0)
                other[at] *= min(1.0, LAM_SEN * weight / np.linalg.norm(other[at]))
        there = minus_gradient(case, here.w, here.bias) - groups.gathered(other, len(here.w))
        assert left_over(groups, there, free_count, LAM) >= least - 1e-9


def test_polishing_stops_where_there_is_enough(case, here):
    before = np.random.default_rng(1).normal(size=len(here.problem.groups.feature)) * 1e-3
    *_, start, r, u = polished(case, here, 100, before, enough=1e9)
    np.testing.assert_allclose(r, start, atol=1e-15)
    again = before.copy()
    owned(here, again)
    np.testing.assert_array_equal(u, again)


def test_free_norms(here):
    groups = here.problem.groups
    free, p = np.array([0, 2, 3]), np.random.default_rng(2).normal(size=len(here.w))
    norms = groups.norms(groups.copies(p)) * groups.weight
    assert kernels.free_norms(here.groups, free, p) == pytest.approx(norms[free].sum())


# what they say of the weights


def test_where_weights_are_wrongly_zero_the_direction_leads_down(case, here):
    problem = here.problem
    p = Multipliers(here).fit(lambda: True, 0.0)
    assert p.any() and not p[here.w != 0].any()
    value = problem.objective(here.w, here.bias)
    assert problem.objective(here.w + 1e-4 * p, here.bias) < value


def test_the_derivative_along_the_direction_is_twice_what_is_left(case):
    """(P)'(w; p) = −2F, at w = 0, where every sentence is free."""
    here = Iterate(case.problem())
    found = Multipliers(here)
    for _ in range(30):
        p = found.fit(lambda: True, 0.0)
    F = left_over(here.problem.groups, found.r, found.free.counts, LAM)
    t = 1e-7
    derivative = (here.problem.objective(t * p, here.bias) - here.problem.objective(0 * p, here.bias)) / t
    assert derivative < 0 and derivative == pytest.approx(-2 * F, rel=0.5)  # a half of it is enough for the solver


def test_at_the_solution_no_direction_leads_down(case):
    result = majorise.solve(case.start(), MajoriseSettings(tol=1e-11))
    here = Iterate(case.problem(), w=result.w, bias=result.bias)
    p = Multipliers(here).fit(lambda: True, 0.0)
    value = here.objective()
    for t in (1e-3, 1e-2, 1e-1):
        assert here.problem.objective(here.w + t * p, here.bias) >= value * (1 - 1e-9)


def test_certifying_changes_nothing_but_the_bias(case, here):
    found = Multipliers(here)
    found.smooth(1e-3)
    u, w = found.u.copy(), here.w
    certificate, used = found.certify()
    np.testing.assert_array_equal(found.u, u)
    assert here.w is w and here.bias == certificate.bias and len(used) == len(u)
    assert here.objective() == pytest.approx(certificate.objective, rel=1e-12)
