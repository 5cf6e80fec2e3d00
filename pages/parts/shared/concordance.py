"""A word, or a K-gram, where it stands in the documents."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import InputError
from cflengine.text import Places, context_frame, find_pattern, find_words
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.glossary import ICONS
from pages.parts.shared.metrics import draw_marked, table_height
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.selection import group_documents, new_row, select_document, selected_group, selected_phrase
from pages.parts.shared.words import many, plain

MOST = 200  # places that are listed
CHARACTERS = 20_000  # of a document


def draw_concordance(
    loaded: LoadedCorpus, word: str, *, height: int = 340, first: np.ndarray | None = None, whose: str = "",
    narrow: bool = False,
) -> None:  # fmt: skip
    """The places of a word as a table, beside a table whose rows choose it. first: documents that come before all
    others, those of ``whose``; else those of the group that goes along. narrow: with less text around, for a column of
    a third of the page."""
    if first is None and (along := selected_group(loaded.corpus.metadata)) is not None:
        first, whose = group_documents(loaded.corpus.metadata), along[1]
    others = f", documents of {plain(whose)} first" if whose else ""
    st.markdown(f"**{plain(word)}** in the text{others}")
    around, wide = (18, 115) if narrow else (36, 200)
    found, places = occurrences(loaded, word, first=first, around=around)
    n = len(places)
    key = f"concordance_{word}_{whose}"
    event = st.dataframe(
        found, hide_index=True, height=table_height(len(found), height), alt="Where the word stands",
        on_select="rerun", selection_mode="single-row", key=key,
        column_config={
            "document": st.column_config.NumberColumn("doc", width=48),
            "before": st.column_config.TextColumn(alignment="right", width=wide - 5),
            "match": st.column_config.TextColumn("word", width=75 if narrow else 95),
            "after": st.column_config.TextColumn(width=wide),
        },
    )  # fmt: skip
    listed = f"The first {MOST} of {many(n, 'place')}. " if n > MOST else ""
    st.caption(f"{listed}Select a row of the table to see another word, a row here to read its document.")
    rows = event.selection.rows
    row = new_row(event, len(found), key)
    if row is not None:
        select_document(int(found["document"].iloc[row]), loaded.corpus.metadata)
    if rows and rows[0] < len(found):
        draw_place(loaded, places, rows[0])


def draw_place(loaded: LoadedCorpus, places: Places, number: int) -> None:
    """The document of one of the places, from shortly before it on, with all that are in it marked; and the way to its
    pieces."""
    table, documents = loaded.table, places.documents(loaded.table)
    document = int(documents[number])
    here = places.take(np.flatnonzero(documents == document))
    ends = zip(table.start[here.first].tolist(), table.end[here.last].tolist(), strict=True)
    spans = [(a, e, "") for a, e in sorted(ends)]
    with st.container(border=True, height=240):
        st.markdown(f"**Document {document}**")
        at = int(table.start[places.first[number]])
        draw_marked("cc", loaded.corpus.texts[document], spans, at, most=CHARACTERS)
    if st.button("Read it in pieces", key="read_document", icon=ICONS["pointers"], type="tertiary"):
        select_document(document, loaded.corpus.metadata)
        st.switch_page("pages/pointers.py")


def occurrences(
    loaded: LoadedCorpus, word: str, *, around: int = 36, first: np.ndarray | None = None
) -> tuple[pd.DataFrame, Places]:
    """Where the tokens of a word, or a K-gram, stand: document, the text before it, the match, the text behind it, of
    MOST places; and all of these. first: int, documents that come before all others."""
    table = loaded.table
    try:
        places = find_places(loaded, word)
    except InputError:  # marks alone, which this corpus's tokens leave out
        places = Places(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    if first is not None:
        places = places.take(np.argsort(~np.isin(places.documents(table), first), kind="stable"))
    listed = places.take(np.arange(min(MOST, len(places))))
    return context_frame(table, loaded.corpus.texts, listed, around=around), places


def gram_on_path(loaded: LoadedCorpus, run: PathRun) -> int | None:
    """The number, in the index of a path, of the phrase that goes along; None where there is none, or it is none of the
    index."""
    state, phrase = st.session_state, selected_phrase()
    gram: int | None = state.get("path_gram") if phrase else None
    if phrase and (gram is None or run.label(gram).lower() != phrase.lower()):
        gram = _gram_of(loaded, run, phrase)
    state.path_gram = gram
    return gram


def _gram_of(loaded: LoadedCorpus, run: PathRun, phrase: str) -> int | None:
    """By its first place in the text; what stands for several is none."""
    if "*" in phrase:
        return None
    try:
        places = find_places(loaded, phrase)
    except InputError:
        return None
    words = int(places.last[0] - places.first[0]) if len(places) else run.max_gram
    if words >= run.max_gram or run.corpus is None:
        return None
    gram = int(run.corpus.index.gram_of[words][places.first[0]])
    return gram if gram >= 0 else None


def find_places(loaded: LoadedCorpus, query: str, regular: bool = False) -> Places:
    """All places of words, or of what a regular expression finds; the last answer is kept. Raises InputError."""
    key, known = (loaded.id, query, regular), st.session_state.get("concordance_places")
    if known is None or known[0] != key:
        if regular:
            found = find_pattern(loaded.table, loaded.corpus.texts, query)
        else:
            found = find_words(loaded.table, query, pattern=loaded.tokens.pattern, lowercase=loaded.tokens.lowercase)
        known = st.session_state.concordance_places = (key, found)
    return known[1]
