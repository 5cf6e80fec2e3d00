"""Figures of the Compare page: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.stats import rankdata

from pages.parts.shared.figures import BLUE, GREY, ORANGE, Label, beside, html

MOST_POINTS, NAMED = 2_500, 12
_WIDTHS, _HEIGHT = (300, 600, 925), 480  # pixels of the plot on a phone, a tablet and a wide page


def scatter_figure(frame: pd.DataFrame, group: str, others: str) -> go.Figure:
    """Every phrase by how often the group has it (up) and the others (right), by rank, so that rare and frequent ones
    find space; colour and shape: who has more. frame: of keyness, with "phrase"; its index goes into customdata."""
    shown = frame[(frame["count"] + frame["others"]) > 1]
    shown = shown.iloc[np.argsort(-np.abs(shown["g2"].to_numpy()), kind="stable")[:MOST_POINTS]]
    x, y = (rankdata(shown[name], method="average") / max(len(shown), 1) for name in ("others", "count"))
    figure = go.Figure()
    for sign, colour, symbol, name in ((1, ORANGE, "diamond", group), (-1, BLUE, "circle", others)):
        own = (np.sign(shown["g2"].to_numpy()) == sign) & (shown["p"].to_numpy() < 0.05)
        _points(figure, shown[own], x[own], y[own], colour, symbol, f"more in {html(name)}")
    rest = shown["p"].to_numpy() >= 0.05
    _points(figure, shown[rest], x[rest], y[rest], GREY, "circle-open", "no clear difference")
    for label in _named(shown, x, y):  # in the letters' colour, which can be read in the dark, too
        far = abs(label.right) > 8
        figure.add_annotation(
            x=x[label.point], y=y[label.point], text=html(shown["phrase"].iloc[label.point]), font={"size": 12},
            ax=label.right, ay=-label.up, xanchor="left" if label.right > 0 else "right",
            showarrow=True, arrowhead=0, arrowwidth=0.8, arrowcolor=GREY if far else "rgba(0,0,0,0)", standoff=4,
            borderpad=0,
        )  # fmt: skip
    figure.update_xaxes(title_text=f"rarer ← {html(others)} → more frequent", showticklabels=False, range=[-0.06, 1.06])
    figure.update_yaxes(title_text=f"rarer ← {html(group)} → more frequent", showticklabels=False, range=[-0.04, 1.06])
    figure.update_layout(
        height=560, margin={"l": 10, "r": 10, "t": 10, "b": 10}, legend={"orientation": "h", "x": 0, "y": 1.06}
    )
    return figure


def _named(shown: pd.DataFrame, x: np.ndarray, y: np.ndarray) -> list[Label]:
    """The clearest phrases of both sides, by turns, and where their names stand, on a phone as on a wide page."""
    sign, order = np.sign(shown["g2"].to_numpy()), np.argsort(-np.abs(shown["g2"].to_numpy()), kind="stable")
    sides = [order[sign[order] == side][:NAMED].tolist() for side in (1, -1)]
    wanted = [k for pair in zip_longest(*sides) for k in pair if k is not None]
    across, up = (x + 0.06) / 1.12, (y + 0.04) / 1.1
    return beside((across, up), wanted, [str(shown["phrase"].iloc[k]) for k in wanted], _WIDTHS, _HEIGHT)


def _points(
    figure: go.Figure, frame: pd.DataFrame, x: np.ndarray, y: np.ndarray, colour: str, symbol: str, name: str
) -> None:
    figure.add_scatter(
        x=x, y=y, mode="markers", name=name, text=[html(phrase) for phrase in frame["phrase"]],
        marker={"color": colour, "symbol": symbol, "size": 7, "opacity": 0.8},
        customdata=np.column_stack([frame.index, frame["per_million"], frame["others_per_million"], frame["g2"]]),
        hovertemplate="<b>%{text}</b><br>%{customdata[1]:,.0f} a million words here, %{customdata[2]:,.0f} there<br>"
        "G² %{customdata[3]:,.1f}<extra></extra>",
    )  # fmt: skip


def rates_figure(rates: pd.DataFrame, phrase: str) -> go.Figure:
    """How often one phrase stands in each group. rates: group, count, per_million."""
    figure = go.Figure(
        go.Bar(
            y=[html(name) for name in rates["group"]], x=rates["per_million"], orientation="h", marker_color=BLUE,
            text=[f"{value:,.0f}" for value in rates["per_million"]], customdata=rates["count"],
            hovertemplate="%{y}: %{x:,.1f} a million words (%{customdata:,} times)<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text=f"“{html(phrase)}” a million words", rangemode="tozero")
    figure.update_yaxes(type="category", autorange="reversed")
    figure.update_layout(height=110 + 34 * len(rates), margin={"l": 10, "r": 10, "t": 30, "b": 10})
    return figure


def cross_figure(names: Sequence[str], excess: np.ndarray) -> go.Figure:
    """By which share each group (rows) costs more in each other's dictionary (columns)."""
    labels = [html(name) for name in names]
    text = [[f"+{100 * value:.1f} %" if value else "its own" for value in row] for row in np.round(excess, 6)]
    figure = go.Figure(
        go.Heatmap(
            z=100 * excess, x=labels, y=labels, text=text, texttemplate="%{text}", showscale=False, xgap=2, ygap=2,
            colorscale=[[0, "rgba(213,94,0,0.06)"], [1, "rgba(213,94,0,0.55)"]],
            hovertemplate="%{y} in the dictionary of %{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text="in the dictionary of", type="category", side="top", showgrid=False)
    figure.update_yaxes(title_text="documents of", type="category", autorange="reversed", showgrid=False)
    figure.update_layout(height=140 + 52 * len(names), margin={"l": 10, "r": 10, "t": 60, "b": 10})
    return figure
