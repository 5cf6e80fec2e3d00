"""What every page needs in the browser: a small button on each chart that saves it as CSV, SVG or PNG, keyboard
shortcuts, and roles that Streamlit's own markup lacks."""

from __future__ import annotations

import streamlit as st

from pages.parts.components.assets import asset
from pages.parts.components.static_routes import PLOTLY_JS_URL, site_url

_CSS = """
.js-plotly-plot { position: relative; }
.cfl-save {
  position: absolute; inset-block-start: 0; inset-inline-end: 0; z-index: 5; opacity: 0.75; font-size: 0.8rem;
  text-align: end;
}
.js-plotly-plot:hover > .cfl-save, .cfl-save:focus-within { opacity: 1; }
.cfl-save > div:not([hidden]) { display: flex; margin-block-start: 2px; }
.cfl-save button {
  font: inherit; cursor: pointer; padding: 0.1rem 0.45rem; border-radius: 4px; line-height: 1.4rem;
  background: var(--st-background-color, Canvas); color: var(--st-text-color, CanvasText);
  border: 1px solid var(--st-border-color, GrayText);
}
.cfl-save button:focus-visible { outline: 2px solid var(--st-primary-color, Highlight); }
@media print { .cfl-save { display: none; } }
"""

_component = st.components.v2.component(
    "cfl_page_tools",
    html="<i hidden></i>",
    css=_CSS,
    js=asset("plots.js", "keys.js", "page_tools.js"),
    isolate_styles=False,
)


def page_tools(keys: dict[str, dict[str, str]]) -> None:
    """Once a page, wherever; keys: see ``shared.keys.key_data``."""
    _component(key="page_tools", data={"plotly": site_url(PLOTLY_JS_URL), "keys": keys}, height=1)
