"""The text view: how a text is cut at its pointers, and what travels to the browser."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from pages.parts.components import text_view  # noqa: E402


def document(text: str, spans: list[tuple[int, int]], weight: list[float] | None = None) -> dict:
    pointers = {
        "start": [a for a, _ in spans],
        "end": [b for _, b in spans],
        "gram": list(range(len(spans))),
        "length": [max(1, len(text[a:b].split())) for a, b in spans],
    }
    if weight is not None:
        pointers["weight"] = weight
    return {"title": "t", "text": text, "meta": "", "pointers": pointers}


def grams_of(*documents: dict) -> dict:
    ids = {gram for doc in documents for gram in doc["pointers"]["gram"]}
    return {gram: {"label": f"gram {gram}", "count": 1, "cost": 1.0, "length": 1} for gram in ids}


@st.composite
def covered_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], list[float]]:
    """A text with astral characters and line breaks, pointers that overlap as they like, and weights."""
    text = draw(st.text(st.sampled_from('ab \n\t"<é中👩🚀𝔘\u200d\u202e'), max_size=40))
    if not text:
        return text, [], []
    borders = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(borders, borders).filter(lambda p: p[0] != p[1]), max_size=8))
    spans = sorted((min(pair), max(pair)) for pair in pairs)
    weights = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(spans), max_size=len(spans)))
    return text, spans, weights


def in_javascript(doc: dict) -> list[str]:
    """The pieces as the browser cuts them: by UTF-16 units."""
    data, position, pieces = doc["text"].encode("utf-16-le"), 0, []
    for length in doc["cut"]:
        pieces.append(data[position : position + 2 * length].decode("utf-16-le"))
        position += 2 * length
    return pieces


# ---- cutting


@given(covered_texts())
def test_the_pieces_are_the_text_and_know_who_covers_them(case):
    text, spans, weights = case
    doc = text_view.encode_document(document(text, spans, weights))
    pieces = in_javascript(doc)
    assert "".join(pieces) == text
    assert sum(doc["blocks"]) == len(pieces)

    position, before = 0, set()
    for k, piece in enumerate(pieces):
        covering = {p for p, (a, b) in enumerate(spans) if a < position + len(piece) and b > position}
        after = {p for p, (_, b) in enumerate(spans) if p in covering and b > position + len(piece)}
        assert all(spans[p][0] <= position and spans[p][1] >= position + len(piece) for p in covering)
        rank = sorted(covering, key=lambda p: (-weights[p], spans[p][0], spans[p][0] - spans[p][1], p))
        shown = [] if doc["who"][k] < 0 else [doc["who"][k], *doc["others"].get(k, [])]
        assert shown == rank
        joins = doc["joins"].get(k, 0)
        assert bool(joins & text_view.JOINS_PREVIOUS) == bool(covering & before)
        assert bool(joins & text_view.JOINS_NEXT) == bool(after)
        position, before = position + len(piece), covering


def test_neighbours_stay_two_and_an_overlap_is_marked():
    doc = text_view.encode_document(document("new york stock exchange", [(0, 8), (4, 14), (15, 23)]))
    assert in_javascript(doc) == ["new ", "york", " stock", " ", "exchange"]
    assert doc["who"] == [0, 0, 1, -1, 2]
    assert doc["others"] == {1: [1]}
    assert doc["joins"] == {0: text_view.JOINS_NEXT, 1: 3, 2: text_view.JOINS_PREVIOUS}


@given(
    st.text(st.sampled_from("ab \n"), max_size=300),
    st.lists(st.tuples(st.integers(0, 299), st.integers(1, 30)), max_size=30),
    st.integers(1, 40),
)
def test_blocks_are_of_the_asked_size_and_spare_the_pointers(text, pointers, size):
    n = len(text)
    spans = sorted((a, min(a + length, n)) for a, length in pointers if a < n)
    start, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    cuts = text_view.block_cuts(text, start, end, size)
    blocks = np.diff([0, *cuts, n])
    assert np.all(blocks[:-1] >= size)
    assert np.all(blocks <= 2 * size)
    last = 0
    for cut in cuts:
        free = [k for k in range(last + size, last + 2 * size + 1) if not np.any((start < k) & (end > k))]
        if free:
            assert cut in free
        if any(text[k - 1] == "\n" for k in free):
            assert text[cut - 1] == "\n"
        last = cut


def test_a_block_may_have_to_cut_a_pointer():
    text = "x" * (5 * text_view.BLOCK)
    doc = text_view.encode_document(document(text, [(0, len(text))]))
    assert "".join(in_javascript(doc)) == text
    assert set(doc["who"]) == {0}


@pytest.mark.parametrize("spans", [[(-1, 2)], [(2, 2)], [(3, 1)], [(0, 6)]])
def test_pointers_outside_the_text_are_refused(spans):
    with pytest.raises(ValueError, match="empty or reaches outside"):
        text_view.encode_document(document("abcde", spans))


@pytest.mark.parametrize(("weight", "message"), [([0.5, 0.5], "differ in length"), ([math.nan], "not a number")])
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        text_view.encode_document(document("abcde", [(0, 5)], weight))


# ---- payload


def test_the_payload_holds_what_is_used_and_nothing_else():
    doc = document("a 👩‍🚀 b c", [(0, 1), (2, 5), (6, 9)])
    doc["pointers"]["gram"] = [4, text_view.LITERAL, 9]
    doc["pointers"]["length"] = [1, 1, 12]
    entry = {"label": "b c", "count": np.int64(7), "cost": np.float32(2.5), "length": 2}
    view = json.loads(text_view.encode_view([doc], {4: {**entry, "label": "a"}, 9: entry, 11: entry}))
    assert view["grams"] == {"4": ["a", 7, 2.5], "9": ["b c", 7, 2.5]}
    assert view["counts"] == {"lengths": {"1": 1, "8": 1}, "literals": 1, "overlaps": 0, "weighted": False}
    assert view["documents"][0]["text"] == doc["text"]
    with pytest.raises(ValueError, match="no entry in grams for ids \\[9\\]"):
        text_view.encode_view([doc], {4: entry})


def test_empty_texts_and_no_documents():
    assert json.loads(text_view.encode_view([], {}))["documents"] == []
    doc = document("", [])
    assert json.loads(text_view.encode_view([doc], {}))["documents"][0]["cut"] == []


def test_a_lone_surrogate_travels_as_a_replacement_character():
    doc = document("a\ud83d b", [(0, 2), (3, 4)])
    encoded = json.loads(text_view.encode_view([doc], grams_of(doc)))["documents"][0]
    assert in_javascript(encoded) == ["a\ufffd", " ", "b"]


def test_weights_are_clipped_and_hostile_text_stays_text():
    hostile = "<script>alert(1)</script>\u2028"
    doc = document(hostile, [(0, 8), (8, 25)], [-0.001, 1.002])
    encoded = json.loads(text_view.encode_view([doc], grams_of(doc)))
    assert encoded["documents"][0]["weight"] == [0.0, 1.0]
    assert encoded["documents"][0]["text"] == hostile
    assert encoded["counts"]["weighted"] is True


# ---- heat map


def priced(text: str, spans: list[tuple[int, int]], price: list[float]) -> dict:
    doc = document(text, spans)
    doc["pointers"]["price"] = price
    return doc


@given(covered_texts(), st.integers(2, 9))
def test_the_browser_can_count_the_tokens_of_a_heat_map(case, size):
    text, spans, _ = case
    tokens: list[tuple[int, int]] = []
    for a, b in spans:
        if not tokens or a >= tokens[-1][1]:
            tokens.append((a, b))
    whole = text_view.encode_document(document(text, tokens))
    price = [0.25 * k for k in range(len(tokens))]
    doc = text_view.encode_prices(priced(text, tokens, price))
    assert in_javascript({"text": text, "cut": [abs(length) for length in doc["cut"]]}) == in_javascript(whole)
    who, token = [], -1
    for piece, length in enumerate(doc["cut"]):  # as in unpack() of text_view.js
        token += length > 0 and not doc["joins"].get(piece, 0) & text_view.JOINS_PREVIOUS
        who.append(token if length > 0 else -1)
    assert who == whole["who"]
    assert doc["price"] == [250_000 * k for k in range(len(tokens))] and doc["gram"] == list(range(len(tokens)))


def test_a_token_longer_than_a_block_is_one_token():
    text = "a " + "x" * (5 * text_view.BLOCK) + " b"
    doc = text_view.encode_prices(priced(text, [(0, 1), (2, len(text) - 2), (len(text) - 1, len(text))], [1, 2, 3]))
    goes_on = [piece for piece, joins in doc["joins"].items() if joins & text_view.JOINS_PREVIOUS]
    assert len([length for length in doc["cut"] if length > 0]) - len(goes_on) == 3 and goes_on


def test_a_heat_map_travels_with_its_scale_and_with_nothing_it_does_not_need():
    doc = priced("a b", [(0, 1), (2, 3)], [0.1234567, 2.0])
    scale = text_view.HeatScale(1.6, "<b>note</b>")
    view = json.loads(text_view.encode_view([doc], grams_of(doc), scale))
    assert view["scale"] == [1.6, "<b>note</b>"] and "counts" not in view
    assert view["documents"][0]["price"] == [123457, 2_000_000]
    assert set(view["documents"][0]) == {"title", "meta", "text", "cut", "blocks", "gram", "joins", "price"}
    assert text_view.encode_view([doc], grams_of(doc), scale) != text_view.encode_view(
        [doc], grams_of(doc), text_view.HeatScale(2.0, "<b>note</b>")
    )


@pytest.mark.parametrize(
    ("price", "message"),
    [([1.0], "needs a price"), ([1.0, -0.1], "at least 0"), ([1.0, math.nan], "a number"), ([math.inf, 1], "a number")],
)
def test_bad_prices_are_refused(price, message):
    with pytest.raises(ValueError, match=message):
        text_view.encode_prices(priced("ab cd", [(0, 2), (3, 5)], price))


def test_a_heat_map_of_pointers_is_refused():
    with pytest.raises(ValueError, match="needs a price"):
        text_view.encode_prices(document("abcde", [(0, 2)]))
    for spans in ([(0, 3), (2, 5)], [(3, 5), (0, 2)]):
        with pytest.raises(ValueError, match="must not overlap"):
            text_view.encode_prices(priced("abcde", spans, [1.0, 1.0]))


@given(st.text(st.sampled_from("ab 👩🚀𝔘\ud800"), max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_a_marked_span_is_counted_as_javascript_counts(text, a, length):
    a = min(a, len(text))
    b = min(a + length, len(text))
    offsets = text_view.utf16_offsets(text.replace("\ud800", "\ufffd"))
    assert text_view.utf16_span(text, 3, a, b) == [3, offsets[a], offsets[b]]


def test_scripts_never_write_html():
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
    for script in ROOT.joinpath("pages", "parts").rglob("*.js"):
        assert not re.search(forbidden, script.read_text("utf-8")), script.name
