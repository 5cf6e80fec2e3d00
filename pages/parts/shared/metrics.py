"""Sizes that fit what there is: numbers in a row that wraps on a narrow screen, tables without empty rows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

_ROW = 35  # pixels, of Streamlit's tables


def metric_row(items: Sequence[tuple[str, str] | tuple[str, str, str]]) -> None:
    """Metrics of (label, value) or (label, value, help), side by side as far as there is room."""
    with st.container(horizontal=True, gap="small"):
        for label, value, *more in items:
            explanation = more[0] if more else None
            st.metric(label, value, help=explanation, border=True, width=_width(label, value, explanation))


def table_height(rows: int, most: int) -> int:
    """Pixels of a table, which scrolls where its rows would take more than ``most``."""
    return min(_ROW * (max(rows, 1) + 1) + 2, most)


def _width(label: str, value: str, explanation: str | None) -> int:
    """Pixels that hold both without an ellipsis."""
    return max(130, 8 * len(label) + (62 if explanation else 38), 19 * len(value) + 36)
