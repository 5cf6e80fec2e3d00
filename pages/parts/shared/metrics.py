"""Sizes that fit what there is: numbers in a row that wraps on a narrow screen, tables without empty rows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts.shared.words import in_tags, shortly_before

_ROW = 35  # pixels, of Streamlit's tables
_NARROW, _BROAD = frozenset(" .,:;'|!()[]iljtfrI-\u202f"), frozenset("mwMWQ%@—…×")


def metric_row(items: Sequence[tuple[str, str] | tuple[str, str, str]]) -> None:
    """Metrics of (label, value) or (label, value, help), side by side as far as there is space."""
    with st.container(horizontal=True, gap="small"):
        for label, value, *more in items:
            explanation = more[0] if more else None
            st.metric(label, value, help=explanation, border=True, width=_width(label, value, explanation))


def table_height(rows: int, most: int) -> int:
    """Pixels of a table, which scrolls where its rows would take more than ``most``."""
    return min(_ROW * (max(rows, 1) + 1) + 2, most)


def _width(label: str, value: str, explanation: str | None) -> int:
    """Pixels that hold both without an ellipsis: letters of 14 and of 36 pixels between padding and border."""
    return max(120, int(_letters(label) * 14) + (58 if explanation else 36), int(_letters(value) * 36) + 36)


def _letters(text: str) -> float:
    """At most the width of a text in the app's font, in units of its size."""
    return sum(0.3 if letter in _NARROW else 0.87 if letter in _BROAD else 0.57 for letter in text)


def draw_marked(
    kind: str, text: str, spans: Sequence[tuple[int, int, str]], at: int, *, most: int, mark: str = "#e69f00 32%",
    height: str = "none",
) -> None:  # fmt: skip
    """A text with spans marked (:func:`~pages.parts.shared.words.in_tags`), escaped, from shortly before the character
    ``at`` on. kind: the name of its class; most: characters shown; mark: a colour and how much of it; height: at most,
    in CSS."""
    marked = in_tags(text, spans, "mark", most, begin=shortly_before(text, at))
    st.html(
        f"<style>.{kind} {{ white-space: pre-wrap; max-height: {height}; overflow-y: auto }}"
        f".{kind} mark {{ background: color-mix(in srgb, {mark}, transparent); color: inherit }}</style>"
        f'<div class="{kind}">{marked}</div>'
    )
