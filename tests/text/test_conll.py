"""Column files of tagged sentences."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.engine.checks import InputError
from cflengine.text.corpus import CorpusError
from cflengine.text.tagging.conll import parse_columns, read_columns, write_columns

FILE = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n\nPeter NNP I-NP I-PER\n"


def test_sentences_rows_and_document_cover():
    sentences = parse_columns(FILE.splitlines(True))
    assert sentences == [
        [("EU", "NNP", "I-NP", "I-ORG"), ("rejects", "VBZ", "I-VP", "O")],
        [("Peter", "NNP", "I-NP", "I-PER")],
    ]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_tabs_and_compression(tmp_path, ends):
    text = FILE.replace(" ", "\t").replace("\n", ends)
    path = tmp_path / "train.conll.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_columns(path) == parse_columns(FILE.splitlines(True)) == read_columns(text.encode())


def test_a_comment_above_a_sentence_is_left_out_and_a_hash_as_a_token_is_kept():
    assert parse_columns(["# sent_id = 1\n", "a X\n", "# Y\n"]) == [[("a", "X"), ("#", "Y")]]


def test_other_encodings():
    assert read_columns("Größe N\nist V\n".encode("cp1252"))[0][0][0] == "Größe"


def test_ragged_rows_name_the_line():
    with pytest.raises(CorpusError, match=r"'x', line 4: 1 columns, but line 1 has 2"):
        parse_columns(["a X\n", "b Y\n", "\n", "c\n"], "x")


def test_nothing_to_read(tmp_path):
    with pytest.raises(CorpusError, match="no sentence"):
        parse_columns(["\n", "-DOCSTART- O\n", "\n"])
    with pytest.raises(CorpusError, match="empty"):
        read_columns(b"")
    with pytest.raises(CorpusError):
        read_columns(tmp_path / "absent.conll")
    with pytest.raises(CorpusError, match="NUL"):
        read_columns(b"a\0b X\n")


cells = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(
    lambda cell: len(cell.split()) == 1 and cell != "#"
)


@given(st.lists(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), min_size=1, max_size=4))
def test_round_trip(sentences):
    assert parse_columns("".join(write_columns(sentences)).splitlines(True)) == sentences


@pytest.mark.parametrize("cell", ["", "a b", " a", "a\n", "\t"])
def test_cells_that_would_break_the_file_are_refused(cell):
    with pytest.raises(ValueError, match="one word"):
        list(write_columns([[("x", cell)]]))


def test_a_first_sentence_may_begin_with_a_hash():
    lines = ["# SYM O", "one NN B", "", "# a comment of another length here", "# SYM O"]
    assert parse_columns(lines) == [[("#", "SYM", "O"), ("one", "NN", "B")], [("#", "SYM", "O")]]
    comments = ["# sent_id = 12 of many", "# text = one", "one NN B"]
    assert parse_columns(comments) == [[("one", "NN", "B")]]
    assert parse_columns(["# X", "# Y", "", "a X"]) == [[("#", "X"), ("#", "Y")], [("a", "X")]]


def test_comments_of_as_many_cells_as_there_are_columns_are_no_tokens():
    lines = [
        "# sent_id = 1\n",
        "a X O O\n",
        "\n",
        "# newdoc id = d1\n",
        "# newpar\n",
        "# sent_id = 2\n",
        "# text = c\n",
    ]
    lines += ["b Y O O\n", "# text = O\n", "\n", "# NN = O\n", "c Z O O\n"]
    sentences = parse_columns(lines)
    assert sentences[:2] == [[("a", "X", "O", "O")], [("b", "Y", "O", "O"), ("#", "text", "=", "O")]]
    assert sentences[2] == [("#", "NN", "=", "O"), ("c", "Z", "O", "O")], "a token"
    with pytest.raises(InputError, match="reads as a comment: '# text = O'"):
        list(write_columns([[("#", "text", "=", "O")]]))


def test_a_no_break_space_is_part_of_a_token():
    sentences = parse_columns(["naïve\u00a0x\tN\u00a0\n", "ä\u3000N\n", " \u00a0\n", "b N\n"])
    assert sentences == [[("naïve\u00a0x", "N"), ("ä", "N")], [("b", "N")]]
    assert list(write_columns([[("naïve\u00a0x", "N")]])) == ["naïve\u00a0x N\n", "\n"]
