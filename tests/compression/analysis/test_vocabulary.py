"""A dictionary that a user brings: encoded as well as it can be, never worse than without it, matched word by word."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.compression.analysis.foreign_vocabulary import encode_with_vocabulary, match_sequences, match_vocabulary
from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.binary import Coder
from cflengine.engine.jit import threads
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.text.tokens import Tokenizer
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words
from naive.cover import by_document, cheapest, cheapest_cover, prices_from
from naive.programs import solve_exactly
from naive.text import occurrences


def naive_cost(index: KGramIndex, costs: StorageCosts, allowed: np.ndarray) -> float:
    """Storing all K-grams of ``allowed`` and the cheapest pointers with them."""
    d = costs.pointer_by_length[:, None] + (costs.pointer_extra if costs.pointer_extra.size else 0.0)
    price = np.where((index.gram_of >= 0) & allowed[index.gram_of], d, np.inf)
    parts = by_document(prices_from(price), index.doc_ptr.tolist())
    return sum(cheapest(part, length) for part, length in parts) + costs.dictionary[allowed].sum()


def best_use(index: KGramIndex, costs: StorageCosts, chosen: np.ndarray) -> tuple[float, np.ndarray]:
    """The cheapest solution whose K-grams are single words and ``chosen``, by trying all dictionaries."""
    candidates = np.flatnonzero(chosen | (np.arange(index.n_grams) < index.len_ptr[1]))
    best, best_dictionary = np.inf, np.zeros(index.n_grams, dtype=bool)
    for subset in chain.from_iterable(combinations(candidates, size) for size in range(len(candidates) + 1)):
        allowed = np.zeros(index.n_grams, dtype=bool)
        allowed[list(subset)] = True
        cost = naive_cost(index, costs, allowed)
        if cost < best:
            best, best_dictionary = cost, allowed
    return best, best_dictionary


def naive_use(index: KGramIndex, costs: StorageCosts, chosen: np.ndarray) -> float:
    """The recipe of foreign_vocabulary.py word for word; its objective."""
    c, words = costs.dictionary, np.arange(index.n_grams) < index.len_ptr[1]

    def encoded(price: np.ndarray) -> tuple[float, Counter]:
        """Objective and uses of each K-gram, of the cheapest pointers at the prices d + price."""
        d = np.broadcast_to(costs.pointer_by_length[:, None], index.gram_of.shape)
        total = np.where(index.gram_of >= 0, d + price[index.gram_of], np.inf)
        uses, first, paid = Counter(), 0, 0.0
        for part, length in by_document(prices_from(total), index.doc_ptr.tolist()):
            pointers = cheapest_cover(part, length, index.max_gram)
            uses.update(int(index.gram_of[k - 1, first + i]) for k, i in pointers)
            paid += sum(costs.pointer_by_length[k - 1] for k, _ in pointers)
            first += length
        return paid + c[list(uses)].sum(), uses

    found = [encoded(np.where(words, 0.0, np.inf))[0]]
    for start in (0 * c, c / index.counts()):
        _, uses = encoded(np.where(chosen, start, np.where(words, c, np.inf)))
        value, uses = encoded(np.where(np.array([uses[s] for s in range(index.n_grams)]) > 0, 0.0, np.inf))
        while True:
            used = np.array([uses[s] for s in range(index.n_grams)])
            _, priced = encoded(np.where(chosen | words, c / np.maximum(used, 1), np.inf))
            kept = np.array([priced[s] for s in range(index.n_grams)]) > 0
            better, better_uses = encoded(np.where(kept, 0.0, np.inf))
            if not better < value:
                break
            value, uses = better, better_uses
        found.append(value)
    return min(found)


TINY = (
    ["a b c a b c", "b c a b"],
    ["a b a b a b a", "b b"],
    ["a a a a a", "a a"],
    ["x a b y", "z a b x a b"],
    ["a b", "a b", "a b", "a"],
)


def check(index: KGramIndex, costs: StorageCosts, grams: np.ndarray) -> float:
    """What every answer must be: a cover by allowed K-grams, its objective told truly; the objective."""
    cover, objective, used = encode_with_vocabulary(index, costs, grams)
    value, covered, _, in_use = binary_solution(cover, index.gram_of, costs)
    assert covered and value == pytest.approx(objective)
    np.testing.assert_array_equal(used > 0, in_use)
    assert np.all(grams[used > 0] | (np.flatnonzero(used) < index.len_ptr[1]))
    coder = Coder(index, costs)
    words = coder.evaluate(coder.single_words())[0]
    assert objective <= words
    return objective


@pytest.mark.parametrize("lam", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("texts", TINY, ids=" | ".join)
def test_between_the_best_use_and_the_plain_encoding(texts, lam):
    index = index_of(texts, 3)
    costs = costs_of(index, lam)
    rng = np.random.default_rng(0)
    for share in (0.2, 0.5, 0.8):
        chosen = rng.random(index.n_grams) < share
        multiword = np.flatnonzero(chosen & (np.arange(index.n_grams) >= index.len_ptr[1]))
        chosen[multiword[6:]] = False  # all subsets are tried
        objective = check(index, costs, chosen)
        best, _ = best_use(index, costs, chosen)
        words = np.arange(index.n_grams) < index.len_ptr[1]
        assert best - 1e-9 <= objective <= naive_cost(index, costs, chosen | words) + 1e-9


@pytest.mark.parametrize("lam", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("texts", TINY, ids=" | ".join)
def test_an_optimal_dictionary_gives_the_optimum(texts, lam):
    index = index_of(texts, 2)
    costs = costs_of(index, lam)
    optimum, dictionary = best_use(index, costs, np.ones(index.n_grams, dtype=bool))
    assert optimum == pytest.approx(solve_exactly(index, costs))
    _, objective, used = encode_with_vocabulary(index, costs, dictionary)
    assert objective == pytest.approx(optimum)
    assert not (used.astype(bool) & ~dictionary).any()


@pytest.mark.parametrize("kind", SMALL)
def test_any_dictionary_at_any_costs(kind):
    index = index_of(SMALL[kind])
    rng = np.random.default_rng(1)
    for costs in costs_by_kind(index).values():
        for grams in (np.zeros(index.n_grams, bool), np.ones(index.n_grams, bool), rng.random(index.n_grams) < 0.3):
            check(index, costs, grams)


@pytest.mark.parametrize("kind", SMALL)
def test_without_a_phrase_it_is_single_words(kind):
    index = index_of(SMALL[kind])
    costs = costs_of(index)
    cover, objective, used = encode_with_vocabulary(index, costs, np.zeros(index.n_grams, dtype=np.uint8))
    np.testing.assert_array_equal(cover, np.ones(index.n_tokens, dtype=np.uint8))
    assert objective == index.n_tokens + index.len_ptr[1]
    assert used.sum() == index.len_ptr[1]


@pytest.mark.parametrize("lam", [0.3, 1.0, 2.5])
@pytest.mark.parametrize(
    "kind", ["random words", "repeated phrases", "one long document", "documents between empty ones"]
)
def test_it_is_the_recipe_of_its_docstring(kind, lam):
    index = index_of(SMALL[kind])
    rng = np.random.default_rng(2)
    for share in (0.3, 0.7, 1.0):
        chosen = rng.random(index.n_grams) < share
        # costs such that sums are exact where prices are not shared out
        costs = costs_of(index, lam, dictionary_cost=rng.integers(1, 24, index.n_grams) / 8)
        _, objective, _ = encode_with_vocabulary(index, costs, chosen)
        assert objective == pytest.approx(naive_use(index, costs, chosen), rel=1e-12)


def test_a_phrase_that_does_not_pay_is_pruned_and_one_that_pays_is_kept():
    texts = ["the quick brown fox"] * 9 + ["one two three four", "quick brown"]
    index = index_of(texts, 4)
    table = Tokenizer()(texts)
    grams, unmatched = match_vocabulary(table, index, ["one two three four", "the quick brown fox"], Tokenizer())
    _, objective, used = encode_with_vocabulary(index, costs_of(index, 0.5), grams)
    # 9 pointers and 4 words; "one two three four" at 0.5 + 4 instead of 4 x 1.5; two single words
    assert not unmatched and objective == 9 * 0.5 + 4 + (0.5 + 4) + 2 * 1.5
    costly = costs_of(index, 0.5, dictionary_cost=np.where(index.lengths() == 4, 7.0, 1.0))
    _, objective, used = encode_with_vocabulary(index, costly, grams)
    kept = np.flatnonzero(used)[index.lengths()[np.flatnonzero(used)] == 4]
    assert len(kept) == 1 and index.counts()[kept[0]] == 9


def test_same_bytes_for_any_number_of_threads():
    index = index_of(random_words(7, 400, 40, 60), 3)
    costs, grams = costs_of(index), np.random.default_rng(0).random(index.n_grams) < 0.5
    with threads(1):
        alone = encode_with_vocabulary(index, costs, grams)
    together = encode_with_vocabulary(index, costs, grams.astype(np.uint8))
    assert alone[0].tobytes() == together[0].tobytes() and alone[1] == together[1]
    assert alone[2].tobytes() == together[2].tobytes()


@pytest.mark.parametrize("grams", [np.zeros(3, dtype=bool), [True, False], np.zeros((2, 9), bool), None])
def test_wrong_flags_raise(grams):
    index = index_of(["a b c a b c"], 2)
    with pytest.raises(ValueError, match="flags"):
        encode_with_vocabulary(index, costs_of(index), grams)
    with pytest.raises(ValueError, match="flags"):
        encode_with_vocabulary(index, costs_of(index), np.zeros(index.n_grams))


# matching

WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


@settings(max_examples=150)
@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=12), st.integers(1, 4))
def test_phrases_are_matched_as_a_dictionary_of_tuples_would(documents, phrases, max_gram):
    texts = [" ".join(words) for words in documents]
    table = Tokenizer()(texts)
    index = index_kgrams(table.tokens, table.doc_ptr, max_gram)
    flags, unmatched = match_vocabulary(table, index, [" ".join(words) for words in phrases], Tokenizer())
    found = occurrences(documents, max_gram)
    for words in phrases:
        assert (" ".join(words) in unmatched) == (tuple(words) not in found)
    named = {tuple(words) for words in phrases} & set(found)
    assert flags.sum() == len(named)
    for words in named:
        assert flags[index.gram_of[len(words) - 1, found[words][0]]] == 1
    assert len(set(unmatched)) == len(unmatched)


def test_phrases_are_cut_like_the_corpus():
    texts = ["The New-York Times, 1999.", "new york"]
    table = Tokenizer()(texts)
    index = index_kgrams(table.tokens, table.doc_ptr, 3)
    phrases = ["NEW-YORK", "new   york", "times,", "york new", "unheard of", "", "the new-york times"]
    flags, unmatched = match_vocabulary(table, index, phrases, Tokenizer())
    assert unmatched == ["york new", "unheard of", "", "the new-york times"]
    assert flags.sum() == 3
    assert flags[index.gram_of[2, 1]] == flags[index.gram_of[1, 8]] == flags[index.gram_of[1, 4]] == 1
    kept = match_vocabulary(table, index, ["NEW YORK"], Tokenizer(lowercase=False))
    assert kept[1] == ["NEW YORK"] and not kept[0].any()


def test_an_empty_corpus_and_an_empty_list():
    table = Tokenizer()(["", " "])
    index = index_kgrams(table.tokens, table.doc_ptr, 2)
    flags, unmatched = match_vocabulary(table, index, ["a b", "a b"], Tokenizer())
    assert flags.shape == (0,) and unmatched == ["a b"]
    cover, objective, used = encode_with_vocabulary(index, costs_of(index), flags)
    assert len(cover) == len(used) == 0 and objective == 0
    table = Tokenizer()(["a b"])
    index = index_kgrams(table.tokens, table.doc_ptr, 2)
    flags, unmatched = match_vocabulary(table, index, [], Tokenizer())
    assert not flags.any() and not unmatched


def test_one_string_is_not_a_list_of_phrases():
    table = Tokenizer()(["a b"])
    index = index_kgrams(table.tokens, table.doc_ptr, 2)
    with pytest.raises(TypeError, match="sequence"):
        match_vocabulary(table, index, "a b", Tokenizer())
    with pytest.raises(TypeError, match="not a string"):
        match_vocabulary(table, index, ["a", 3], Tokenizer())


def test_sequences_of_token_ids():
    index = index_kgrams(np.array([0, 1, 0, 1, 2], dtype=np.int32), np.array([0, 5]), 3)
    tokens = np.array([0, 1, 1, 2, 2, 1, 0, 7, -1, 0, 1, 0], dtype=np.int32)
    gram = match_sequences(index, tokens, np.array([0, 2, 4, 6, 8, 9, 9, 12]))
    expected = [index.gram_of[1, 0], index.gram_of[1, 3], -1, -1, -1, -1, index.gram_of[2, 0]]
    assert gram.tolist() == expected
