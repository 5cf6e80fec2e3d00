"""The sentences that most say a class, each a button that opens its document.

Texts come from strangers: they travel as data and reach the page through ``textContent`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.parts.components.assets import asset

_component = st.components.v2.component(
    "cfl_sentence_list",
    html='<ol class="tl"></ol>',
    css=asset("telling/sentence_list.css"),
    js=asset("telling/sentence_list.js"),
)


def sentence_list(rows: Sequence[Mapping[str, Any]], *, key: str, on_open: Callable[[], None]) -> None:
    """rows: dicts of "pieces", a list of (text, weight), the weight above 0 where a word speaks for the class; "said",
    what the sentence adds; "times" it stands in the documents; "document", its number; "position", what
    ``st.session_state[key]["open"]`` has when ``on_open`` is called; "read", whether the classifier reads it."""
    data = [
        {
            "pieces": [[text, round(weight, 6)] for text, weight in row["pieces"]],
            "said": round(float(row["said"]), 6),
            **{name: int(row[name]) for name in ("times", "document", "position")},
            "read": bool(row["read"]),
        }
        for row in rows
    ]
    _component(key=key, data={"rows": data}, on_open_change=on_open)
