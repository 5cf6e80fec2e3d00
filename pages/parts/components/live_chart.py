"""Live chart of a solve, or of several side by side, fed by server-sent events and drawn with ``Plotly.react``.

``st.plotly_chart`` builds its figure anew whenever the data change and loses zoom and legend, and rerunning a
fragment for every update costs the solver its core. Here the rows go straight from an ASGI route to one DOM
node in the browser; Python runs only when the page itself reruns.

A row is a dict with the keys of ``FIELDS``: ``t`` seconds, ``i`` iteration, ``s`` the number of its series (absent: 0),
``objective`` of the current and ``best`` of the best binary solution, ``relaxed`` value of the relaxation (an
estimate), ``bound`` the certified lower bound, ``zeta``, ``gap`` as a fraction (best / bound - 1, proved), ``phase``
0 while the relaxation is solved and 1 later. All but ``t`` and ``i`` may be absent, None or NaN; best, bound and gap
then keep their last value. The rows of a series come in order of time; one that is not later than its predecessor is
dropped, so a stream that is opened again may start over from the first row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.parts.components.assets import asset
from pages.parts.components.static_routes import PLOTLY_JS_URL, site_url

FIELDS = ("t", "i", "s", "objective", "best", "relaxed", "bound", "zeta", "gap", "phase")

#: The event that empties the chart, for a solve that starts over on the same stream.
SSE_RESET = "event: reset\ndata: {}\n\n"


# A form, because the names of radio buttons are private to one: several charts may share a page.
_HTML = """
<div class="cfl-live">
  <form class="cfl-live-bar">
    <fieldset>
      <legend>horizontal axis</legend>
      <label><input type="radio" name="x" value="t" checked>seconds</label>
      <label><input type="radio" name="x" value="i">iterations</label>
    </fieldset>
    <label><input type="checkbox" name="log">logarithmic</label>
    <label><input type="checkbox" name="zoom" checked>zoom on the gap</label>
    <button type="button" hidden>reset zoom</button>
  </form>
  <div class="cfl-live-plot" role="figure" aria-label="Chart of the solve, no values yet"></div>
  <p class="cfl-live-status"></p>
</div>
"""

# The chart lives in the page's own DOM (Plotly writes its style sheet into the document head, where a shadow
# root would not see it), hence the prefix on every class.
_CSS = """
.cfl-live { color: var(--st-text-color); font-family: var(--st-font); font-size: 0.875rem; }
.cfl-live-bar { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: center; min-height: 2rem; }
.cfl-live-bar label { display: inline-flex; gap: 0.35rem; align-items: center; cursor: pointer; }
.cfl-live-bar fieldset { display: inline-flex; gap: 0.75rem; border: 0; margin: 0; padding: 0; }
.cfl-live-bar legend { float: left; padding: 0; margin-inline-end: 0.75rem; }
.cfl-live-bar input { accent-color: var(--st-primary-color); margin: 0; }
.cfl-live-bar button {
  font: inherit; color: inherit; background: transparent; cursor: pointer; padding: 0.1rem 0.6rem;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
}
.cfl-live-bar :focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
.cfl-live-plot { width: 100%; overflow: hidden; }
.cfl-live-bar [hidden] { display: none; }
.cfl-live-status { margin: 0; min-height: 1.4em; font-variant-numeric: tabular-nums; white-space: pre-wrap; }
"""

_component = st.components.v2.component(
    "cfl_live_trace",
    html=_HTML,
    css=_CSS,
    js=asset("plots.js", "live_figure.js", "live_chart.js"),
    isolate_styles=False,
)


def live_trace_chart(
    *,
    rows: list[dict] | None,
    stream_url: str | None,
    height: int = 420,
    key: str,
    ended: Mapping[str, Any] | None = None,
    on_done: Callable[[], None] | None = None,
    series: Sequence[str] = (),
    levels: Sequence[float] = (),
    zeta: bool = False,
    phase: str = "",
    log: bool = False,
    steps: str = "iterations",
    value: str = "cost",
) -> dict[str, Any] | None:
    """Draw a solve while it runs, and after; or several, each in the seconds since its own start.

    rows: what is known now; replaces what the chart holds, except for later rows its stream has delivered.
    None leaves the chart as it is. stream_url: root-relative address of a server-sent-events route (see
    ``sse_rows``, ``sse_done``, ``SSE_RESET``); another address starts an empty chart, None closes the stream
    and keeps the picture. ended: how the solve ended, what ``sse_done`` is given, where that is known; a page may learn
    it before the stream has told. height: of the plot in pixels. on_done: if given, the page reruns once when the
    stream reports its end, this callback first.

    series: names of the series that rows belong to by their ``s``, at most four; none for a single solve, which is
    drawn in more detail. levels: gaps above the best bound to draw lines at. zeta: whether to show ζ. phase: what is
    written where the phase of a single solve becomes 1; of several the place is marked by an ×. log: whether the
    horizontal axis begins logarithmic (the reader can change it). steps, value: what ``i`` counts and what the vertical
    axis has.

    Returns what ``sse_done`` sent, in the one rerun that ``on_done`` causes, else None. Raises ValueError for
    a stream on another site.
    """
    result = _component(
        key=key,
        data={
            "plotly": site_url(PLOTLY_JS_URL),
            "stream": None if stream_url is None else site_url(stream_url),
            "rows": None if rows is None else encode_rows(rows),
            "ended": None if ended is None else _outcome(**ended),
            "height": height,
            "notify": on_done is not None,
            "series": list(series),
            "levels": list(levels),
            "zeta": zeta,
            "phase": phase,
            "log": log,
            "steps": steps,
            "value": value,
        },
        on_done_change=on_done,
    )
    return result.get("done")


def encode_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, float | None]]:
    """Rows of plain JSON numbers: numpy scalars unwrapped, NaN, infinities and missing values as None."""
    return [{name: _number(row.get(name)) for name in FIELDS} for row in rows]


def sse_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """One server-sent event that appends rows."""
    return f"data: {json.dumps(encode_rows(rows), allow_nan=False)}\n\n"


def sse_done(reason: str, *, objective: float, bound: float, gap: float) -> str:
    """The event that ends a stream: why the solve stopped, its best objective, its bound, the proved gap."""
    payload = _outcome(reason, objective=objective, bound=bound, gap=gap)
    return f"event: done\ndata: {json.dumps(payload, allow_nan=False)}\n\n"


def _outcome(reason: str, **numbers: float) -> dict[str, str | float | None]:
    return {"reason": str(reason)} | {name: _number(value) for name, value in numbers.items()}


def _number(value: Any) -> float | None:
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None
