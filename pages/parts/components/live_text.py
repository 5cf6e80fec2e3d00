"""Text in pieces under a λ slider that runs in the browser: every solved λ is sent along, so moving it needs no
request.

Beside the text stand the most used phrases, above it what is proved. Texts and labels come from strangers: they travel
as data and reach the page through ``textContent`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from pages.parts.components.assets import asset, message, no_callback
from pages.parts.components.path_bars import CSS as BARS
from pages.parts.components.text_states import packed, shared_texts, text_state
from pages.parts.components.text_view import HTML as TEXT
from pages.parts.components.text_view import spans_found

_HTML = f"""
<div class="lt">
  <p class="lt-line" aria-live="off"></p>
  <p class="lt-note"></p>
  <div class="lt-bar">
    <span>single words</span>
    <input type="range" min="0" step="1" aria-label="λ: from single words to long phrases">
    <span>long phrases</span>
    <output></output>
    <button type="button">▶ Play</button>
  </div>
  <div class="lt-shares" role="img"></div>
  <div class="lt-two">
    <div>{TEXT}</div>
    <div><h3>Most used phrases</h3><div class="bars lt-top" role="group" aria-label="Most used phrases"></div></div>
  </div>
</div>
"""

_component = st.components.v2.component(
    "cfl_live_text",
    html=_HTML,
    css=asset("text_view.css", "live_text.css") + BARS,
    js=asset("messages.js", "text_pieces.js", "bars.js", "stepper.js", "live_text.js"),
)


@dataclass(frozen=True)
class LivePoint:
    """What is shown at a λ.

    line: parts of the sentence above, each with whether it is bold; note: smaller, below it. shares: of the pieces of
    1 .. K words. views: of each document its pointers, as :func:`~pages.parts.components.text_view.text_view` takes
    them. grams: id → (label, uses, cost) of those pointers. top: rows (gram, label, length, uses), most used first.
    """

    lam: float
    line: Sequence[tuple[str, bool]]
    note: str
    shares: Sequence[float]
    views: Sequence[Mapping[str, Any]]
    grams: Mapping[int, tuple[str, int, float]]
    top: Sequence[tuple[int, str, int, int]]


@dataclass(frozen=True)
class LiveDocuments:
    """Documents, dicts of "title", "text" and "meta", and what is shown of them at each λ, rising; as the browser takes
    them encoded once, however often they are drawn."""

    documents: Sequence[Mapping[str, str]]
    points: Sequence[LivePoint]

    @cached_property
    def packed(self) -> tuple[bytes, str]:
        """What is sent, and its version."""
        points = [_point(self.documents, point) for point in self.points]
        return packed({"documents": shared_texts(self.documents), "points": points})


def live_text(
    shown: LiveDocuments,
    *,
    key: str,
    lam: float,
    selected: int | None = None,
    alone: bool = False,
    found: Sequence[tuple[int, int, int]] = (),
    height: int = 520,
    on_move: Callable[[], None] | None = None,
    on_choose: Callable[[], None] | None = None,
) -> None:
    """Show documents at every λ, the slider at the one nearest to ``lam``.

    selected: a gram that is framed; alone: without the most used phrases. found: spans (document, start, end) of a
    search, each lit. height: of the text, in pixels, at most.
    ``on_move`` is called before the run that follows when the slider is let go, with {"lam"} in
    ``st.session_state[key]["move"]``; ``on_choose`` when a piece or a phrase is chosen, {"gram", "lam"} in "choose".
    """
    payload, version = shown.packed
    header = {
        "version": version,
        "lam": lam,
        "selected": selected,
        "alone": alone,
        "found": spans_found(shown.documents, found),
        "height": height,
        "unit": "word",
        "counted": "used",
    }
    _component(
        key=key,
        data=message(header, payload),
        on_move_change=on_move or no_callback,
        on_choose_change=on_choose or no_callback,
    )


def _point(documents: Sequence[Mapping[str, str]], point: LivePoint) -> dict[str, Any]:
    return {
        "lam": point.lam,
        "line": [list(part) for part in point.line],
        "note": point.note,
        "shares": [round(float(share), 4) for share in point.shares],
        **text_state(documents, point.views, point.grams),
        "top": [[int(gram), label, int(length), int(uses)] for gram, label, length, uses in point.top],
    }
