"""The majorising solver: to its gap on problems of every kind, at any time, and what its results say of themselves."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings

from cflengine import ADMMSettings, MajoriseSettings, SentenceLassoClassifier
from cflengine.engine.progress import TerminationReason
from cflengine.sentence_lasso.model.certificate import certify
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.solvers.iterate import Iterate
from cflengine.sentence_lasso.solvers.registry import SOLVERS, admm, majorise, solve
from naive.sentence_lasso import Case, cases, low_value, random_case

TOL = 1e-6
LAMS = [0.01, 0.1, 1.0, 10.0]


def solved(case: Case, tol: float = TOL, **wanted) -> SentenceResult:
    return majorise.solve(case.start(), MajoriseSettings(tol=tol, time_limit=1.0, **wanted))


def check(case: Case, result: SentenceResult, tol: float = TOL, compare: bool = True) -> None:
    """Converged, its numbers true, and no general-purpose method goes below its bound."""
    assert result.reason == TerminationReason.CONVERGED and not result.early_stopped
    assert 0 <= result.gap <= tol and math.isfinite(result.objective)
    assert result.objective == pytest.approx(case.objective(result.w, result.bias), rel=1e-11)
    assert not compare or result.lower_bound <= low_value(case) * (1 + 1e-9)


# converging


@pytest.mark.parametrize("lam_sen", LAMS)
@pytest.mark.parametrize("lam_las", LAMS)
@pytest.mark.parametrize("seed", range(2))
def test_bags_of_words_at_any_lam(seed, lam_las, lam_sen):
    case = random_case(seed, lam_las=lam_las, lam_sen=lam_sen)
    check(case, solved(case), compare=False)


@pytest.mark.parametrize("lam_sen", [0.0, 0.001, 0.1])
@pytest.mark.parametrize("lam_las", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("seed", [7, 8])
def test_more_words_than_documents(seed, lam_las, lam_sen):
    case = random_case(seed, n_features=150, lam_las=lam_las, lam_sen=lam_sen)
    result = solved(case, tol=1e-4)
    assert result.reason == TerminationReason.CONVERGED and result.gap <= 1e-4


GENERATED = settings(max_examples=25, phases=[Phase.generate])  # shrinking a problem that stalls takes too long


@GENERATED
@given(cases(sentences=True))
def test_small_problems_with_sentences(case):
    assume(case.counts.any())
    check(case, solved(case))


@GENERATED
@given(cases(sentences=True))
def test_small_problems_of_sentences_alone(case):
    """Section 5.3: no lasso, so a weight is held by its sentences alone."""
    case = replace(case, lam_las=0.0)
    assume(((case.counts > 0).any(axis=0) | (case.kappa > 0)).all() and case.lam_sen > 0)
    check(case, solved(case))


@pytest.mark.parametrize("lam_sen", [0.001, 0.1, 1.0])
@pytest.mark.parametrize("n_features", [30, 150])
def test_without_a_lasso_weights_are_0_by_whole_sentences(n_features, lam_sen):
    case = random_case(11, n_features=n_features, lam_las=0.0, lam_sen=lam_sen)
    case = replace(case, counts=case.counts[:, seen := case.counts.any(axis=0)], kappa=case.kappa[seen])
    result = solved(case)
    check(case, result, compare=False)
    gone = (case.counts @ (result.w != 0)) == 0
    for j in np.flatnonzero(result.w == 0):
        assert gone[case.counts[:, j] > 0].any(), "a word whose sentences are all there has a weight"
    by_admm = admm.solve(case.start(), ADMMSettings(tol=1e-3, max_iter=5000, time_limit=20.0))
    assert by_admm.objective >= result.lower_bound and result.objective <= by_admm.objective * (1 + TOL)
    assert by_admm.lower_bound <= result.objective


@GENERATED
@given(cases(sentences=False))
def test_small_problems_without_sentences(case):
    check(case, solved(case))


def with_columns(case: Case, columns: np.ndarray) -> Case:
    """The same sentences with more columns."""
    return replace(case, counts=np.hstack([case.counts, columns]), kappa=np.zeros(30 + columns.shape[1]))


def separable(lam_sen: float) -> Case:
    """Word 0 in one class only, word 1 in the other."""
    case = random_case(3, lam_las=0.01, lam_sen=lam_sen)
    counts = case.counts.copy()
    counts[:, 0] = case.y[case.document] > 0
    counts[:, 1] = case.y[case.document] < 0
    return replace(case, counts=counts)


ODD = {
    "separable": separable,
    "duplicated documents": lambda lam: Case(
        np.tile(random_case(4).counts, (3, 1))[np.argsort(np.tile(random_case(4).document, 3), kind="stable")],
        np.sort(np.tile(random_case(4).document, 3)), random_case(4).y, 0.3, lam, np.zeros(30),
    ),
    "the same document in both classes": lambda lam: Case(
        np.array([[1, 2, 0], [1, 2, 0], [0, 1, 1]]), np.arange(3), np.array([1.0, -1.0, -1.0]), 0.01, lam, np.zeros(3)
    ),
    "equal columns": lambda lam: with_columns(random_case(5, lam_sen=lam), random_case(5).counts[:, :4]),
    "multiples of columns": lambda lam: with_columns(random_case(5, lam_sen=lam), 2 * random_case(5).counts[:, :4]),
    "empty columns": lambda lam: with_columns(random_case(5, lam_sen=lam), 0 * random_case(5).counts),
    "one word a sentence": lambda lam: random_case(6, lam_sen=lam, length=1),
    "one sentence a document": lambda lam: random_case(7, lam_sen=lam, per_document=1),
    "one word a document": lambda lam: random_case(8, lam_sen=lam, per_document=1, length=1),
    "long sentences": lambda lam: random_case(9, lam_sen=lam, length=200),
    "two documents": lambda lam: random_case(0, 2, 3, lam_las=0.01, lam_sen=lam),
    "one class rare": lambda lam: replace(
        random_case(1, lam_las=0.05, lam_sen=lam), y=np.where(np.arange(24) == 3, 1.0, -1.0)
    ),
    "documents without a word": lambda lam: replace(
        random_case(2, lam_sen=lam), y=np.append(random_case(2).y, [1.0, 1.0, -1.0])
    ),
}  # fmt: skip


@pytest.mark.parametrize("lam_sen", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("kind", ODD)
def test_odd_problems(kind, lam_sen):
    case = ODD[kind](lam_sen)
    check(case, solved(case))


SINGULAR = {
    "two documents in both classes": ([[1, 2, 0], [1, 2, 0]], [0, 1], 3),
    "two documents, more without a word": ([[1, 1, 0, 3], [1, 1, 0, 3]], [0, 3], 4),
    "five words": ([[0, 1, 0, 3, 1], [0, 1, 0, 3, 1], [0, 1, 0, 3, 1], [1, 1, 1, 1, 2]], [0, 3, 3, 3], 5),
    "more weights than documents tell apart": (
        [[0, 2, 0, 3, 0], [3, 1, 0, 2, 0], [0, 2, 0, 3, 0]], [0, 2, 3], 5
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SINGULAR)
def test_a_lasso_whose_hessian_is_singular_takes_no_time(kind):
    """On the support the loss is flat along some line, and only the ℓ1 norm tells its points apart."""
    counts, document, n_documents = SINGULAR[kind]
    y = np.where(np.arange(n_documents) == 0, 1.0, -1.0)
    case = Case(np.array(counts), np.array(document), y, 0.01, 0.0, np.zeros(len(counts[0])))
    result = majorise.solve(case.start(), MajoriseSettings(tol=1e-4, time_limit=1.0))
    assert result.seconds < 1.5, "a time limit holds within a Newton step, too"
    check(case, result, 1e-4)


def test_features_that_are_in_documents_but_in_no_sentence():
    """They are left to the lasso alone."""
    base = random_case(2)
    kept = replace(base, counts=np.where(np.arange(30) < 4, 0, base.counts))
    problem = replace(base.problem(), groups=kept.problem().groups, lam_sen=0.5)
    result = majorise.solve(Iterate(problem), MajoriseSettings(tol=TOL))
    assert result.reason == TerminationReason.CONVERGED
    assert result.objective <= solved(replace(base, lam_sen=0.5)).objective


def test_ten_thousand_identical_sentences():
    row = np.array([[1, 2, 0, 1]])
    counts = np.vstack([np.repeat(row, 10_000, axis=0), [[0, 1, 1, 0], [1, 0, 0, 1]]])
    document = np.append(np.arange(10_000) % 3, [3, 4])
    order = np.argsort(document, kind="stable")
    case = Case(counts[order], document[order], np.array([1.0, 1, -1, -1, 1]), 0.01, 1e-5, np.zeros(4))
    problem = case.problem()
    assert problem.groups.n_groups == 3 and problem.groups.weight.max() == 10_000
    result = solved(case)
    assert result.reason == TerminationReason.CONVERGED and result.gap <= TOL
    assert len(result.sentence_norms(problem.groups)) == 10_002


def test_another_scale():
    """Words counted in thousands: the same model for weights a thousand times as strong."""
    case = random_case(0)
    large = replace(case, counts=case.counts * 1000, lam_las=300.0, lam_sen=0.2 * math.sqrt(1000))
    result = solved(large)
    assert result.reason == TerminationReason.CONVERGED
    assert result.objective == pytest.approx(solved(case).objective, rel=2 * TOL)


# what a result says


@pytest.mark.parametrize("lam_las", [0.01, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_a_result_can_be_certified_again_from_its_own_arrays(seed, lam_las):
    case = random_case(seed, lam_las=lam_las, lam_sen=1.0)
    result = solved(case, tol=1e-8)
    found = certify(case.problem(), result.w, result.multipliers, result.bias)
    assert found.objective == pytest.approx(result.objective, rel=1e-9)
    assert found.gap <= max(1e-8, 2 * result.gap)
    assert result.gap == pytest.approx((result.objective - result.lower_bound) / result.lower_bound, abs=1e-15)


def test_a_result_speaks_in_plain_values():
    case = random_case(0)
    result = solved(case)
    facts = result.to_dict()
    assert facts["reason"] == "converged" and facts["support"] == np.count_nonzero(result.w) > 0
    assert facts["settings"]["lam_sen"] == 0.2 and facts["settings"]["lam_las"] == 0.3
    assert facts["settings"]["tol"] == TOL and facts["solver"] == "majorise" and not facts["early_stopped"]
    assert {"iteration", "stage", "objective", "lower_bound", "gap", "support"} <= set(result.trace.columns)


def test_norm_of_a_sentence_is_the_norm_over_its_tokens():
    case = random_case(0)
    result = solved(case)
    copies = case.M @ result.w
    expected = [np.linalg.norm(copies[case.tokens[:, 0] == s]) for s in range(len(case.counts))]
    np.testing.assert_allclose(result.sentence_norms(case.problem().groups), expected, atol=1e-12)
    assert 0 < np.count_nonzero(expected) < len(expected)


# at any time


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_stopped_after_any_event_it_still_has_a_bound(solver, k):
    case = random_case(1)
    optimum = solved(case, tol=1e-9)
    heard = []

    def stop(stats):
        heard.append(stats)
        return len(heard) < k

    wanted = MajoriseSettings(tol=1e-12) if solver == "majorise" else ADMMSettings(rho=0.1)
    result = solve(case.start(), wanted, [stop])
    assert len(heard) == k and result.reason == TerminationReason.INTERRUPTED and result.early_stopped
    assert result.lower_bound <= optimum.objective * (1 + 1e-9) and math.isfinite(result.objective)
    assert result.objective >= optimum.lower_bound * (1 - 1e-9)
    assert result.objective == pytest.approx(case.objective(result.w, result.bias), rel=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
def test_time_limit(solver):
    wanted = SOLVERS[solver].settings(time_limit=1e-9)
    result = solve(random_case(0).start(), wanted)
    assert result.reason == TerminationReason.TIME_LIMIT and math.isfinite(result.gap) and result.early_stopped


@pytest.mark.parametrize("max_iter", [1, 5, 12, 30])
def test_iteration_limit(max_iter):
    result = solved(random_case(0, lam_las=0.05), tol=1e-14, max_iter=max_iter)
    assert result.reason == TerminationReason.ITERATION_LIMIT
    assert result.n_iterations == max_iter and math.isfinite(result.objective)
    assert result.lower_bound <= result.objective


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_events_only_ever_improve(solver, seed):
    events = []
    wanted = MajoriseSettings(tol=1e-8) if solver == "majorise" else ADMMSettings(rho=0.1)
    result = solve(random_case(seed).start(), wanted, [events.append])
    best, bound = [e.best_objective for e in events], [e.lower_bound for e in events]
    assert (np.diff(best) <= 0).all() and (np.diff(bound) >= 0).all() and (np.diff([e.gap for e in events]) <= 0).all()
    assert (np.diff([e.iteration for e in events]) >= 0).all() and (np.diff([e.work for e in events]) > 0).all()
    assert events[0].stage == "start" and len(events) == len(result.trace) > 3
    assert (best[-1], bound[-1]) == pytest.approx((result.objective, result.lower_bound), rel=1e-9)
    assert all(e.support >= 0 and e.objective >= e.best_objective for e in events)


def test_a_listener_that_polls_stops_between_events():
    class Stop:
        def __call__(self, stats):
            return None

        def poll(self):
            return False

    result = majorise.solve(random_case(0).start(), listeners=[Stop()])
    assert result.reason == TerminationReason.INTERRUPTED and result.lower_bound > 0


def test_a_warm_start_ends_where_a_cold_one_does_and_sooner():
    near = solved(random_case(0, lam_las=0.33), tol=1e-8)
    case = random_case(0)
    cold = solved(case, tol=1e-8)
    here = Iterate(case.problem(), w=near.w, bias=near.bias)
    warm = majorise.solve(here, MajoriseSettings(tol=1e-8), warm=True)
    assert warm.objective == pytest.approx(cold.objective, rel=2e-8) and warm.gap <= 1e-8
    assert warm.n_iterations < cold.n_iterations
    np.testing.assert_array_equal(near.w, solved(random_case(0, lam_las=0.33), tol=1e-8).w)  # not written into


def test_rounds_may_be_left_out():
    """Newton's method and the proof alone, from w = 0."""
    case = random_case(0)
    check(case, solved(case, rounds=0))


# settings


@pytest.mark.parametrize(
    "wrong",
    [
        *({"tol": tol} for tol in (0, -1.0, math.nan, math.inf, "1e-3", None, True)),
        *({"max_iter": n} for n in (0, 1.5, None, "3", True)),
        *({"time_limit": limit} for limit in (0, -1, math.nan, "1")),
        {"epsilon": 0.0}, {"decay": 1.0}, {"decay": 0.0}, {"rounds": -1}, {"passes": 0}, {"newton_steps": 0},
        {"newton_products": 0},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_settings_of_majorise(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MajoriseSettings(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"rho": 0}, {"rho": math.nan}, {"rho": "1"}, {"rho": None}, {"max_iter": 0}, {"tol": 0}, {"w_tol": -1e-9},
     {"w_tol": math.nan}, {"w_tol": None}, {"relaxation": 0.9}, {"relaxation": 2.0}, {"relaxation": math.nan},
     {"time_limit": 0}],
    ids=str,
)  # fmt: skip
def test_wrong_settings_of_admm(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ADMMSettings(**wrong)


def test_settings_are_the_solvers_own():
    assert SentenceLassoClassifier(tol=0.5)._check().tol == 0.5
    assert SentenceLassoClassifier(solver="admm", tol=0.5)._check() == ADMMSettings()  # its own rule
    assert SentenceLassoClassifier(solver="admm", max_iter=7)._check() == ADMMSettings(max_iter=7)
    wanted = ADMMSettings(rho=3.0)
    assert SentenceLassoClassifier(solver="admm", settings=wanted)._check() is wanted
    with pytest.raises(ValueError, match="MajoriseSettings"):
        SentenceLassoClassifier(settings=wanted)._check()
    for unknown in ("", "ADMM", None):
        with pytest.raises(ValueError, match="majorise, admm"):
            SentenceLassoClassifier(solver=unknown)._check()


def test_a_solve_takes_milliseconds():
    """Not a benchmark: two hundred times what it takes, so that a stall shows."""
    case = random_case(0)
    began = time.perf_counter()
    solved(case)
    assert time.perf_counter() - began < 2.0 and admm.solve(case.start()).n_iterations <= 100
