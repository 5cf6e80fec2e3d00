"""Finished figures: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    there, 0 where that is its middle, 1 where it begins there. points: across and up, what no label that begins or ends
    at its own may lie on.
    """
    across, up = (size[0] * points[0], size[1] * points[1]) if points is not None else (np.empty(0), np.empty(0))
    kept: list[tuple[float, float, float]] = []
    found = []
    for k, (label, anchor) in enumerate(zip(labels, anchors, strict=True)):
        width = 7.5 * min(len(label), 60) + 8
        left, row = size[0] * float(x[k]) + (anchor - 1) * width / 2, size[1] * float(y[k])
        under = (across > left + 4 * anchor) & (across < left + width + 4 * anchor) & (np.abs(up - row) < 9)
        if under.any():
            continue
        if all(abs(row - other) >= 15 or left > right or left + width < start for start, right, other in kept):
            kept.append((left, left + width, row))
            found.append(k)
    return found
