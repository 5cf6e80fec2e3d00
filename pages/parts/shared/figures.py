"""Finished figures: pure functions from results to Plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a8a8a"


_Box = tuple[float, float, float]  # of a label: its left and right end, and its line


def html(text: object) -> str:
    """A stranger's text as Plotly shows it, which reads a little HTML."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace("%{", "% {")


def apart(
    x: np.ndarray, y: np.ndarray, labels: Sequence[str], anchors: Sequence[float], size: tuple[int, int] = (700, 450)
) -> list[int]:
    """Which labels stand apart from all before them, the first being the most wanted.

    x, y: float (n,), where they stand, as shares of a plot of about ``size`` pixels; anchors: of each -1 where it ends
    there, 0 where that is its middle, 1 where it begins there.
    """
    kept: list[_Box] = []
    found = []
    for k, (label, anchor) in enumerate(zip(labels, anchors, strict=True)):
        width = _width(label)
        left, row = size[0] * float(x[k]) + (anchor - 1) * width / 2, size[1] * float(y[k])
        box = left, left + width, row
        if not _meets(box, kept):
            kept.append(box)
            found.append(k)
    return found


class Label(NamedTuple):
    """Where a point's label stands: its nearer end, pixels to the right of the point and above it."""

    point: int
    right: float
    up: float


def beside(
    points: tuple[np.ndarray, np.ndarray], wanted: Sequence[int], labels: Sequence[str],
    widths: tuple[int, ...], height: int,
) -> list[Label]:  # fmt: skip
    """A place for each label, near its point, where it lies on no point and on no label before it, the first being the
    most wanted; labels without such a place are left out.

    points: float (n,) across and up, as shares of a plot of any of ``widths`` and of ``height`` pixels, in each of
    which the places are free; wanted: the points that have a label.
    """
    plots = [(width * points[0], height * points[1], width) for width in widths]
    kept: list[list[_Box]] = [[] for _ in plots]
    found = []
    for k, label in zip(wanted, labels, strict=True):
        for right, up in _PLACES:
            boxes = [_box(across[k] + right, rise[k] + up, right, _width(label)) for across, rise, _ in plots]
            if all(_is_free(box, plot, height, own) for box, plot, own in zip(boxes, plots, kept, strict=True)):
                for box, own in zip(boxes, kept, strict=True):
                    own.append(box)
                found.append(Label(int(k), right, up))
                break
    return found


def _width(label: str) -> float:
    """In pixels, about."""
    return 7.5 * min(len(label), 60) + 8


def _box(x: float, y: float, side: float, width: float) -> _Box:
    """Of a label that begins at x, or ends there."""
    return (x, x + width, y) if side > 0 else (x - width, x, y)


def _meets(box: _Box, labels: Sequence[_Box]) -> bool:
    """Whether it lies on one of them."""
    left, right, row = box
    return any(abs(row - line) < _LINE and left <= end and begin <= right for begin, end, line in labels)


def _is_free(box: _Box, plot: tuple[np.ndarray, np.ndarray, int], height: int, labels: Sequence[_Box]) -> bool:
    (left, right, row), (across, up, width) = box, plot
    if left < 0 or right > width or not _LINE / 2 <= row <= height - _LINE / 2:
        return False
    if _meets(box, labels):
        return False
    return not ((across > left) & (across < right) & (np.abs(up - row) < 9)).any()


_LINE = 15  # pixels from a label to the one below it
_AROUND = ((1.0, 0.0), (-1.0, 0.0), (1.0, 0.6), (-1.0, -0.6), (1.0, -0.6), (-1.0, 0.6), (0.4, -1.0), (-0.4, 1.0))
#: beside the point, or a line away from it
_PLACES = [(8.0, 0.0), (-8.0, 0.0), *((d * a, d * b) for d in (24, 40, 60, 85, 115, 150, 190) for a, b in _AROUND)]
