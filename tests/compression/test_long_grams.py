"""K-grams of up to 32 tokens, such as characters of words, whose covers take more than a byte; and indexes that lack
K-grams within documents, since these cannot pay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cflengine import GuidedSettings, HomotopySettings, ReweightingSettings
from cflengine.compression.model.certificate import certify
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes import blocks
from cflengine.compression.passes.binary import Coder
from cflengine.compression.solvers.exact import solve_exact
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.homotopy import solve_homotopy
from cflengine.compression.solvers.reweighting import solve_reweighting
from cflengine.text.kgrams import KGramIndex, cover_type, index_kgrams
from naive.cover import cheapest, prices_from
from naive.programs import certificate_of, solve_exactly

LONGEST = [9, 16, 17, 32]


def characters(seed: int, n: int = 8, longest: int = 40) -> list[str]:
    """Strings with long pieces in common."""
    rng = np.random.default_rng(seed)
    stems = ["".join(rng.choice(list("abcd"), int(rng.integers(6, longest)))) for _ in range(3)]
    tails = ["".join(rng.choice(list("ab"), 2)) for _ in range(n)]
    return [str(rng.choice(stems)) + tail + str(rng.choice(stems))[: int(rng.integers(1, 30))] for tail in tails]


def index_of_characters(texts: list[str], max_gram: int) -> KGramIndex:
    tokens = np.array([ord(c) for text in texts for c in text], dtype=np.int32)
    return index_kgrams(tokens, np.cumsum([0, *map(len, texts)]), max_gram)


def costs_of(index: KGramIndex, seed: int = 0) -> StorageCosts:
    """Pointers cost what their document counts for, K-grams the same, single characters nothing."""
    rng = np.random.default_rng(seed)
    count = np.repeat(rng.integers(1, 5, index.n_documents), np.diff(index.doc_ptr)).astype(np.float32)
    extra = np.ascontiguousarray(np.broadcast_to(count, index.gram_of.shape))
    return StorageCosts(np.zeros(index.max_gram), extra, np.where(index.lengths() > 1, 4.0, 0.0))


def without(index: KGramIndex, grams: np.ndarray) -> KGramIndex:
    """The index without some K-grams."""
    kept = np.ones(index.n_grams, dtype=bool)
    kept[grams] = False
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
    grp_ptr = np.append(0, np.cumsum(index.counts()[kept])).astype(np.int32)
    len_ptr = np.searchsorted(index.lengths()[kept], np.arange(1, index.max_gram + 2)).astype(np.int32)
    return replace(index, gram_of=number[index.gram_of], grp_ptr=grp_ptr, len_ptr=len_ptr)


@pytest.mark.parametrize(
    ("max_gram", "kind"),
    [(1, np.uint8), (8, np.uint8), (9, np.uint32), (32, np.uint32)],
)
def test_covers_have_a_bit_for_every_length(max_gram, kind):
    assert cover_type(max_gram) == kind and np.iinfo(kind).bits >= max_gram


@pytest.mark.parametrize("max_gram", LONGEST)
@pytest.mark.parametrize("pieces", [False, True])
def test_encoding_is_the_references(max_gram, pieces, monkeypatch):
    """Also of documents that are cut into pieces."""
    if pieces:
        monkeypatch.setattr(blocks, "BLOCK_TOKENS", 16)
        monkeypatch.setattr(blocks, "EARLY", 4)
    for seed in range(4):
        index = index_of_characters(characters(seed), max_gram)
        coder = Coder(index, costs_of(index, seed))
        price = np.random.default_rng(seed).exponential(3.0, index.n_grams)
        cover = coder.encode(price)
        objective, _, used = coder.evaluate(cover)
        each = np.where(index.gram_of >= 0, coder.costs.pointer_extra + price[index.gram_of], np.inf)
        best = 0.0
        for a, e in zip(index.doc_ptr[:-1], index.doc_ptr[1:], strict=True):
            best += cheapest(prices_from(each[:, a:e]), e - a)
        marked = (cover >> np.arange(max_gram, dtype=cover.dtype)[:, None] & 1).astype(bool)
        assert each[marked].sum() == pytest.approx(best, rel=1e-9)
        assert cover.dtype == cover_type(max_gram)
        assert objective == pytest.approx(
            coder.costs.pointer_extra[marked].sum() + coder.costs.dictionary[used > 0].sum()
        )


def test_solvers_come_near_what_highs_says_and_prove_it():
    """With the widest covers: kernels for each other kind would only take long to compile."""
    max_gram = 32
    index = index_of_characters(characters(0), max_gram)
    costs = costs_of(index)
    best = solve_exactly(index, costs)
    results = {
        "guided": solve_guided(index, costs, GuidedSettings(tol=0.0)),
        "exact": solve_exact(index, costs),
        "homotopy": solve_homotopy(index, costs, HomotopySettings(polish=True)),
        "reweighting": solve_reweighting(index, costs, ReweightingSettings(polish=True)),
    }
    for name, result in results.items():
        proved = certify(result.cover, result.alpha, index.gram_of, costs)
        assert proved.covered and proved.objective == result.objective, name
        assert result.cover.dtype == cover_type(max_gram)
        assert certificate_of(result, index, costs).lower_bound <= best * (1 + 1e-9) <= result.objective * (1 + 2e-9)
        assert result.objective <= best * (1.0 + (1e-9 if name == "exact" else 0.05)), name
    assert any(len(result.dictionary) and index.lengths()[result.dictionary].max() > 8 for result in results.values())


@pytest.mark.parametrize("max_gram", [3, 20])
def test_an_index_may_lack_k_grams_within_documents(max_gram):
    """Such as those that cannot pay; then nothing else may change."""
    whole = index_of_characters(characters(3), max_gram)
    rng = np.random.default_rng(0)
    index = without(whole, np.flatnonzero((whole.lengths() > 1) & (rng.random(whole.n_grams) < 0.5)))
    costs = costs_of(index)
    result, best = solve_guided(index, costs, GuidedSettings(tol=0.0, branching=False)), solve_exactly(index, costs)
    assert result.lower_bound <= best * (1 + 1e-9) and best * (1 - 1e-9) <= result.objective <= best * 1.03
    assert certify(result.cover, result.alpha, index.gram_of, costs).covered
    assert best >= solve_exactly(whole, costs_of(whole)) - 1e-9
