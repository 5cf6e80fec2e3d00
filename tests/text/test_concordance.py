"""Key word in context against a search token by token."""

from __future__ import annotations

import fnmatch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.engine.checks import InputError
from cflengine.text.concordance import ORDERS, Places, context_frame, find_pattern, find_words, sort_places
from cflengine.text.token_presets import PRESETS
from cflengine.text.token_table import DEFAULT_TOKEN_PATTERN, plain_tokens

TEXTS = ["The cat sat on the mat; the CAT ran.", "", "A cat, a catalogue.\nThe\tcat sat", "sat"]
TABLE = plain_tokens(TEXTS)
WORDS = st.lists(st.sampled_from(["cat", "ca*", "*at", "the", "*", "sat", "."]), min_size=1, max_size=3)


def found(query: str, table=TABLE) -> list[tuple[int, int]]:
    places = find_words(table, query, pattern=DEFAULT_TOKEN_PATTERN)
    return list(zip(places.first.tolist(), places.last.tolist(), strict=True))


def naive(words: list[str], texts=TEXTS) -> list[tuple[int, int]]:
    table, places = plain_tokens(texts), []
    for d in range(table.n_documents):
        forms, begin = table.words(d), int(table.doc_ptr[d])
        places += [
            (begin + i, begin + i + len(words) - 1)
            for i in range(len(forms) - len(words) + 1)
            if all(fnmatch.fnmatchcase(forms[i + k], word) for k, word in enumerate(words))
        ]
    return places


@given(WORDS, st.lists(st.lists(st.sampled_from(["cat", "catch", "the", "sat", "."]), max_size=6), max_size=4))
def test_a_query_token_by_token(words, documents):
    texts = [" ".join(document) for document in documents]
    assert found(" ".join(words), plain_tokens(texts)) == naive(words, texts)


def test_any_case_and_punctuation():
    assert found("the CAT") == naive(["the", "cat"])
    assert found("mat; the") == naive(["mat", ";", "the"])
    assert found("cat a") == [], "not across a comma"
    assert found("ran a") == [], "not across documents"
    with pytest.raises(InputError, match="no word"):
        found("  ")


def test_a_wildcard_stays_with_the_word_that_it_touches():
    table = plain_tokens(["see <script> and <scripts>, it's $5 or $50"])
    assert found("<script*", table) == [(1, 2), (5, 6)] and found("scri*", table) == [(2, 2), (6, 6)]
    assert found("$5*", table) == [(12, 13), (15, 16)] and found("it's*", table) == [(9, 11)]
    assert found("< * > and", table) == [(1, 4)] == found("<*> and", table) and found("it*, it", table) == []
    assert found("scripts*>, it", table) == [(6, 9)] and found("<script*>,", table) == [(5, 8)]


@pytest.mark.parametrize(
    ("preset", "query", "wanted"),
    [
        ("contractions", "*'s", ["dog's"]), ("contractions", "don'*", ["don't"]),
        ("contractions", "d*", ["dog's", "don't"]),
        ("social", "https://*", ["https://a.org"]), ("social", "#*", ["#tag"]), ("words", "don'*", ["don", "'", "t"]),
        (r"[a-z]{3,}", "do*", ["dog", "don"]), (r"\d+", "1*", ["12"]), ("characters", "d*", ["d", "d"]),
    ],
)  # fmt: skip
def test_a_wildcard_is_cut_as_a_letter_would_be(preset, query, wanted):
    text = "The dog's here; don't look: https://a.org #tag 12"
    pattern = PRESETS[preset].pattern if preset in PRESETS else preset
    table = plain_tokens([text], pattern)
    places = find_words(table, query, pattern=pattern)
    words = [
        table.vocabulary[table.tokens[k]]
        for a, b in zip(places.first, places.last, strict=True)
        for k in range(a, b + 1)
    ]
    assert words == wanted


@pytest.mark.parametrize("order", ORDERS)
def test_places_are_sorted_by_a_word_beside_them(order):
    places = find_words(TABLE, "cat", pattern=DEFAULT_TOKEN_PATTERN)
    by_order = sort_places(TABLE, places, (order,))
    assert sorted(by_order.first.tolist()) == sorted(places.first.tolist())

    def beside(first: int) -> str:
        d = int(np.searchsorted(TABLE.doc_ptr, first, side="right")) - 1
        at = first + (int(order[1]) if order[0] == "R" else -int(order[1]))
        inside = TABLE.doc_ptr[d] <= at < TABLE.doc_ptr[d + 1]
        return TABLE.vocabulary[TABLE.tokens[at]] if inside else ""

    forms = [beside(first) for first in by_order.first.tolist()]
    assert forms == sorted(forms)
    with pytest.raises(InputError, match="sorted by"):
        sort_places(TABLE, places, ("L9",))


def test_a_regular_expression_takes_whole_tokens():
    places = find_pattern(TABLE, TEXTS, r"c.t s")
    frame = context_frame(TABLE, TEXTS, places)
    assert frame["match"].tolist() == ["cat sat", "cat sat"] and frame["document"].tolist() == [0, 2]
    assert frame["before"].iloc[0] == "The" and frame["after"].iloc[0] == "on the mat; the CAT ran."
    assert len(find_pattern(TABLE, TEXTS, "x*")) == 0, "what matches nothing is no place"
    for bad in ("(", "", "a" * 400):
        with pytest.raises(InputError):
            find_pattern(TABLE, TEXTS, bad)
    cut = find_pattern(TABLE, TEXTS, "cat", seconds=-1.0)
    assert cut.limited and not len(cut)


def test_no_place_at_all():
    none = find_words(TABLE, "dog", pattern=DEFAULT_TOKEN_PATTERN)
    assert len(sort_places(TABLE, none, ("L1",))) == 0 and context_frame(TABLE, TEXTS, none).empty
    assert len(find_words(plain_tokens([]), "dog dog", pattern=DEFAULT_TOKEN_PATTERN)) == 0
    assert isinstance(none, Places)
