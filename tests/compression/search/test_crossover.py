"""The combination of two covers against trying every combination."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.passes.binary import Coder
from cflengine.compression.search import crossover
from cflengine.compression.search.crossover import Differences, combine
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words, repeated_phrases, uneven_costs
from naive.crossover import best_combination, objective, segments, stored

KINDS = ["pointers free", "pointers as a word", "by length", "by pointer", "dictionary free", "external macro"]


def some_cover(index, costs, seed: int, extra: int = 0) -> np.ndarray:
    """The cheapest cover at random prices, with ``extra`` pointers too many."""
    rng = np.random.default_rng(seed)
    cover = Coder(index, costs).encode(rng.exponential(3.0, index.n_grams))
    there = np.argwhere(index.gram_of >= 0)
    for k, i in there[rng.integers(0, len(there), extra)]:
        cover[i] |= np.uint8(1 << k)
    return cover


def solution(index, costs, cover: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return cover, Coder(index, costs).evaluate(cover)[2]


def value_of(index, costs, cover: np.ndarray) -> float:
    value, covered, _, _ = binary_solution(cover, index.gram_of, costs)
    assert covered
    return value


def combined(index, costs, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return combine(index, costs, solution(index, costs, first), solution(index, costs, second))


def assert_best(index, costs, first, second, cover: np.ndarray, rel: float) -> None:
    """Of all combinations the cheapest, when what both store is paid in any case (see :func:`best_combination`)."""
    best, reachable = best_combination(first, second, index, costs)
    both = stored(first, index) & stored(second, index)
    assert objective(cover, index, costs, both) == pytest.approx(reachable, rel=rel)
    assert best * (1 - rel) <= value_of(index, costs, cover) <= reachable * (1 + rel)


def costs_for(index, kind: str, seed: int):
    return uneven_costs(index, seed) if kind == "by pointer" else costs_by_kind(index)[kind]


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 4), st.integers(0, 2))
def test_it_is_the_best_of_all_combinations(seed, kind, max_gram, extra):
    rng = np.random.default_rng(seed)
    index = index_of(random_words(seed, int(rng.integers(1, 5)), int(rng.integers(1, 6)), 4), max_gram)
    costs = costs_for(index, kind, seed)
    first, second = some_cover(index, costs, seed, extra), some_cover(index, costs, seed + 1, extra)
    cover = combined(index, costs, first, second)
    assert_best(index, costs, first, second, cover, 1e-7)
    for a, b in segments(first, second, index.doc_ptr):
        assert np.array_equal(cover[a:b], first[a:b]) or np.array_equal(cover[a:b], second[a:b])


@given(st.integers(0, 10**6), st.floats(-6, 11))
def test_it_is_the_best_at_every_scale_of_costs(seed, power):
    index = index_of(random_words(seed, 3, 4, 4), 3)
    scale = 10.0**power
    small = uneven_costs(index, seed)
    costs = replace(
        small,
        pointer_extra=small.pointer_extra * np.float32(scale),
        dictionary=small.dictionary * scale,
    )
    first, second = some_cover(index, small, seed), some_cover(index, small, seed + 1)
    assert_best(index, costs, first, second, combined(index, costs, first, second), 1e-6)


def test_what_both_store_is_dropped_by_chance_only():
    """The reference's two values are not always the same."""
    index = index_of(random_words(198, 3, 4, 4))
    costs = uneven_costs(index, 198)
    best, reachable = best_combination(some_cover(index, costs, 198), some_cover(index, costs, 199), index, costs)
    assert best < reachable - 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("corpus", SMALL)
def test_it_is_never_worse_than_the_better_parent_and_covers_everything(corpus, kind):
    for max_gram in (2, 3, 6):
        index = index_of(SMALL[corpus], max_gram)
        costs = costs_for(index, kind, 0)
        for seed in range(4):
            first, second = some_cover(index, costs, 2 * seed, seed), some_cover(index, costs, 2 * seed + 1)
            better = min(value_of(index, costs, first), value_of(index, costs, second))
            assert value_of(index, costs, combined(index, costs, first, second)) <= better * (1 + 1e-7)


def test_the_order_of_the_parents_does_not_change_the_value():
    index = index_of(SMALL["random words"])
    for seed in range(6):
        costs = uneven_costs(index, seed)
        first, second = some_cover(index, costs, seed), some_cover(index, costs, seed + 10)
        one, other = combined(index, costs, first, second), combined(index, costs, second, first)
        assert value_of(index, costs, one) == pytest.approx(value_of(index, costs, other), rel=1e-7)


@pytest.mark.parametrize("corpus", SMALL)
def test_identical_parents_are_their_own_combination(corpus):
    index = index_of(SMALL[corpus])
    costs = costs_of(index)
    cover = some_cover(index, costs, 3)
    before = cover.copy()
    result = combined(index, costs, cover, cover.copy())
    np.testing.assert_array_equal(result, before)
    result[:] = 0
    np.testing.assert_array_equal(cover, before, "the parent itself is left alone")


def test_solutions_without_a_common_gram():
    """Single words against words in pairs: one word shared by all documents decides for all of them."""
    index = index_of(["a b", "c b", "d b", "e b"], 2)
    singles = np.ones(index.n_tokens, dtype=np.uint8)
    pairs = np.tile(np.array([2, 0], dtype=np.uint8), 4)
    # singles: 8λ + 5; pairs: 4λ + 8; any mixture of m pairs: 8λ − mλ + 5 + m
    for lam, best in ((0.1, singles), (0.9, pairs), (0.7, singles), (3.0, pairs)):
        costs = costs_of(index, lam)
        first, second = (value_of(index, costs, cover) for cover in (singles, pairs))
        cover = combined(index, costs, singles, pairs)
        assert value_of(index, costs, cover) == pytest.approx(min(first, second))
        np.testing.assert_array_equal(cover, best)


def test_one_improvement_is_taken_out_of_many_losses():
    """What the docstring promises: better in one document, worse in all others."""
    texts = [f"x{i} y{i} z{i}" for i in range(30)]
    index = index_of(texts)
    costs = costs_of(index)
    good = np.tile(np.array([4, 0, 0], dtype=np.uint8), 30)
    first, second = good.copy(), np.ones(90, dtype=np.uint8)
    first[:3], second[:3] = 1, good[:3]
    cover = combined(index, costs, first, second)
    np.testing.assert_array_equal(cover, good)


@pytest.mark.parametrize("seed", range(4))
def test_without_costs_any_cover_will_do(seed):
    index = index_of(SMALL["random words"])
    costs = costs_of(index, 0.0, dictionary_cost=np.zeros(index.n_grams))
    cover = combined(index, costs, some_cover(index, costs, seed), some_cover(index, costs, seed + 1))
    assert value_of(index, costs, cover) == 0.0


@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("large", [1e3, 1e6, 1e9])
def test_a_gram_that_costs_more_than_everything_else_is_left_out(large, seed):
    """As one that is forbidden; beside it the other costs count as they do without it."""
    index = index_of(repeated_phrases(seed, 6, 3))
    costly = int(index.gram_of[0, 0])
    costs = costs_of(index)
    costs.dictionary[costly] = large
    first = np.ones(index.n_tokens, dtype=np.uint8)
    second = Coder(index, costs).encode(np.where(np.arange(index.n_grams) == costly, np.inf, 2.0))
    for parents in ((first, second), (second, first)):
        cover = combined(index, costs, *parents)
        assert costly in stored(first, index) and costly not in stored(cover, index)
        assert value_of(index, costs, cover) <= value_of(index, costs, second) * (1 + 1e-12)


# where covers differ


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 4))
def test_segments_and_their_costs_by_definition(seed, kind, max_gram):
    rng = np.random.default_rng(seed)
    texts = random_words(seed, int(rng.integers(1, 5)), int(rng.integers(1, 7)), 4)
    index = index_of(["", *texts, "", "w0"], max_gram)
    costs = costs_for(index, kind, seed)
    covers = [some_cover(index, costs, seed + i, int(rng.integers(0, 3))) for i in range(2)]
    used = [solution(index, costs, cover)[1] for cover in covers]
    only_one = (used[0] != used[1]).astype(np.uint8)
    found = Differences.of(index, costs, *covers, only_one)
    assert list(zip(found.first.tolist(), found.last.tolist(), strict=True)) == segments(*covers, index.doc_ptr)
    free = replace(costs, dictionary=np.zeros(index.n_grams))
    pairs = set()
    for s, (a, b) in enumerate(zip(found.first, found.last, strict=True)):
        inside = [np.where((np.arange(index.n_tokens) >= a) & (np.arange(index.n_tokens) < b), m, 0) for m in covers]
        one, other = (objective(cover.astype(np.uint8), index, free) for cover in inside)
        assert found.delta[s] == pytest.approx(other - one, abs=1e-9)
        for cover in inside:
            grams = {int(index.gram_of[k, i]) for i in range(a, b) for k in range(max_gram) if cover[i] >> k & 1}
            pairs |= {(s, g) for g in grams if only_one[g]}
    assert set(zip(found.segment.tolist(), found.gram.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("room", [1, 13, 40])
@pytest.mark.parametrize("corpus", SMALL)
def test_segments_listed_piece_by_piece_are_the_same(monkeypatch, corpus, room):
    index = index_of(SMALL[corpus])
    costs = uneven_costs(index)
    first, second = some_cover(index, costs, 1), some_cover(index, costs, 2)
    only_one = (solution(index, costs, first)[1] != solution(index, costs, second)[1]).astype(np.uint8)
    whole = Differences.of(index, costs, first, second, only_one)
    cover = combined(index, costs, first, second)
    monkeypatch.setattr(crossover, "_SEGMENTS", room)
    pieces = Differences.of(index, costs, first, second, only_one)
    for name in ("first", "last", "delta", "segment", "gram"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
        assert getattr(whole, name).dtype == getattr(pieces, name).dtype
    np.testing.assert_array_equal(combined(index, costs, first, second), cover)
