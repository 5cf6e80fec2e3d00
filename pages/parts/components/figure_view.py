"""Finished Plotly figures, drawn by the copy of the library that all charts of the app share.

``st.plotly_chart`` brings a copy of its own, which takes a browser a second to read, and builds a chart anew whenever
its figure changes, so that it flickers and forgets its zoom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from plotly.io.json import to_json_plotly

from pages.parts.components.assets import asset, message, no_callback, version_of
from pages.parts.components.static_routes import PLOTLY_JS_URL, site_url

HEIGHT = 450  # pixels of a figure that says none

_HTML = '<div class="cfl-figure"><div class="cfl-figure-plot" role="figure"></div></div>'

# In the page's own DOM, where Plotly's style sheet is, hence the prefixes.
_CSS = """
.cfl-figure { background: var(--st-background-color); }
.cfl-figure-plot { width: 100%; overflow: hidden; }
.cfl-figure:fullscreen { display: grid; align-content: center; padding: 1rem; }
"""

_component = st.components.v2.component(
    "cfl_figure", html=_HTML, css=_CSS, js=asset("messages.js", "plots.js", "figure_view.js"), isolate_styles=False
)


def figure_view(figure: go.Figure, key: str, alt: str, *, on_point: Callable[[], None] | None = None) -> None:
    """Draw a figure; its own height, or 450 pixels, as wide as there is space.

    alt: what it shows, for those who do not see it. on_point: called before the run that a click on a point causes;
    :func:`clicked_point` tells which.
    """
    spec = figure.to_plotly_json()
    spec["layout"] = {name: value for name, value in spec["layout"].items() if name != "template"}
    payload = to_json_plotly(spec).encode()
    header = {
        "version": version_of(payload),
        "height": figure.layout.height or HEIGHT,
        "plotly": site_url(PLOTLY_JS_URL),
        "alt": alt,
        "points": on_point is not None,
    }
    _component(key=key, data=message(header, payload), on_point_change=on_point or no_callback)


def clicked_point(key: str) -> Any:
    """Within ``on_point``: the ``customdata`` of the point that was clicked in the figure of that key."""
    return st.session_state[key]["point"]
