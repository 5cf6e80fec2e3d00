"""Finished figures: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cflengine.compression.result import StageSnapshot

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a8a8a"


def stages_figure(stages: Sequence[StageSnapshot], zeta: float) -> go.Figure:
    """Cost of the rounded solution and share of binary w over ζ, with the chosen ζ marked."""
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    zetas = [stage.zeta for stage in stages]
    figure.add_scatter(
        x=zetas, y=[stage.objective for stage in stages], name="cost, rounded", mode="lines+markers",
        line={"color": BLUE, "width": 3},
    )  # fmt: skip
    figure.add_scatter(
        x=zetas, y=[stage.relaxation for stage in stages], name="value of w", mode="lines+markers",
        line={"color": GREY, "dash": "dash"}, marker={"symbol": "diamond"},
    )  # fmt: skip
    figure.add_scatter(
        x=zetas, y=[stage.binary_share for stage in stages], name="share of w that is 0 or 1", mode="lines+markers",
        line={"color": ORANGE, "dash": "dot"}, marker={"symbol": "square"}, secondary_y=True,
    )  # fmt: skip
    figure.add_vline(x=zeta, line={"color": GREEN, "width": 2})
    figure.update_xaxes(title_text="ζ", range=[-0.02, 1.02], dtick=0.1)
    figure.update_yaxes(title_text="cost", secondary_y=False, tickformat=",")
    figure.update_yaxes(
        title_text="share", secondary_y=True, range=[0, 1.02], dtick=0.25, tickformat=".0%", showgrid=False
    )
    figure.update_layout(
        height=300, margin={"l": 10, "r": 10, "t": 30, "b": 10}, legend={"orientation": "h", "y": 1.15},
        hovermode="x unified",
    )  # fmt: skip
    return figure
