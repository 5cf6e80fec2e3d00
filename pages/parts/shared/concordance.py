"""A word, or a K-gram, where it stands in the documents."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from cflengine.text import in_context
from pages.parts.shared.words import plain


def draw_concordance(texts: Sequence[str], word: str, *, height: int = 340) -> None:
    """The occurrences of a word as a table, beside a table whose rows choose it."""
    st.markdown(f"**{plain(word)}** in the text")
    st.dataframe(
        occurrences(texts, word), hide_index=True, height=height, alt="Where the word stands",
        column_config={
            "document": st.column_config.NumberColumn(width=70),
            "before": st.column_config.TextColumn(alignment="right", width=230),
            "word": st.column_config.TextColumn(width=95),
            "after": st.column_config.TextColumn(width=230),
        },
    )  # fmt: skip
    st.caption("Select a row of the table to see another word.")


def occurrences(texts: Sequence[str], word: str, *, most: int = 200, around: int = 36) -> pd.DataFrame:
    """Where a word, or a K-gram, stands: document, the text before it, the word, the text behind it; in any case."""
    words = r"\s*".join(map(re.escape, word.split()))
    pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    rows: list[tuple[int, str, str, str]] = []
    began = time.monotonic()
    for d, text in enumerate(texts):
        rows += [(d, *in_context(text, *match.span(), around)) for match in pattern.finditer(text)]
        if len(rows) >= most or time.monotonic() - began > 2.0:
            break
    return pd.DataFrame(rows[:most], columns=["document", "before", "word", "after"])
