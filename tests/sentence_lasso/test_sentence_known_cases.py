"""Cases that other programs solve, and changes of the data that must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.fixes import parse_version

from cflengine import MajoriseSettings, PenalisedClassifier, SentenceLassoClassifier
from cflengine.sentence_lasso.model.problem import merge_sentences
from cflengine.sentence_lasso.solvers import majorise
from cflengine.sentence_lasso.solvers.iterate import Iterate
from naive.sentence_lasso import Case, low_value, minus_gradient, random_case

EXACT = MajoriseSettings(tol=1e-9)


@pytest.fixture(scope="module")
def case() -> Case:
    return random_case(0, 40, 12)


def solved(case: Case):
    return majorise.solve(case.start(), EXACT)


def peer(case: Case, l1: float, ridge: float) -> LogisticRegression:
    """scikit-learn's C Σ loss + share ‖w‖₁ + (1 − share)/2 ‖w‖²; neither of its solvers penalises the intercept."""
    total = l1 + 2 * ridge
    kind = {} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "elasticnet"}
    model = LogisticRegression(
        C=1 / total, l1_ratio=l1 / total, solver="saga", tol=1e-9, max_iter=50_000, random_state=0, **kind
    )
    return model.fit(case.X, case.y)


@pytest.mark.parametrize(
    ("penalty", "l1", "ridge"), [("lasso", 1.0, 0.0), ("lasso", 0.2, 0.0), ("elastic", 0.5, 0.3), ("ridge", 0.0, 0.2)]
)
def test_without_sentences_it_is_scikit_learns_model(case, penalty, l1, ridge):
    lams = {"l1": l1 or 1.0, "l2": 2.0 * ridge or 1.0}
    model = PenalisedClassifier(penalty, **lams, tol=1e-9).fit(case.X, case.y)
    other = peer(case, l1, ridge)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=2e-4)
    assert model.duality_gap_ <= 1e-9
    problem = model.data_.problem(case.y, model.penalty_)
    value = problem.objective(other.coef_[0], float(other.intercept_[0]))
    assert value == pytest.approx(model.results_[0].objective, rel=1e-6)
    assert model.results_[0].lower_bound <= value


def test_frequency_weighted_elastic_net(case):
    """λ‖w‖₁ + ρ/2 Σ N_i w_i², by the conditions for its minimum."""
    lam, rho = 0.5, 0.1
    model = PenalisedClassifier("frequency", l1=lam, l2=rho, tol=1e-10).fit(case.X, case.y)
    w, b = model.coef_[0], float(model.intercept_[0])
    r = minus_gradient(case, w, b) - rho * case.X.sum(axis=0) * w
    assert w.any()
    np.testing.assert_allclose(r[w != 0], lam * np.sign(w[w != 0]), atol=1e-3)
    assert (np.abs(r) <= lam + 1e-3).all()
    reference = replace(case, lam_las=lam, lam_sen=0.0, kappa=rho * case.X.sum(axis=0))
    assert model.results_[0].objective == pytest.approx(low_value(reference), rel=1e-6)


def with_groups(case: Case, counts: np.ndarray, lam_sen: float) -> float:
    problem = replace(case.problem(), groups=merge_sentences(sparse.csr_matrix(counts)), lam_sen=lam_sen)
    return majorise.solve(Iterate(problem), EXACT).objective


def test_sentences_of_one_word_are_a_lasso(case):
    """λ_las + λ_sen; a word said k times in its sentence, √k λ_sen; a sentence k times, k λ_sen."""
    n = case.X.shape[1]
    eye = np.eye(n, dtype=int)
    lasso = solved(replace(case, lam_las=0.3 + 0.2, lam_sen=0.0)).objective
    assert with_groups(case, eye, 0.2) == pytest.approx(lasso, rel=1e-8)
    assert with_groups(case, 4 * eye, 0.1) == pytest.approx(lasso, rel=1e-8)
    assert with_groups(case, np.repeat(eye, 4, axis=0), 0.05) == pytest.approx(lasso, rel=1e-8)


def test_documents_as_sentences_are_the_default_of_a_matrix(case):
    lams = {"lam_sen": 0.1, "l1": 0.2, "tol": 1e-9}
    with pytest.warns(UserWarning, match="one group"):
        default = SentenceLassoClassifier(**lams).fit(case.X, case.y)
    given = SentenceLassoClassifier(**lams).fit(case.X, case.y, sentences=case.X)
    np.testing.assert_array_equal(default.coef_, given.coef_)
    other = SentenceLassoClassifier(**lams).fit(case.X, case.y, sentences=case.counts)
    assert other.results_[0].objective != pytest.approx(default.results_[0].objective, rel=1e-3)


def test_one_sentence_of_all_words_is_the_sparse_group_lasso():
    """At its minimum λ_sen w/‖w‖ + λ_las sign(w) is what pulls at the weights."""
    case = random_case(1, 30, 8)
    problem = replace(case.problem(), groups=merge_sentences(sparse.csr_matrix(np.ones((1, 8)))), lam_sen=1.0)
    result = majorise.solve(Iterate(problem), MajoriseSettings(tol=1e-11))
    w, there = result.w, result.w != 0
    expected = 1.0 * w / np.linalg.norm(w) + case.lam_las * np.sign(w)
    np.testing.assert_allclose(minus_gradient(case, w, result.bias)[there], expected[there], atol=1e-4)


def test_no_penalty_of_sentences_left_is_the_lasso(case):
    lasso = solved(replace(case, lam_sen=0.0)).objective
    assert solved(replace(case, lam_sen=1e-9)).objective == pytest.approx(lasso, rel=1e-6)


# changes that do not matter


@pytest.mark.parametrize("lam_sen", [0.0, 0.2])
def test_same_input_same_bytes(case, lam_sen):
    one, two = (solved(replace(case, lam_sen=lam_sen)) for _ in range(2))
    assert one.w.tobytes() == two.w.tobytes() and one.multipliers.tobytes() == two.multipliers.tobytes()
    assert (one.bias, one.objective, one.lower_bound) == (two.bias, two.objective, two.lower_bound)
    assert one.trace.drop(columns="elapsed_s").equals(two.trace.drop(columns="elapsed_s"))


def test_order_of_documents_sentences_and_words(case):
    expected = solved(case).objective
    rng = np.random.default_rng(0)
    documents = rng.permutation(len(case.y))
    number = np.argsort(documents)[case.document]
    order = np.lexsort((rng.random(len(number)), number))
    shuffled = replace(case, counts=case.counts[order], document=number[order], y=case.y[documents])
    assert solved(shuffled).objective == pytest.approx(expected, rel=1e-8)
    words = rng.permutation(case.X.shape[1])
    again = replace(case, counts=case.counts[:, words])
    assert solved(again).objective == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(solved(again).w, solved(case).w[words], atol=1e-3)


def test_classes_turned_round(case):
    turned = solved(replace(case, y=-case.y))
    assert turned.objective == pytest.approx(solved(case).objective, rel=1e-8)
    np.testing.assert_allclose(turned.w, -solved(case).w, atol=1e-3)


def test_everything_twice_at_twice_the_lam(case):
    """Sentences that come along are doubled already; sentences of their own need 2 λ_sen as well."""
    n = len(case.y)
    double = Case(
        np.vstack([case.counts] * 2), np.append(case.document, case.document + n), np.tile(case.y, 2),
        2 * case.lam_las, case.lam_sen, case.kappa,
    )  # fmt: skip
    expected = 2 * solved(case).objective
    assert solved(double).objective == pytest.approx(expected, rel=1e-8)
    assert with_groups(double, case.counts, 2 * case.lam_sen) == pytest.approx(expected, rel=1e-8)


def test_sparse_formats_and_repeated_entries(case):
    model = SentenceLassoClassifier(0.1, 0.2, tol=1e-9)
    expected = model.fit(case.X, case.y).results_[0].objective
    X = sparse.coo_matrix(case.X)
    twice = sparse.csr_matrix(
        (np.repeat(X.data / 2, 2), (np.repeat(X.row, 2), np.repeat(X.col, 2))), shape=X.shape, dtype=float
    )
    for same in (X, sparse.csc_matrix(case.X), sparse.csr_array(case.X), case.X.astype(np.float32), twice):
        found = model.fit(same, case.y).results_[0].objective
        assert found == pytest.approx(expected, rel=1e-8)
