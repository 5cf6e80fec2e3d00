"""Every pointer has one place, and a bin's pointers can be brought into group order and back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.passes import layout as module
from cflengine.compression.passes.blocks import BLOCK_TOKENS, Blocks, cut_evenly
from cflengine.compression.passes.layout import BIN_POINTERS, PointerLayout
from cflengine.text.kgrams import KGramIndex, index_kgrams
from naive.corpora import SMALL, index_of


def assert_cut(blocks: Blocks, doc_ptr: np.ndarray) -> None:
    """Blocks are the tokens in order; each is whole documents, or a piece of a long one of 1 to 2 times the size."""
    assert blocks.token[0] == 0 and blocks.token[-1] == doc_ptr[-1] and (np.diff(blocks.token) >= 0).all()
    assert blocks.doc[0] == 0 and blocks.doc[-1] == len(doc_ptr) - 1
    assert blocks.piece[blocks.piece >= 0].tolist() == list(range((blocks.piece >= 0).sum()))
    for b, (a, e) in enumerate(pairwise(blocks.token.tolist())):
        d = blocks.doc[b]
        if blocks.piece[b] < 0:
            assert (a, e) == (doc_ptr[d], doc_ptr[blocks.doc[b + 1]])
            assert e - a <= BLOCK_TOKENS or (blocks.doc[b + 1] == d + 1 and e - a <= 2 * BLOCK_TOKENS)
        else:
            assert doc_ptr[d] <= a < e <= doc_ptr[d + 1] and doc_ptr[d + 1] - doc_ptr[d] > 2 * BLOCK_TOKENS
            assert BLOCK_TOKENS <= e - a < 2 * BLOCK_TOKENS
            assert blocks.doc[b + 1] == d + (e == doc_ptr[d + 1])


def assert_sound(index: KGramIndex) -> PointerLayout:
    layout = PointerLayout.of(index)
    pointer = index.gram_of >= 0
    np.testing.assert_array_equal(layout.slot >= 0, pointer)
    np.testing.assert_array_equal(np.sort(layout.slot[pointer]), np.arange(index.n_pointers))
    assert layout.bins[0] == 0 and layout.bins[-1] == index.n_grams and layout.bin_ptr[-1] == index.n_pointers
    np.testing.assert_array_equal(np.sort(layout.order), np.arange(layout.n_bins))
    assert_cut(layout.blocks, index.doc_ptr)
    length = np.repeat(np.arange(index.max_gram), np.diff(index.len_ptr))
    for b in range(layout.n_bins):
        g0, g1 = layout.bins[b], layout.bins[b + 1]
        first, last = layout.bin_ptr[b], layout.bin_ptr[b + 1]
        assert len(set(length[g0:g1].tolist())) == 1, "a bin holds K-grams of one length"
        k = length[g0]
        starts = np.flatnonzero((index.gram_of[k] >= g0) & (index.gram_of[k] < g1))
        # by position within the bin
        np.testing.assert_array_equal(layout.slot[k, starts], np.arange(first, last))
        if g1 - g0 > 1:
            assert last - first <= BIN_POINTERS
            in_group_order = starts[np.argsort(index.gram_of[k, starts], kind="stable")]
            np.testing.assert_array_equal(layout.rank[first:last], layout.slot[k, in_group_order] - first)
    return layout


@pytest.mark.parametrize("max_gram", [1, 3, 8])
@pytest.mark.parametrize("kind", SMALL)
def test_small_corpora(kind, max_gram):
    assert_sound(index_of(SMALL[kind], max_gram))


def test_many_bins_of_mixed_groups():
    rng = np.random.default_rng(0)
    tokens = np.minimum(rng.zipf(1.3, 60_000), 5_000).astype(np.int32)
    layout = assert_sound(index_kgrams(tokens, np.arange(0, 60_001, 40), 3))
    assert layout.n_bins > 30 and layout.n_blocks > 10


def test_the_largest_bins_still_number_their_places_in_sixteen_bits(monkeypatch):
    monkeypatch.setattr(module, "MIN_BINS", 1)  # bins as large as those of a corpus of millions of tokens
    tokens = np.minimum(np.random.default_rng(0).zipf(1.3, 200_000), 60_000).astype(np.int32)
    layout = assert_sound(index_kgrams(tokens, np.array([0, 200_000]), 1))
    assert np.diff(layout.bin_ptr).max() > 65_000


def test_giant_group_has_a_bin_to_itself():
    n = BIN_POINTERS + 4_000
    tokens = np.zeros(n + 1_000, dtype=np.int32)
    tokens[n:] = np.arange(1_000) % 7 + 1
    layout = assert_sound(index_kgrams(tokens, np.array([0, n, n + 1_000]), 1))
    assert (layout.bins[1], layout.bin_ptr[1]) == (1, n)


@pytest.mark.parametrize(
    "lengths",
    [
        [1, 1, 1],
        [0, 2, 0, 0, 1, 0],
        [0],
        [0, 0],
        [7],
        [BLOCK_TOKENS + 1, 0, 3],
        [0, 0, BLOCK_TOKENS, 0, 1],
        [0, 5, 2 * BLOCK_TOKENS + 1, 0, 2, 3 * BLOCK_TOKENS - 1, 0],
        [2 * BLOCK_TOKENS, 7 * BLOCK_TOKENS + 5],
    ],
    ids=str,
)
def test_empty_documents_and_documents_shorter_than_max_gram(lengths):
    doc_ptr = np.cumsum([0, *lengths])
    tokens = np.arange(doc_ptr[-1], dtype=np.int32) % 11
    layout = assert_sound(index_kgrams(tokens, doc_ptr, 8))
    assert (layout.blocks.piece >= 0).any() == (max(lengths) > 2 * BLOCK_TOKENS)


def test_layout_depends_on_the_index_alone():
    index = index_of(SMALL["repeated phrases"], 3)
    for name in ("slot", "rank", "bins", "bin_ptr", "order"):
        np.testing.assert_array_equal(getattr(PointerLayout.of(index), name), getattr(PointerLayout.of(index), name))


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20), st.data())
def test_cuts_are_as_few_as_possible_and_no_piece_is_too_large_unless_it_is_one_item(sizes, size, data):
    ptr = np.cumsum([0, *sizes]).astype(np.int32)
    lo = data.draw(st.integers(0, len(sizes)))
    hi = data.draw(st.integers(lo, len(sizes)))
    cuts = cut_evenly(ptr, lo, hi, size)
    assert cuts[0] == lo and cuts[-1] == hi and (np.diff(cuts) > 0).all()
    for a, b in pairwise(cuts):
        assert ptr[b] - ptr[a] <= size or b == a + 1
        assert b == hi or ptr[b + 1] - ptr[a] > size, "one more item would have fitted"


def test_cuts_near_the_largest_number_of_pointers_do_not_overflow():
    last = 2**31 - 1
    ptr = np.array([0, last - 3_000, last - 2_000, last - 1_000, last], dtype=np.int32)
    assert cut_evenly(ptr, 0, 4, 2_500).tolist() == [0, 1, 3, 4]
