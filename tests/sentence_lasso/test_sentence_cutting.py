"""Documents as sentences with counts: every word is in its sentence, whatever the text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.sentence_lasso.sentences import GramFeatures, SentenceTable, WordFeatures, cut_sentences, sum_by

WORDS = st.sampled_from(
    ["good", "Bad", "a", "Mr.", "3.5", "über", "x\u0301", "\U0001f600", "end.", "What?", "so!", "e.g."]
)
TEXTS = st.lists(
    st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\n", "\n\n", "\t", ". "]))), min_size=1, max_size=5
)


def texts_of(drawn) -> list[str]:
    return ["".join(word + gap for word, gap in text) for text in drawn]


def table_of(texts: list[str], pattern: str = r"\w+", lowercase: bool = True) -> tuple[SentenceTable, list[str]]:
    features = WordFeatures(pattern, lowercase)
    found = features.fit(texts)
    return cut_sentences(texts, found, len(features.names()), "en"), features.names()


@settings(max_examples=60)
@given(TEXTS)
def test_every_word_is_counted_in_its_own_sentence(drawn):
    texts = texts_of(drawn)
    table, names = table_of(texts)
    for s in range(len(table)):
        sentence = texts[table.document[s]][table.start[s] : table.end[s]]
        words = re.findall(r"\w+", sentence.lower())
        assert table.counts[s].toarray()[0].tolist() == [words.count(name) for name in names]


@settings(max_examples=60)
@given(TEXTS, st.booleans())
def test_sentences_add_up_to_the_bag_of_words(drawn, lowercase):
    texts = texts_of(drawn)
    table, names = table_of(texts, lowercase=lowercase)
    bags = [re.findall(r"\w+", text.lower() if lowercase else text) for text in texts]
    expected = [[bag.count(name) for name in names] for bag in bags]
    np.testing.assert_array_equal(table.by_document().toarray(), np.array(expected).reshape(len(texts), len(names)))


@settings(max_examples=60)
@given(st.lists(st.text(" ab.\n", max_size=8), min_size=1, max_size=4))
def test_white_space_may_be_a_token(texts):
    """It lies between sentences, before the first one of a document, and in documents without any."""
    texts = [*texts, "a"]
    table, _ = table_of(texts, r"(?s).")
    assert table.counts.sum() <= sum(map(len, texts))
    for s in range(len(table)):  # every character of a sentence is in it, and no other document's
        own = texts[table.document[s]]
        assert table.end[s] - table.start[s] <= table.counts[s].sum() <= len(own)
    assert ([len(text) for text in texts] >= table.by_document().sum(axis=1).A1).all()


def test_sentences_and_documents_without_a_word_stay():
    table, names = table_of(["", "One. ... Two!", "?!", "\n"])
    assert names == ["one", "two"] and table.n_documents == 4
    assert table.by_document().toarray().tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]
    assert set(table.document.tolist()) <= {1, 2} and len(table) == table.counts.shape[0] == len(table.start)


def test_unknown_words_count_nothing():
    features = WordFeatures(r"\w+", True)
    features.fit(["good word"])
    texts = ["A GOOD day. Word!", "zebra"]
    table = cut_sentences(texts, features.find(texts), 2, "en")
    assert table.counts.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert features.find([])[0].shape == (0,) and features.names() == ["good", "word"]


def test_words_before_anything_is_learnt_are_all_unknown():
    features = WordFeatures(r"\w+", True)
    features.fit(["..."])
    assert features.names() == [] and len(features.find(["a b"])[0]) == 0


def test_offsets_are_code_points():
    texts = ["\U0001f600\U0001f600 good. Bad \U0001f600. So.", "é good."]
    table, names = table_of(texts)
    assert [texts[d][a:b] for d, a, b in zip(table.document, table.start, table.end, strict=True)][-1] == "é good."
    assert table.counts.toarray()[:, names.index("bad")].sum() == 1


def test_sum_by_document():
    counts = sparse.csr_matrix([[1, 0], [2, 1], [0, 5]])
    summed = sum_by(np.array([0, 0, 2]), counts, 4)
    assert summed.toarray().tolist() == [[3, 1], [0, 0], [0, 5], [0, 0]] and summed.has_canonical_format
    assert counts.toarray().tolist() == [[1, 0], [2, 1], [0, 5]]


def test_pointers_of_grams_are_counted_where_they_begin():
    model = CompressiveFeatures(
        max_gram=3,
        token_pattern=r"\w+",
        settings=GuidedSettings(relaxation_iterations=30, annealings=1, anneal_rounds=1),
    )
    texts = ["the cat sat. the cat ran.", "the cat sat on a mat.", "a mat. the cat sat."]
    features = GramFeatures(model)
    found = features.fit(texts)
    table = cut_sentences(texts, found, len(features.names()), "en")
    assert features.names() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(table.by_document().toarray(), model.transform(texts).toarray())
    for d, start, gram in zip(*found[:3], strict=True):
        s = np.flatnonzero((table.document == d) & (table.start <= start) & (start < table.end))
        assert len(s) == 1 and table.counts[s[0], gram] >= 1
    assert len(features.find(["zebra"])[0]) == 0


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_languages(language):
    features = WordFeatures(r"\w+", True)
    texts = ["Eins. Zwei."]
    table = cut_sentences(texts, features.fit(texts), 2, language)
    assert table.counts.sum() == 2
