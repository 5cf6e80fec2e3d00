"""Savings and losses of K-grams against encoding again, moves that stand apart, and the search on the dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.kernels import choose as kernels_choose
from cflengine.compression.kernels import moves as kernels_moves
from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.kernels.arrays import DictionaryPrices, Moves, Pointers
from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.passes import blocks, layout
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.search.moves import DictionarySearch
from cflengine.engine.jit import threads
from cflengine.engine.progress import Progress
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, repeated_phrases
from naive.moves import Move, choose_apart, corpus_cost, dictionary_prices, gram_worths, pointer_worths

TEXTS = {
    "phrases": repeated_phrases(7, 3, 2),
    "words": random_words(8, 4, 8, 4),
    "one word": ["la " * 9, "la", "", "la la la"],
}
COSTS = ["pointers free", "pointers as a word", "by length", "by pointer", "dictionary free"]


def search_of(index, costs) -> DictionarySearch:
    lay = layout.PointerLayout.of(index)
    # work space that is not zero at first: the solver's w stood there
    data = np.full(index.n_pointers, 7.0, dtype=np.float32)
    return DictionarySearch(Coder(index, costs, lay.blocks), Groups(index, lay), costs, data)


def some_grams(index, share: float, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(index.n_grams) < share).astype(np.uint8)


def by_position(search: DictionarySearch) -> np.ndarray:
    """The worth of every pointer, float (K, n)."""
    slot = search.groups.layout.slot
    return np.where(slot >= 0, search.data[slot], 0.0)


def of_documents(doc_ptr: np.ndarray, cuts: Sequence[int]) -> blocks.Blocks:
    """Blocks of the documents cuts[b] .. cuts[b+1]-1."""
    doc = np.array(cuts, dtype=np.int64)
    return blocks.Blocks(doc_ptr, doc_ptr[doc], doc, np.full(len(doc) - 1, -1), 0)


def in_small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_TOKENS", 16)


# what a K-gram is worth


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("max_gram", range(1, 7))
@pytest.mark.parametrize("kind", TEXTS)
def test_worth_is_what_encoding_again_says(kind, max_gram, cost):
    index = index_of(TEXTS[kind], max_gram)
    costs = costs_by_kind(index)[cost]
    search = search_of(index, costs)
    for share in (0.0, 0.4, 1.0):
        present = some_grams(index, share, max_gram)
        assert search.evaluate(present)
        expected = pointer_worths(index, costs, present, search.cover)
        np.testing.assert_allclose(by_position(search), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(search.worth, gram_worths(index, expected), rtol=1e-6, atol=1e-5)


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.5, 2.0]))
def test_worth_on_random_corpora_dictionaries_and_costs(seed, max_gram, lam):
    rng = np.random.default_rng(seed)
    index = index_of(random_words(seed, 2, int(rng.integers(1, 7)), 3), max_gram)
    # whole numbers: many covers cost the same
    cost = {"dictionary_cost": rng.integers(0, 4, index.n_grams)}
    if seed % 2:
        cost["pointer_cost"] = rng.integers(0, 3, index.gram_of.shape)
    costs = costs_of(index, lam, **cost)
    search, present = search_of(index, costs), some_grams(index, rng.random(), seed)
    search.evaluate(present)
    expected = pointer_worths(index, costs, present, search.cover)
    np.testing.assert_allclose(by_position(search), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", TEXTS)
def test_cover_is_the_cheapest_with_the_dictionary_and_the_objective_that_of_the_cover(kind):
    index = index_of(TEXTS[kind])
    for name in COSTS:
        costs = costs_by_kind(index)[name]
        search = search_of(index, costs)
        for share in (0.0, 0.5, 1.0):
            present = some_grams(index, share)
            search.evaluate(present)
            value, covered, _, used = binary_solution(search.cover, index.gram_of, costs)
            assert covered and search.objective == pytest.approx(value, rel=1e-12)
            np.testing.assert_array_equal(search.used, used)
            np.testing.assert_array_equal(search.present, present)
            chosen = [(k + 1, i) for k, i in np.argwhere(search.cover >> np.arange(3)[:, None] & 1).tolist()]
            prices = dictionary_prices(index, costs, present)
            assert set(chosen) <= set(prices), "no K-gram beyond the dictionary but single words"
            paid = sum(prices[pointer] for pointer in chosen)
            assert paid == pytest.approx(corpus_cost(prices, index.doc_ptr.tolist()), rel=1e-6)


def test_a_word_that_nothing_else_covers_cannot_be_done_without():
    index = index_of(["a b", "c"], 2)
    search = search_of(index, costs_of(index))
    search.evaluate(np.ones(index.n_grams, dtype=np.uint8))
    word = index.gram_of[0, 2]
    assert search.worth[word] == np.inf and search.worth[index.gram_of[1, 0]] == 1.0


@pytest.mark.parametrize("cost", ["pointers as a word", "by pointer"])
def test_pays_exactly_what_a_single_addition_or_removal_brings_where_documents_have_it_once(cost):
    """Documents that use a K-gram once do not compete for it, so sums are exact; a move may bring yet more, since
    K-grams that it makes useless go as well."""
    index = index_of([f"{text} end{i}" for i, text in enumerate(random_words(3, 60, 5, 40))])
    costs = costs_by_kind(index)[cost]
    once = [len(set(docs)) == len(docs) for docs in documents_of_grams(index)]
    search = search_of(index, costs)
    moves = 0
    for share in (0.3, 1.0):
        for adding in (True, False):
            search.evaluate(some_grams(index, share))
            while not np.array_equal(search.present, search.used):
                search.evaluate(search.used)
            before, start = search.objective, search.present
            grams, gain = search.gains(adding=adding)
            for gram, expected in zip(grams.tolist(), gain.tolist(), strict=True):
                if once[gram]:
                    present = start.copy()
                    present[gram] = adding
                    search.evaluate(present)
                    assert before - search.objective >= expected - 1e-5
                    moves += 1
    assert moves > 10


def documents_of_grams(index) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(index.n_grams)]
    for _, i, gram in ((k, i, index.gram_of[k, i]) for k, i in np.argwhere(index.gram_of >= 0)):
        found[gram].append(int(np.searchsorted(index.doc_ptr, i, side="right")))
    return found


def test_gains_are_all_moves_of_a_kind_that_pay():
    index = index_of(SMALL["random words"])
    costs = costs_by_kind(index)["by pointer"]
    search = search_of(index, costs)
    search.evaluate(some_grams(index, 0.5))
    for adding in (True, False):
        grams, gain = search.gains(adding=adding)
        sign = 1 if adding else -1
        every = sign * (search.worth - costs.dictionary)
        allowed = search.present == (0 if adding else 1)
        # the few within rounding of nothing may be on either side
        clear = np.flatnonzero(allowed & (every > 1e-4))
        assert set(clear) <= set(grams) <= set(np.flatnonzero(allowed & (every > 0))) and len(clear) > 5
        np.testing.assert_allclose(gain, every[grams], rtol=1e-6)


# blocks and threads


@pytest.mark.parametrize("max_gram", [1, 3])
def test_only_touched_blocks_are_written(max_gram):
    index = index_of(SMALL["many short documents"], max_gram)
    costs = costs_of(index)
    lay = layout.PointerLayout.of(index)
    cuts = of_documents(index.doc_ptr, [0, 5, 6, 30, 30, index.n_documents])
    # parts 1 .. 3 are asked for, and of these only 1 and 3 (without documents) are touched
    touched = np.array([1, 1, 0, 1, 1], dtype=np.uint8)
    present = some_grams(index, 0.5)
    cover = np.full(index.n_tokens, 99, dtype=np.uint8)
    data = np.full(index.n_pointers, -7.0, dtype=np.float32)
    prices = DictionaryPrices(costs.dictionary, present)
    kernels_moves.worth_blocks(
        Pointers(lay.slot, index.gram_of), cuts, (1, 4), touched, costs.pointer, prices, cover, data
    )
    a, e = index.doc_ptr[5], index.doc_ptr[6]
    inside = np.zeros(index.n_tokens, dtype=bool)
    inside[a:e] = True
    np.testing.assert_array_equal(cover == 99, ~inside)
    worth = np.where(lay.slot >= 0, data[lay.slot], -7.0)
    assert (worth[:, ~inside] == -7.0).all() and (worth[0, inside] >= 0).all()
    search = search_of(index, costs)
    search.evaluate(present)
    np.testing.assert_array_equal(cover[inside], search.cover[inside])
    np.testing.assert_array_equal(worth[:, inside][lay.slot[:, inside] >= 0],
                                  by_position(search)[:, inside][lay.slot[:, inside] >= 0])  # fmt: skip


@given(st.integers(0, 10**6))
def test_touched_blocks_are_those_with_a_changed_gram(seed):
    rng = np.random.default_rng(seed)
    index = index_of([*random_words(seed, 8, 4, 30), ""], 3)
    changed = (rng.random(index.n_grams) < 0.05).astype(np.uint8)
    cuts = np.unique(np.concatenate([[0, 9], rng.integers(0, 10, 3)]))
    touched = rng.integers(0, 2, len(cuts) - 1).astype(np.uint8)
    kernels_choose.touched_blocks(index.gram_of, of_documents(index.doc_ptr, cuts), changed, touched, (0, len(touched)))
    for b, (d0, d1) in enumerate(pairwise(cuts.tolist())):
        grams = index.gram_of[:, index.doc_ptr[d0] : index.doc_ptr[d1]]
        assert touched[b] == changed[grams[grams >= 0]].any()


def test_evaluating_what_changed_is_evaluating_everything(monkeypatch):
    in_small_blocks(monkeypatch)
    index = index_of(random_words(4, 40, 6, 60))
    costs = costs_by_kind(index)["by pointer"]
    search = search_of(index, costs)
    present = some_grams(index, 0.3)
    rng = np.random.default_rng(1)
    for changes in (0, 1, 1, 3, 50, 0, 2):
        flip = rng.choice(index.n_grams, changes, replace=False)
        present[flip] ^= 1
        assert search.coder.n_blocks > 8 and search.evaluate(present)
        anew = search_of(index, costs)
        anew.evaluate(present)
        np.testing.assert_array_equal(search.cover, anew.cover)
        np.testing.assert_array_equal(search.data, anew.data)
        np.testing.assert_array_equal(search.worth, anew.worth)
        assert search.objective == anew.objective


def test_after_a_stop_half_way_everything_is_evaluated(monkeypatch):
    in_small_blocks(monkeypatch)
    monkeypatch.setattr(layout, "CHUNK_POINTERS", 100)
    index = index_of(random_words(4, 40, 6, 60))
    costs = costs_of(index)
    search, anew = search_of(index, costs), search_of(index, costs)
    one, other = some_grams(index, 0.3, 1), some_grams(index, 0.3, 2)
    assert len(search.coder.chunks()) > 3
    search.evaluate(one)

    def listener(stats):
        return None

    listener.poll = lambda: False
    assert not search.evaluate(other, Progress([listener]))
    assert search.evaluate(other) and anew.evaluate(other)
    np.testing.assert_array_equal(search.cover, anew.cover)
    np.testing.assert_array_equal(search.data, anew.data)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this machine has one core")
def test_one_thread_and_two_give_the_same_bytes(monkeypatch):
    in_small_blocks(monkeypatch)
    index = index_of(random_words(4, 60, 12, 40))
    found = []
    for n_threads in (1, 2):
        with threads(n_threads):
            search = search_of(index, costs_by_kind(index)["by pointer"])
            search.evaluate(some_grams(index, 0.4))
            search.descend(6)
            found.append((search.objective, search.cover, search.data, search.worth, search.present))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# moves that stand apart

PLACES = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 9)), min_size=1, max_size=4)
MOVES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 12), PLACES), min_size=1, max_size=6)


@given(MOVES, st.booleans(), st.integers(0, 4), st.randoms())
def test_choice_is_the_references(moves, adding, margin, random):
    """The order in which moves come is theirs to say, whatever their numbers."""
    n = 40
    moves = [Move(k, float(cost), tuple((min(i, n - k), float(w)) for i, w in places)) for k, cost, places in moves]
    number = list(range(len(moves)))
    random.shuffle(number)  # the c-th best is listed as number[c]
    listed = [moves[number.index(c)] for c in range(len(moves))]
    ptr = np.cumsum([0] + [len(move.places) for move in listed]).astype(np.int64)
    places = [place for move in listed for place in move.places]
    lock, chosen = np.zeros(n, dtype=np.uint8), np.zeros(len(moves), dtype=np.uint8)
    candidates = Moves(
        ptr, np.array([i for i, _ in places], dtype=np.int32), np.array([w for _, w in places], dtype=np.float32),
        np.array([m.length for m in listed], dtype=np.int64), np.array([m.cost for m in listed]),
    )  # fmt: skip
    free = np.zeros(len(moves))
    kernels_choose.choose_apart(np.array(number, dtype=np.int64), candidates, adding, margin, lock, chosen, free)
    expected = choose_apart(moves, adding=adding, margin=margin, n_tokens=n)
    assert [bool(chosen[number[c]]) for c in range(len(moves))] == expected
    taken = [move.widened(i, margin) for move, yes in zip(moves, expected, strict=True) if yes for i, _ in move.places]
    assert set(np.flatnonzero(lock).tolist()) == set().union(*taken) & set(range(n))


def places_of(search: DictionarySearch, gram: int, *, adding: bool) -> list[tuple[int, int, float]]:
    """(first token, end, worth) of the pointers where adding or removing a K-gram saves or costs something."""
    worth = by_position(search)
    k = search.coder.index.length(gram)
    marked = search.cover >> (k - 1) & 1
    starts = search.coder.index.occurrences(gram).tolist()
    chosen = [i for i in starts if (worth[k - 1, i] > 0 and not marked[i] if adding else marked[i])]
    return [(i, i + k, float(worth[k - 1, i])) for i in chosen]


@pytest.mark.parametrize("adding", [True, False])
@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "one word again and again"])
def test_chosen_moves_do_not_touch_the_same_text(monkeypatch, kind, adding):
    in_small_blocks(monkeypatch)
    index = index_of(SMALL[kind] * 2 + random_words(9, 10, 30, 200))
    costs = costs_by_kind(index)["by pointer"]
    search = search_of(index, costs)
    search.evaluate(some_grams(index, 0.5))
    grams, gain = search.gains(adding=adding)
    best_first = grams[np.argsort(-gain, kind="stable")].tolist()
    chosen = set(search.apart(grams, gain, adding=adding).tolist())
    places = {gram: places_of(search, gram, adding=adding) for gram in best_first}
    margin, taken = index.max_gram, []
    for gram in best_first:
        # within the margin of a place and its own margin: what lies between two places is at least twice that
        free = [p for p in places[gram] if all(p[0] - e >= 2 * margin or a - p[1] >= 2 * margin for a, e, _ in taken)]
        pays = sum(worth for *_, worth in free) > costs.dictionary[gram]
        assert (gram in chosen) == (pays if adding else len(free) == len(places[gram]))
        if gram in chosen:
            taken += places[gram]
    assert 1 < len(chosen) < len(grams)
    if not adding:
        for one, other in combinations(chosen, 2):
            assert all(a - f >= margin or b - e >= margin for a, e, _ in places[one] for b, f, _ in places[other])


def test_nothing_to_choose_from_is_nothing_chosen():
    index = index_of(TEXTS["phrases"])
    search = search_of(index, costs_of(index))
    search.evaluate(np.ones(index.n_grams, dtype=np.uint8))
    grams, gain = search.gains(adding=True)
    assert len(grams) == 0 and len(search.apart(grams, gain, adding=True)) == 0
    before = search.objective
    assert search.improve(adding=True) == 0 and search.objective <= before


# the search


def assert_whole(search: DictionarySearch, costs) -> None:
    """The state is what its docstring says it is."""
    index = search.coder.index
    value, covered, _, used = binary_solution(search.cover, index.gram_of, costs)
    assert covered and search.objective == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(search.used, used)
    levels = np.zeros(index.n_grams, dtype=np.float32)
    search.groups.apply(kernels_prox.SUM, search.data, costs.dictionary, levels=levels)
    np.testing.assert_array_equal(levels, search.worth)


@pytest.mark.parametrize(
    "cost", ["pointers free", "pointers cheap", "pointers as a word", "by pointer", "external macro"]
)
@pytest.mark.parametrize("kind", SMALL)
def test_search_never_loses_coverage_and_ends_better_than_it_began(kind, cost):
    """That it ends better is no promise, which is why a run keeps the best of all it meets: the places of one K-gram
    compete where they overlap. Where that is rare, it does end better than a random dictionary."""
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    search = search_of(index, costs)
    search.evaluate(some_grams(index, 0.5))
    start = search.objective
    for i in range(6):
        assert search.improve(adding=i % 2 == 0) >= 0
        assert_whole(search, costs)
    assert search.descend(16)
    assert_whole(search, costs)
    if kind != "one word again and again":
        assert search.objective <= start * (1 + 1e-12)


def test_descent_makes_moves_until_both_kinds_are_quiet():
    index = index_of(SMALL["random words"])
    costs = costs_of(index)
    for rounds in (1, 2, 3, 30):
        search = search_of(index, costs)
        search.evaluate(some_grams(index, 0.5))
        calls = []
        improve = search.improve

        def counted(*, adding, progress, calls=calls, search=search, improve=improve):
            before = search.objective
            moved = improve(adding=adding, progress=progress)
            calls.append((adding, bool(moved and search.objective < before)))
            return moved

        search.improve = counted
        assert search.descend(rounds)
        assert [adding for adding, _ in calls] == [i % 2 == 0 for i in range(len(calls))]
        helped = [helped for _, helped in calls]
        ends = [i for i in range(1, len(helped)) if not helped[i] and not helped[i - 1]]
        assert len(calls) == rounds if not ends else ends == [len(calls) - 1]
    assert len(calls) < 30


def test_protected_grams_stay_as_they_are():
    index = index_of(SMALL["random words"])
    costs = costs_by_kind(index)["by pointer"]
    search = search_of(index, costs)
    for adding in (True, False):
        search.evaluate(some_grams(index, 0.5))
        search.evaluate(search.used)
        grams, gain = search.gains(adding=adding)
        best = grams[np.argsort(-gain)][:5]
        assert len(best) == 5 and set(search.apart(grams, gain, adding=adding)) & set(best)
        before = search.present.copy()
        search.improve(adding=adding, protect=best)
        np.testing.assert_array_equal(search.present[best], before[best])


def test_a_protected_gram_stays_in_the_dictionary_also_unused():
    index = index_of(SMALL["random words"])
    search = search_of(index, costs_of(index))
    search.evaluate(np.ones(index.n_grams, dtype=np.uint8))
    idle = np.flatnonzero(search.used == 0)[:4]
    present = search.used.copy()
    present[idle] = 1
    search.evaluate(present)
    assert len(idle) == 4 and not search.used[idle].any()
    search.improve(adding=True, protect=idle)
    assert search.present[idle].all()
    search.improve(adding=True)
    assert not search.present[idle].any(), "what the cover does not use leaves the dictionary"


def test_characters_and_long_grams():
    index = index_of(CHARACTERS, 8, ".")
    costs = costs_by_kind(index)["by pointer"]
    search = search_of(index, costs)
    search.evaluate(some_grams(index, 0.3))
    start = search.objective
    assert search.descend(20)
    assert_whole(search, costs)
    assert search.objective < start
