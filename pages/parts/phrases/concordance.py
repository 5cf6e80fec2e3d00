"""A concordance: where words stand, sorted by what stands around them, filtered by the documents' own columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import InputError, frame_csv
from cflengine.text import ORDERS, Places, TokenTable, context_frame, sort_places
from pages.parts.shared.concordance import draw_place, find_places
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import table_height
from pages.parts.shared.selection import GROUP, PATTERN, new_row, select_document, selected_group
from pages.parts.shared.views import end_of, without_midnight
from pages.parts.shared.words import many, number, plain, said

SHOWN, EXPORTED = 1_000, 200_000
MOST_VALUES = 200
ANY = "all documents"


def draw_search(loaded: LoadedCorpus, first: str = "") -> None:
    """Query, order and filter, and the places below them; first: a phrase to show before one is chosen."""
    state = st.session_state
    state.widget_query = state.get("phrase_query", "")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Look for", key="widget_query", placeholder="words; * stands for any letters", width=240,
            on_change=lambda: state.update(phrase_query=state.widget_query),
        )  # fmt: skip
        regular = state[PATTERN] = st.toggle("Regular expression", key="phrase_regular")
        orders = st.multiselect(
            "Sort by", ORDERS, key="phrase_orders", placeholder="as in the text", width=190,
            help="R1 is the word to the right, L1 the one to the left; several are sorted by one after the other.",
        )  # fmt: skip
    query = state.get("phrase_query", first)
    where, document = _filter(loaded), state.get("document")
    along = document is not None and document < len(loaded.corpus)
    if along and st.toggle(f"Only document {document}", key="phrase_one_document"):
        where = np.arange(len(loaded.corpus)) == document
    if not query.strip():
        st.info("Choose a phrase in the table, or write words to look for.")
        return
    try:
        places = find_places(loaded, query, regular)
    except InputError as error:
        st.error(said(error))
        return
    places = _within(loaded.table, places, where)
    _draw_places(loaded, query, sort_places(loaded.table, places, orders), orders, where)


def _filter(loaded: LoadedCorpus) -> np.ndarray | None:
    """bool (N,), the documents that are looked at; None for all."""
    metadata = loaded.corpus.metadata
    columns = [str(name) for name in metadata.columns if 2 <= metadata[name].nunique() <= MOST_VALUES]
    if not columns:
        return None
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        along = selected_group(metadata)
        known = "phrase_column" in st.session_state and st.session_state.get("phrase_group") == along
        if along is not None and along[0] in columns and not known:  # chosen elsewhere, or the page was left
            st.session_state.update(phrase_group=along, phrase_column=along[0])
            st.session_state[f"phrase_values_{along[0]}"] = [along[1]]
        column = st.selectbox(
            "In", [ANY, *columns], key="phrase_column", width=190, format_func=str,
            on_change=lambda: _go_along("", []),
        )  # fmt: skip
        if column == ANY:
            return None
        values = metadata[column].dropna().astype(str)
        names = values.value_counts().index.tolist()
        key = f"phrase_values_{column}"
        chosen = st.multiselect(
            "with", names, key=key, width=330, placeholder="any value",
            on_change=lambda: _go_along(column, st.session_state[key]),
        )  # fmt: skip
    return metadata[column].astype(str).isin(chosen).to_numpy() if chosen else None


def _go_along(column: str, values: list[str]) -> None:
    """One value that is chosen here is the group that goes to other pages."""
    along = (column, values[0]) if len(values) == 1 else None
    st.session_state.update({"phrase_group": along, GROUP: along})


def _within(table: TokenTable, places: Places, where: np.ndarray | None) -> Places:
    if where is None:
        return places
    return places.take(np.flatnonzero(where[places.documents(table)]))


def _draw_places(loaded: LoadedCorpus, query: str, places: Places, orders: list[str], where: np.ndarray | None) -> None:
    table, corpus = loaded.table, loaded.corpus
    if not len(places):
        here = "this corpus" if where is None else f"the {many(int(where.sum()), 'document')} chosen"
        cut_short = " The search was cut short." if places.limited else ""
        stars = " A \\* stands for letters, not for marks such as an apostrophe." if "*" in query else ""
        st.markdown(f"**{plain(query)}** stands nowhere in {here}.{cut_short}{stars}")
        return
    n_documents = len(np.unique(places.documents(table)))
    sizes = np.diff(table.doc_ptr)
    of, words = (len(corpus), table.n_tokens) if where is None else (int(where.sum()), int(sizes[where].sum()))
    share = f"{number(100 * n_documents / max(of, 1), 1)} %" + (
        "" if where is None else f" of {many(of, 'document')} here"
    )
    st.markdown(
        f"**{plain(query)}**: {many(len(places), 'place')} in {many(n_documents, 'document')} ({share}), "
        f"{number(1e6 * len(places) / max(words, 1), 0)} a million words."
        f"{' The search was cut short.' if places.limited else ''}"
    )
    frame = _with_metadata(context_frame(table, corpus.texts, places.take(np.arange(min(SHOWN, len(places))))), corpus)
    match, before = context_widths(frame["match"])
    frame["before"] = end_of(frame["before"], before)
    key = f"places_{query}_{'_'.join(orders)}_{len(places)}"
    event = st.dataframe(
        frame, hide_index=True, on_select="rerun", selection_mode="single-row", key=key,
        height=table_height(len(frame), 440),
        alt="The places in context", column_config=context_columns(match, before),
    )  # fmt: skip
    if len(places) > SHOWN:
        held = "all" if len(places) <= EXPORTED else f"the first {EXPORTED:,}"
        st.caption(f"The first {SHOWN:,} of them; the file has {held}.")
    row = new_row(event, len(frame), key)
    if row is not None:
        st.session_state.phrase_place = (key, row)
        select_document(int(frame["document"].iloc[row]), corpus.metadata)
        st.rerun()  # the toggle of one document stands above
    some = places.take(np.arange(min(EXPORTED, len(places))))
    st.container(horizontal=True).download_button(
        "Concordance (CSV)", lambda: frame_csv(_with_metadata(context_frame(table, corpus.texts, some), corpus)),
        "concordance.csv", "text/csv", on_click="ignore", key="concordance_csv",
    )  # fmt: skip
    chosen = st.session_state.get("phrase_place")
    if chosen is None or chosen[0] != key:
        st.caption("Choose a row to read its document.")
    else:
        draw_place(loaded, places, chosen[1])


def context_widths(matches: pd.Series) -> tuple[int, int]:
    """Pixels for the matches, and for what is before them: next to them there is something in sight on a phone, too."""
    letters = int(matches.str.len().quantile(0.9)) if len(matches) else 0
    match = min(max(60, round(6.5 * letters) + 20), 190)
    return match, max(96, 255 - match)


def context_columns(match: int, before: int) -> dict[str, Any]:
    """The columns of places, of these widths."""
    return {
        "document": st.column_config.NumberColumn("doc", width=48),
        "before": st.column_config.TextColumn(alignment="right", width=before),
        "match": st.column_config.TextColumn(alignment="center", width=match),
        "after": st.column_config.TextColumn(width=200),
    }


def _with_metadata(frame: pd.DataFrame, corpus: Any) -> pd.DataFrame:
    """The documents' own columns behind the places."""
    own = without_midnight(corpus.metadata.iloc[frame["document"].to_numpy()].reset_index(drop=True))
    own.columns = [f"{name} " if name in frame.columns else str(name) for name in own.columns]
    return pd.concat([frame, own], axis=1)
