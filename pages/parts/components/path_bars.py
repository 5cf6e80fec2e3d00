"""The most used K-grams as bars that change places when the solution does.

K-grams come from strangers' texts: they travel as data and reach the page through ``textContent`` alone. Length shows
in the colour, as in the text view, and once more in the number behind the K-gram.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import streamlit as st

from pages.parts.components.assets import asset


class BarClick(TypedDict):
    """A bar that was clicked: the K-gram's number."""

    gram: int


_HTML = '<div class="bars" role="group" aria-label="The most used K-grams"></div>'

CSS = """
.bars {
  --h1: #8a8a8a; --h2: #56b4e9; --h3: #009e73; --h4: #f0e442; --h5: #e69f00; --h6: #d55e00; --h7: #cc79a7; --h8: #888;
  --row: 1.75rem; position: relative; color: var(--st-text-color); font-family: var(--st-font); font-size: 0.9375rem;
}
.bar {
  position: absolute; inset-inline: 0; top: 0; height: calc(var(--row) - 3px); padding: 0 0.4rem; border: 0;
  display: flex; gap: 0.75rem; align-items: center; cursor: pointer; text-align: start;
  font: inherit; color: inherit; background: transparent; border-radius: 4px;
  transform: translateY(calc(var(--place) * var(--row))); transition: transform 0.3s;
}
.bar::before {
  content: ""; position: absolute; inset-block: 0; inset-inline-start: 0; width: calc(var(--share) * 100%); z-index: -1;
  background: color-mix(in srgb, var(--hue) 36%, transparent); border-radius: 4px; transition: width 0.3s;
  border-block-end: var(--thick) solid color-mix(in srgb, var(--hue) 62%, light-dark(black, white));
  box-sizing: border-box;
}
.bar:hover::before { background: color-mix(in srgb, var(--hue) 60%, transparent); }
.bar.chosen { outline: 3px solid var(--st-primary-color); outline-offset: -1px; }
.bar:focus-visible { outline: 3px solid var(--st-text-color); outline-offset: -1px; }
.name { flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.count { font-variant-numeric: tabular-nums; opacity: 0.85; }
@media (prefers-reduced-motion: reduce) { .bar, .bar::before { transition: none; } }
"""

_component = st.components.v2.component("cfl_path_bars", html=_HTML, css=CSS, js=asset("bars.js", "path_bars.js"))


def path_bars(
    items: Sequence[Mapping[str, Any]],
    *,
    key: str,
    selected: int | None = None,
    on_click: Callable[[], None] | None = None,
) -> None:
    """Show K-grams with their pointers, most used first; a click reruns the page.

    items: dicts of "gram" (its number), "label", "length" (words) and "count" (pointers). selected: framed. on_click:
    called before that rerun, with the :class:`BarClick` in ``st.session_state[key]["click"]``.
    """
    rows = [[int(x["gram"]), str(x["label"]), int(x["length"]), int(x["count"])] for x in items]
    _component(key=key, data={"rows": rows, "selected": selected}, on_click_change=on_click)
