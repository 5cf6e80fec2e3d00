"""Figures of the Tasks page: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cflengine.experiments import method_name
from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE

_LOOKS = {
    "compressed:pointers": (ORANGE, "dash", "square"),
    "compressed:occurrences": (BLUE, "solid", "circle"),
    "compressed:soft": (GREEN, "dot", "diamond"),
}
_MORE_LOOKS = {"compressed:several": ("#aa3377", "dashdot", "hexagram")}
_RIVALS = ("#aa3377", "#b8860b", "#56788f", "#7f4f9e")
_DASHES = ("longdash", "dashdot")


def lam_figure(
    frame: pd.DataFrame, measure: str, methods: Mapping[str, Mapping[str, Any]] | None = None, part: str = "test"
) -> go.Figure:
    """Accuracy, or error, of every way to count over λ (Figure 3 of the paper); unigrams as λ = 0; rivals as lines.

    frame: an evaluation's rows of one target; methods: what is known of the chosen ones, with their intervals. The way
    to count that is best on the documents to choose by has a band of intervals, the others have theirs on hover.
    """
    figure = go.Figure()
    methods = methods or {}
    with_lam = frame[frame["method"].isin(list(_LOOKS))] if len(frame) else frame
    lams = sorted(with_lam["lam"].unique()) if len(with_lam) else [0.01, 3.0]
    left = lams[0] / 2.2
    percent = measure == "accuracy"
    shape = ".1%" if percent else ".4g"
    ranked = with_lam.sort_values("dev", ascending=not percent, kind="stable") if len(with_lam) else with_lam
    leading = ranked["method"].iloc[0] if len(ranked) else ""
    for name, (colour, dash, symbol) in _LOOKS.items():
        own = with_lam[with_lam["method"] == name] if len(with_lam) else with_lam
        if not len(own):
            continue
        best = own.sort_values("dev", ascending=not percent, kind="stable").drop_duplicates("lam").sort_values("lam")
        bounds = best[["test_low", "test_high"]] if part == "test" else None
        if bounds is not None and name == leading and bounds.notna().to_numpy().all():
            figure.add_scatter(
                x=[*best["lam"], *best["lam"][::-1]], y=[*bounds["test_low"], *bounds["test_high"][::-1]], mode="none",
                fill="toself", fillcolor=_faint(colour), showlegend=False, hoverinfo="skip",
            )  # fmt: skip
        said = "" if bounds is None else f"<br>95 % interval %{{customdata[1]:{shape}}} to %{{customdata[2]:{shape}}}"
        figure.add_scatter(
            x=best["lam"], y=best[part], mode="lines+markers", name=name.partition(":")[2],
            line={"color": colour, "dash": dash, "width": 2.5}, marker={"symbol": symbol, "size": 8},
            customdata=best[["features", *([] if bounds is None else bounds.columns)]],
            hovertemplate=f"{name.partition(':')[2]}: %{{y:{shape}}}{said}<br>λ = %{{x:.3g}}, %{{customdata[0]:,}} "
            "features<extra></extra>",
        )  # fmt: skip
        chosen = methods.get(name)
        if chosen is not None and part == "test":
            low, high = chosen[f"{measure}_interval"]
            value = chosen[measure]
            figure.add_scatter(
                x=[chosen["lam"]], y=[value], mode="markers", showlegend=False, hoverinfo="skip",
                marker={"symbol": "circle-open", "size": 17, "color": colour, "line": {"width": 2.5}},
                error_y={"array": [high - value], "arrayminus": [value - low], "color": colour, "thickness": 1.5},
            )  # fmt: skip
    words = frame[frame["method"] == "unigrams"] if len(frame) else frame
    if len(words):
        value = float(words[part].iloc[0])
        figure.add_scatter(
            x=[left], y=[value], mode="markers", name="words (λ = 0)", marker={"symbol": "star", "size": 14,
            "color": GREY}, hovertemplate=f"words: %{{y:{shape}}}<extra></extra>",
        )  # fmt: skip
        figure.add_hline(y=value, line={"color": GREY, "width": 1.5, "dash": "dot"})
    for k, (title, value) in enumerate(_without_lam(frame, part, percent)):
        figure.add_scatter(
            x=[left, lams[-1]], y=[value, value], mode="lines", name=title,
            line={"color": _RIVALS[k % len(_RIVALS)], "width": 1.5, "dash": _DASHES[k // len(_RIVALS)]},
            hovertemplate=f"{title}: %{{y:{shape}}}<extra></extra>",
        )  # fmt: skip
    ticks = [lam for k, lam in enumerate(lams) if len(lams) <= 6 or k % 3 == 0]
    figure.update_xaxes(
        title_text="λ, the price of a use", type="log", tickvals=[left, *ticks],
        ticktext=["words", *(f"{lam:.2g}" for lam in ticks)],
    )  # fmt: skip
    which = "documents to choose by" if part == "dev" else "test"
    title = f"accuracy, {which}" if percent else f"mean squared error, {which}"
    figure.update_yaxes(title_text=title, tickformat=".2~%" if percent else None)
    if len(frame) < 3:  # one point alone would get an axis of its own making
        value = float(frame[part].iloc[0]) if len(frame) else 0.5
        figure.update_yaxes(range=[0.8 * value, min(1.2 * value, 1.02) if percent else 1.2 * value])
    elif percent and (low := float(frame[part].min())) > 0.95:  # Plotly's own axis would go on to 200 %
        above = 1.0 + 0.03 * max(1.0 - low, 0.02)
        figure.update_yaxes(range=[low - 0.1 * (above - low) - 0.005, above])
    return _sized(figure)


def _without_lam(frame: pd.DataFrame, part: str, larger: bool) -> list[tuple[str, float]]:
    """The methods that have no λ, each by what its best candidate on the documents to choose by comes to: the
    dictionaries of all λ together, all K-grams, other tools' phrases, and the best selection of K-grams."""
    if not len(frame):
        return []
    ranked = frame.sort_values("dev", ascending=not larger, kind="stable")
    selected = ranked["method"][ranked["method"].str.startswith("kgrams:")].head(1).tolist()
    lines = {
        "tf_idf": "words, tf-idf", "compressed:several": "all λ together", "all_kgrams": "all K-grams",
        "phrases:gensim": "gensim phrases",
        "phrases:bpe": "byte pairs", **dict.fromkeys(selected, "selected K-grams"),
    }  # fmt: skip
    best = ranked.drop_duplicates("method").set_index("method")[part]
    return [(title, float(best[method])) for method, title in lines.items() if method in best.index]


def points_figure(truth: np.ndarray, predicted: np.ndarray, column: str) -> go.Figure:
    """Predicted against true numbers."""
    from pages.parts.losses.figures import prediction_figure

    return prediction_figure(truth, predicted, f"true {column}")


def curve_figure(curve: pd.DataFrame, measure: str) -> go.Figure:
    """What a share of the training documents is worth."""
    figure = go.Figure()
    for name, own in curve.groupby("method", sort=False):
        colour, dash, symbol = (_LOOKS | _MORE_LOOKS).get(str(name), (GREY, "solid", "star"))
        figure.add_scatter(
            x=own["share"], y=own[measure], mode="lines+markers", name=method_name(str(name)),
            line={"color": colour, "dash": dash, "width": 2.5}, marker={"symbol": symbol, "size": 8},
        )  # fmt: skip
    figure.update_xaxes(title_text="share of the documents learnt from", tickformat=".0%", range=[0, 1.05])
    percent = measure == "accuracy"
    figure.update_yaxes(title_text=measure if percent else "mean squared error", tickformat=".2~%" if percent else None)
    return _sized(figure)


def _faint(colour: str) -> str:
    """A colour to fill a band with, under the lines."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.13)"


def _sized(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=400, margin={"l": 10, "r": 10, "t": 10, "b": 10}, hovermode="closest",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    return figure
