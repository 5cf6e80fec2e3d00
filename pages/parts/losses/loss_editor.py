"""A loss as a picture: the sum, thick, and the ReLUs and ReHUs it is made of; its points can be dragged.

Python says what the curves are, so that what is drawn is what is minimised; the browser only moves points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from cflengine.plq import Loss

LEAST, MOST = -3.0, 3.0  # of the residual or the margin, on the picture
TOP = 4.0
_SAMPLES = 241

_HTML = """
<div class="loss-editor">
  <p class="loss-legend"></p>
  <svg class="picture" viewBox="0 0 640 312" role="group" aria-label="The loss and its parts"></svg>
  <p class="loss-hint"></p>
</div>
"""

_CSS = """
.loss-editor { color: var(--st-text-color); font-family: var(--st-font); font-size: 0.875rem; }
.loss-legend { display: flex; flex-wrap: wrap; gap: 0.1rem 1.2rem; margin: 0 0 0.3rem; }
.loss-legend svg { width: 34px; height: 10px; margin-right: 0.4rem; }
.loss-editor .picture {
  width: 100%; max-width: 760px; height: auto; touch-action: none; user-select: none; display: block;
}
.loss-editor text {
  fill: currentColor; font-size: calc(13px * var(--zoom, 1)); paint-order: stroke;
  stroke: var(--st-background-color); stroke-width: 4px;
}
.loss-editor .axis { stroke: currentColor; stroke-opacity: 0.55; }
.loss-editor .grid { stroke: currentColor; stroke-opacity: 0.14; }
.loss-editor .part { fill: none; stroke-width: 1.8; }
.loss-editor .p0 { stroke: #d55e00; stroke-dasharray: 7 4; }
.loss-editor .p1 { stroke: #009e73; stroke-dasharray: 2 3; }
.loss-editor .p2 { stroke: #b0568c; stroke-dasharray: 9 3 2 3; }
.loss-editor .p3 { stroke: #8a8a8a; stroke-dasharray: 4 4; }
.loss-editor .sum { fill: none; stroke: #2a86c8; stroke-width: 4; }
.loss-editor .wanted { fill: none; stroke: currentColor; stroke-opacity: 0.5; stroke-width: 1.2; }
.loss-editor .point { fill: #2a86c8; stroke: var(--st-background-color); stroke-width: 2; cursor: grab; }
.loss-editor .point:focus-visible { outline: none; stroke: var(--st-text-color); stroke-width: 3; }
.loss-hint { margin: 0.2rem 0 0; opacity: 0.85; }
"""

_component = st.components.v2.component(
    "cfl_loss_editor", html=_HTML, css=_CSS, js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
)


def loss_editor(
    loss: Loss,
    points: Sequence[tuple[float, float]] | None,
    *,
    key: str,
    on_points: Callable[[], None] | None = None,
) -> None:
    """Show a loss; points: those of a drawn one, which can be dragged, else None.

    After a drag the page reruns, ``on_points`` first, with the new points, [[x, y], ...] ascending in x, in
    ``st.session_state[key]["points"]``.
    """
    words = "prediction − truth" if loss.of == "residual" else "margin: the score, negative where the class is wrong"
    hint = (
        "Drag the points; a double click adds one or takes one away; arrow keys move the one in focus. The loss is the "
        "lower convex hull of the points."
        if points is not None
        else ""
    )
    parts, name = parts_of(loss), "the loss, their sum"
    if len(parts) == 1 and loss.parts.constant == 0:  # the same curve
        parts, name = [], f"the loss: {parts[0]['name']}"
    _component(
        key=key,
        data={
            "range": [LEAST, MOST, TOP], "points": None if points is None else [list(map(float, p)) for p in points],
            "sum": curve(loss.parts.value), "name": name, "parts": parts, "axis": words, "hint": hint,
        },
        on_points_change=on_points,
    )  # fmt: skip


def curve(function: Callable[[np.ndarray], np.ndarray]) -> list[list[float]]:
    """Points of a function on the picture."""
    x = np.linspace(LEAST, MOST, _SAMPLES)
    return np.column_stack([x, function(x)]).round(4).tolist()


def parts_of(loss: Loss) -> list[dict[str, Any]]:
    """The loss's ReLUs and ReHUs: a name and a curve each."""
    found: list[dict[str, Any]] = []
    for u, v in loss.parts.relu:
        found.append({"name": f"ReLU({_line(u, v)})", "curve": curve(lambda r, u=u, v=v: np.maximum(u * r + v, 0.0))})
    for s, t, tau in loss.parts.rehu:
        end = "∞" if np.isinf(tau) else f"{tau:.3g}"

        def rehu(r: np.ndarray, s: float = s, t: float = t, tau: float = tau) -> np.ndarray:
            inside = np.clip(s * r + t, 0.0, tau)
            return inside * (np.maximum(s * r + t, 0.0) - 0.5 * inside)

        found.append({"name": f"ReHU({_line(s, t)}; τ = {end})", "curve": curve(rehu)})
    return found


def _line(u: float, v: float) -> str:
    """u·r + v as one would write it."""
    head = {1.0: "r", -1.0: "−r"}.get(u, f"{u:.3g} r".replace("-", "−"))
    return head if v == 0 else f"{head} {'+' if v > 0 else '−'} {abs(v):.3g}"


def clean_points(points: Any) -> tuple[tuple[float, float], ...] | None:
    """Points as the browser sent them, bounded and ascending; None for what are none."""
    try:
        found = sorted((round(float(x), 3), round(float(y), 3)) for x, y in points)
    except (TypeError, ValueError, OverflowError):
        return None
    inside = [(x, y) for x, y in found if LEAST <= x <= MOST and 0.0 <= y <= TOP]
    apart = [point for k, point in enumerate(inside) if k == 0 or point[0] > inside[k - 1][0]]
    return tuple(apart[:24]) if len(apart) >= 2 else None
