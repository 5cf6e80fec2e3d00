"""Finished figures: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cflengine.compression import StageSnapshot

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a8a8a"


def html(text: object) -> str:
    """A stranger's text as Plotly shows it, which reads a little HTML."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def apart(
    x: np.ndarray, y: np.ndarray, labels: Sequence[str], anchors: Sequence[float], size: tuple[int, int] = (700, 450),
    *, points: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[int]:  # fmt: skip
    """Which labels stand apart from all before them, the first being the most wanted.

    x, y: float (n,), where they stand, as shares of a plot of about ``size`` pixels; anchors: of each -1 where it ends
    there, 0 where that is its middle, 1 where it begins there. points: across and up, what no label that begins at its
    own may lie on.
    """
    across, up = (size[0] * points[0], size[1] * points[1]) if points is not None else (np.empty(0), np.empty(0))
    kept: list[tuple[float, float, float]] = []
    found = []
    for k, (label, anchor) in enumerate(zip(labels, anchors, strict=True)):
        width = 7.5 * min(len(label), 60) + 8
        left, row = size[0] * float(x[k]) + (anchor - 1) * width / 2, size[1] * float(y[k])
        under = (across > left + 4) & (across < left + width + 4) & (np.abs(up - row) < 9)
        if under.any():
            continue
        if all(abs(row - other) >= 15 or left > right or left + width < start for start, right, other in kept):
            kept.append((left, left + width, row))
            found.append(k)
    return found


def stages_figure(stages: Sequence[StageSnapshot], zeta: float, bound: float) -> go.Figure:
    """Cost of the rounded solution over ζ, above the proved bound, and the share of w that is decided.

    Circles mark start and end, as in Figure 4 of the paper; the last re-encoding is a step of its own at ζ = 1. The
    green line is the ζ that is looked at, the dotted one that up to which the relaxation's w stays optimal.
    """
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    zetas, costs = [stage.zeta for stage in stages], [stage.objective for stage in stages]
    last = stages[-1]
    figure.add_scatter(
        x=[*zetas, last.zeta], y=[*costs, last.repaired], name="cost, rounded", mode="lines+markers",
        line={"color": BLUE, "width": 3}, marker={"size": [6] * len(zetas) + [9]},
        text=[*["rounded"] * len(zetas), "re-encoded"], hovertemplate="%{text}: %{y:,.6~g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[zetas[0], last.zeta], y=[costs[0], last.repaired], name="start, end", mode="markers",
        marker={"symbol": "circle-open", "size": 15, "color": BLUE, "line": {"width": 2}}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=zetas, y=[stage.relaxation for stage in stages], name="value of w", mode="lines+markers",
        line={"color": GREY, "dash": "dash"}, marker={"symbol": "diamond"},
    )  # fmt: skip
    if bound > 0:
        figure.add_scatter(
            x=[-0.02, 1.02], y=[bound, bound], name="proved bound", mode="lines", line={"color": ORANGE, "width": 2},
            hovertemplate="proved: %{y:,.6~g}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=zetas, y=[stage.binary_share for stage in stages], name="share decided", mode="lines+markers",
        line={"color": GREEN, "dash": "dot"}, marker={"symbol": "square"}, secondary_y=True,
    )  # fmt: skip
    figure.add_vline(x=zeta, line={"color": GREEN, "width": 2})
    stays = stages[0].stays_optimal
    if 0 < stays <= 1:
        figure.add_vline(
            x=stays, line={"color": GREY, "width": 1, "dash": "dot"}, annotation_text="w* optimal up to here",
            annotation_position="top right" if stays < 0.5 else "top left", annotation_font_size=11,
            annotation_yshift=18,  # above the plot, where no line crosses it
        )  # fmt: skip
    figure.update_xaxes(title_text="ζ", range=[-0.04, 1.04], dtick=0.2)
    figure.update_yaxes(secondary_y=False, tickformat=",")
    figure.update_yaxes(secondary_y=True, range=[0, 1.02], dtick=0.25, tickformat=".0%", showgrid=False)
    figure.update_layout(
        height=460, margin={"l": 10, "r": 10, "t": 30, "b": 160}, hovermode="x unified",
        # a row each: Plotly places several columns wrongly where the figure is as narrow as here
        legend={"orientation": "v", "x": 0, "y": -0.22, "yanchor": "top"},
    )  # fmt: skip
    return figure
