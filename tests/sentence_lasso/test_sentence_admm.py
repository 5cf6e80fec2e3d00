"""Algorithm 1 as printed, token by token, its limit, and when it says that it has stopped early."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from cflengine import ADMMSettings, MajoriseSettings
from cflengine.engine.progress import TerminationReason
from cflengine.sentence_lasso.model.problem import SentenceProblem, merge_sentences
from cflengine.sentence_lasso.solvers import admm, majorise
from cflengine.sentence_lasso.solvers.iterate import Iterate
from naive.sentence_lasso import Case, random_case, shrink


@pytest.fixture(scope="module", params=[1, 4])
def case(request) -> Case:
    return random_case(request.param)


@pytest.fixture(scope="module")
def optimum(case):
    return majorise.solve(case.start(), MajoriseSettings(tol=1e-9))


def by_the_book(case: Case, rho: float, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """w and v of Algorithm 1, with a copy for every token and a general-purpose method for w."""
    n = case.X.shape[1]
    v, u = np.zeros((2, len(case.tokens)))
    z = np.zeros(2 * n + 1)
    for _ in range(iterations):
        target = v + u / rho

        def value(z, target=target):
            w, b = z[:n] - z[n:-1], z[-1]
            margin, away = case.y * (case.X @ w + b), case.M @ w - target
            total = np.logaddexp(0, -margin).sum() + case.lam_las * z[:-1].sum() + 0.5 * rho * away @ away
            derivative = -case.y / (1 + np.exp(margin))
            g = case.X.T @ derivative + rho * case.M.T @ away
            return total, np.concatenate([g + case.lam_las, case.lam_las - g, [derivative.sum()]])

        bounds = [(0, None)] * (2 * n) + [(None, None)]
        exact = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000, "maxfun": 100_000, "maxcor": 30}
        z = minimize(value, z, jac=True, method="L-BFGS-B", bounds=bounds, options=exact).x
        w = z[:n] - z[n:-1]
        for s in range(len(case.counts)):
            at = case.tokens[:, 0] == s
            v[at] = shrink((case.M @ w - u / rho)[at], case.lam_sen / rho)
        u = u + rho * (v - case.M @ w)
    return w, v


@pytest.mark.parametrize("rho", [0.1, 1.0])
def test_iterates_are_the_papers(rho):
    case = random_case(0, 8, 10, per_document=2)
    iterates = []
    wanted = ADMMSettings(rho=rho, max_iter=4, w_tol=1e-12)
    here = case.start()
    result = admm.solve(here, wanted, [lambda stats: iterates.append(here.w)])
    w, v = by_the_book(case, rho, 4)
    np.testing.assert_allclose(iterates[-1], w, atol=1e-5)
    norms = [np.linalg.norm(v[case.tokens[:, 0] == s]) for s in range(len(case.counts))]
    np.testing.assert_allclose(result.sentence_norms(case.problem().groups), norms, atol=1e-5)


@pytest.mark.parametrize("relaxation", [1.0, 1.5])
def test_the_limit_is_the_solution(case, optimum, relaxation):
    wanted = ADMMSettings(rho=0.1, max_iter=3000, tol=1e-7, w_tol=0.0, relaxation=relaxation)
    result = admm.solve(case.start(), wanted)
    assert result.reason == TerminationReason.CONVERGED and not result.early_stopped and result.gap <= 1e-7
    assert result.objective == pytest.approx(optimum.objective, rel=1e-6)
    np.testing.assert_allclose(result.w, optimum.w, atol=1e-2)


def test_any_rho_has_the_same_limit(optimum, case):
    for rho in (0.05, 0.3):
        result = admm.solve(case.start(), ADMMSettings(rho=rho, max_iter=2000, tol=1e-5, w_tol=0.0))
        assert not result.early_stopped and result.objective == pytest.approx(optimum.objective, rel=2e-5)


@pytest.mark.parametrize("rho", [0.001, 1.0, 100.0])
def test_a_hundred_steps_at_a_fixed_rho_are_early_stopped(case, optimum, rho):
    result = admm.solve(case.start(), ADMMSettings(rho=rho, w_tol=0.0))
    assert result.early_stopped and result.n_iterations == 100
    assert result.reason == TerminationReason.ITERATION_LIMIT
    assert result.lower_bound <= optimum.objective * (1 + 1e-9) and result.objective >= optimum.lower_bound
    assert result.settings["rho"] == rho and result.to_dict()["early_stopped"]


def test_the_papers_rule_ends_it_and_proves_nothing(case):
    result = admm.solve(case.start(), ADMMSettings(rho=10.0, w_tol=1e-2))
    assert result.reason == TerminationReason.CONVERGED and result.n_iterations < 100
    assert result.early_stopped and result.gap > 1e-4


def test_the_papers_rule_is_a_relative_change_of_w(case):
    iterates, here = [], case.start()
    result = admm.solve(here, ADMMSettings(rho=1.0, w_tol=1e-3), [lambda stats: iterates.append(here.w)])
    changes = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in pairwise(iterates[1:])]
    assert result.reason == TerminationReason.CONVERGED
    assert changes[-1] <= 1e-3 and min(changes[:-1]) > 1e-3


def test_its_own_gap_ends_it_only_if_asked_for(case):
    loose = admm.solve(case.start(), ADMMSettings(rho=0.1, tol=0.1, w_tol=0.0))
    assert loose.reason == TerminationReason.CONVERGED and not loose.early_stopped and loose.gap <= 0.1
    assert loose.n_iterations < 100


def test_copies_are_kept_and_select_sentences(case):
    result = admm.solve(case.start(), ADMMSettings(rho=0.1))
    groups = case.problem().groups
    assert result.copies.shape == groups.feature.shape
    np.testing.assert_allclose(
        result.sentence_norms(groups), groups.norms(result.copies)[groups.of_sentence], atol=1e-15
    )
    selected = result.sentence_norms(groups) > 0
    assert 0 < selected.sum() < len(selected)


def test_equal_sentences_have_equal_copies():
    """Every sentence three times at a third of the λ is the same problem, and the same step."""
    case = random_case(4, 10, 8)
    thrice = replace(
        case, counts=np.repeat(case.counts, 3, axis=0), document=np.repeat(case.document, 3), lam_sen=case.lam_sen / 3
    )
    groups = thrice.problem().groups
    problem = replace(case.problem(), groups=groups, lam_sen=case.lam_sen / 3)
    here = case.start()
    one = admm.solve(here, ADMMSettings(rho=0.3, max_iter=20, w_tol=0.0))
    other = admm.solve(type(here)(problem), ADMMSettings(rho=0.1, max_iter=20, w_tol=0.0))
    np.testing.assert_allclose(other.w, one.w, atol=1e-6)


def test_problems_that_are_not_the_papers_raise():
    case = random_case(0)
    quadratic = replace(case, kappa=np.ones(30))
    lasso = replace(case, counts=np.zeros_like(case.counts))
    for wrong in (quadratic, lasso):
        with pytest.raises(ValueError, match="Algorithm 1"):
            admm.solve(wrong.start())


def test_where_zero_is_the_solution_the_first_step_says_so():
    result = admm.solve(random_case(0, lam_las=1e3).start())
    assert result.reason == TerminationReason.CONVERGED and result.n_iterations == 1 and result.gap < 1e-9


def test_with_a_gap_to_reach_it_does_not_end_by_the_rule_of_the_paper():
    """Which it meets after some 60 steps, at a gap of 2e-5."""
    X, y = sparse.csr_matrix(np.eye(2)), np.array([-1.0, 1.0])
    problem = SentenceProblem(X, y, merge_sentences(X), lam_las=0.125, lam_sen=0.125, kappa=np.zeros(2))
    by_gap = admm.solve(Iterate(problem), ADMMSettings(tol=1e-12, max_iter=80))
    assert by_gap.reason is TerminationReason.ITERATION_LIMIT and by_gap.n_iterations == 80
    by_rule = admm.solve(Iterate(problem), ADMMSettings(max_iter=80))
    assert by_rule.reason is TerminationReason.CONVERGED and by_rule.n_iterations < 80 and by_gap.gap < by_rule.gap
