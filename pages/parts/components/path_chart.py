"""The λ-path as a chart with a slider under it: shares of pointers by length, size of the dictionary, proved gap.

A component of our own, since Streamlit's sliders report a value only when they are let go, and ``st.plotly_chart``
draws everything anew when anything changes. Here the cursor follows the slider in the browser, and Python hears of
every value it can keep up with: one message is on its way at a time, and the page's answer asks for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import streamlit as st

from cflengine.compression import PathPoint
from pages.parts.components.assets import asset
from pages.parts.components.static_routes import PLOTLY_JS_URL, site_url


class PathMove(TypedDict):
    """Where the slider stands, whether it is still held, and the number of the message."""

    lam: float
    held: bool
    n: int


_HTML = """
<div class="cfl-path">
  <div class="cfl-path-stage">
    <div class="cfl-path-plot" role="figure" aria-label="The path, no points yet"></div>
    <div class="cfl-path-cursor" hidden><span></span></div>
  </div>
  <form class="cfl-path-bar" hidden>
    <input type="range" min="0" step="1" aria-label="λ, the price of a use">
    <div>
      <button type="button">▶ Play</button>
      <output></output>
      <span class="cfl-path-status"></span>
    </div>
  </form>
</div>
"""

# In the page's own DOM, as the live chart is, hence the prefixes.
_CSS = """
.cfl-path {
  --left: 52px; color: var(--st-text-color); font-family: var(--st-font); font-size: 0.875rem;
}
.cfl-path [hidden] { display: none; }
.cfl-path-stage { position: relative; overflow: hidden; touch-action: pan-y; }
.cfl-path-stage.ready { cursor: ew-resize; }
.cfl-path-cursor {
  position: absolute; top: 0; left: 0; width: 0; pointer-events: none;
  border-inline-start: 2px solid var(--st-primary-color);
}
.cfl-path-cursor span {
  position: absolute; top: 0; left: 4px; padding: 0 0.4rem; white-space: nowrap; border-radius: 3px;
  color: var(--st-background-color); background: var(--st-primary-color); font-variant-numeric: tabular-nums;
}
.cfl-path-cursor.late span { left: auto; right: 4px; top: 2.6rem; } /* below the button that saves the chart */
.cfl-path-bar input {
  display: block; height: 1.5rem; margin: 0; accent-color: var(--st-primary-color); cursor: pointer;
}
.cfl-path-bar > div {
  display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; align-items: center; margin-inline-start: var(--left);
  font-variant-numeric: tabular-nums;
}
.cfl-path-bar button {
  font: inherit; color: inherit; background: transparent; cursor: pointer; padding: 0.2rem 0.9rem; min-width: 6rem;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
}
.cfl-path-bar button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
.cfl-path-bar output { font-weight: 600; min-width: 6rem; }
.cfl-path-bar :focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
"""

_component = st.components.v2.component(
    "cfl_path_chart",
    html=_HTML,
    css=_CSS,
    js=asset("plots.js", "path_figure.js", "path_chart.js"),
    isolate_styles=False,
)


def path_chart(
    points: Sequence[PathPoint],
    *,
    span: tuple[float, float],
    key: str,
    asked: Sequence[float] = (),
    choices: Sequence[float] = (),
    lam: float | None = None,
    answer: int = 0,
    working: float | None = None,
    gram: tuple[str, Sequence[int]] | None = None,
    stream_url: str | None = None,
    height: int = 330,
    on_move: Callable[[], None] | None = None,
    on_done: Callable[[], None] | None = None,
) -> None:
    """Draw the path, as far as it has come, and the slider.

    points: by rising λ; asked: the λ among them that are no points of the path; span: the least and the greatest λ of
    the horizontal axis. choices: the slider's values, rising, none for no slider; lam: where it stands, if no hand is
    moving it; answer: the number of the message this run answers. working: the λ that is being solved. gram: a K-gram's
    label and its pointers at each point, for a panel of its own. stream_url: a route of server-sent events (see
    ``live_chart``) to show the progress of. height: of the plot in pixels.

    ``on_move`` is called before the run that a move of the slider causes, with the :class:`PathMove` in
    ``st.session_state[key]["move"]``; ``on_done`` when the stream has ended.
    """
    _component(
        key=key,
        data={
            "plotly": site_url(PLOTLY_JS_URL),
            "points": [_point(point, point.lam in asked) for point in points],
            "span": list(span),
            "choices": list(choices),
            "lam": lam,
            "answer": answer,
            "working": working,
            "gram": None if gram is None else {"label": gram[0], "counts": [int(count) for count in gram[1]]},
            "stream": None if stream_url is None else site_url(stream_url),
            "height": height,
        },
        on_move_change=on_move,
        on_done_change=on_done,
    )


def _point(point: PathPoint, asked: bool) -> dict[str, Any]:
    gap = 0.0 if point.result.optimal else point.result.gap
    return {
        "lam": point.lam,
        "shares": [float(share) for share in point.shares],
        "size": point.result.dictionary_size,
        "gap": gap if gap < float("inf") else None,
        "asked": asked,
    }
