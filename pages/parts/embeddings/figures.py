"""Figures of the Embeddings page: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from scipy.ndimage import gaussian_filter

from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE, apart, html

FIRST, SECOND = ORANGE, BLUE  # as the text has them: what speaks for the second class is blue
_SCALE = [[0.0, SECOND], [0.5, "#c9c9c9"], [1.0, FIRST]]
_BINS = 70
MOST_WORDS, NAMED = 1_000, 18  # in a cloud, and with their names
_CANDIDATES = 6 * NAMED
_NARROW = (320, 400)  # the plot on a telephone, in pixels: names that stand apart there do so everywhere
_FREQUENT = 30  # words that are never cut off


def plane(M: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Centre (r,) and the two directions (r, 2) of largest variance; weight: of each row, None for all alike."""
    share = np.full(len(M), 1.0 / len(M)) if weight is None else weight / weight.sum()
    centre = share @ M
    rows = (M - centre) * np.sqrt(share)[:, None]
    _, V = np.linalg.eigh(rows.T @ rows)
    directions = np.zeros((M.shape[1], 2))
    directions[:, : min(2, V.shape[1])] = V[:, ::-1][:, :2]
    return centre, directions


def null_figure(null: np.ndarray, statistic: float) -> go.Figure:
    """The statistic beside those of labels exchanged at random."""
    figure = go.Figure()
    figure.add_histogram(
        x=null, nbinsx=50, marker_color=GREY, name="labels exchanged",
        hovertemplate="%{x}: %{y} of them<extra></extra>",
    )  # fmt: skip
    figure.add_vline(
        x=statistic, line={"color": BLUE, "width": 3}, annotation_text="the labels as they are",
        annotation_position="top left" if statistic > float(np.median(null)) else "top right", annotation_yshift=-4,
    )  # fmt: skip
    figure.update_xaxes(title_text="wMMD²", exponentformat="power")
    figure.update_yaxes(title_text="permutations")
    figure.update_layout(height=310, margin={"l": 10, "r": 10, "t": 40, "b": 10}, showlegend=False, bargap=0.05)
    return figure


def cloud_figure(
    points: np.ndarray, words: Sequence[str], shares: np.ndarray, colour: np.ndarray, classes: Sequence[str]
) -> go.Figure:
    """Words in the plane, (V, 2), the most frequent of either class: size by frequency, colour by the witness; lines of
    equal density of both classes. shares: (V, 2), of the words of either class; colour: (V,), above 0: first class."""
    figure = go.Figure()
    x, y = (_range(points[:, k], shares.sum(axis=1)) for k in (0, 1))
    for c, (name, line) in enumerate(zip(classes, (FIRST, SECOND), strict=True)):
        density, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=_BINS, range=[x, y], weights=shares[:, c])
        smooth = gaussian_filter(density, 2.6).T
        figure.add_contour(
            x=np.linspace(*x, _BINS), y=np.linspace(*y, _BINS), z=smooth, showscale=False, ncontours=6,
            contours={"coloring": "none"}, line={"color": line, "width": 1.6, "dash": ("dash", "solid")[c]},
            name=html(name), showlegend=True, hoverinfo="skip",
        )  # fmt: skip
    shown = np.argsort(-shares.sum(axis=1), kind="stable")[:MOST_WORDS]
    most = float(np.abs(colour[shown]).max(initial=0.0)) or 1.0
    frequency = shares[shown].mean(axis=1)
    sizes = 4 + 26 * np.sqrt(frequency / frequency.max())
    figure.add_scatter(
        x=points[shown, 0], y=points[shown, 1], mode="markers", text=[html(words[v]) for v in shown.tolist()],
        showlegend=False, customdata=np.column_stack([shares[shown], colour[shown]]),
        marker={
            "size": sizes, "color": colour[shown], "colorscale": _SCALE,
            "symbol": np.where(colour[shown] > 0, "diamond", "circle"),
            "cmin": -most, "cmax": most, "opacity": 0.8, "line": {"width": 0},
        },
        hovertemplate=f"<b>%{{text}}</b><br>{html(classes[0])}: %{{customdata[0]:.3%}}<br>{html(classes[1])}: "
        "%{customdata[1]:.3%}<br>witness %{customdata[2]:+.4f}<extra></extra>",
    )  # fmt: skip
    top = shown[np.argsort(-np.abs(colour[shown]) * np.sqrt(frequency), kind="stable")[:_CANDIDATES]]
    across, up = ((points[top, k] - ends[0]) / (ends[1] - ends[0]) for k, ends in enumerate((x, y)))
    inside = (across > 0.02) & (across < 0.98) & (up > 0.02) & (up < 0.96)
    top, across, up = top[inside], across[inside], up[inside]
    top = top[apart(across, up, [words[v] for v in top.tolist()], [0.0] * len(top), _NARROW)[:NAMED]]
    size = dict(zip(shown.tolist(), sizes.tolist(), strict=True))
    for v in top.tolist():  # in the page's ink, above the mark: words in the marks' colours are hard to read
        figure.add_annotation(
            x=points[v, 0], y=points[v, 1], text=html(words[v]), showarrow=False, yshift=8 + size[v] / 2,
            font={"size": 13},
        )  # fmt: skip
    _plane_axes(figure, x, y)
    figure.update_layout(
        height=490, margin={"l": 0, "r": 0, "t": 10, "b": 10}, legend={"orientation": "h", "x": 0, "y": 1.08}
    )
    return figure


def _plane_axes(figure: go.Figure, x: Sequence[float], y: Sequence[float]) -> None:
    """Axes that say what they are; their numbers say nothing."""
    looks = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(range=list(x), title_text="first principal component", **looks)
    figure.update_yaxes(range=list(y), title_text="second", **looks)


def _range(values: np.ndarray, weight: np.ndarray) -> list[float]:
    """Nearly all of them, and all frequent ones, with a margin: a few words far out would squeeze the others."""
    frequent = values[np.argsort(-weight, kind="stable")[:_FREQUENT]]
    low, high = np.quantile(values, [0.005, 0.995])
    low, high = min(low, frequent.min()), max(high, frequent.max())
    margin = 0.12 * (high - low) or 1.0
    return [float(low - margin), float(high + margin)]


def witness_figure(frame: pd.DataFrame, classes: Sequence[str], most: int = 12) -> go.Figure:
    """The words of largest contribution, to the side that they pull to. frame: of :func:`witness_frame`."""
    figure = go.Figure()
    for sign, name, colour in ((-1, classes[0], FIRST), (1, classes[1], SECOND)):
        own = frame[(frame["witness"] * -sign > 0) & (frame["contribution"] > 0)].head(most).iloc[::-1]
        figure.add_bar(
            y=[html(word) for word in own["word"]], x=sign * own["contribution"], orientation="h", name=html(name),
            marker_color=colour, marker_pattern_shape="/" if sign < 0 else "",
            hovertemplate="<b>%{y}</b>: %{customdata:.3%} of the distance<extra></extra>",
            customdata=own["contribution"] / frame["contribution"].sum(),
        )  # fmt: skip
    figure.update_xaxes(title_text="← what a word adds to the distance →", showticklabels=False, zeroline=True)
    figure.update_yaxes(type="category", dtick=1)
    figure.update_layout(
        height=max(320, 90 + 21 * 2 * min(most, len(frame))), margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.06}, barmode="overlay", bargap=0.25,
    )  # fmt: skip
    return figure


def training_figure(rows: Sequence[Mapping[str, float]]) -> go.Figure:
    """Loss, share of right ones and wMMD² over epochs."""
    frame = pd.DataFrame(list(rows))
    figure = make_subplots(rows=1, cols=3, subplot_titles=("cross<br>entropy", "right, while<br>it learns", "wMMD²"))
    for column, (name, colour) in enumerate((("loss", BLUE), ("accuracy", GREEN), ("wmmd", ORANGE)), 1):
        figure.add_scatter(
            x=frame["epoch"], y=frame[name], mode="lines+markers", line={"color": colour, "width": 2.5}, row=1,
            col=column, showlegend=False, hovertemplate="epoch %{x}: %{y:.4g}<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(tickformat=".0%", range=[0.0, 1.02], row=1, col=2)
    figure.update_xaxes(title_text="epoch")
    figure.update_annotations(font_size=13)  # three beside each other on a phone
    figure.update_layout(height=295, margin={"l": 10, "r": 10, "t": 55, "b": 10})
    return figure


def film_figure(
    film: Sequence[np.ndarray], words: Sequence[str], shares: np.ndarray, classes: Sequence[str]
) -> go.Figure:
    """The words' vectors after each epoch, in the plane of the last one; to be played. shares: (words, 2)."""
    frames, named, axes = _staged(film, words, shares)
    figure = _points_figure(frames[-1], words, shares, classes, named, axes)
    figure.frames = [
        go.Frame(
            data=[{"x": some[:, 0].round(4), "y": some[:, 1].round(4)} for some in (at, at[named])], name=str(k),
            traces=[0, 1],
        )
        for k, at in enumerate(frames)
    ]  # fmt: skip
    play = {"frame": {"duration": 220, "redraw": False}, "transition": {"duration": 160}, "fromcurrent": False}
    steps = [
        {"args": [[str(k)], {"frame": {"duration": 0, "redraw": False}, "mode": "immediate"}], "label": str(k),
         "method": "animate"}
        for k in range(len(frames))
    ]  # fmt: skip
    figure.update_layout(
        height=600, margin={"l": 0, "r": 0, "t": 10, "b": 34},
        updatemenus=[{"type": "buttons", "x": 0, "y": -0.1, "xanchor": "left", "yanchor": "top", "showactive": False,
                      "buttons": [{"label": "▶ Play", "method": "animate", "args": [None, play]}]}],
        sliders=[{"active": len(frames) - 1, "steps": steps, "x": 0, "len": 1, "y": -0.1,
                  "currentvalue": {"prefix": "epoch ", "font": {"size": 13}, "xanchor": "right"}}],
    )  # fmt: skip
    return figure


def still_figures(
    film: Sequence[np.ndarray], words: Sequence[str], shares: np.ndarray, classes: Sequence[str]
) -> list[go.Figure]:
    """The words' vectors before the first epoch and after the last, both in the plane and the range of the last."""
    frames, named, axes = _staged([film[0], film[-1]], words, shares)
    figures = [_points_figure(at, words, shares, classes, named, axes) for at in frames]
    return [figure.update_layout(height=430) for figure in figures]


def _staged(
    film: Sequence[np.ndarray], words: Sequence[str], shares: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, list[list[float]]]:
    """Vectors at several moments in the plane of the last one, (words, 2) each; the words with a name, those that tell
    the classes apart most and whose names stand apart at the end; the ranges of both axes, for all moments."""
    centre, directions = _facing(film[-1], shares)
    frames = [(np.asarray(M) - centre) @ directions for M in film]
    weight = np.tile(shares.sum(axis=1), len(frames))
    axes = [_range(np.concatenate([at[:, k] for at in frames]), weight) for k in (0, 1)]
    lean = np.abs(shares[:, 0] - shares[:, 1]) / np.sqrt(np.maximum(shares.sum(axis=1), 1e-12))
    top = np.argsort(-lean, kind="stable")[:_CANDIDATES]
    across, up = ((frames[-1][top, k] - low) / (high - low) for k, (low, high) in enumerate(axes))
    named = top[apart(across, up, [words[v] for v in top.tolist()], [0.0] * len(top), _NARROW)[:NAMED]]
    return frames, named, axes


def moment_figure(M: np.ndarray, words: Sequence[str], shares: np.ndarray, classes: Sequence[str]) -> go.Figure:
    """The words' vectors while they are trained, in the plane of this moment."""
    (at,), named, axes = _staged([M], words, shares)
    return _points_figure(at, words, shares, classes, named, axes).update_layout(height=430)


def _facing(M: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and plane, turned so that the first class is left and below: else a sign might flip between epochs."""
    centre, directions = plane(M, shares.sum(axis=1) + 1e-12)
    towards = (shares[:, 1] - shares[:, 0]) @ ((M - centre) @ directions)
    return centre, directions * np.where(towards < 0, -1.0, 1.0)


def _points_figure(
    points: np.ndarray, words: Sequence[str], shares: np.ndarray, classes: Sequence[str],
    named: np.ndarray, axes: Sequence[Sequence[float]],
) -> go.Figure:  # fmt: skip
    """Words in the plane, (words, 2): size by frequency, colour and shape by the class in which they are more frequent;
    shares: (words, 2); named: the words with a name; axes: their ranges."""
    lean = (shares[:, 0] - shares[:, 1]) / np.maximum(shares.sum(axis=1), 1e-12)
    frequency = shares.mean(axis=1)
    marker = {
        "size": 4 + 24 * np.sqrt(frequency / max(frequency.max(), 1e-12)), "color": lean, "colorscale": _SCALE,
        "symbol": np.where(lean > 0, "diamond", "circle"),
        "cmin": -1, "cmax": 1, "opacity": 0.75, "line": {"width": 0},
    }  # fmt: skip
    figure = go.Figure()
    figure.add_scatter(
        x=points[:, 0], y=points[:, 1], mode="markers", text=[html(word) for word in words], marker=marker,
        showlegend=False, hovertemplate="<b>%{text}</b><extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=points[named, 0], y=points[named, 1], mode="text", text=[html(words[v]) for v in named.tolist()],
        textposition="top center", textfont={"size": 13}, showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    for name, colour, symbol in zip(classes, (FIRST, SECOND), ("diamond", "circle"), strict=True):
        looks = {"color": colour, "symbol": symbol}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=f"more in {html(name)}", marker=looks)
    _plane_axes(figure, *axes)
    figure.update_layout(margin={"l": 0, "r": 0, "t": 10, "b": 10}, legend={"orientation": "h", "x": 0, "y": 1.08})
    return figure


def laws_figure(laws: np.ndarray, n_own: int) -> go.Figure:
    """The probability of each word in either class; from ``n_own`` on words are irrelevant."""
    figure = go.Figure()
    for law, colour, name, dash in zip(
        laws, (FIRST, SECOND), ("first class", "second class"), ("dash", "solid"), strict=True
    ):
        figure.add_scatter(y=law, mode="lines", line={"color": colour, "width": 2, "dash": dash}, name=name)
    if laws.shape[1] > n_own:
        figure.add_vrect(
            x0=n_own - 0.5, x1=laws.shape[1] - 0.5, fillcolor=GREY, opacity=0.15, line_width=0,
            annotation_text="irrelevant", annotation_position="top left",
        )  # fmt: skip
    figure.update_xaxes(title_text="word, by its number")
    figure.update_yaxes(title_text="probability", range=[0.0, 1.06 * float(laws.max())])
    figure.update_layout(
        height=260, margin={"l": 10, "r": 10, "t": 10, "b": 10}, legend={"orientation": "h", "x": 0, "y": 1.15}
    )
    return figure


def power_figure(frames: Mapping[str, Sequence[Mapping[str, Any]]], axis: str = "documents") -> go.Figure:
    """How often the test finds the difference, over the number of documents or the laws' "overlap", by kernel; bars:
    standard errors."""
    figure = go.Figure()
    for (name, rows), colour, dash in zip(frames.items(), (BLUE, ORANGE), ("solid", "dash"), strict=True):
        figure.add_scatter(
            x=[row[axis] for row in rows], y=[row["power"] for row in rows], name=f"{name} kernel",
            mode="lines+markers", line={"color": colour, "width": 2.5, "dash": dash},
            error_y={"array": [row["standard_error"] for row in rows], "color": colour, "thickness": 1.2},
            hovertemplate=("overlap %{x:.0%}" if axis == "overlap" else "%{x} documents") + ": %{y:.0%}<extra></extra>",
        )  # fmt: skip
    figure.add_hline(
        y=0.05, line={"color": GREY, "dash": "dot"}, annotation_text="5 %: by accident", annotation_position="top right"
    )
    if axis == "overlap":
        figure.update_xaxes(title_text="overlap of the two laws", tickformat=".0%")
    else:
        figure.update_xaxes(title_text="documents", type="log", tickvals=[10, 20, 50, 100, 200])
    figure.update_yaxes(title_text="difference found", range=[-0.02, 1.05], tickformat=".0%")
    figure.update_layout(
        height=300, margin={"l": 10, "r": 10, "t": 10, "b": 10}, legend={"orientation": "h", "x": 0, "y": 1.12}
    )
    return figure
