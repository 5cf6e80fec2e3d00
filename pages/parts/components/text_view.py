"""Text with the pointers of a compression drawn into it, clickable, for 100,000 words and more.

Texts come from strangers. They travel as data and reach the page through ``textContent`` alone; nothing in
them is ever read as HTML. All offsets are Unicode code points, as everywhere in Python; the browser gets the
text and the lengths of its pieces in UTF-16 units, which is how JavaScript counts.

A *piece* is a longest run of text under the same set of pointers. Where several pointers cover a piece, the
*primary* one gives it its colour and answers the click: the one with the largest weight, then the one that
starts first, then the longest.

With prices the same view is a heat map: its "pointers" are single tokens, and what a token's price is shows in the
depth of its background and in the thickness of its underline, on a scale that the legend gives in numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import streamlit as st

from pages.parts.components.assets import asset, message, no_callback, plain_json, version_of

BLOCK = 3000  # characters of text laid out together, about 500 words
LONGEST = 8  # pointers of this many words or more share a colour
LITERAL = -1  # the gram of a pointer to a word the dictionary does not have
JOINS_PREVIOUS, JOINS_NEXT = 1, 2  # a pointer goes on beyond this edge of the piece

_SURROGATE = re.compile("[\ud800-\udfff]")

HTML = """
<div class="view">
  <ul class="legend"></ul>
  <div class="finder" hidden>
    <button type="button" data-step="-1" aria-label="previous occurrence">‹</button>
    <button type="button" data-step="1" aria-label="next occurrence">›</button>
    <span></span>
  </div>
  <div class="scroller" role="region" aria-label="Text with its pointers"></div>
  <div class="tip" hidden></div>
</div>
"""

_component = st.components.v2.component(
    "cfl_text_view",
    html=HTML,
    css=asset("text_view.css"),
    js=asset("messages.js", "text_pieces.js", "text_view.js"),
)


class TextClick(TypedDict):
    """A pointer that was clicked: gram id (``LITERAL`` for an unknown word), document, code points."""

    gram: int
    document: int
    start: int
    end: int


@dataclass(frozen=True)
class HeatScale:
    """Prices from 0 to ``top`` (more than 0) are drawn in even steps, higher ones as ``top``; note: said below it."""

    top: float
    note: str


@dataclass(frozen=True)
class Pieces:
    """A text of n characters cut at every border of a pointer.

    bounds: int64 (pieces + 1), code points, from 0 to n. primary: int64 (pieces), index of a pointer or -1.
    joins: uint8 (pieces), JOINS_PREVIOUS | JOINS_NEXT. others: piece -> its pointers beside the primary one.
    """

    bounds: np.ndarray
    primary: np.ndarray
    joins: np.ndarray
    others: dict[int, list[int]]


def text_view(
    documents: Sequence[Mapping[str, Any]],
    *,
    grams: Mapping[int, Mapping[str, Any]],
    key: str,
    selected_gram: int | None = None,
    scale: HeatScale | None = None,
    marked: tuple[int, int, int] | None = None,
    found: Sequence[tuple[int, int, int]] = (),
    height: int = 520,
    show_overlap: bool = True,
    unit: str = "word",
    counted: str = "used",
    name: str = "Text with its pointers",
    on_click: Callable[[], None] | None = None,
) -> TextClick | None:
    """Show texts with their pointers; a click (or Enter) on a pointer reruns the page and is returned once.

    documents: dicts of "title", "text", "meta" (one line under the title, may be absent) and "pointers":
    equally long sequences "start", "end" (code points), "gram" (id or LITERAL), "length" (words) and
    optionally "weight" (0 to 1, drawn as the opacity of the colour) or "price" (0 or more). grams: id -> {"label",
    "count", "cost"} of every gram the pointers use. selected_gram: drawn strongly, and scrolled to when it changes.
    scale: with it every document has prices, and "cost" is a word's mean price. marked: (document, start, end), code
    points of the document with that position in ``documents``; framed, and scrolled to when it changes. found: such
    spans of a search, each lit. height: in pixels, at most. show_overlap: mark the words that more than one pointer
    covers. unit: what lengths count, in the singular. counted: what "count" says a gram was, so many times. name: for
    those who hear a page with several. on_click: called before the rerun.

    Raises ValueError for pointers outside their text or without an entry in grams; with a scale, for prices that are
    missing or negative and for tokens that overlap.
    """
    payload = encode_view(documents, grams, scale)
    header = {
        "version": version_of(payload),
        "selected": None if selected_gram is None else int(selected_gram),
        "marked": None if marked is None else utf16_span(documents[marked[0]]["text"], *marked),
        "found": spans_found(documents, found),
        "height": height,
        "overlap": show_overlap,
        "unit": unit,
        "counted": counted,
        "name": name,
    }
    result = _component(key=key, data=message(header, payload), on_click_change=on_click or no_callback)
    return result.get("click")


def encode_view(
    documents: Sequence[Mapping[str, Any]], grams: Mapping[int, Mapping[str, Any]], scale: HeatScale | None = None
) -> bytes:
    """What the browser gets, as UTF-8 JSON: documents, the grams they use, and the legend's counts or scale."""
    encoded = [encode_document(document) if scale is None else encode_prices(document) for document in documents]
    used = sorted({gram for document in encoded for gram in document["gram"]} - {LITERAL})
    missing = [gram for gram in used if gram not in grams]
    if missing:
        raise ValueError(f"no entry in grams for ids {missing[:5]}")
    entries = {
        gram: [_clean(str(entry["label"])), int(entry["count"]), float(entry["cost"])]
        for gram, entry in ((gram, grams[gram]) for gram in used)
    }
    legend = {"counts": legend_counts(encoded)} if scale is None else {"scale": [scale.top, scale.note]}
    view = {"documents": encoded, "grams": entries, **legend}
    return plain_json(view)


def encode_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """One document as plain lists: the text, the UTF-16 length of each piece, and who covers it."""
    text = _clean(document["text"])
    start, end, gram, length, weight = _columns(document["pointers"], len(text))
    cuts = block_cuts(text, start, end)
    pieces = cut_pieces(len(text), start, end, weight, cuts)
    return {
        "title": _clean(str(document["title"])),
        "meta": _clean(str(document.get("meta") or "")),
        "text": text,
        "cut": np.diff(utf16_offsets(text)[pieces.bounds]).tolist(),
        "who": pieces.primary.tolist(),
        "joins": {int(k): int(pieces.joins[k]) for k in np.flatnonzero(pieces.joins)},
        "others": pieces.others,
        "blocks": np.diff(np.searchsorted(pieces.bounds, [0, *cuts, len(text)])).tolist(),
        "start": start.tolist(),
        "end": end.tolist(),
        "gram": gram.tolist(),
        "length": length.tolist(),
        "weight": None if document["pointers"].get("weight") is None else np.round(weight, 3).tolist(),
    }


def encode_prices(document: Mapping[str, Any]) -> dict[str, Any]:
    """One document of a heat map: the text, its pieces, and the price of every token in millionths.

    Tokens are in order and do not overlap, so the browser counts them: a piece that is no token has a negative
    length, one that goes on with the token before (a token longer than a block) is named in "joins".
    """
    pointers = document["pointers"]
    price = np.asarray(pointers.get("price", ()), dtype=np.float64)
    start, end = (np.asarray(pointers[name], dtype=np.int64) for name in ("start", "end"))
    if price.size != start.size or not np.all(np.isfinite(price) & (price >= 0)):
        raise ValueError("every token needs a price, a number of at least 0")
    if np.any(start[1:] < end[:-1]):
        raise ValueError("tokens with prices must be in order and must not overlap")
    encoded = encode_document(document)
    cut = np.where(np.array(encoded["who"], dtype=np.int64) < 0, -1, 1) * np.array(encoded["cut"], dtype=np.int64)
    kept = ("title", "meta", "text", "blocks", "gram", "joins")
    millionths = np.rint(1e6 * price).astype(np.int64)
    return {"cut": cut.tolist(), "price": millionths.tolist(), **{name: encoded[name] for name in kept}}


def _columns(pointers: Mapping[str, Any], n_chars: int) -> tuple[np.ndarray, ...]:
    """start, end, gram, length (int64) and weight (float64 in 0..1, ones where absent), checked."""
    names = ("start", "end", "gram", "length")
    start, end, gram, length = (np.asarray(pointers[name], dtype=np.int64) for name in names)
    given = pointers.get("weight")
    weight = np.ones(start.size) if given is None else np.asarray(given, dtype=np.float64)
    if len({start.size, end.size, gram.size, length.size, weight.size}) > 1:
        raise ValueError("the columns of the pointers differ in length")
    if np.any(start < 0) or np.any(end > n_chars) or np.any(start >= end):
        raise ValueError("a pointer is empty or reaches outside its text")
    if not np.all(np.isfinite(weight)):
        raise ValueError("a weight is not a number")
    return start, end, gram, length, np.clip(weight, 0.0, 1.0)


def cut_pieces(
    n_chars: int, start: np.ndarray, end: np.ndarray, weight: np.ndarray, cuts: Sequence[int] = ()
) -> Pieces:
    """Cut a text of n_chars code points at the borders of its pointers and at ``cuts``.

    start, end: int64 (pointers), 0 <= start < end <= n_chars. weight: float64 (pointers).
    """
    bounds = np.unique(np.concatenate(([0, n_chars], start, end, np.asarray(cuts, dtype=np.int64))))
    first, last = np.searchsorted(bounds, start), np.searchsorted(bounds, end) - 1
    # All pairs (piece, pointer that covers it), the primary pointer of each piece first.
    spans = last - first + 1
    pointer = np.repeat(np.arange(start.size), spans)
    piece = np.arange(pointer.size) - np.repeat(np.cumsum(spans) - spans - first, spans)
    order = np.lexsort((pointer, -(end - start)[pointer], start[pointer], -weight[pointer], piece))
    piece, pointer = piece[order], pointer[order]
    leads = np.diff(piece, prepend=-1) > 0

    primary = np.full(bounds.size - 1, -1, dtype=np.int64)
    primary[piece[leads]] = pointer[leads]
    joins = np.zeros(bounds.size - 1, dtype=np.uint8)
    joins[piece[piece > first[pointer]]] |= JOINS_PREVIOUS
    joins[piece[piece < last[pointer]]] |= JOINS_NEXT
    others: dict[int, list[int]] = {}
    for k, p in zip(piece[~leads].tolist(), pointer[~leads].tolist(), strict=True):
        others.setdefault(k, []).append(p)
    return Pieces(bounds, primary, joins, others)


def block_cuts(text: str, start: np.ndarray, end: np.ndarray, size: int = BLOCK) -> list[int]:
    """Where to cut a text into blocks of ``size`` to ``2 * size`` characters.

    After a line break where there is one, else after a space, and inside a pointer only if there is no other
    way. A cut that is not at a line break looks like one, so paragraphs stay whole as far as possible.
    """
    n = len(text)
    if n <= 2 * size:
        return []
    depth = np.zeros(n + 2, dtype=np.int64)
    np.add.at(depth, start + 1, 1)
    np.add.at(depth, end, -1)
    free = np.cumsum(depth)[: n + 1] == 0  # free[k]: no pointer holds characters k - 1 and k together
    code = np.concatenate(([0], _code_points(text)))  # code[k] ends at k
    anywhere = np.ones(n + 1, dtype=bool)
    candidates = [np.flatnonzero(free & mask) for mask in (code == 0x0A, code == 0x20, anywhere)]
    cuts, position = [], 0
    while n - position > 2 * size:
        position = _next_cut(candidates, position + size, position + 2 * size)
        cuts.append(position)
    return cuts


def _next_cut(candidates: list[np.ndarray], low: int, high: int) -> int:
    """The first candidate in [low, high], the better kinds first; ``high`` where there is none."""
    for places in candidates:
        k = int(np.searchsorted(places, low))
        if k < places.size and places[k] <= high:
            return int(places[k])
    return high


def utf16_offsets(text: str) -> np.ndarray:
    """int64 (len(text) + 1): the UTF-16 offset of every code point, and of the end."""
    return np.concatenate(([0], np.cumsum(1 + (_code_points(text) > 0xFFFF))))


def spans_found(documents: Sequence[Mapping[str, Any]], found: Sequence[tuple[int, int, int]]) -> list[list[int]]:
    """Spans (document, start, end) of code points as JavaScript counts them."""
    offsets = {d: utf16_offsets(_clean(documents[d]["text"])) for d in {span[0] for span in found}}
    return [[d, int(offsets[d][a]), int(offsets[d][e])] for d, a, e in found]


def utf16_span(text: str, document: int, start: int, end: int) -> list[int]:
    """[document, start, end] for JavaScript, from code points of ``text``."""
    before, inside = (len(_clean(part).encode("utf-16-le")) // 2 for part in (text[:start], text[start:end]))
    return [document, before, before + inside]


def legend_counts(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Pointers per length (LONGEST and above together), literals, and pieces under more than one pointer."""
    gram = np.array([g for document in documents for g in document["gram"]], dtype=np.int64)
    length = np.array([n for document in documents for n in document["length"]], dtype=np.int64)
    values, counts = np.unique(np.minimum(length[gram != LITERAL], LONGEST), return_counts=True)
    return {
        "lengths": dict(zip(values.tolist(), counts.tolist(), strict=True)),
        "literals": int(np.count_nonzero(gram == LITERAL)),
        "overlaps": sum(len(document["others"]) for document in documents),
        "weighted": any(document["weight"] is not None for document in documents),
    }


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def _clean(text: str) -> str:
    """Lone surrogates, which no encoding can carry, as U+FFFD; every other character and offset as it was."""
    return _SURROGATE.sub("\ufffd", text)
