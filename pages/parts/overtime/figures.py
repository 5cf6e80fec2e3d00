"""Figures of the Over time page: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.parts.shared.figures import BLUE, html


def rates_figure(frames: Mapping[str, pd.DataFrame], title: str, form: str) -> go.Figure:
    """A rate over periods with its interval, a small chart for each group, all on one scale. frames: of ``rates``;
    title: of the vertical axis; form: of the numbers."""
    columns = min(len(frames), 3)
    rows = -(-len(frames) // columns)
    figure = make_subplots(
        rows=rows, cols=columns, shared_yaxes="all", shared_xaxes=True, subplot_titles=[html(name) for name in frames],
        vertical_spacing=0.12 if rows > 1 else 0.0, horizontal_spacing=0.03,
    )  # fmt: skip
    for k, (name, frame) in enumerate(frames.items()):
        above, below = (frame["high"] - frame["rate"]).fillna(0), (frame["rate"] - frame["low"]).fillna(0)
        figure.add_scatter(
            x=frame["period"], y=frame["rate"], name=html(name), mode="lines+markers", connectgaps=False,
            showlegend=False, line={"color": BLUE, "width": 2}, customdata=frame[["documents", "words"]],
            meta={"customdata": ["documents", "words"]},
            error_y={"array": above, "arrayminus": below, "thickness": 1, "width": 2, "color": BLUE},
            hovertemplate=f"%{{x}}: %{{y:{form}}}<br>%{{customdata[0]:,}} documents, %{{customdata[1]:,}} words"
            "<extra></extra>",
            row=k // columns + 1, col=k % columns + 1,
        )  # fmt: skip
    figure.update_xaxes(type="category", nticks=(12, 6, 3)[columns - 1])
    for k in range(len(frames) - columns, len(frames)):  # those without another below them
        figure.update_xaxes(showticklabels=True, row=k // columns + 1, col=k % columns + 1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=html(title), col=1, row=(rows + 1) // 2)
    # the names of groups stand below the button that saves the chart
    margin = {"l": 10, "r": 10, "t": 55 if len(frames) > 1 else 30, "b": 10}
    figure.update_layout(height=85 + 220 * rows if rows > 1 else 300, margin=margin)
    return figure
