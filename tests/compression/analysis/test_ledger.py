"""The ledger against encoding everything anew without each K-gram: naive reference and the engine's own encoder."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from cflengine.compression.analysis import ledger as module
from cflengine.compression.analysis.ledger import explain, ledger
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes import blocks
from cflengine.compression.passes.binary import Coder
from cflengine.engine.jit import threads
from cflengine.text.kgrams import KGramIndex
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.ledger import otherwise

COSTS = ["pointers free", "pointers cheap", "pointers as a word", "pointers expensive", "by length", "by pointer",
         "dictionary free", "external macro"]  # fmt: skip


def solution(index: KGramIndex, costs: StorageCosts, seed: int = 0) -> np.ndarray:
    """The cover of a middling solution: K-grams are priced at random, those in use then encode the corpus."""
    coder = Coder(index, costs)
    uses = np.random.default_rng(seed).integers(1, 6, index.n_grams)
    return coder.encode_with(coder.evaluate(coder.encode(costs.dictionary / uses))[2])


def grams_used(index: KGramIndex, costs: StorageCosts, cover: np.ndarray) -> list[int]:
    return np.flatnonzero(Coder(index, costs).evaluate(cover)[2]).tolist()


def assert_ledger_is_naive(index: KGramIndex, costs: StorageCosts, cover: np.ndarray) -> None:
    book = ledger(index, costs, cover)
    assert book.gram.tolist() == grams_used(index, costs, cover) and len(book) == len(book.gram)
    for entry, gram in enumerate(book.gram.tolist()):
        reference = otherwise(index, costs, cover, gram)
        uses = [(k, i) for k, i in reference.now if index.gram_of[k - 1, i] == gram]
        paid = [
            costs.pointer_by_length[k - 1] + (costs.pointer_extra[k - 1, i] if costs.pointer_extra.size else 0)
            for k, i in uses
        ]
        assert book.saves[entry] == pytest.approx(reference.saves_alone, abs=1e-6)
        assert book.pointers[entry] == len(uses) and book.pointer_cost[entry] == pytest.approx(sum(paid))
        assert book.occurrences[entry] == index.counts()[gram]
        assert book.dictionary_cost[entry] == costs.dictionary[gram]


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_ledger_is_what_encoding_without_each_gram_gives(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    assert_ledger_is_naive(index, costs, solution(index, costs))


@pytest.mark.parametrize("max_gram", [1, 2, 5, 8])
@pytest.mark.parametrize(
    "texts", [["la " * 23, "la la x la la la y " * 3], CHARACTERS, ["a b a b b a a b", "b", "a a"]]
)
def test_ledger_of_grams_that_overlap_themselves(texts, max_gram):
    index = index_of(texts, max_gram, "[a-z]" if texts is CHARACTERS else r"\w+")
    for seed in range(3):
        for costs in (costs_of(index, 1.0), uneven_costs(index, seed)):
            assert_ledger_is_naive(index, costs, solution(index, costs, seed))


def forbidden_by_the_coder(index: KGramIndex, costs: StorageCosts, cover: np.ndarray, gram: int) -> float:
    """What encoding costs more without one K-gram, by encoding the whole corpus; for pointers of one price."""
    coder = Coder(index, costs)
    objective, _, used = coder.evaluate(cover)
    price = np.where(used > 0, 0.0, np.inf)
    stored = costs.dictionary @ used
    price[gram] = costs.dictionary[gram] if index.length(gram) == 1 else np.inf
    allowed = np.isfinite(price)[index.gram_of] & (index.gram_of >= 0)
    covered = np.zeros(index.n_tokens, dtype=bool)
    for k, i in np.argwhere(allowed):
        covered[i : i + k + 1] = True
    words = np.unique(index.gram_of[0][~covered])
    price[words] = 0.0
    anew = coder.encode(price)
    pointers, _, _ = coder.evaluate(anew)
    again = coder.evaluate(anew)[2]
    pointers -= costs.dictionary @ again
    spelled = int((anew[index.gram_of[0] == gram] & 1).sum()) * costs.dictionary[gram]
    return pointers + spelled + stored + costs.dictionary[words].sum() - costs.dictionary[gram] - objective


@pytest.mark.parametrize("lam", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    "texts", [random_words(11, 6, 400, 60), [" ".join(random_words(12, 40, 60, 300))], random_words(13, 300, 7, 30)]
)
def test_larger_corpora_against_the_coder(texts, lam):
    index = index_of(texts, 4)
    costs = costs_of(index, lam)
    cover = solution(index, costs)
    book = ledger(index, costs, cover)
    chosen = np.random.default_rng(0).permutation(len(book))[:60]
    for entry in chosen.tolist():
        expected = forbidden_by_the_coder(index, costs, cover, int(book.gram[entry]))
        assert book.saves[entry] == pytest.approx(expected, abs=1e-6)
    assert (book.saves[chosen] > 0).any() and (book.saves < 0).any(), "the solution is a middling one"


def test_gram_that_is_not_worth_its_storage_costs_what_removing_it_wins():
    """Words a, b are in use anyway; storing "a b" for a single use costs 2 and saves one pointer of 1."""
    index = index_of(["a b", "a c", "b c"], 2)
    costs = costs_of(index, 1.0)
    cover = np.array([2, 0, 1, 1, 1, 1], dtype=np.uint8)
    book = ledger(index, costs, cover)
    entry = book.gram.tolist().index(index.gram_of[1, 0])
    assert book.saves[entry] == -1.0 and book.pointers[entry] == 1
    # c stands twice: spelling it out twice costs one word's storage more than storing it
    assert book.saves[book.gram.tolist().index(index.gram_of[0, 3])] == 1.0


def test_word_that_is_missing_without_a_gram_is_paid_once():
    index = index_of(["new york", "new york", "new deal"], 2)
    costs = costs_of(index, 1.0)
    cover = np.array([2, 0, 2, 0, 1, 1], dtype=np.uint8)
    book = ledger(index, costs, cover)
    entry = book.gram.tolist().index(index.gram_of[1, 0])
    # 2 pointers more, the word york (1), against 2 for "new york"
    assert book.saves[entry] == 1.0
    found = explain(index, costs, cover, int(index.gram_of[1, 0]))
    assert found.saves == 1.0 and found.entering.tolist() == [index.gram_of[0, 1]] and len(found.leaving) == 0
    assert found.runner_up == (((index.gram_of[0, 0], index.gram_of[0, 1]), 2),) and found.lost_to == ()


# one K-gram


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(
    "kind", ["random words", "repeated phrases", "one word again and again", "documents between empty ones"]
)
def test_explanation_is_what_the_naive_reference_sees(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    cover = solution(index, costs)
    used = grams_used(index, costs, cover)
    absent = [g for g in range(index.n_grams) if g not in used]
    for gram in used[::2] + absent[::7]:
        reference, found = otherwise(index, costs, cover, gram), explain(index, costs, cover, gram)
        assert found.gram == gram and found.present == (gram in used)
        assert found.saves == pytest.approx(reference.saves, abs=1e-6)
        assert set(found.entering.tolist()) == reference.entering and set(found.leaving.tolist()) == reference.leaving
        here = reference.now if found.present else reference.then
        assert found.pointers == sum(index.gram_of[k - 1, i] == gram for k, i in here)
        assert found.positions.tolist() == index.occurrences(gram).tolist()
        assert_winners(index, cover, found, reference)


def assert_winners(index, cover, found, reference) -> None:
    length = index.length(found.gram)
    runner_up, lost_to = Counter(), Counter()
    for p, at in enumerate(found.positions.tolist()):
        used = bool(cover[at] >> (length - 1) & 1)
        covered = reference.then if used else reference.now
        around = sorted((i, k) for k, i in covered if i < at + length and i + k > at)
        expected = tuple((int(index.gram_of[k - 1, i]), i) for i, k in around)
        assert found.used[p] == used and found.winners(p) == expected
        (runner_up if used else lost_to)[tuple(g for g, _ in expected)] += 1
    for counted, told in ((runner_up, found.runner_up), (lost_to, found.lost_to)):
        assert dict(told) == counted and len(told) == len(counted)
        assert [count for _, count in told] == sorted(counted.values(), reverse=True)


@pytest.mark.parametrize("cost", COSTS)
def test_explanation_and_ledger_agree_but_for_what_falls_out_of_use(cost):
    index = index_of(SMALL["repeated phrases"], 5)
    costs = costs_by_kind(index)[cost]
    cover = solution(index, costs)
    for gram, saves in zip(
        *(getattr(ledger(index, costs, cover), name).tolist() for name in ("gram", "saves")), strict=True
    ):
        found = explain(index, costs, cover, gram)
        assert found.saves == pytest.approx(saves - costs.dictionary[found.leaving].sum(), abs=1e-6)


def test_gram_that_would_pay_is_seen_before_it_is_in_the_dictionary():
    index = index_of(["a b", "a b", "a b", "a b", "a c", "b c"], 2)
    costs = costs_of(index, 1.0)
    found = explain(index, costs, np.ones(index.n_tokens, dtype=np.uint8), int(index.gram_of[1, 0]))
    assert (found.present, found.saves, found.pointers) == (False, 4 - 2, 4) and not found.used.any()
    assert found.lost_to == (((index.gram_of[0, 0], index.gram_of[0, 1]), 4),) and found.runner_up == ()


# what is refused, what must not matter


def test_a_cover_that_is_not_the_cheapest_encoding_are_refused():
    index = index_of(["a b a b", "b"], 2)
    costs = costs_of(index, 1.0)
    costly = np.array([3, 1, 1, 1, 1], dtype=np.uint8)
    uncovered = np.array([1, 1, 1, 0, 1], dtype=np.uint8)
    for cover in (costly, uncovered):
        with pytest.raises(ValueError, match="cheapest encoding"):
            ledger(index, costs, cover)
    with pytest.raises(ValueError, match="cheapest encoding"):
        ledger(index, costs_of(index, 0.0), uncovered)


@pytest.mark.parametrize("gram", [-1, 10**6])
def test_number_of_no_gram_is_refused(gram):
    index = index_of(["a b a b"], 2)
    with pytest.raises(ValueError, match="number of a K-gram"):
        explain(index, costs_of(index), np.ones(4, dtype=np.uint8), gram)


def test_threads_and_chunks_change_nothing(monkeypatch):
    index = index_of(random_words(14, 200, 50, 80))
    costs = costs_of(index, 0.7)
    cover = solution(index, costs)
    whole = ledger(index, costs, cover)
    monkeypatch.setattr(blocks, "BLOCK_TOKENS", 64)
    monkeypatch.setattr(module, "_CHUNK_OCCURRENCES", 100)
    for count in (1, 2):
        with threads(count):
            again = ledger(index, costs, cover)
        for field in fields(whole):
            assert getattr(again, field.name).tobytes() == getattr(whole, field.name).tobytes()
