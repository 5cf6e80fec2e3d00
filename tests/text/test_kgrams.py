"""The K-gram index against a dictionary of tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cflengine.engine.progress import Stopped, Watch
from cflengine.text import numbering
from cflengine.text.kgrams import KGramIndex, index_by_sorting, index_bytes, index_kgrams
from naive.text import numbered, occurrences

DOCUMENTS = st.integers(1, 4).flatmap(
    lambda letters: st.lists(st.lists(st.integers(0, letters - 1), max_size=14), max_size=7)
)


def build(documents: list[list[int]], max_gram: int) -> KGramIndex:
    tokens = np.array([token for document in documents for token in document], dtype=np.int32)
    doc_ptr = np.cumsum([0, *map(len, documents)])
    return index_kgrams(tokens, doc_ptr, max_gram)


def assert_as_naive(index: KGramIndex, documents: list[list[int]], max_gram: int) -> None:
    found = occurrences(documents, max_gram)
    grams = numbered(found)
    assert index.n_grams == len(grams) and index.max_gram == max_gram
    assert index.n_pointers == sum(map(len, found.values()))
    assert index.counts().tolist() == [len(found[gram]) for gram in grams]
    assert index.lengths().tolist() == [len(gram) for gram in grams]
    assert index.first_positions(np.arange(len(grams))).tolist() == [found[gram][0] for gram in grams]
    expected = np.full((max_gram, index.n_tokens), -1)
    for number, gram in enumerate(grams):
        expected[len(gram) - 1, found[gram]] = number
    np.testing.assert_array_equal(index.gram_of, expected)


@given(DOCUMENTS, st.integers(1, 8))
@example([[], [0] * 14, [], [0, 1, 0], []], 8)
@example([], 3)
@example([[]], 1)
def test_index_equals_a_dictionary_of_tuples(documents, max_gram):
    index = build(documents, max_gram)
    assert_as_naive(index, documents, max_gram)
    by_sorting = index_by_sorting(index.tokens, index.doc_ptr, max_gram)
    for name in ("gram_of", "grp_ptr", "len_ptr"):
        own, other = getattr(index, name), getattr(by_sorting, name)
        assert own.dtype == other.dtype
        np.testing.assert_array_equal(own, other)


@given(DOCUMENTS, st.integers(1, 4))
@example([[0, 1] * 40, [], [1] * 30], 4)
def test_many_buckets_and_chunks_make_the_same_index(documents, max_gram):
    """Sizes that only large corpora have: a bucket and a chunk to a token, two tokens between questions."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("BUCKET_TOKENS", 1), ("CHUNK_TOKENS", 1), ("_AT_ONCE", 2)):
            patch.setattr(numbering, name, value)
        assert_as_naive(build(documents, max_gram), documents, max_gram)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_indexing_stops_when_told_to(length):
    """At the first question after a length has begun."""
    watch = Watch(lambda: watch.done < numbering.PASSES * (length - 1))
    with pytest.raises(Stopped):
        index_kgrams(np.zeros(50, np.int32), np.array([0, 50]), 3, watch=watch)
    assert watch.done == numbering.PASSES * (length - 1) and watch.total == 3 * numbering.PASSES


def test_a_watch_is_told_of_every_pass():
    watch = Watch()
    index_kgrams(np.arange(50, dtype=np.int32), np.array([0, 50]), 2, watch=watch)
    assert watch.done == watch.total == 2 * numbering.PASSES


@given(DOCUMENTS, st.integers(1, 8))
def test_occurrences_and_length_of_a_gram(documents, max_gram):
    index = build(documents, max_gram)
    found = occurrences(documents, max_gram)
    for number, gram in enumerate(numbered(found)):
        assert index.length(number) == len(gram)
        assert index.occurrences(number).tolist() == found[gram]


@given(DOCUMENTS, st.integers(1, 8))
def test_no_pointer_crosses_a_document_border(documents, max_gram):
    index = build(documents, max_gram)
    document = np.repeat(np.arange(len(documents)), [len(d) for d in documents])
    for k in range(max_gram):
        for i in range(index.n_tokens):
            inside = i + k < index.n_tokens and document[i + k] == document[i]
            assert (index.gram_of[k, i] >= 0) == inside


def test_grams_of_a_length_are_numbered_by_falling_count_then_first_occurrence():
    index = build([[3, 1, 2, 1, 2, 2], [5, 4]], 1)
    assert index.tokens[index.first_positions(np.arange(5))].tolist() == [2, 1, 3, 5, 4]
    assert index.counts().tolist() == [3, 2, 1, 1, 1]


@pytest.mark.parametrize("bucket_tokens", [numbering.BUCKET_TOKENS, 1 << 30])
def test_hash_tables_grow_for_many_distinct_grams(bucket_tokens, monkeypatch):
    """200,000 short documents of ever new words; in one bucket, its table starts with 65,536 slots."""
    monkeypatch.setattr(numbering, "BUCKET_TOKENS", bucket_tokens)
    n = 400_000
    tokens = np.arange(n, dtype=np.int32) // 2 + np.arange(n, dtype=np.int32) % 2 * 500_000
    index = index_kgrams(np.concatenate([tokens, tokens]), np.arange(0, 2 * n + 1, 2), 2)
    assert np.diff(index.len_ptr).tolist() == [n, n // 2]
    assert (index.counts() == 2).all()
    np.testing.assert_array_equal(index.gram_of[:, :n], index.gram_of[:, n:])
    np.testing.assert_array_equal(index.gram_of[0, :n], np.arange(n))
    assert (index.gram_of[1, 1::2] == -1).all()


def test_large_token_ids_are_told_apart():
    top = 2**31 - 1
    index = build([[top, 0, top - 1, 0, top, 0]], 2)
    assert index.counts().tolist() == [3, 2, 1, 2, 1, 1, 1]


@pytest.mark.parametrize("max_gram", [0, 33, -1, 2.0, "3", None])
def test_max_gram_out_of_range_raises(max_gram):
    with pytest.raises(ValueError, match="max_gram"):
        index_kgrams(np.zeros(3, np.int32), np.array([0, 3]), max_gram)


def test_negative_token_ids_raise():
    with pytest.raises(ValueError, match="negative"):
        build([[0, -1, 2]], 2)


def test_more_pointers_than_int32_can_number_raise_before_any_work():
    tokens = np.zeros((2**31 - 1) // 8 + 1, dtype=np.int32)  # zero pages that are not touched take no memory
    with pytest.raises(ValueError, match="2\\^31"):
        index_kgrams(tokens, np.array([0, len(tokens)]), 8)


@pytest.mark.parametrize("max_gram", [1, 3, 8])
def test_bytes_are_those_of_the_documentation(max_gram):
    rng = np.random.default_rng(0)
    index = build([rng.integers(0, 500, 5_000).tolist()], max_gram)
    n, grams = index.n_tokens, index.n_grams
    assert index.nbytes == pytest.approx(n * (4 + 4 * max_gram) + 4 * grams, abs=200)
    assert index_bytes(n, max_gram, grams / n) == pytest.approx(index.nbytes, abs=200)
    assert [a.dtype for a in (index.tokens, index.doc_ptr, index.gram_of, index.grp_ptr, index.len_ptr)] == [
        np.int32, np.int64, np.int32, np.int32, np.int32,
    ]  # fmt: skip


def test_documented_bytes_a_token_of_a_newsgroup_corpus():
    assert index_bytes(10**6, 3, 0.56) / 10**6 == pytest.approx(18.2, abs=0.05)
