"""The search at a fixed size and the linear relaxation: HiGHS says what the latter's optimum is, counting anew what
exchanges leave."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from cflengine.tokenizer import Candidates, Cutting, WordTable
from cflengine.tokenizer.certificate import dual_bound
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.relaxation import Relaxation

WORDS = st.dictionaries(st.text("abcd", min_size=1, max_size=9), st.integers(1, 300), min_size=2, max_size=15)


def candidates(words: dict[str, int], longest: int = 4) -> Candidates:
    return Candidates.of(WordTable.of(Counter(words), Cutting(unit="character")), longest)


def syllables() -> Candidates:
    """Words of a few syllables, whose counts differ by orders of magnitude."""
    draw = np.random.default_rng(0)
    parts = ["ab", "cab", "ba", "ca", "bra", "co", "x"]
    words = ["".join(draw.choice(parts, draw.integers(1, 5))) for _ in range(60)]
    return candidates({word: int(count) for word, count in zip(words, draw.pareto(0.6, 60) * 9 + 1, strict=True)}, 6)


def relaxed_optimum(pieces: Candidates, size: int) -> float:
    """Of (4) with as many pieces as ``size``, by HiGHS: the most that a bound of the relaxation can prove."""
    index, priced = pieces.index, pieces.many & ~pieces.required
    lengths, places = np.nonzero(index.gram_of >= 0)
    grams = index.gram_of[lengths, places]
    n, m, g = index.n_tokens, len(grams), index.n_grams
    rows = np.concatenate([np.arange(a, a + k + 1) for a, k in zip(places, lengths, strict=True)])
    cover = sparse.csr_matrix((np.ones(len(rows)), (rows, np.repeat(np.arange(m), lengths + 1))), shape=(n, m + g))
    bought = np.flatnonzero(priced[grams])
    ones, at = np.ones(len(bought)), np.arange(len(bought))
    use = sparse.csr_matrix(
        (np.concatenate([ones, -ones]), (np.tile(at, 2), np.concatenate([bought, m + grams[bought]]))),
        shape=(len(bought), m + g),
    )  # fmt: skip
    budget = sparse.csr_matrix(np.concatenate([np.zeros(m), priced])[None, :])
    cost = np.concatenate([pieces.unit_counts[places], np.zeros(g)])
    found = linprog(
        cost, A_ub=sparse.vstack([use, budget]), b_ub=np.append(np.zeros(len(bought)), size), A_eq=cover,
        b_eq=np.ones(n), bounds=(0, 1), method="highs",
    )  # fmt: skip
    assert found.status == 0
    return found.fun


def relaxed(pieces: Candidates, size: int, mu: float, steps: int) -> tuple[Relaxation, float]:
    """The relaxation after so many steps, and the best bound, each recomputed from the words."""
    relaxation = Relaxation(pieces, size, mu, 0.01, np.zeros(pieces.index.n_tokens))
    best = 0
    for _ in range(steps // 25):
        for _ in range(25):
            relaxation.step()
        for bound, alpha in relaxation.bounds():
            cost = pieces.group_cost(relaxation.mu)
            proved = dual_bound(pieces.index.gram_of, pieces.unit_counts, cost, alpha) - relaxation.mu * size
            assert bound == pytest.approx(max(proved, 0), abs=1 + 1e-5 * abs(proved))
            best = max(best, bound)
    return relaxation, best


@pytest.mark.parametrize("size", [3, 12, 40])
def test_the_relaxation_is_solved(size):
    pieces = syllables()
    optimum = relaxed_optimum(pieces, size)
    relaxation, best = relaxed(pieces, size, 30.0, 3000)
    assert best <= np.ceil(optimum * (1 + 1e-9))
    assert best >= 0.997 * optimum
    assert relaxation.levels[pieces.many].sum() == pytest.approx(size, rel=0.1)
    assert np.count_nonzero(relaxation.rounded()) == size


def test_pieces_that_overlap_are_no_help():
    """With overlap "abc" and "cde" would make up "abcde" in two; the bound knows that they do not."""
    pieces = candidates({"abcde": 10, "abc": 10, "cde": 10}, 3)
    only = pieces.only(pieces.find([Cutting(unit="character").units(word) for word in ("abc", "cde")]))
    _, best = relaxed(only, 2, 5.0, 2000)
    assert best >= 49  # 30 + 10 + 10; with overlap 40
    assert relaxed_optimum(only, 2) == pytest.approx(50)


@given(WORDS, st.integers(0, 6), st.floats(0.1, 400.0))
@settings(max_examples=40, deadline=None)
def test_no_bound_is_above_the_optimum(words, size, mu):
    pieces = candidates(words)
    size = min(max(size, 1), max(int(pieces.many.sum()), 1))
    _, best = relaxed(pieces, size, mu, 75)
    assert best <= np.ceil(relaxed_optimum(pieces, size) * (1 + 1e-9) - 1e-6)


def check(exchange: Exchange) -> None:
    """What it says of its vocabulary is so."""
    anew = Exchange(exchange.pieces, exchange.present)
    assert exchange.tokens == anew.tokens
    np.testing.assert_array_equal(exchange.worth, anew.worth)


@given(WORDS, st.data())
@settings(max_examples=60, deadline=None)
def test_moves_keep_the_accounts(words, data):
    every = candidates(words)
    required = data.draw(st.sets(st.integers(0, every.index.n_grams - 1), max_size=3))
    pieces = every.requiring(np.isin(np.arange(every.index.n_grams), list(required)))
    most, least = int(pieces.many.sum()), int(pieces.required.sum())
    exchange = Exchange(pieces)
    for _ in range(3):
        size = data.draw(st.integers(least, most))
        exchange.resize(size)
        assert exchange.size == size
        check(exchange)
        before = exchange.tokens
        exchange.improve(lambda: True)
        exchange.oscillate(lambda: True, 0.0)
        assert exchange.size == size and exchange.tokens <= before
        assert (exchange.present[pieces.required] > 0).all()
        check(exchange)


@pytest.mark.parametrize("asked", range(1, 30, 3))
def test_a_search_that_is_stopped_keeps_the_accounts(asked):
    left = [asked]

    def poll() -> bool:
        left[0] -= 1
        return left[0] > 0

    exchange = Exchange(syllables())
    exchange.resize(20, poll)
    exchange.improve(poll)
    exchange.oscillate(poll, 0.0)
    check(exchange)


def test_whole_texts_are_searched_many_pieces_at_once():
    """Where each piece is in most of the words, to cut anew those that have it is to cut all of them."""
    draw = np.random.default_rng(1)
    texts = {"".join(draw.choice(["ab", "cab", "ba", "ca", "bra", "co"], 80)): 1 for _ in range(40)}
    exchange = Exchange(candidates(texts, 8))
    exchange.resize(500)
    assert exchange.size == 500
    before = exchange.tokens
    exchange.improve(lambda: True)
    assert exchange.size == 500 and exchange.tokens <= before
    check(exchange)
