"""Losses beside the paper's: their duals, certificates and solves against linear programmes and scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import Lasso

from cflengine import ADMMSettings, MajoriseSettings, SentenceLassoClassifier, load_model
from cflengine.engine.progress import TerminationReason
from cflengine.sentence_lasso.model.certificate import best_bias, certify, dual_bound
from cflengine.sentence_lasso.model.margin_loss import HINGE, LOG, LOSSES, SQUARED, SQUARED_HINGE, Loss, proximal_hinge
from cflengine.sentence_lasso.model.problem import SentenceProblem
from cflengine.sentence_lasso.solvers.iterate import Iterate
from cflengine.sentence_lasso.solvers.registry import admm, majorise
from naive.sentence_lasso import Case, cases, random_case

SMOOTH = [LOG, SQUARED, SQUARED_HINGE, proximal_hinge(np.array([0.3])), proximal_hinge(np.array([1.0]), 0.1)]
NAMES = ["log", "squared", "squared hinge", "proximal", "proximal at 1"]
TEXTS = [
    "Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word.", "The bad word. Plot of it.",
    "A good start. Good end.", "Bad start. Why?",
]  # fmt: skip
LABELS = np.array(["pos", "neg"] * 3)


def with_loss(case: Case, loss: Loss) -> SentenceProblem:
    return replace(case.problem(), margin_loss=loss)


@pytest.mark.parametrize("loss", [*SMOOTH, HINGE], ids=[*NAMES, "hinge"])
@given(st.floats(-30, 30), st.floats(-3, 3))
def test_every_alpha_gives_a_line_below_the_loss_and_its_own_touches_it(loss, m, alpha):
    margin = np.array([m])
    alpha = np.clip(np.array([alpha]), loss.least, loss.most)
    value = loss.value(margin)
    assert value >= 0 or loss is not LOSSES.get(loss.name)
    assert value >= loss.dual(alpha) - alpha * margin - 1e-9
    own, second = loss.derivatives(margin)
    assert loss.least <= own <= loss.most and second >= 0
    assert value == pytest.approx(loss.dual(own) - own * margin, abs=1e-9, rel=1e-9)


@pytest.mark.parametrize("loss", SMOOTH, ids=NAMES)
@given(st.floats(-8, 8))
def test_alpha_is_minus_the_derivative(loss, m):
    step = 1e-6
    up, down = loss.value(np.array([m + step])), loss.value(np.array([m - step]))
    assert loss.alpha(np.array([m])) == pytest.approx((down - up) / (2 * step), abs=1e-4)


@given(cases(), st.sampled_from(list(LOSSES)), st.integers(0, 1000))
def test_no_dual_point_proves_more_than_any_weights_cost(case, name, seed):
    rng, problem = np.random.default_rng(seed), with_loss(case, LOSSES[name])
    w, b = rng.normal(size=problem.n_features), rng.normal()
    alpha = rng.normal(0.5, 1.0, len(case.y))
    u = rng.normal(size=len(problem.groups.feature))
    value = problem.objective(w, b)
    bound, _ = dual_bound(problem, alpha, u, value)
    assert 0 <= bound <= value


@given(st.lists(st.floats(-20, 20), min_size=3, max_size=8), st.integers(0, 500), st.sampled_from(SMOOTH[1:3]))
def test_the_best_bias_is_the_best(scores, seed, loss):
    rng = np.random.default_rng(seed)
    scores, y = np.array(scores), np.where(rng.random(len(scores)) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0

    def lost(b: float) -> float:
        return float(loss.value(y * (scores + b)).sum())

    b = best_bias(scores, y, 0.0, 1.0, loss)
    assert all(lost(b) <= lost(b + step) + 1e-9 * (1 + lost(b)) for step in (-1.0, -1e-3, 1e-3, 1.0))


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("loss", [SQUARED, SQUARED_HINGE, HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_bags_of_words_are_solved_to_their_gap(seed, loss, lam):
    problem = with_loss(random_case(seed, lam_las=lam, lam_sen=lam), loss)
    tol = 1e-4 if loss is HINGE else 1e-6
    result = majorise.solve(Iterate(problem), MajoriseSettings(tol=tol, time_limit=20.0))
    assert result.reason is TerminationReason.CONVERGED and result.gap <= tol
    assert result.objective == pytest.approx(problem.objective(result.w, result.bias), rel=1e-10)
    if loss is not HINGE:
        again = certify(problem, result.w, result.multipliers, result.bias)
        assert again.gap <= 1e-3 and again.objective == pytest.approx(result.objective, rel=1e-6)
    if loss is not LOG and loss is not HINGE:
        by_admm = admm.solve(Iterate(problem), ADMMSettings(tol=1e-2, max_iter=3000, time_limit=20.0))
        assert by_admm.objective >= result.lower_bound and by_admm.lower_bound <= result.objective


@pytest.mark.parametrize("lam", [0.02, 0.3, 2.0])
def test_the_hinge_without_sentences_is_a_linear_programme(lam):
    case = random_case(4, lam_las=lam, lam_sen=0.0)
    result = majorise.solve(Iterate(with_loss(case, HINGE)), MajoriseSettings(tol=1e-5, time_limit=20.0))
    n, D = case.X.shape[1], len(case.y)
    signed = case.y[:, None] * case.X
    rows = np.hstack([-signed, signed, -case.y[:, None], -np.eye(D)])  # 1 − y (xᵀw + b) ≤ ξ
    cost = np.concatenate([np.full(2 * n, lam), [0.0], np.ones(D)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * D
    best = linprog(cost, rows, -np.ones(D), bounds=bounds, method="highs").fun
    assert result.lower_bound <= best * (1 + 1e-9) and best <= result.objective * (1 + 1e-9)
    assert result.gap <= 1e-5


@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_the_squared_loss_without_sentences_is_the_lasso(lam):
    case = random_case(5, lam_las=lam, lam_sen=0.0)
    result = majorise.solve(Iterate(with_loss(case, SQUARED)), MajoriseSettings(tol=1e-8))
    other = Lasso(alpha=lam / len(case.y), tol=1e-12, max_iter=100_000).fit(case.X, case.y)
    np.testing.assert_allclose(result.w, other.coef_, atol=1e-4)
    assert result.gap <= 1e-8


def test_weights_of_documents_are_repetitions():
    case = random_case(6, n_documents=10, lam_las=0.1, lam_sen=0.0)
    times = np.arange(1, 11) % 3 + 1
    whole = replace(case, counts=case.X, document=np.arange(10))
    repeated = Case(
        np.repeat(case.X, times, axis=0), np.arange(times.sum()), np.repeat(case.y, times), 0.1, 0.0, case.kappa
    )
    for loss in (SQUARED, SQUARED_HINGE, HINGE):
        one = replace(with_loss(whole, loss), weight=times.astype(float))
        found = [
            majorise.solve(Iterate(problem), MajoriseSettings(tol=1e-5, time_limit=20.0))
            for problem in (one, with_loss(repeated, loss))
        ]
        assert found[0].objective == pytest.approx(found[1].objective, rel=3e-5)


@pytest.mark.parametrize("loss", ["squared", "squared hinge", "hinge"])
def test_texts_are_learnt_without_probabilities(loss, tmp_path):
    model = SentenceLassoClassifier(0.02, 0.02, loss=loss).fit(TEXTS, LABELS)
    assert model.predict(TEXTS).tolist() == LABELS.tolist() and model.duality_gap_ <= 1e-4
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    with pytest.raises(ValueError, match="log loss alone"):
        model.sentence_relevance(TEXTS)
    model.save(tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert again.loss == loss and not hasattr(again, "predict_proba")
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    model.loss = "log"  # a parameter that was changed later is not that of the fit
    assert not hasattr(model, "predict_proba")


def test_a_file_says_by_which_loss(tmp_path):
    header, arrays = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, LABELS).to_parts()
    old = header | {"parameters": {key: value for key, value in header["parameters"].items() if key != "loss"}}
    assert SentenceLassoClassifier.from_parts(old, arrays, "before").loss == "log"
    for wrong in ("svm", ["log"], None):
        other = header | {"parameters": header["parameters"] | {"loss": wrong}}
        with pytest.raises(ValueError, match="wrong"):
            SentenceLassoClassifier.from_parts(other, arrays, "wrong")


def test_more_than_two_classes_by_the_hinge():
    model = SentenceLassoClassifier(0.02, 0.02, loss="hinge").fit(TEXTS, [0, 1, 2, 1, 0, 1])
    assert model.coef_.shape[0] == 3 and model.duality_gap_ <= 1e-4


def test_a_solve_by_the_hinge_ends_when_it_is_told():
    problem = with_loss(random_case(2, lam_las=0.1, lam_sen=0.1), HINGE)
    heard: list[str] = []

    def stop(stats) -> bool:
        heard.append(stats.stage)
        return len(heard) < 2

    result = majorise.solve(Iterate(problem), MajoriseSettings(tol=1e-12), [stop])
    assert result.reason is TerminationReason.INTERRUPTED and heard == ["start", "proximal"]
    assert 0 < result.lower_bound <= result.objective
    late = majorise.solve(Iterate(problem), MajoriseSettings(tol=1e-12, time_limit=1e-9))
    assert late.reason is TerminationReason.TIME_LIMIT and late.objective >= late.lower_bound


def test_wrong_losses():
    for wrong in ("svm", None, 1):
        with pytest.raises(ValueError, match="loss must be one of"):
            SentenceLassoClassifier(loss=wrong).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="a loss with a derivative"):
        SentenceLassoClassifier(loss="hinge", solver="admm").fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="a loss with a derivative"):
        admm.solve(Iterate(with_loss(random_case(1), HINGE)))
