"""What must not matter does not: threads, chunks of time, order and copies of documents, spelling of tokens."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from cflengine.text.kgrams import index_kgrams
from naive.corpora import SMALL, costs_of, index_of, random_words, repeated_phrases
from naive.programs import solve_relaxation

SHORT = HomotopySettings(relaxation_iterations=45, stage_iterations=3, zeta_step=0.25, keep_stages=True)
TIGHT = HomotopySettings(
    rho=0.3, rho_factor=1.0, residual_tol=1e-7, relaxation_gap=1e-3, relaxation_iterations=2000, last_zeta=0.0
)


def assert_same_bytes(one, other) -> None:
    np.testing.assert_array_equal(one.cover, other.cover)
    np.testing.assert_array_equal(one.alpha, other.alpha)
    np.testing.assert_array_equal(one.dictionary, other.dictionary)
    assert one.certificate == other.certificate and one.digest == other.digest
    assert (one.relaxation, one.relaxation_upper, one.reason) == (
        other.relaxation,
        other.relaxation_upper,
        other.reason,
    )
    assert one.trace.drop(columns="elapsed_s").equals(other.trace.drop(columns="elapsed_s"))
    for a, b in zip(one.stages, other.stages, strict=True):
        assert a.summary() == b.summary()
        np.testing.assert_array_equal(a.cover, b.cover)
        np.testing.assert_array_equal(a.weights, b.weights)


@pytest.fixture(scope="module")
def several_blocks():
    """30,000 tokens: a dozen blocks and bins, so that threads have something to disagree on."""
    index = index_of(random_words(5, 600, 50, 2_000), 3)
    return index, costs_of(index)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this machine has one core")
def test_one_thread_and_two_give_the_same_bytes(several_blocks):
    one, two = (solve_homotopy(*several_blocks, SHORT, n_threads=n) for n in (1, 2))
    assert_same_bytes(one, two)


def test_a_second_run_gives_the_same_bytes(several_blocks):
    assert_same_bytes(*(solve_homotopy(*several_blocks, SHORT) for _ in range(2)))


SOLVES = {
    "homotopy": lambda index, costs: solve_homotopy(index, costs, TIGHT),
    "guided": lambda index, costs: solve_guided(index, costs, GuidedSettings(branching=False)),
}


def solved(solver: str, texts: list[str], lam: float = 1.0):
    """A solution, and the relaxation's optimum by HiGHS."""
    index = index_of(texts)
    costs = costs_of(index, lam)
    return SOLVES[solver](index, costs), solve_relaxation(index, costs).value


def assert_bracket(result, optimum: float) -> None:
    assert result.lower_bound <= optimum * (1 + 1e-7)
    if result.solver == "guided":
        assert optimum * (1 - 2e-3) <= result.lower_bound and optimum <= result.objective * (1 + 1e-7)
    else:  # nothing but the relaxation is solved, from both sides
        assert optimum <= result.relaxation_upper * (1 + 1e-6)
        assert result.relaxation_upper / result.lower_bound - 1 <= 1e-3


@pytest.mark.parametrize("solver", SOLVES)
@pytest.mark.parametrize("kind", ["repeated phrases", "random words", "documents between empty ones"])
def test_order_of_documents_does_not_change_the_problem(kind, solver):
    texts = SMALL[kind]
    shuffled = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))]
    (one, optimum), (other, optimum_of_other) = solved(solver, texts), solved(solver, shuffled)
    assert optimum == pytest.approx(optimum_of_other, rel=1e-8)
    assert_bracket(one, optimum)
    assert_bracket(other, optimum)
    assert one.objective == pytest.approx(other.objective, rel=0.02)


@pytest.mark.parametrize("solver", SOLVES)
@pytest.mark.parametrize("kind", ["repeated phrases", "random words"])
def test_every_document_twice_is_every_pointer_at_twice_the_price(kind, solver):
    """Copies share their dictionary, and by symmetry may be compressed alike."""
    texts = SMALL[kind]
    (doubled, optimum), (costlier, optimum_of_costlier) = solved(solver, texts * 2, 1.0), solved(solver, texts, 2.0)
    assert optimum == pytest.approx(optimum_of_costlier, rel=1e-8)
    assert_bracket(doubled, optimum)
    assert_bracket(costlier, optimum)
    assert doubled.objective == pytest.approx(costlier.objective, rel=0.02)


@pytest.mark.parametrize("solver", SOLVES)
def test_corpora_without_common_words_add_up(solver):
    one, other = SMALL["repeated phrases"], SMALL["random words"]
    (first, a), (second, b), (both, total) = (solved(solver, texts) for texts in (one, other, one + other))
    assert total == pytest.approx(a + b, rel=1e-8)
    assert_bracket(both, total)
    if solver == "guided":
        assert both.objective == pytest.approx(first.objective + second.objective, rel=0.02)


def test_numbers_of_tokens_do_not_matter():
    index = index_of(repeated_phrases(0, 30, 5))
    renumbered = index_kgrams(np.int32(2**31 - 1) - 7 * index.tokens, index.doc_ptr, 3)
    settings = replace(SHORT, keep_stages=False)
    one, other = (solve_homotopy(i, costs_of(i), settings) for i in (index, renumbered))
    np.testing.assert_array_equal(one.cover, other.cover)
    np.testing.assert_array_equal(one.alpha, other.alpha)


def test_digest_tells_corpora_words_and_lengths_of_gram_apart():
    corpora = [(["a b c", "a b"], 2), (["a b c", "a b"], 3), (["a b", "c a b"], 2), (["a b c", "a c"], 2)]
    corpora += [(["cats eat cats"], 2), (["dogs run dogs"], 2), (["x y", "x"], 2), (["x y x"], 2)]
    digests = [CompressiveFeatures(max_gram=K).fit(texts).result_.digest for texts, K in corpora]
    assert len(set(digests)) == len(corpora) and all(len(digest) == 16 for digest in digests)
