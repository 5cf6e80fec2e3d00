"""Figures of Word groups: trajectories, the scheme's run as a film, variance explained, the parsimony curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from cflengine.loglinear import TiedFit
from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE

#: Hues, symbols and dashes of clusters from the smallest weights up: never by colour alone.
HUES = (BLUE, "#56b4e9", GREEN, "#8a8a8a", "#e69f00", ORANGE, "#cc79a7", "#7a5195")
SYMBOLS = ("triangle-down", "square", "diamond", "circle", "pentagon", "star", "triangle-up", "x")
MOST_FRAMES, MOST_SHOWN = 50, 60
MOST_FILMED = 120  # words of the film
MOST_NAMED = 18  # words at the ends of lines, so that none lies over another
MOST_SAID = 40  # words beside the dots of a moment
_ROW_PX, _LETTER_PX, _HIGH_PX, _PLOT_PX = 3.4, 6.2, 14.0, 640.0  # of the film, as it is drawn on a laptop


def trajectories_figure(
    paths: np.ndarray, names: Sequence[str], cluster_of: np.ndarray, titles: Sequence[str], chosen: int | None
) -> go.Figure:
    """Weights (features) over iterations, a line each, with a symbol at its head; Play moves the heads.

    paths: float64 (iterations, features). names, cluster_of: of the features. titles: of the clusters. chosen: the
    cluster that stands out, None for all.
    """
    steps = np.arange(len(paths))
    figure = go.Figure()
    order = [c for c in range(len(titles)) if np.any(cluster_of == c)]
    for c in order:
        inside = np.flatnonzero(cluster_of == c)
        faint = chosen is not None and c != chosen
        gap = np.full((1, len(inside)), np.nan)
        lines = np.vstack([paths[:, inside], gap]).T.ravel()
        x = np.tile(np.append(steps.astype(float), np.nan), len(inside))
        figure.add_scatter(
            x=x, y=lines, mode="lines", name=titles[c], legendgroup=titles[c], showlegend=False, hoverinfo="skip",
            line={"color": HUES[c % len(HUES)], "width": 1.2}, opacity=0.15 if faint else 0.75,
        )  # fmt: skip
    for c in order:
        figure.add_scatter(**_heads(paths, names, cluster_of, titles, chosen, c, len(paths) - 1))
    moments = np.unique(np.linspace(0, len(paths) - 1, min(len(paths), MOST_FRAMES)).astype(int))
    numbers = list(range(len(order), 2 * len(order)))
    figure.frames = [
        go.Frame(
            name=str(t), traces=numbers,
            data=[go.Scatter(**_heads(paths, names, cluster_of, titles, chosen, c, int(t))) for c in order],
        )
        for t in moments
    ]  # fmt: skip
    _player(figure, moments)
    _name_ends(figure, paths, names)
    figure.add_hline(y=0, line={"color": GREY, "width": 1, "dash": "dot"})
    space = max(3.0, 0.16 * len(paths))  # for the words at the ends
    figure.update_xaxes(title_text="iteration of plain L-BFGS", range=[-0.5, len(paths) - 0.5 + space], zeroline=False)
    figure.update_yaxes(title_text="weight", zeroline=False)
    return figure


def _name_ends(figure: go.Figure, paths: np.ndarray, names: Sequence[str]) -> None:
    """Words at the ends of their lines, the most telling (the first) before others, none over another; in the letters'
    colour, since some hues are no letters' on the dark page."""
    ends = paths[-1]
    low, high = float(paths.min(initial=0.0)), float(paths.max(initial=0.0))  # what the axis shows
    apart = (high - low) / MOST_NAMED or 1.0
    placed: list[tuple[float, int]] = []
    for j in range(len(names)):
        if all(abs(ends[j] - y) >= apart for y, _ in placed):
            placed.append((float(ends[j]), j))
    for y, j in placed:
        figure.add_annotation(
            x=len(paths) - 1, y=y, text=names[j], showarrow=False, xanchor="left", xshift=9, font_size=12,
        )  # fmt: skip


def film_figure(paths: np.ndarray, stages: Sequence[str], names: Sequence[str], own: np.ndarray | None) -> go.Figure:
    """Words as dots, weight to the right, the first on top; a frame a moment of the run, its stage in the title.

    paths: float64 (moments, words). own: int64 (words,), clusters of the scheme, told by symbol and hue; None: alike.
    """
    rows = np.arange(len(names))[::-1]
    group = np.zeros(len(names), dtype=np.int64) if own is None else np.unique(own, return_inverse=True)[1]
    moments = np.unique(np.linspace(0, len(paths) - 1, min(len(paths), MOST_FRAMES)).astype(int))
    reach = 1.05 * float(np.abs(paths).max(initial=1e-9))

    def dots(t: int) -> go.Scatter:
        said = words_apart(paths[t] / reach, names)
        return go.Scatter(
            x=paths[t], y=rows, mode="markers+text", text=said, customdata=list(names), textposition="middle right",
            textfont={"size": 11}, hovertemplate="%{customdata}: %{x:.3g}<extra></extra>",
            marker={
                "size": 8, "color": [HUES[g % len(HUES)] for g in group],
                "symbol": [SYMBOLS[g % len(SYMBOLS)] for g in group], "opacity": 0.85,
            },
        )  # fmt: skip

    def title(t: int) -> str:
        return f"step {t}: {stages[t]}"

    coarse = [t for t in moments.tolist() if stages[t] == "coarse"]
    begin = coarse[-1] if coarse else int(moments[-1])  # where the clusters can be seen
    figure = go.Figure(dots(begin))
    figure.frames = [
        go.Frame(name=str(t), data=[dots(int(t))], layout={"title": {"text": title(int(t))}}) for t in moments
    ]
    _player(figure, moments)
    figure.add_vline(x=0, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text="weight", range=[-reach, reach], zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False, range=[-1, len(names)])
    figure.update_layout(
        height=620,
        showlegend=False,
        margin={"t": 40},
        title={"text": title(begin), "font": {"size": 14}},
    )
    figure.layout.sliders[0].active = moments.tolist().index(begin)
    return figure


def words_apart(x: np.ndarray, names: Sequence[str]) -> list[str]:
    """The words that are written beside their dots, the first before others, none over another; "" for the rest. x:
    float64 (words,), where the dots stand, from −1 to 1; each word is a row below the one before."""
    left = 0.5 * _PLOT_PX * np.asarray(x)
    right, said = left + _LETTER_PX * np.array([len(name) for name in names]) + 14.0, [""] * len(names)
    placed: list[int] = []
    for j, name in enumerate(names):
        near = [i for i in placed if (j - i) * _ROW_PX < _HIGH_PX and left[i] < right[j] and left[j] < right[i]]
        if not near and len(placed) < MOST_SAID:
            placed.append(j)
            said[j] = name
    return said


def _heads(paths, names, cluster_of, titles, chosen, c: int, t: int) -> dict:
    inside = np.flatnonzero(cluster_of == c)
    faint = chosen is not None and c != chosen
    return {
        "x": np.full(len(inside), t), "y": paths[t, inside], "mode": "markers", "name": titles[c],
        "legendgroup": titles[c], "text": [names[j] for j in inside], "customdata": np.full(len(inside), c),
        "hovertemplate": "%{text}: %{y:.3g}<extra></extra>", "opacity": 0.2 if faint else 1.0,
        "marker": {"color": HUES[c % len(HUES)], "symbol": SYMBOLS[c % len(SYMBOLS)], "size": 9},
    }  # fmt: skip


def _player(figure: go.Figure, moments: np.ndarray) -> None:
    """Play and a slider of iterations under the figure."""
    still = {"frame": {"duration": 0, "redraw": False}, "mode": "immediate", "transition": {"duration": 0}}
    play = {"frame": {"duration": 90, "redraw": False}, "fromcurrent": True, "transition": {"duration": 0}}
    figure.update_layout(
        height=520, margin={"l": 10, "r": 10, "t": 10, "b": 10}, hovermode="closest",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        updatemenus=[
            {
                "type": "buttons", "direction": "left", "x": 0, "y": -0.2, "xanchor": "left", "yanchor": "top",
                "showactive": False, "pad": {"r": 6, "t": 12},
                "buttons": [
                    {"label": "▶ Play", "method": "animate", "args": [None, play]},
                    {"label": "❚❚", "method": "animate", "args": [[None], still]},
                ],
            }
        ],
        sliders=[
            {
                "active": len(moments) - 1, "x": 0.26, "len": 0.74, "y": -0.2, "yanchor": "top",
                "pad": {"t": 0, "b": 6},
                "currentvalue": {"prefix": "iteration ", "font": {"size": 12}, "xanchor": "right"},
                "steps": [{"label": str(t), "method": "animate", "args": [[str(t)], still]} for t in moments],
            }
        ],
    )  # fmt: skip


def explained_figure(explained: np.ndarray, cluster_factor: float) -> go.Figure:
    """The share of the final weights' variance that clusters of each moment's weights account for."""
    figure = go.Figure()
    figure.add_scatter(
        x=np.arange(len(explained)), y=explained, mode="lines+markers", line={"color": BLUE, "width": 2.5},
        name=f"clusters of {cluster_factor:g}", hovertemplate="iteration %{x}: %{y:.1%}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title_text="iteration at which the clusters are made")
    figure.update_yaxes(title_text="explained", tickformat=".0%", range=[-0.02, 1.02])
    figure.update_layout(height=340, margin={"l": 10, "r": 10, "t": 10, "b": 10}, showlegend=False)
    return figure


def parsimony_figure(fits: Sequence[TiedFit], full: float, n_weights: int, measure: str) -> go.Figure:
    """Quality of models of k different weights, the untied model as a line; what the clusters explain below."""
    figure = go.Figure()
    ks = [fit.k for fit in fits]
    figure.add_scatter(
        x=ks, y=[fit.quality for fit in fits], mode="lines+markers", name=measure,
        line={"color": BLUE, "width": 2.5}, hovertemplate="%{x} weights: %{y:.1%}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=ks, y=[fit.explained for fit in fits], mode="lines+markers", name="variance of the weights explained",
        line={"color": ORANGE, "dash": "dash"}, marker={"symbol": "square"},
        hovertemplate="%{x} weights: %{y:.1%}<extra></extra>",
    )  # fmt: skip
    figure.add_hline(
        y=full, line={"color": GREEN, "dash": "dot"}, annotation_text=f"all {n_weights:,} weights",
        annotation_position="bottom right",
    )  # fmt: skip
    figure.update_xaxes(title_text="different weights", type="log", tickvals=ks, ticktext=[str(k) for k in ks])
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.04])
    figure.update_layout(
        height=360, margin={"l": 10, "r": 10, "t": 10, "b": 10}, hovermode="x unified",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure
