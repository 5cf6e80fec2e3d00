"""A document sentence by sentence: which ones the model keeps, and what each adds to the decision by every model.

Tables 3 and 4 of Yogatama & Smith (ICML 2014). Texts come from strangers: they travel as data and reach the page
through ``textContent`` alone. Nothing is told by colour alone: a kept sentence is bold and has a bar as long as it is
strong, words with a weight have a solid or a dashed line below, bars of log-odds go to the left or to the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.parts.components.assets import asset

_HTML = """
<div class="sv">
  <ul class="sv-legend"></ul>
  <div class="sv-head"><span></span><div class="sv-sides"><span></span><span></span></div></div>
  <div class="sv-rows" role="list"></div>
</div>
"""

_component = st.components.v2.component(
    "cfl_sentence_view",
    html=_HTML,
    css=asset("sentence_view.css"),
    js=asset("sentence_view.js"),
)


def sentence_view(
    sentences: Sequence[Mapping[str, Any]],
    *,
    classes: tuple[str, str],
    models: Sequence[str],
    strongest: float,
    key: str,
    unit: str = "sentence",
    height: int = 620,
) -> None:
    """Show the sentences of a document.

    sentences: dicts of "pieces", a list of (text, weight) that make up the sentence, "group_norm" (0: left out) and
    "odds", a number for each of ``models``, above 0 for the second of ``classes``. strongest: the group norm of a full
    bar; 0 where sentences are neither kept nor left out. unit: what they are called. height: in pixels, at most.
    """
    rows = [
        {
            "pieces": [[text, round(weight, 6)] for text, weight in one["pieces"]],
            "group_norm": round(float(one["group_norm"]), 6),
            "odds": [round(float(value), 6) for value in one["odds"]],
        }
        for one in sentences
    ]
    data = {"rows": rows, "classes": list(classes), "models": list(models), "strongest": strongest, "height": height}
    data["unit"] = unit
    _component(key=key, data=data)


def cut_pieces(text: str, start: int, end: int, words: Sequence[tuple[int, int, float]]) -> list[tuple[str, float]]:
    """Text between start and end as (text, weight), weight 0 between the words; words: (start, end, weight) in order.

    A word that begins in the sentence and reaches beyond it is cut at its end.
    """
    pieces: list[tuple[str, float]] = []
    at = start
    for a, b, weight in words:
        if a < start or a >= end:
            continue
        if a > at:
            pieces.append((text[at:a], 0.0))
        pieces.append((text[a : min(b, end)], weight))
        at = min(b, end)
    if at < end:
        pieces.append((text[at:end], 0.0))
    return pieces
