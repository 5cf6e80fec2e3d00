"""Figures of the Losses page: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE

MOST_POINTS = 1500


def band_figure(truth: np.ndarray, low: np.ndarray, high: np.ndarray, column: str) -> go.Figure:
    """Documents in the order of the band's middle: the band, and where the truth lies in it or beside it."""
    order = np.argsort(low + high, kind="stable")
    order = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_POINTS)).astype(int))]
    truth, low, high = truth[order], np.minimum(low, high)[order], np.maximum(low, high)[order]
    x = np.arange(len(order))
    inside = (truth >= low) & (truth <= high)
    figure = go.Figure()
    figure.add_scatter(x=x, y=high, mode="lines", line={"color": BLUE, "width": 1}, hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=x, y=low, mode="lines", line={"color": BLUE, "width": 1}, fill="tonexty", fillcolor="rgba(0, 114, 178, 0.22)",
        name="the band", hoverinfo="skip",
    )  # fmt: skip
    for name, chosen, colour, symbol in (
        ("inside", inside, GREEN, "circle"), ("outside", ~inside, ORANGE, "x")
    ):  # fmt: skip
        figure.add_scatter(
            x=x[chosen], y=truth[chosen], mode="markers", name=name,
            marker={"color": colour, "symbol": symbol, "size": 6}, hovertemplate=f"{column}: %{{y}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="test documents, by the middle of their band", showticklabels=False)
    figure.update_yaxes(title_text=column)
    return _sized(figure)


def prediction_figure(truth: np.ndarray, predicted: np.ndarray, column: str) -> go.Figure:
    """Predicted against true numbers, a point a document."""
    kept = np.unique(np.linspace(0, len(truth) - 1, min(len(truth), MOST_POINTS)).astype(int))
    figure = go.Figure()
    ends = [float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max()))]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line={"color": GREY, "dash": "dot"}, name="right", hoverinfo="skip"
    )
    figure.add_scatter(
        x=predicted[kept], y=truth[kept], mode="markers", name="test documents",
        marker={"color": BLUE, "size": 6, "opacity": 0.55},
        hovertemplate=f"predicted %{{x:.3g}}, {column} %{{y}}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title_text="predicted")
    figure.update_yaxes(title_text=column)
    return _sized(figure)


def race_figure(traces: Mapping[str, pd.DataFrame], x: str) -> go.Figure:
    """The proved gap, on a log axis, over operations, seconds or sweeps; over the latter two linear convergence is a
    straight line. Operations, of which one form needs a hundred times as many, have a log axis themselves."""
    figure = go.Figure()
    looks = {"pure": (ORANGE, "dash", "square"), "primal-dual": (BLUE, "solid", "circle")}
    for name, trace in traces.items():
        kept = trace[np.isfinite(trace["gap"]) & (trace["gap"] > 0)]
        colour, dash, symbol = looks[name]
        figure.add_scatter(
            x=kept[x], y=kept["gap"], mode="lines+markers", name=name,
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 5, "maxdisplayed": 12}, hovertemplate=name + ": %{y:.1e}<extra></extra>",
        )  # fmt: skip
    title = {"operations": "multiplications", "sweep_s": "seconds of sweeps", "iteration": "sweeps"}[x]
    figure.update_xaxes(title_text=title, type="log" if x == "operations" else "linear", exponentformat="power")
    figure.update_yaxes(title_text="proved gap", type="log", exponentformat="power")
    return _sized(figure)


def _sized(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=380, margin={"l": 10, "r": 10, "t": 10, "b": 10}, hovermode="closest",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure
