"""A row of numbers that wraps on a narrow screen instead of growing into a tower."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st


def metric_row(items: Sequence[tuple[str, str] | tuple[str, str, str]]) -> None:
    """Metrics of (label, value) or (label, value, help), side by side as far as there is room."""
    with st.container(horizontal=True, gap="small"):
        for label, value, *more in items:
            st.metric(label, value, help=more[0] if more else None, border=True, width=_width(label, value))


def _width(label: str, value: str) -> int:
    """Pixels that hold both without an ellipsis."""
    return max(150, 11 * len(label) + 50, 20 * len(value) + 36)
