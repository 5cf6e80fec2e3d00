"""Sentences: spans into the text as it stands, nothing lost, blank lines always a border."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cflengine.text.sentences import UNITS, sentence_spans, unit_spans

PIECES = st.sampled_from(
    [
        *("Dr. ", "e.g. ", "Hello", " world", ". ", "! ", "?", "…", "(Yes.) ", '"No." ', "3.14", "U.S. ", "x"),
        *("\n", "\n\n", "\r\n", " \t\n \n", "\u00a0", "\u2028", "\x1c", "\x85"),
        *("漢字。", "これは文です！", "👍🏽 ", "e\u0301 ", "مرحبا. "),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
)


def sentences(text: str, **options) -> list[str]:
    return [text[a:b] for a, b in sentence_spans(text, **options)]


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS)
@example("A.\n\nB. 👍🏽 C")
@example("one, (two), 1,000; three — four: five、six")
def test_every_character_but_white_space_stands_in_exactly_one_part(unit, text):
    spans = unit_spans(text, unit)
    inside = np.zeros(len(text), dtype=int)
    for a, b in spans:
        inside[a:b] += 1
    assert [inside[i] for i, char in enumerate(text) if not char.isspace()] == [1] * sum(not c.isspace() for c in text)
    assert inside.max(initial=0) <= 1


@pytest.mark.parametrize("unit", UNITS)
@given(TEXTS)
def test_spans_ascend_and_are_trimmed(unit, text):
    spans = unit_spans(text, unit)
    assert spans.dtype == np.int32 and spans.shape == (len(spans), 2)
    assert (spans[:, 0] < spans[:, 1]).all() and (spans[1:, 0] >= spans[:-1, 1]).all()
    for a, b in spans:
        assert text[a:b] == text[a:b].strip()


@given(st.lists(TEXTS, min_size=2, max_size=4), st.sampled_from(["\n\n", "\n \t\n", "\r\n\r\n", "\n\n\n\n"]))
def test_no_sentence_reaches_across_a_blank_line(paragraphs, blank):
    for sentence in sentences(blank.join(paragraphs)):
        assert not re.search(r"\n[^\S\n]*\n", sentence)


def test_blank_line_splits_where_the_language_would_not():
    assert sentences("a title without a full stop\n\nand lower case text") == [
        "a title without a full stop",
        "and lower case text",
    ]
    assert sentences("one sentence\non two lines") == ["one sentence\non two lines"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("Take fruit, e.g. an apple. Eat it!", ["Take fruit, e.g. an apple.", "Eat it!"]),
        ("It cost 3.50 euros. Cheap?  Yes.", ["It cost 3.50 euros.", "Cheap?", "Yes."]),
        ("  leading and trailing  ", ["leading and trailing"]),
        ("👍🏽 Great. e\u0301tude next.", ["👍🏽 Great.", "e\u0301tude next."]),
    ],
)
def test_abbreviations_figures_and_cover(text, expected):
    assert sentences(text) == expected


def test_chinese_and_japanese_need_no_blanks():
    assert sentences("我喜欢这本书。你呢？", language="zh") == ["我喜欢这本书。", "你呢？"]
    assert sentences("これは文です。次の文！", language="ja") == ["これは文です。", "次の文！"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("filling", [" ", " \t", "\n x", "word ", ". "])
def test_long_documents_take_time_in_proportion(filling):
    """Were it their square, this would take minutes; a table of a million blanks must not hang the app."""
    text = "begin." + filling * 150_000 + " End."
    found = sentences(text)
    assert found[0].startswith("begin.") and found[-1].endswith("End.")


@pytest.mark.parametrize("text", ["", "   ", "\n\n \n", "\u2028\x85"])
def test_text_without_characters_has_no_sentences(text):
    assert sentence_spans(text).shape == (0, 2)


def test_rare_language_falls_back():
    assert sentences("Eins. Zwei.", language="gsw") == ["Eins.", "Zwei."]


def test_lone_surrogates_are_kept_inside_their_sentence():
    text = "Half a face \ud83d here. And a second one."
    assert sentences(text) == ["Half a face \ud83d here.", "And a second one."]


RAIN = ["If it rains,", "we stay (1,000 of us);", "if not –", "we go."]


@pytest.mark.parametrize(
    ("unit", "parts"),
    [
        ("clause", [*RAIN, "New:", "this", "«yes,»", "or no.", "甲、", "乙"]),
        ("sentence", [" ".join(RAIN), "New: this", "«yes,» or no.", "甲、乙"]),
        ("paragraph", [" ".join(RAIN) + " New: this", "«yes,» or no.", "甲、乙"]),
        ("document", [" ".join(RAIN) + " New: this\n\n«yes,» or no.\n\n甲、乙"]),
    ],
)
def test_parts_of_every_size(unit, parts):
    text = " If it rains, we stay (1,000 of us); if not – we go. New: this\n\n«yes,» or no.\n\n甲、乙\n"
    assert [text[a:b] for a, b in unit_spans(text, unit)] == parts


@pytest.mark.parametrize("unit", UNITS)
def test_a_blank_text_has_no_part(unit):
    assert unit_spans(" \n\n ", unit).shape == (0, 2)
