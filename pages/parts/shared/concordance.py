"""A word, or a K-gram, where it stands in the documents."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.text import in_context
from pages.parts.shared.metrics import table_height
from pages.parts.shared.words import plain


def draw_concordance(
    texts: Sequence[str], word: str, *, height: int = 340, first: np.ndarray | None = None, whose: str = "",
    narrow: bool = False,
) -> None:  # fmt: skip
    """The occurrences of a word as a table, beside a table whose rows choose it. first: documents that come before all
    others, those of ``whose``. narrow: with less text around, for a column of a third of the page."""
    others = f", documents of {plain(whose)} first" if whose else ""
    st.markdown(f"**{plain(word)}** in the text{others}")
    around, wide = (18, 115) if narrow else (36, 200)
    found = occurrences(texts, word, first=first, around=around)
    st.dataframe(
        found, hide_index=True, height=table_height(len(found), height), alt="Where the word stands",
        column_config={
            "document": st.column_config.NumberColumn("doc", width=48),
            "before": st.column_config.TextColumn(alignment="right", width=wide - 5),
            "word": st.column_config.TextColumn(width=75 if narrow else 95),
            "after": st.column_config.TextColumn(width=wide),
        },
    )  # fmt: skip
    st.caption("Select a row of the table to see another word.")


def occurrences(
    texts: Sequence[str], word: str, *, most: int = 200, around: int = 36, first: np.ndarray | None = None
) -> pd.DataFrame:
    """Where a word, or a K-gram, stands: document, the text before it, the word, the text behind it; in any case.
    first: int, documents that come before all others."""
    words = r"\s*".join(map(re.escape, word.split()))
    pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    rows: list[tuple[int, str, str, str]] = []
    began = time.monotonic()
    order = np.arange(len(texts))
    if first is not None:
        order = np.concatenate([first, np.setdiff1d(order, first)])
    for d in order.tolist():
        text = texts[d]
        rows += [(d, *in_context(text, *match.span(), around)) for match in pattern.finditer(text)]
        if len(rows) >= most or time.monotonic() - began > 2.0:
            break
    return pd.DataFrame(rows[:most], columns=["document", "before", "word", "after"])
