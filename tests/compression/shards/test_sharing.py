"""Which K-grams several shards have, and how what they cost is divided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.compression.shards.budgets import Budgets
from cflengine.text.kgrams import index_kgrams
from cflengine.text.shared_grams import SharedGrams, number_shared

DOCUMENTS = st.lists(st.lists(st.integers(0, 4), max_size=8), min_size=1, max_size=4)


def words_of(index):
    """Every K-gram as a tuple of tokens, in the index's order."""
    first = index.first_positions(np.arange(index.n_grams))
    lengths = index.lengths()
    return [tuple(index.tokens[i : i + k].tolist()) for i, k in zip(first, lengths, strict=True)]


def shard_of(documents, max_gram):
    ptr = np.cumsum([0, *map(len, documents)])
    return index_kgrams(np.array([t for one in documents for t in one], dtype=np.int32), ptr, max_gram)


def shared_of(index):
    first = index.first_positions(np.arange(index.n_grams))
    return SharedGrams(index.tokens, index.gram_of, index.len_ptr, first)


@settings(deadline=None, max_examples=60)
@given(st.lists(DOCUMENTS, min_size=2, max_size=4), st.integers(1, 4))
def test_shared_are_the_k_grams_that_two_shards_have(corpora, max_gram):
    indices = [shard_of(documents, max_gram) for documents in corpora]
    sharing, offset = [shared_of(index) for index in indices], 0
    for length in range(1, max_gram + 1):
        numbers, found = number_shared([one.names(length) for one in sharing], offset)
        for one, own in zip(sharing, numbers, strict=True):
            one.learn(own)
        offset += found
    words = [words_of(index) for index in indices]
    expected = {gram for own in words for gram in own if sum(gram in other for other in words) > 1}
    named: dict[int, tuple[int, ...]] = {}
    for one, own in zip(sharing, words, strict=True):
        grams, numbers = one.pairs()
        assert {own[g] for g in grams} == expected & set(own) and np.all(np.diff(numbers) > 0)
        for g, number in zip(grams, numbers, strict=True):
            assert named.setdefault(int(number), own[g]) == own[g]
    assert sorted(named) == list(range(offset)) and set(named.values()) == expected
    assert [len(named[i]) for i in range(offset)] == sorted(map(len, expected))


def budgets(cost=(2.0, 1.0, 3.0)):
    """Three shared K-grams, of which the shards have 0 and 1; 0 and 2; 0, 1 and 2."""
    numbers = [np.array([0, 1]), np.array([0, 2]), np.array([0, 1, 2])]
    counts = [np.array([3, 1]), np.array([1, 5]), np.array([4, 1, 5])]
    return Budgets(np.array(cost), numbers, counts)


def test_costs_are_divided_by_counts_first():
    found = budgets()
    np.testing.assert_allclose(found.share, [2 * 3 / 8, 0.5, 2 / 8, 1.5, 2 * 4 / 8, 0.5, 1.5])
    np.testing.assert_allclose(found.sum(found.share), found.cost, rtol=1e-6)
    assert [len(own) for own in found.by_shard(found.share)] == [2, 2, 3]
    np.testing.assert_array_equal(found.highest(np.array([1.0, 7, 5, 2, 3, 9, 4])), [5, 9, 4])
    np.testing.assert_array_equal(found.any(np.array([0, 1, 0, 0, 0, 0, 1])), [0, 1, 1])


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.floats(-3, 3), min_size=7, max_size=7),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 4.0]), min_size=3, max_size=3),
)
def test_the_projection_is_the_nearest_division(values, cost):
    found, v = budgets(), np.array(values)
    x = v.copy()
    found.project(x, np.array(cost))
    assert np.all(x >= 0)
    np.testing.assert_allclose(found.sum(x), cost, atol=1e-12)
    # the conditions of optimality: v − x is one number where x > 0, and at most that where x = 0
    for s in range(3):
        own = found.entry == s
        if (x[own] > 1e-12).any():
            level = (v[own] - x[own])[x[own] > 1e-12]
            np.testing.assert_allclose(level, level[0], atol=1e-9)
            assert np.all(v[own][x[own] <= 1e-12] <= level[0] + 1e-9)


def test_levels_move_costs_to_where_they_are_high():
    found, before = budgets(), budgets().share
    found.divide(np.array([1, 0, 0, 1, 0, 1, 0], dtype=np.float32), 0.25)
    assert np.all((found.share - before)[[0, 3, 5]] > 0) and np.all((found.share - before)[[1, 2, 4, 6]] < 0)
    np.testing.assert_allclose(found.sum(found.share), found.cost, rtol=1e-6)


def test_what_excesses_ask_for_is_given_and_the_rest_by_count():
    found = budgets()
    # of the first more than there is, of the others less
    excess = np.array([4.0, 0.25, 0, 1, 4, 0.25, 1], dtype=np.float32)
    asked = found.asked_for(excess)
    np.testing.assert_allclose(asked, [1, 0.5, 0, 1.5, 1, 0.5, 1.5], rtol=1e-6)
    np.testing.assert_allclose(found.sum(asked), found.cost, rtol=1e-6)


def test_other_costs_are_divided_as_those_before():
    found = budgets((2.0, 0.0, 3.0))
    part = found.share.copy()
    found.rescale(np.array([1.0, 0.0, 6.0]))
    np.testing.assert_allclose(found.share, part * np.array([0.5, 1, 0.5, 2, 0.5, 1, 2]), rtol=1e-6)


def test_nothing_shared_is_no_error():
    found = Budgets(np.zeros(0), [np.zeros(0, dtype=np.int64)] * 2, [np.zeros(0)] * 2)
    found.divide(np.zeros(0, dtype=np.float32), 0.5)
    assert found.highest(np.zeros(0)).size == found.asked_for(np.zeros(0)).size == 0
    assert found.any(np.zeros(0)).size == 0 and [len(own) for own in found.spread(np.zeros(0))] == [0, 0]


@pytest.mark.parametrize("names", [[[], []], [[1, 2], [3]], [[1], [1], [1]]])
def test_numbers_of_names(names):
    numbers, found = number_shared([np.array(own, dtype=np.uint64) for own in names], 7)
    assert found == (names[0] == [1]) and all(set(own) <= {-1, 7} for own in map(np.ndarray.tolist, numbers))


def test_values_that_are_nearly_the_level_end_the_projection():
    """Rounding may put one that was dropped above the level again: it is dropped for good."""
    rng = np.random.default_rng(0)
    size = 40_000
    numbers = [np.arange(size)] * 5
    many = Budgets(np.full(size, 0.1), numbers, [np.ones(size)] * 5)
    values = rng.choice(np.array([0.1, 0.2, 0.3, 0.7]), 5 * size) / 3.0
    many.project(values, rng.choice(np.array([0.1, 0.1 / 3, 0.2 / 3, 0.3]), size))
    assert np.all(values >= 0) and np.all(np.isfinite(values))
