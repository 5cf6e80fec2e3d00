"""CRF++ templates."""

from __future__ import annotations

import pytest

from cflengine.text.tagging.templates import PAPER_TEMPLATE, attribute_maker, parse_template

ROWS = [("He", "PRP"), ("runs", "VBZ"), (".", ".")]


def test_macros_reach_around_the_token_and_beyond_the_sentence():
    template = parse_template("U00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\n\n# a comment\nU02:const\nB # transitions\n")
    assert template.transitions and template.n_columns == 2
    assert template.attributes(ROWS) == [
        ["U00:_B-2", "U01:He/VBZ", "U02:const"],
        ["U00:_B-1", "U01:runs/.", "U02:const"],
        ["U00:He", "U01:./_B+1", "U02:const"],
    ]
    assert template.attributes([]) == []


def test_the_papers_features():
    template = parse_template(PAPER_TEMPLATE)
    assert template.attributes(ROWS)[1] == ["U00:runs", "U01:He", "U02:VBZ"]


def test_values_are_not_expanded_again():
    """A token that looks like a macro is only text."""
    assert parse_template("U:%x[0,0]").attributes([("%x[0,1]", "N")]) == [["U:%x[0,1]"]]


def test_a_hash_in_a_pattern_is_no_comment():
    assert parse_template("U#1:%x[0,0]").attributes([("a",)]) == [["U#1:a"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no U line"),
        ("B\n", "no U line"),
        ("U00:%x[0,0]\nX1:%x[0,0]", "line 2.*neither with U nor with B"),
        ("U00:%x[0,0]\nB01:%x[0,0]", "line 2.*transitions alone"),
        ("U00:%x[0]", "line 1.*macro"),
        ("U00:%x[0,-1]", "line 1.*macro"),
        ("U00:%x[1000,0]", "at most 100"),
    ],
)
def test_what_is_no_template_is_said(text, said):
    with pytest.raises(ValueError, match=said):
        parse_template(text)


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="column 2, but the tokens have 2"):
        parse_template("U00:%x[0,2]").attributes(ROWS)


def test_makers():
    assert attribute_maker(None)[0]([["a"]]) == [["a"]]
    assert attribute_maker(lambda sentence: [[word] for word in sentence])[0](["a", "b"]) == [["a"], ["b"]]
    maker, transitions = attribute_maker("U:%x[0,0]")
    assert maker([("a",)]) == [["U:a"]] and not transitions
    with pytest.raises(ValueError, match="template must be"):
        attribute_maker(3)
