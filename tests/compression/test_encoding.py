"""Encoding is optimal and by the stated rule; decoding undoes it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression import codebook
from cflengine.compression.codebook import Codebook, decode
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.text.tokens import Tokenizer
from naive.corpora import SMALL, costs_of, index_of
from naive.cover import by_document, cheapest, cheapest_by_trying_all, cheapest_cover, pointers_of, prices_from

# eighths add up exactly, so equal costs are equal in every order of summation
EIGHTHS = st.integers(0, 24).map(lambda units: units / 8)
DOCUMENTS = st.lists(st.lists(st.integers(0, 2), max_size=9), min_size=1, max_size=4)


def build(documents: list[list[int]], max_gram: int) -> KGramIndex:
    tokens = np.array([token for document in documents for token in document], dtype=np.int32)
    return index_kgrams(tokens, np.cumsum([0, *map(len, documents)]), max_gram)


def price_array(index: KGramIndex, prices: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """float64 (K, n): inf where there is no pointer or its K-gram is not allowed."""
    possible = (index.gram_of >= 0) & allowed[index.gram_of]
    return np.where(possible, prices, np.inf)


def encode(index: KGramIndex, prices: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, float]:
    admm = LinearisedAdmm(index, costs_of(index, pointer_cost=prices), RhoRule(1.0, 1.5, 15, 5.0))
    cover = admm.coder.encode_with(allowed.astype(np.uint8))
    cost, n_pointers, used = admm.coder.evaluate(cover)
    assert n_pointers == len(pointers_of(cover)) and not (used.astype(bool) & ~allowed).any()
    return cover, cost - admm.costs.dictionary[used > 0].sum()


@st.composite
def problems(draw, max_tokens: int, max_gram: int):
    K = draw(st.integers(1, max_gram))
    letters = st.integers(0, 2)
    n = draw(st.integers(1, max_tokens))
    cut = draw(st.integers(0, n))
    tokens = draw(st.lists(letters, min_size=n, max_size=n))
    index = build([tokens[:cut], tokens[cut:]], K)
    prices = np.array(draw(st.lists(EIGHTHS, min_size=K * n, max_size=K * n))).reshape(K, n)
    allowed = np.array(draw(st.lists(st.booleans(), min_size=index.n_grams, max_size=index.n_grams)), dtype=bool)
    # unigrams stay, so that there is a cover
    allowed[: index.len_ptr[1]] = True
    return index, prices, allowed


@given(problems(max_tokens=5, max_gram=3))
def test_naive_encoders_agree_with_trying_every_set_of_pointers(problem):
    index, prices, allowed = problem
    table = prices_from(price_array(index, prices, allowed))
    best = cheapest_by_trying_all(table, index.n_tokens)
    assert cheapest(table, index.n_tokens) == best
    parts = by_document(table, index.doc_ptr.tolist())
    assert sum(part[pointer] for part, n in parts for pointer in cheapest_cover(part, n, index.max_gram)) == best


@given(problems(max_tokens=24, max_gram=8))
def test_encoding_is_the_cheapest_and_chosen_by_the_stated_rule(problem):
    index, prices, allowed = problem
    cover, cost = encode(index, prices, allowed)
    table = prices_from(price_array(index, prices, allowed))
    assert cost == cheapest(table, index.n_tokens)
    expected = []
    for a, (part, n) in zip(index.doc_ptr.tolist(), by_document(table, index.doc_ptr.tolist()), strict=False):
        expected += [(k, a + i) for k, i in cheapest_cover(part, n, index.max_gram)]
    assert pointers_of(cover) == expected


def test_overlapping_pointers_are_used_where_they_are_cheaper():
    index = index_of(["a b c"], 2)
    prices = np.array([[3.0, 1.0, 3.0], [1.0, 1.0, 0.0]])
    cover, cost = encode(index, prices, np.ones(index.n_grams, dtype=bool))
    assert pointers_of(cover) == [(2, 0), (2, 1)] and cost == 2.0


def test_of_equally_cheap_covers_the_last_pointer_is_the_longest_and_overlaps_nothing():
    index = index_of(["a b c d"], 3)
    cover, cost = encode(index, np.ones((3, 4)), np.ones(index.n_grams, dtype=bool))
    assert pointers_of(cover) == [(1, 0), (3, 1)] and cost == 2.0


def test_document_without_a_cover_is_left_uncovered():
    index = index_of(["a b", "c"], 1)
    cover, _ = encode(index, np.ones((1, 3)), index.tokens[index.first_positions(np.arange(3))] != 1)
    assert pointers_of(cover) == [(1, 2)]


# codebooks


def words(letters: list[int]) -> str:
    return " ".join("abcde"[letter] for letter in letters)


@st.composite
def codebooks(draw):
    K = draw(st.integers(1, 8))
    gram = st.lists(st.sampled_from("abcd"), min_size=1, max_size=K).map(tuple)
    grams = draw(st.lists(gram, max_size=12, unique=True))
    by_length = np.array(draw(st.lists(EIGHTHS, min_size=K, max_size=K)))
    literal = by_length[0] + draw(EIGHTHS)
    return grams, by_length, literal


def naive_prices(document: list[str], grams: list[tuple], by_length: np.ndarray, literal: float) -> dict:
    known = set(grams)
    prices = {(1, i): literal for i in range(len(document))}
    for k, price in enumerate(by_length, start=1):
        for i in range(len(document) - k + 1):
            if tuple(document[i : i + k]) in known:
                prices[k, i] = min(prices.get((k, i), math.inf), price)
    return prices


@given(codebooks(), st.lists(st.lists(st.integers(0, 4), max_size=14).map(words), max_size=5))
@example(([], np.array([1.0]), 2.0), ["a b", ""])
@example(([("a", "b")], np.array([1.0, 1.0]), 9.0), ["a b b a b"])
def test_codebook_finds_the_naive_optimum_and_decodes_to_the_document(codebook, texts):
    grams, by_length, literal = codebook
    table = Tokenizer()(texts)
    encoding, cost = Codebook(grams, by_length, literal).encode(table)
    documents = [table.words(d) for d in range(len(texts))]
    optimum = sum(cheapest(naive_prices(doc, grams, by_length, literal), len(doc)) for doc in documents)
    assert cost == optimum
    charged = [by_length[k - 1] if g >= 0 else literal for g, k in zip(encoding.gram, encoding.length, strict=True)]
    assert sum(charged) == cost
    assert decode(encoding, grams) == documents
    for p in range(len(encoding)):
        document = documents[encoding.document[p]]
        piece = tuple(document[encoding.start[p] : encoding.start[p] + encoding.length[p]])
        assert piece == (
            grams[encoding.gram[p]] if encoding.gram[p] >= 0 else (encoding.literals[-1 - encoding.gram[p]],)
        )


def test_literal_cheaper_than_a_known_word_is_charged_and_listed_alike():
    encoding, cost = Codebook([("a",), ("b",)], np.array([2.0]), 0.5).encode(Tokenizer()(["a b c"]))
    charged = [2.0 if gram >= 0 else 0.5 for gram in encoding.gram]
    assert cost == sum(charged)


@pytest.mark.parametrize(
    ("grams", "message"),
    [([("a",), ()], "1 to 2 words"), ([("a", "b", "c")], "1 to 2 words"), ([("a", "b"), ("c",), ("a", "b")], "twice")],
)
def test_impossible_dictionaries_raise(grams, message):
    with pytest.raises(ValueError, match=message):
        Codebook(grams, np.ones(2), 2.0)


def test_many_documents_in_many_blocks_encode_as_each_alone():
    rng = np.random.default_rng(0)
    texts = [words(row) for row in rng.integers(0, 5, (900, 17)).tolist()]
    book = Codebook([("a",), ("b",), ("a", "b"), ("c", "d", "a"), ("d", "d")], np.array([1.0, 1.0, 1.25]), 2.0)
    together, cost = book.encode(Tokenizer()(texts))
    assert together.document[-1] == 899 and len(Tokenizer()(texts).tokens) > 3 * 4096
    costs = []
    for d in range(0, 900, 100):
        alone, price = book.encode(Tokenizer()([texts[d]]))
        span = together.of_document(d)
        for name in ("start", "length", "start_char", "end_char"):
            np.testing.assert_array_equal(getattr(together, name)[span], getattr(alone, name))
        costs.append(price)
    assert cost == sum(book.encode(Tokenizer()([text]))[1] for text in texts) and sum(costs) > 0


# what an encoding says of itself


def test_encoding_points_into_the_text_and_counts_itself():
    texts = ["The cat, the CAT!", "", "Zebra"]
    encoding, _ = Codebook([("the", "cat"), (",",)], np.ones(2), 2.0).encode(Tokenizer()(texts))
    frame = encoding.to_frame()
    pieces = [texts[d][a:b] for d, a, b in zip(frame["document"], frame["start_char"], frame["end_char"], strict=True)]
    assert pieces == ["The cat", ",", "the CAT", "!", "Zebra"]
    assert encoding.gram.tolist() == [0, 1, 0, -1, -2] and encoding.literals == ("!", "zebra")
    assert len(encoding) == 5 and encoding.n_literals == 2 and encoding.n_documents == 3
    assert encoding.ptr.tolist() == [0, 4, 4, 5] and encoding.of_document(1) == slice(4, 4)


# through the whole engine

QUICK = GuidedSettings(relaxation_iterations=8, annealings=0)


SEEN = st.lists(st.text("ab .\u0301👍", max_size=12), min_size=1, max_size=4)


@settings(max_examples=40)
@given(
    SEEN.filter(lambda texts: any(text.strip() for text in texts)),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.5, 1.0, 4.0]),
    st.sampled_from([r"\w+|[^\w\s]", "(?s)."]),
    st.lists(st.text("abc .\n", max_size=12), max_size=3),
)
def test_decoding_gives_the_documents_back_seen_or_unseen(texts, max_gram, lam, pattern, unseen):
    model = CompressiveFeatures(lam, max_gram, token_pattern=pattern, settings=QUICK).fit(texts)
    for documents, encoding in ((texts, model.encoding_), (texts, model.encode(texts)), (unseen, model.encode(unseen))):
        table = Tokenizer(pattern)(documents)
        assert model.decode(encoding) == [table.words(d) for d in range(len(documents))]
    assert model.encoding_.n_literals == 0


@pytest.mark.parametrize("kind", SMALL)
def test_cost_of_the_encoded_corpus_is_that_of_the_certificate(kind):
    model = CompressiveFeatures(0.7, settings=QUICK).fit(SMALL[kind])
    result = model.result_
    assert len(model.encoding_) == result.n_pointers and len(model.grams_) == result.dictionary_size
    assert 0.7 * result.n_pointers + sum(map(len, model.grams_)) == pytest.approx(result.objective)


@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
def test_counting_some_documents_at_a_time_changes_nothing(monkeypatch, at_once):
    documents = ["a b a b", "", "a b c", "x", "", "b a b a b a"]
    model = CompressiveFeatures(lam=0.3).fit(documents)
    expected = np.zeros((len(documents), len(model.grams_)), dtype=np.int64)
    for encoding in (model.encoding_, model.encode(documents)):
        expected[:] = 0
        known = encoding.gram >= 0
        np.add.at(expected, (encoding.document[known], encoding.gram[known]), 1)
        monkeypatch.setattr(codebook, "_POINTERS_AT_ONCE", at_once)
        found = codebook.count_matrix(encoding, len(model.grams_))
        assert found.dtype == np.int64 and found.has_canonical_format
        np.testing.assert_array_equal(found.toarray(), expected)
    empty = model.encode([])
    assert codebook.count_matrix(empty, 3).shape == (0, 3)
