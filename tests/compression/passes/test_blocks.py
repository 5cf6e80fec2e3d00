"""A long document in pieces is the same problem: whatever is computed in pieces against the same of it as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.analysis.ledger import _encoded, ledger
from cflengine.compression.passes import blocks as module
from cflengine.compression.passes import pieces
from cflengine.compression.passes.best_bound import DualBound
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.blocks import cut_documents
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.layout import PointerLayout
from cflengine.compression.passes.pieces import borders_of, carry_of, has_pieces, settle
from cflengine.compression.search import crossover
from cflengine.compression.search.moves import DictionarySearch
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.compression.solvers.weighted_admm import WeightedAdmm
from cflengine.engine.progress import Progress, TerminationReason
from cflengine.text.kgrams import KGramIndex
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words, repeated_phrases, uneven_costs

LONG = {
    "words": [*random_words(1, 3, 5, 9), *random_words(2, 1, 400, 12), "", *random_words(3, 1, 90, 7), "w1 w2"],
    "phrases": [" ".join(repeated_phrases(3, 20, 5)), "w1"],
    "one word": ["la " * 150, "la la", "la " * 70],
    "two words in turn": ["la li " * 80],
    "small": SMALL["random words"],
}
KINDS = pytest.mark.parametrize("kind", LONG)
GRAMS = pytest.mark.parametrize("max_gram", [1, 3, 8])


@pytest.fixture(params=[0, 128], ids=lambda early: f"{early} tokens early")
def cut(request, monkeypatch):
    """Pieces of 16 tokens; begun early by none, a few, or all there are. The answer undoes it: no document is cut."""
    monkeypatch.setattr(module, "BLOCK_TOKENS", 16)
    monkeypatch.setattr(module, "EARLY", request.param)
    return lambda: monkeypatch.setattr(module, "BLOCK_TOKENS", 1 << 12)


def admm_of(index: KGramIndex, costs) -> LinearisedAdmm:
    return LinearisedAdmm(index, costs, RhoRule(1.0 / index.max_gram, 1.5, 4, 0.5))


def check_cut(index: KGramIndex, kind: str) -> None:
    assert has_pieces(cut_documents(index.doc_ptr)) == (kind != "small")


# the encoding programme


@KINDS
@GRAMS
@pytest.mark.parametrize("cost", ["pointers as a word", "by pointer", "pointers free"])
def test_covers_cost_the_same(cut, kind, max_gram, cost):
    index = index_of(LONG[kind], max_gram)
    check_cut(index, kind)
    costs = costs_by_kind(index)[cost]
    prices = (np.zeros(index.n_grams), np.random.default_rng(0).uniform(0, 2, index.n_grams), costs.dictionary)
    pieces = [cost_at(index, costs, price, Coder(index, costs).encode(price)) for price in prices]
    cut()
    whole = [cost_at(index, costs, price, Coder(index, costs).encode(price)) for price in prices]
    assert pieces == pytest.approx(whole, rel=1e-12)


def cost_at(index: KGramIndex, costs, price: np.ndarray, cover: np.ndarray) -> float:
    """What a cover costs at these prices; every token must be covered."""
    covered, total = np.zeros(index.n_tokens, dtype=bool), 0.0
    for k, row in enumerate(index.gram_of):
        starts = np.flatnonzero(cover >> k & 1)
        assert (row[starts] >= 0).all()
        total += price[row[starts]].sum() + costs.pointer_by_length[k] * len(starts)
        if costs.pointer_extra.size:
            total += costs.pointer_extra[k, starts].sum(dtype=np.float64)
        for j in range(k + 1):
            covered[starts + j] = True
    assert covered.all()
    return float(total)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 6), st.integers(8, 20))
def test_uneven_prices_give_the_very_same_cover(seed, max_gram, early, size):
    rng = np.random.default_rng(seed)
    index = index_of(random_words(seed, 2, int(rng.integers(1, 200)), 6), max_gram)
    costs, price = uneven_costs(index, seed), rng.uniform(0, 2, index.n_grams)
    before = module.BLOCK_TOKENS, module.EARLY
    try:
        whole = Coder(index, costs).encode(price)
        module.BLOCK_TOKENS, module.EARLY = size, early
        np.testing.assert_array_equal(Coder(index, costs).encode(price), whole)
    finally:
        module.BLOCK_TOKENS, module.EARLY = before


def test_a_document_that_cannot_be_covered_has_no_cover_and_the_others_have_theirs(cut):
    texts = ["w1 " * 50 + "w9 " + "w1 " * 50, "w1 " * 60, "w9", "w1 w1"]
    index = index_of(texts, 2)
    costs = costs_of(index)
    price = np.zeros(index.n_grams)
    word = index.gram_of[0, 50]
    price[np.unique(index.gram_of[:, 49:51][:, :])] = np.inf  # whatever touches the word "w9" ..
    price[index.gram_of[0, 0]] = 0.0  # .. but not "w1", which stands beside it
    assert price[word] == np.inf
    cover = Coder(index, costs).encode(price)
    ends = index.doc_ptr
    assert not cover[ends[0] : ends[1]].any() and not cover[ends[2] : ends[3]].any()
    cut()
    np.testing.assert_array_equal(Coder(index, costs).encode(price), cover)


def test_pieces_of_one_word_are_done_in_turn_and_those_of_text_are_not(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_TOKENS", 256)
    again = []
    original = pieces.settle

    def spy(blocks, carry, redo, *rest):
        return original(blocks, carry, lambda chunk: (again.append(chunk), redo(chunk)), *rest)

    monkeypatch.setattr(pieces, "settle", spy)
    for texts, some in ((["la " * 4_001], True), (random_words(1, 1, 4_001, 300), False)):
        again.clear()
        index = index_of(texts, 3)
        Coder(index, costs_of(index)).encode(np.random.default_rng(0).uniform(0, 2, index.n_grams))
        assert bool(again) == some


def test_it_can_be_stopped_between_pieces(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_TOKENS", 16)
    monkeypatch.setattr(module, "EARLY", 0)
    index = index_of(["la " * 200], 3)
    blocks = cut_documents(index.doc_ptr)
    carry = carry_of(blocks, 3)
    carry.exit[:, 0] = 7.0  # nothing agrees
    done = []
    assert not settle(blocks, carry, lambda chunk: done.append(chunk[0]), None, lambda: len(done) < 3)
    assert done == [1, 2, 3]


# the bound


@KINDS
@GRAMS
def test_bounds_and_prices_are_the_same(cut, kind, max_gram):
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    y = -np.random.default_rng(0).uniform(0, 1.5, index.n_tokens).astype(np.float32)
    answers = []
    for _ in range(2):
        places = PointerLayout.of(index)
        bound = DualBound(Coder(index, costs, places.blocks), Groups(index, places), costs)
        bound.update(y)
        answers.append((bound.value, bound.alpha()))
        cut()
    assert answers[0][0] == pytest.approx(answers[1][0], rel=1e-12)
    np.testing.assert_allclose(answers[0][1], answers[1][1], atol=1e-9)
    assert answers[0][1].sum() == pytest.approx(answers[0][0], rel=1e-9)


# linearised ADMM


@KINDS
@GRAMS
def test_steps_on_the_relaxation_give_the_same_bytes(cut, kind, max_gram):
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    runs = []
    for _ in range(2):
        admm = admm_of(index, costs)
        for _ in range(40):
            assert admm.step(0.0, Progress())
        runs.append((admm, admm.feasible_value(admm.current_w())))
        cut()
    (pieces, upper), (whole, other) = runs
    for name in ("q", "y", "z"):
        assert getattr(pieces, name).tobytes() == getattr(whole, name).tobytes()
    assert (pieces.r, pieces.u) == (whole.r, whole.u)
    assert pieces.relaxation == pytest.approx(whole.relaxation, rel=1e-12) and upper == pytest.approx(other, rel=1e-12)


@KINDS
@pytest.mark.parametrize("max_gram", [1, 3])
def test_a_step_of_the_homotopy_is_the_same(cut, kind, max_gram):
    """From one state: afterwards equally cheap covers may lead to different ones."""
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    rng = np.random.default_rng(0)
    w = rng.uniform(0, 1, index.n_pointers).astype(np.float32)
    u = rng.uniform(-0.3, 0, index.gram_of.shape).astype(np.float32)
    runs = []
    for _ in range(2):
        admm = admm_of(index, costs)
        admm.step(0.3, Progress())
        admm.q[:], admm.multiplier[:] = w, u
        assert admm.step(0.7, Progress())
        runs.append(admm)
        cut()
    pieces, whole = runs
    np.testing.assert_array_equal(pieces.cover, whole.cover)
    assert pieces.objective == pytest.approx(whole.objective, rel=1e-12)
    for name in ("q", "y", "z", "multiplier"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    np.testing.assert_array_equal(pieces.round(w), whole.round(w))


@KINDS
@GRAMS
def test_the_projection_is_the_same(cut, kind, max_gram):
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    runs = []
    for _ in range(2):
        run = WeightedAdmm(index, costs, ReweightingSettings(projection_tol=1e-10))
        for _ in range(12):
            assert run.step(Progress())
        runs.append(run)
        cut()
    pieces, whole = runs
    np.testing.assert_allclose(pieces.beta, whole.beta, atol=1e-5)
    np.testing.assert_allclose(pieces.z, whole.z, atol=1e-5)
    assert (pieces.r, pieces.u, pieces.value) == pytest.approx((whole.r, whole.u, whole.value), rel=1e-4)
    covered = [Coder(index, costs).evaluate(run.cover)[0] for run in runs]
    assert np.isinf(pieces.objective) == np.isinf(whole.objective) and covered[0] == pytest.approx(covered[1], rel=0.05)


def test_the_projection_of_larger_pieces_is_settled_around_their_borders(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_TOKENS", 300)
    index = index_of(random_words(1, 1, 2_000, 40), 3)
    costs = uneven_costs(index)
    runs = []
    for _ in range(2):
        run = WeightedAdmm(index, costs, ReweightingSettings(projection_tol=1e-10))
        assert all(run.step(Progress()) for _ in range(12))
        runs.append(run)
        monkeypatch.setattr(module, "BLOCK_TOKENS", 1 << 12)
    np.testing.assert_allclose(runs[0].beta, runs[1].beta, atol=1e-5)
    assert not runs[0].step(Progress(time_limit=1e-9))


def test_halos_are_those_before_the_pass(cut):
    index = index_of(LONG["words"], 3)
    admm = admm_of(index, costs_of(index))
    blocks = admm.layout.blocks
    inner = [b for b in range(admm.layout.n_blocks) if blocks.token[b] > blocks.doc_ptr[blocks.doc[b]]]
    for _ in range(3):
        admm.step(0.0, Progress())
    assert len(inner) > 10 and admm.borders.w[inner].any() and not np.delete(admm.borders.w, inner, axis=0).any()
    cut()
    assert borders_of(cut_documents(index.doc_ptr), 3).w.size == 0


# the local search and what K-grams are worth


@KINDS
@GRAMS
def test_worth_and_covers_are_the_same_also_when_only_changes_are_evaluated(cut, kind, max_gram):
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    data = np.zeros(index.n_pointers, dtype=np.float32)
    places = PointerLayout.of(index)
    pieces = DictionarySearch(Coder(index, costs, places.blocks), Groups(index, places), costs, data)
    present = (np.random.default_rng(0).random(index.n_grams) < 0.4).astype(np.uint8)
    rng = np.random.default_rng(1)
    states = []
    for changes in (0, 1, 3, 50, 0, 2):
        present[rng.choice(index.n_grams, min(changes, index.n_grams), replace=False)] ^= 1
        assert pieces.evaluate(present)
        states.append((present.copy(), pieces.objective, pieces.cover.copy(), pieces.worth.copy()))
    cut()
    for present, objective, cover, worth in states:
        places = PointerLayout.of(index)
        search = DictionarySearch(Coder(index, costs), Groups(index, places), costs, np.zeros_like(data))
        search.evaluate(present)
        assert search.objective == pytest.approx(objective, rel=1e-12)
        np.testing.assert_array_equal(search.cover, cover)
        if module.EARLY == 128:
            np.testing.assert_allclose(worth, search.worth, atol=1e-5)


@KINDS
@GRAMS
def test_the_ledger_is_the_same(cut, kind, max_gram):
    index = index_of(LONG[kind], max_gram)
    costs = uneven_costs(index)
    cover = Coder(index, costs).re_encode(Coder(index, costs).single_words())[0]
    pieces = ledger(index, costs, cover)
    cut()
    np.testing.assert_allclose(pieces.saves, ledger(index, costs, cover).saves, rtol=1e-9, atol=1e-9)


def test_reach_counts_from_the_documents_beginning(cut):
    index = index_of(LONG["words"], 3)
    costs = uneven_costs(index)
    number = np.arange(index.n_grams, dtype=np.int32)
    answers = []
    for _ in range(2):
        encoded = _encoded(index, costs, np.zeros(index.n_tokens, np.uint8), number)
        answers.append((encoded.allowed, encoded.reach))
        cut()
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-11)


def test_segments_of_one_long_document_fit_into_any_room(monkeypatch):
    index = index_of(LONG["words"], 3)
    costs = uneven_costs(index)
    coder = Coder(index, costs)
    rng = np.random.default_rng(0)
    first, second = (coder.encode(rng.uniform(0, 2, index.n_grams)) for _ in range(2))
    only_one = (coder.evaluate(first)[2] != coder.evaluate(second)[2]).astype(np.uint8)
    whole = crossover.Differences.of(index, costs, first, second, only_one)
    for room in (1, 2, 7):
        monkeypatch.setattr(crossover, "_SEGMENTS", room)
        listed = crossover.Differences.of(index, costs, first, second, only_one)
        for name in ("first", "last", "segment", "gram"):
            np.testing.assert_array_equal(getattr(listed, name), getattr(whole, name))


# whole solves


@pytest.mark.parametrize("kind", ["words", "one word"])
@pytest.mark.parametrize("solve", ["guided", "homotopy"])
def test_solves_end_with_a_certificate_as_good_as_without_cuts(cut, kind, solve):
    index = index_of(LONG[kind], 3)
    costs = costs_of(index)
    gaps = []
    for _ in range(2):
        if solve == "guided":
            result = solve_guided(index, costs, GuidedSettings(branching=False))
        else:
            result = solve_homotopy(index, costs, HomotopySettings(keep_stages=True))
        assert result.certificate.covered
        gaps.append(result.gap)
        cut()
    assert gaps[0] <= gaps[1] + 0.01


def test_one_long_document_is_stopped_within_a_step(cut):
    index = index_of(LONG["words"], 3)
    admm = admm_of(index, costs_of(index))
    progress = Progress(time_limit=1e-9)
    assert not admm.step(0.5, progress) and progress.reason is TerminationReason.TIME_LIMIT
