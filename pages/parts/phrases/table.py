"""The dictionary as readers want it: phrases as the text spells them, content first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import table_height
from pages.parts.shared.selection import new_row
from pages.parts.shared.solution import Solution, phrasebook
from pages.parts.shared.words import many

LISTED = 5_000
COLUMNS = {
    "phrase": st.column_config.TextColumn("phrase", width=155),  # all columns are in sight on a phone, too
    "uses": st.column_config.NumberColumn("uses", width=48, help="How often the text is built from it (pointers)"),
    "documents": st.column_config.NumberColumn("in docs", width=55, help="Documents that use it"),
    "stands": st.column_config.NumberColumn(
        "stands", width=52, help="How often these words stand in the text, also within longer phrases"
    ),
}


def spelt_dictionary(found: Solution, loaded: LoadedCorpus) -> pd.DataFrame:
    """The solution's dictionary, its rows as they are, with every K-gram as the text spells it; further columns:
    telling, stands (its places in the text). Kept for the session while the solution stays."""
    known = st.session_state.get("spelt_dictionary")
    if known is not None and known[0] is found.model:
        return known[1]
    model = found.model
    book = phrasebook(model, loaded.corpus.texts)
    frame = model.dictionary_.assign(
        gram=book.spell(model.gram_ids_),
        telling=book.says_something(model.gram_ids_),
        stands=model.index_.counts()[model.gram_ids_],
    )
    st.session_state.spelt_dictionary = (model, frame)
    return frame


def phrase_frame(found: Solution, loaded: LoadedCorpus) -> pd.DataFrame:
    """A row a phrase of the solution, the most used first: phrase, words, uses, stands, documents, telling."""
    frame = spelt_dictionary(found, loaded).rename(columns={"gram": "phrase", "length": "words", "count": "uses"})
    return frame.sort_values(["uses", "words"], ascending=False, kind="stable", ignore_index=True)


def draw_phrases(frame: pd.DataFrame, max_gram: int) -> str | None:
    """The table; the phrase of a row that has just been chosen."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        needle = st.text_input("Filter", key="phrases_filter", placeholder="part of a phrase", width=190)
        fewest = st.segmented_control(
            "Words, at least", range(1, max_gram + 1), default=min(2, max_gram), required=True,
            key=f"phrases_least_{max_gram}",
        )  # fmt: skip
        everything = st.toggle(
            "Also function words and punctuation", key="phrases_all",
            help="Without it, phrases with punctuation in them, or of words like “of the” alone, are left out.",
        )  # fmt: skip
    chosen = frame["words"].to_numpy() >= fewest
    if not everything:
        chosen &= frame["telling"].to_numpy()
    if needle:
        chosen &= frame["phrase"].str.contains(needle, case=False, regex=False).to_numpy()
    shown = frame[chosen].head(LISTED)
    key = f"phrases_{needle}_{fewest}_{everything}"
    event = st.dataframe(
        shown[["phrase", "uses", "documents", "stands"]], hide_index=True,
        height=table_height(len(shown), 590), on_select="rerun", selection_mode="single-row", key=key,
        column_config=COLUMNS, alt="Phrases with how often they are used",
    )  # fmt: skip
    count = int(np.count_nonzero(chosen))
    st.caption(f"{many(count, 'phrase')}{f', the {LISTED:,} most used of them' if count > LISTED else ''}.")
    row = new_row(event, len(shown), key)
    return None if row is None else str(shown["phrase"].iloc[row])
