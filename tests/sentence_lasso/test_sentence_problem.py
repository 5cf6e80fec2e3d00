"""The problem itself: against M with a row for every token, merged sentences, and where w = 0 solves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cflengine.sentence_lasso.model.problem import (
    SentenceProblem,
    lam_max,
    merge_sentences,
    no_sentences,
    soft_threshold,
)
from cflengine.sentence_lasso.solvers import majorise
from cflengine.sentence_lasso.solvers.settings import MajoriseSettings
from naive.sentence_lasso import Case, cases, low_value, minus_gradient, random_case


@given(cases(), st.integers(0, 1000))
def test_objective_is_that_of_a_matrix_with_a_row_for_every_token(case, seed):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=case.counts.shape[1]) * rng.integers(0, 2, case.counts.shape[1]), rng.normal()
    assert case.problem().objective(w, b) == pytest.approx(case.objective(w, b), rel=1e-12)


def test_a_word_twice_in_a_sentence_counts_square_root_of_two():
    counts = np.array([[2, 0], [0, 1]])
    case = Case(counts, np.array([0, 1]), np.array([1.0, -1.0]), 0.5, 1.0, np.zeros(2))
    problem = case.problem()
    np.testing.assert_allclose(problem.groups.copies(np.array([3.0, 4.0])), [3 * np.sqrt(2), 4.0])
    assert problem.penalty(np.array([3.0, 4.0])) == pytest.approx(0.5 * 7 + 3 * np.sqrt(2) + 4)


@given(cases(sentences=True))
def test_merging_keeps_every_sentence(case):
    """Each sentence's features and counts are its group's, a group's weight is the number of its sentences."""
    groups = merge_sentences(sparse.csr_matrix(case.counts))
    assert len(groups.of_sentence) == len(case.counts)
    for row, g in zip(case.counts, groups.of_sentence, strict=True):
        if g < 0:
            assert not row.any()
            continue
        at = slice(groups.ptr[g], groups.ptr[g + 1])
        assert groups.feature[at].tolist() == np.flatnonzero(row).tolist()
        assert groups.count[at].tolist() == row[row > 0].tolist()
    present = groups.of_sentence[groups.of_sentence >= 0]
    assert groups.weight.tolist() == np.bincount(present, minlength=groups.n_groups).tolist()
    assert groups.n_groups == len({tuple(row) for row in case.counts if row.any()})
    assert present.tolist() == [] or present[0] == 0  # groups in the order of their first sentences
    assert groups.weighted_occurrences(case.counts.shape[1]).tolist() == case.counts.sum(axis=0).tolist()


def test_equal_sentences_are_one_group_and_empty_ones_none():
    groups = merge_sentences(sparse.csr_matrix([[1, 2, 0], [0, 0, 0], [0, 1, 1], [1, 2, 0], [2, 1, 0]]))
    assert groups.of_sentence.tolist() == [0, -1, 1, 0, 2] and groups.weight.tolist() == [2, 1, 1]
    assert groups.occurrences(3).tolist() == [3, 4, 1]


def test_no_sentence_with_a_word_is_no_group():
    for counts in (sparse.csr_matrix((0, 3)), sparse.csr_matrix((4, 3))):
        groups = merge_sentences(counts)
        assert groups.n_groups == 0 and groups.of_sentence.tolist() == [-1] * counts.shape[0]
        assert groups.norms(groups.copies(np.ones(3))).shape == (0,) and not groups.gathered(np.zeros(0), 3).any()


def test_order_explicit_zeros_and_repeated_entries_make_no_other_sentence():
    """The same sentence, its entries in another order, in two parts, beside a stored zero."""
    rows = sparse.csr_matrix(
        (np.array([2.0, 1.0, 1.0, 1.0, 1.0, 0.0]), np.array([0, 2, 2, 0, 0, 1]), np.array([0, 2, 6])), shape=(2, 3)
    )
    assert merge_sentences(rows).of_sentence.tolist() == [0, 0]


def test_merging_leaves_the_matrix_as_it_was():
    arrays = np.array([1.0, 2.0, 0.0, 3.0, 1.0]), np.array([2, 0, 1, 1, 1], np.int32), np.array([0, 3, 5], np.int32)
    counts = sparse.csr_matrix(tuple(array.copy() for array in arrays), shape=(2, 3))
    merge_sentences(counts)
    for array, after in zip(arrays, (counts.data, counts.indices, counts.indptr), strict=True):
        np.testing.assert_array_equal(after, array)


@given(cases(sentences=True), st.integers(0, 1000))
def test_gathered_is_the_adjoint_of_copies(case, seed):
    groups, n_features = case.problem().groups, case.counts.shape[1]
    rng = np.random.default_rng(seed)
    w, u = rng.normal(size=n_features), rng.normal(size=len(groups.feature))
    assert groups.copies(w) @ u == pytest.approx(w @ groups.gathered(u, n_features))


def test_norms_are_those_of_each_sentences_tokens():
    case = random_case(0)
    groups, w = case.problem().groups, np.random.default_rng(0).normal(size=30)
    copies = case.M @ w
    expected = [np.linalg.norm(copies[case.tokens[:, 0] == s]) for s in range(len(case.counts))]
    np.testing.assert_allclose(groups.norms(groups.copies(w))[groups.of_sentence], expected)


@pytest.mark.parametrize("seed", range(3))
def test_from_lam_max_on_no_feature_has_a_weight(seed):
    case = random_case(seed)
    start = case.start()
    top = lam_max(case.problem(), minus_gradient(case, start.w, start.bias))
    assert top == pytest.approx(np.abs(case.X.T @ (case.y * 0.5)).max())  # classes of one size: α = ½
    for lam_sen in (0.0, 0.2):
        above = replace(case, lam_las=top * (1 + 1e-9), lam_sen=lam_sen)
        result = majorise.solve(above.start(), MajoriseSettings(tol=1e-10))
        assert not result.w.any() and result.gap <= 1e-10
        assert low_value(above) >= result.objective - 1e-7
    below = replace(case, lam_las=top * 0.99, lam_sen=0.0)
    assert majorise.solve(below.start(), MajoriseSettings(tol=1e-8)).w.any()


def test_without_penalty_on_a_feature_there_is_no_problem():
    X, y = sparse.csr_matrix(np.eye(2)), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="quadratic"):
        SentenceProblem(X, y, no_sentences(), 0.0, 0.0, np.array([1.0, 0.0]))
    first_only = merge_sentences(sparse.csr_matrix([[1.0, 0.0]]))
    for groups, lam_sen in ((first_only, 1.0), (merge_sentences(X), 0.0)):
        with pytest.raises(ValueError, match="or a sentence"):
            SentenceProblem(X, y, groups, 0.0, lam_sen, np.zeros(2))
    assert SentenceProblem(X, y, no_sentences(), 0.0, 0.0, np.ones(2)).smooth
    assert not SentenceProblem(X, y, merge_sentences(X), 0.0, 1.0, np.zeros(2)).smooth
    assert not SentenceProblem(X, y, first_only, 0.0, 1.0, np.array([0.0, 1.0])).smooth


@given(st.floats(-5, 5), st.floats(0, 3))
def test_soft_threshold_minimises_its_problem(x, lam):
    v = np.linspace(-6, 6, 2401)
    best = float(soft_threshold(np.array([x]), lam)[0])
    assert 0.5 * (best - x) ** 2 + lam * abs(best) <= (0.5 * (v - x) ** 2 + lam * np.abs(v)).min() + 1e-12
