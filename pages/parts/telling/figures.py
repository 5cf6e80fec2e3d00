"""The regularisation path as a figure: the largest weights, and what the model keeps, along one λ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cflengine.sentence_lasso import SentenceResult
from pages.parts.shared.figures import BLUE, GREEN, GREY, ORANGE

MOST_WEIGHTS = 12
_DASHES = ("solid", "dash", "dot", "dashdot")
_HUES = (BLUE, ORANGE, GREEN, "#cc79a7", "#e69f00", "#56b4e9")


def path_figure(
    points: Sequence[tuple[float, SentenceResult]],
    names: Sequence[str],
    shares: dict[str, Sequence[float]],
    *,
    here: float,
    title: str,
) -> go.Figure:
    """Weights of the features that are largest somewhere on the path, over shares (name -> 0 to 1 for each point).

    names: features, ready to be shown as they are. here: the λ that is marked. title: of the axis of λ.
    """
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.58, 0.42])
    lams = [lam for lam, _ in points]
    weights = np.array([result.w for _, result in points]).reshape(len(points), -1)
    largest = np.argsort(-np.abs(weights).max(axis=0, initial=0.0), kind="stable")[:MOST_WEIGHTS]
    for k, j in enumerate(largest.tolist()):
        if not weights[:, j].any():
            continue
        line = {"color": _HUES[k % len(_HUES)], "dash": _DASHES[k // len(_HUES) % len(_DASHES)], "width": 2}
        figure.add_scatter(x=lams, y=weights[:, j], name=names[j], mode="lines+markers", line=line, row=1, col=1)
    looks = ((GREEN, "circle", "solid"), (BLUE, "square", "dash"), (ORANGE, "diamond", "dot"), (GREY, "x", "dashdot"))
    for (name, values), (hue, symbol, dash) in zip(shares.items(), looks, strict=False):
        figure.add_scatter(
            x=lams, y=list(values), name=name, mode="lines+markers", line={"color": hue, "dash": dash},
            marker={"symbol": symbol}, legend="legend2", row=2, col=1,
        )  # fmt: skip
    figure.add_vline(x=here, line={"color": GREY, "width": 2, "dash": "dot"})
    figure.update_xaxes(type="log", exponentformat="power", dtick=1)
    figure.update_xaxes(title_text=title, row=2, col=1)
    figure.update_yaxes(title_text="weight", row=1, col=1)
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02], dtick=0.25, row=2, col=1)
    figure.update_layout(
        height=560, margin={"l": 10, "r": 10, "t": 20, "b": 10}, hovermode="closest",
        legend={"y": 1.0, "yanchor": "top"}, legend2={"y": 0.36, "yanchor": "top", "x": 1.02},
    )  # fmt: skip
    return figure
