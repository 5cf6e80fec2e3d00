"""The tokeniser cuts exactly as ``re`` does, and its offsets point at what it cut."""

from __future__ import annotations

import re

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer, TokenTable, printable
from naive.text import tokenise

# any code point, lone surrogates included, with the characters that tokenisers stumble over made frequent
TRICKY = (
    "aZ_9 \t\r\n\x0b\x1c\x85\u00a0\u2003\u2028.,-'’—ß\u0130\u0301\u200b\u200d\ufe0f\ufeff"
    "\u05d0\u0627漢ｆ²½👍🏽🇩\ud800\udfff"
)
CHARACTERS = st.one_of(st.sampled_from(TRICKY), st.characters())
TEXTS = st.lists(st.text(CHARACTERS, max_size=40), max_size=6)


def spans_of(table: TokenTable, document: int) -> list[tuple[str, int, int]]:
    a, b = table.doc_ptr[document], table.doc_ptr[document + 1]
    return list(zip(table.words(document), table.start[a:b].tolist(), table.end[a:b].tolist(), strict=True))


def assert_as_naive(texts: list[str], pattern: str, lowercase: bool) -> TokenTable:
    table = Tokenizer(pattern, lowercase)(texts)
    assert table.n_documents == len(texts)
    for document, text in enumerate(texts):
        assert spans_of(table, document) == tokenise(text, pattern, lowercase)
    assert table.doc_ptr[0] == 0 and table.doc_ptr[-1] == table.n_tokens
    assert len(set(table.vocabulary)) == len(table.vocabulary)
    return table


@given(TEXTS, st.booleans())
@example(["\ud83d\ude00 \ud83d 👍🏽 e\u0301 שלום مرحبا", "", "\u2028\u00a0"], True)
def test_default_pattern_cuts_as_re_does(texts, lowercase):
    assert_as_naive(texts, DEFAULT_TOKEN_PATTERN, lowercase)


@pytest.mark.parametrize("pattern", [r"\S+", r"(?s).", r"[a-z]+(?:'[a-z]+)?", r"(\w)(\w)*", r"\b\w|(?=x)", "aa"])
@given(texts=TEXTS, lowercase=st.booleans())
def test_other_patterns_cut_as_regex_does(pattern, texts, lowercase):
    table = Tokenizer(pattern, lowercase)(texts)
    for document, text in enumerate(texts):
        spans = [match.span() for match in regex.finditer(pattern, text) if match[0]]
        found = [text[a:e].lower() if lowercase else text[a:e] for a, e in spans]
        assert spans_of(table, document) == [(form, *span) for form, span in zip(found, spans, strict=True)]


@given(TEXTS)
def test_offsets_slice_back_to_the_raw_token(texts):
    table = Tokenizer()(texts)
    for document, text in enumerate(texts):
        for form, a, b in spans_of(table, document):
            assert text[a:b].lower() == form


def test_every_code_point_is_classed_as_re_classes_it():
    points = [chr(point) for point in range(0x110000)]
    text = "x".join(points)  # a word character between two, so that each stands on its own terms
    table = Tokenizer(lowercase=False)([text])
    expected = np.array([match.span() for match in re.finditer(r"\w+|[^\w\s]", text)])
    np.testing.assert_array_equal(np.stack([table.start, table.end], axis=1), expected)


@pytest.mark.parametrize("pattern", [DEFAULT_TOKEN_PATTERN, r"\w+"])
def test_lower_casing_merges_the_vocabulary(pattern):
    texts = ["The THE the", "tHe İ"]
    assert Tokenizer(pattern)(texts).vocabulary == ["the", "i\u0307"]
    assert Tokenizer(pattern, lowercase=False)(texts).vocabulary == ["The", "THE", "the", "tHe", "İ"]
    assert Tokenizer(pattern)(texts).tokens.tolist() == [0, 0, 0, 0, 1]


def test_vocabulary_is_in_order_of_first_occurrence():
    table = Tokenizer()(["b a b", "c a"])
    assert table.vocabulary == ["b", "a", "c"]
    assert table.tokens.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("pattern", [DEFAULT_TOKEN_PATTERN, r"\w+"])
@pytest.mark.parametrize("texts", [[], [""], [" \n", "", "\t"]])
def test_no_tokens_leave_empty_arrays_of_the_right_kind(texts, pattern):
    table = Tokenizer(pattern)(texts)
    assert table.n_tokens == 0 and table.n_documents == len(texts) and table.vocabulary == []
    assert (table.tokens.dtype, table.start.dtype, table.end.dtype) == (np.int32,) * 3
    assert table.doc_ptr.tolist() == [0] * (len(texts) + 1) and table.doc_ptr.dtype == np.int64


INVALID = {
    "bracket": "(",
    "set": "[a",
    "star": "*",
    "empty match": r"\w*",
    "empty": "",
    "empty arm": "a|",
    "look-ahead": "(?=a)*",
    "None": None,
    "number": 7,
    "bytes": b"a",
    "overflow": "a{99999999999999999999}",
    "nested counts": "(?:(?:a{1000}){1000}){1000}",
    "long repeats": "(?:(?:" + "[ab]x?" * 150 + "){100}){100}",
    "length": "a" * 1001,
    "depth": "(" * 3000 + "a" + ")" * 3000,
}


@pytest.mark.parametrize("pattern", INVALID.values(), ids=INVALID.keys())
def test_invalid_patterns_raise_value_error(pattern):
    with pytest.raises(ValueError, match="token_pattern"):
        Tokenizer(pattern)


@pytest.mark.parametrize("pattern", [DEFAULT_TOKEN_PATTERN, r"\w+"])
@pytest.mark.parametrize("wrong", [None, b"bytes", 3.5, ["a list"]])
def test_documents_that_are_not_strings_are_named(pattern, wrong):
    with pytest.raises(TypeError, match="document 1 is a"):
        Tokenizer(pattern)(["fine", wrong])


def test_batches_and_growing_tables_change_nothing():
    """Several batches of about a million characters, 200,000 types, and one document longer than a batch."""
    many = " ".join(f"t{i}" for i in range(200_000))  # 1.3 million characters, every word new
    few = ["the same words, again " * 9_000] * 8
    texts = [few[0], many, "", *few, many[:700_000], "end"]
    table = Tokenizer()(texts)
    general = Tokenizer(f"(?:{DEFAULT_TOKEN_PATTERN})")(texts)  # another spelling: the path through ``re``
    assert sum(map(len, texts)) > 3 << 20 and len(table.vocabulary) == 200_006
    assert table.vocabulary == general.vocabulary
    for name in ("tokens", "doc_ptr", "start", "end"):
        np.testing.assert_array_equal(getattr(table, name), getattr(general, name))


@given(st.text(CHARACTERS, max_size=8))
@example("a b\n\tc\ud800")
def test_printable_forms_fit_on_a_line_and_into_utf_8(form):
    shown = printable(form)
    assert len(shown) == len(form) and not any(char.isspace() for char in shown)
    shown.encode()
    assert all(a == b for a, b in zip(form, shown, strict=True) if not a.isspace() and not "\ud800" <= a <= "\udfff")


def test_printable_tells_the_usual_kinds_of_white_space_apart():
    assert len({printable(char) for char in " \t\n\r"}) == 4


def test_long_words_are_told_apart_by_their_last_character():
    word = "a" * 70_000
    table = Tokenizer()([f"{word}b {word}c {word} {word}b"])
    assert table.tokens.tolist() == [0, 1, 2, 0]
    assert [len(form) for form in table.vocabulary] == [70_001, 70_001, 70_000]
