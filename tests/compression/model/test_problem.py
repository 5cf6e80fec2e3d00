"""The mathematics of problem.py: coverage by definition, Theorem 1, costs and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigvals_banded

from cflengine.compression.model.problem import (
    StorageCosts,
    check_lam,
    coverage_matrix,
    external_macro_costs,
    group_maxima,
    objective,
    spectral_bound,
    storage_costs,
)
from naive.corpora import SMALL, costs_of, index_of, random_words, uneven_costs
from naive.cover import coverage


def spectral_norm_squared(index) -> float:
    """The largest eigenvalue of XXᵀ, which has K − 1 diagonals on either side of the main one."""
    X = coverage_matrix(index.gram_of)
    product = (X @ X.T).tocsr()
    K, n = min(index.max_gram, index.n_tokens), index.n_tokens
    diagonals = np.array([np.pad(product.diagonal(k), (k, 0)) for k in range(K - 1, -1, -1)])
    return float(eigvals_banded(diagonals, select="i", select_range=(n - 1, n - 1))[0])


@pytest.mark.parametrize("max_gram", range(1, 9))
@pytest.mark.parametrize("kind", SMALL)
def test_theorem_1_bounds_the_spectral_norm(kind, max_gram):
    assert spectral_norm_squared(index_of(SMALL[kind], max_gram)) <= spectral_bound(max_gram) * (1 + 1e-9)


@pytest.mark.parametrize("max_gram", range(1, 9))
def test_theorem_1_is_tight_for_long_documents(max_gram):
    short, long = (spectral_norm_squared(index_of(random_words(0, 1, n, 50), max_gram)) for n in (60, 600))
    assert spectral_bound(max_gram) * (1 - 1e-3) <= long <= spectral_bound(max_gram) * (1 + 1e-9)
    assert short < long or max_gram == 1


@pytest.mark.parametrize("max_gram", range(1, 9))
def test_spectral_bound_is_the_sum_of_squares(max_gram):
    assert spectral_bound(max_gram) == sum(k * k for k in range(1, max_gram + 1))
    assert spectral_bound(max_gram) == pytest.approx(max_gram**3 / 3 + max_gram**2 / 2 + max_gram / 6)


@pytest.mark.parametrize("kind", ["many short documents", "documents between empty ones"])
@pytest.mark.parametrize("max_gram", [1, 3, 5])
def test_coverage_matrix_covers_by_definition(kind, max_gram):
    index = index_of(SMALL[kind], max_gram)
    w = np.random.default_rng(0).uniform(size=index.gram_of.shape)
    pointers = {(int(k) + 1, int(i)): w[k, i] for k, i in np.argwhere(index.gram_of >= 0)}
    # entries that are no pointers must count for nothing
    np.testing.assert_allclose(coverage_matrix(index.gram_of) @ w.ravel(), coverage(pointers, index.n_tokens))


def test_objective_and_maxima_by_definition():
    index = index_of(SMALL["many short documents"], 3)
    costs = uneven_costs(index)
    w = np.random.default_rng(1).uniform(size=index.gram_of.shape)
    maxima, pointer_cost = [0.0] * index.n_grams, 0.0
    for k, i in itertools.product(range(3), range(index.n_tokens)):
        gram = index.gram_of[k, i]
        if gram >= 0:
            maxima[gram] = max(maxima[gram], w[k, i])
            pointer_cost += w[k, i] * (costs.pointer_by_length[k] + costs.pointer_extra[k, i])
    np.testing.assert_array_equal(group_maxima(w, index.gram_of, index.n_grams), maxima)
    assert objective(w, index.gram_of, costs) == pytest.approx(pointer_cost + np.dot(maxima, costs.dictionary))


@given(st.floats(0, 1e6))
def test_lam_within_range_is_taken_as_it_is(lam):
    assert check_lam(lam) == lam and type(check_lam(np.float32(0.5))) is float


@pytest.mark.parametrize(
    "lam", [-1e-9, -1, math.nan, math.inf, -math.inf, 1.1e6, 10**400, "1", "one", None, [1.0], 1j],
    ids=["just below", "-1", "nan", "inf", "-inf", "above", "huge", "digits", "word", "None", "list", "complex"],
)  # fmt: skip
def test_lam_that_is_no_number_from_0_to_a_million_raises(lam):
    with pytest.raises(ValueError, match="lam"):
        check_lam(lam)


def test_costs_default_to_lam_and_words():
    index = index_of(["a b c"], 3)
    costs = costs_of(index, 0.7)
    assert costs.pointer_by_length.tolist() == [0.7] * 3 and costs.pointer_extra.size == 0
    assert costs.dictionary.tolist() == [1, 1, 1, 2, 2, 3]


def test_external_macro_costs():
    index = index_of(["a b c"], 3)
    costs = external_macro_costs(index.gram_of, index.lengths(), 2.0, 0.5)
    assert costs.pointer_by_length.tolist() == [0.5, 2.0, 2.0]
    assert costs.dictionary.tolist() == [0, 0, 0, 2, 2, 3]


def test_costs_by_pointer_count_for_pointers_only():
    index = index_of(["a b", "c"], 2)
    prices = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, -5.0]])  # pointers of length 2 exist at token 0 alone
    costs = costs_of(index, pointer_cost=prices)
    assert costs.pointer_extra.tolist() == [[1, 2, 3], [4, 0, 0]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"pointer_cost": np.ones(2)},
        {"pointer_cost": np.ones((3, 5))},
        {"pointer_cost": np.array([1.0, -0.1, 1.0])},
        {"pointer_cost": np.array([1.0, np.nan, 1.0])},
        {"pointer_cost": np.array([[1, 1, -1], [1, 1, 1], [1, 1, 1]])},
        {"pointer_cost": np.full((3, 3), np.inf)},
        {"dictionary_cost": np.ones(5)},
        {"dictionary_cost": -np.ones(6)},
        {"dictionary_cost": np.full(6, np.nan)},
        {"dictionary_cost": np.full(6, np.inf)},
    ],
    ids=lambda wrong: "-".join(f"{key}{np.shape(value)}" for key, value in wrong.items()),
)
def test_wrong_shapes_and_impossible_costs_raise(wrong):
    index = index_of(["a b c"], 3)
    with pytest.raises(ValueError, match="cost"):
        storage_costs(index.gram_of, index.lengths(), 1.0, **wrong)


def test_a_rebate_by_pointer_may_not_make_a_cost_negative():
    StorageCosts(np.array([1.0]), np.array([[-1.0, 0.0]], dtype=np.float32), np.ones(1))
    with pytest.raises(ValueError, match="negative"):
        StorageCosts(np.array([1.0]), np.array([[-1.5, 0.0]], dtype=np.float32), np.ones(1))
