"""A word, or a K-gram, where it stands in the documents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import InputError
from cflengine.text import Places, context_frame, find_words
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import table_height
from pages.parts.shared.words import many, plain

MOST = 200  # places that are listed


def draw_concordance(
    loaded: LoadedCorpus, word: str, *, height: int = 340, first: np.ndarray | None = None, whose: str = "",
    narrow: bool = False,
) -> None:  # fmt: skip
    """The places of a word as a table, beside a table whose rows choose it. first: documents that come before all
    others, those of ``whose``. narrow: with less text around, for a column of a third of the page."""
    others = f", documents of {plain(whose)} first" if whose else ""
    st.markdown(f"**{plain(word)}** in the text{others}")
    around, wide = (18, 115) if narrow else (36, 200)
    found, n = occurrences(loaded, word, first=first, around=around)
    st.dataframe(
        found, hide_index=True, height=table_height(len(found), height), alt="Where the word stands",
        column_config={
            "document": st.column_config.NumberColumn("doc", width=48),
            "before": st.column_config.TextColumn(alignment="right", width=wide - 5),
            "match": st.column_config.TextColumn("word", width=75 if narrow else 95),
            "after": st.column_config.TextColumn(width=wide),
        },
    )  # fmt: skip
    listed = f"The first {MOST} of {many(n, 'place')}. " if n > MOST else ""
    st.caption(f"{listed}Select a row of the table to see another word.")


def occurrences(
    loaded: LoadedCorpus, word: str, *, around: int = 36, first: np.ndarray | None = None
) -> tuple[pd.DataFrame, int]:
    """Where the tokens of a word, or a K-gram, stand: document, the text before it, the match, the text behind it, of
    MOST places; and how many there are. first: int, documents that come before all others."""
    places, table = _places(loaded, word), loaded.table
    if first is not None:
        places = places.take(np.argsort(~np.isin(places.documents(table), first), kind="stable"))
    listed = places.take(np.arange(min(MOST, len(places))))
    return context_frame(table, loaded.corpus.texts, listed, around=around), len(places)


def _places(loaded: LoadedCorpus, word: str) -> Places:
    """All of them; those of the last word are kept."""
    known = st.session_state.get("concordance_places")
    if known is None or known[0] != (loaded.id, word):
        try:
            found = find_words(loaded.table, word, pattern=loaded.tokens.pattern, lowercase=loaded.tokens.lowercase)
        except InputError:  # marks alone, which this corpus's tokens leave out
            found = Places(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        known = st.session_state.concordance_places = ((loaded.id, word), found)
    return known[1]
