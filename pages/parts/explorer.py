"""The tables of the Pointers page: documents to show, dictionary, a document's K-grams, concordance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from pages.parts.views import concordance, grams_of_document
from pages.parts.words import many, number, plain

LISTED = 5000
WORDS_AT_ONCE = 100_000

_COLUMNS = {
    "gram": st.column_config.TextColumn("K-gram", width=130),
    "length": st.column_config.NumberColumn("words", width=50),
    "here": st.column_config.NumberColumn("here", width=45, help="Pointers in this document"),
    "count": st.column_config.NumberColumn("pointers", width=60, help="Pointers in the whole corpus"),
    "documents": st.column_config.NumberColumn("docs", width=50, help="Documents with such a pointer"),
    "cost": st.column_config.NumberColumn("cost", width=45, help="Cost of storing it in the dictionary, once"),
}


def choose_documents(model: CompressiveFeatures, corpus: Corpus) -> list[int]:
    """The documents to show: one, or as many from there on as fit a hundred thousand words."""
    state = st.session_state
    last = len(corpus) - 1
    wanted = min(state.get("document", 0), last)
    number_box, find, step, many_box = st.columns([1.2, 1.8, 0.6, 1.2], vertical_alignment="bottom")
    state.widget_document = wanted
    number_box.number_input(
        "Document", 0, last, key="widget_document",
        on_change=lambda: state.update(document=state.widget_document),
    )  # fmt: skip
    find.text_input("Find in the corpus", key="find", placeholder="words", on_change=_jump, args=(corpus, 0))
    step.button(
        "›",
        key="find_next",
        on_click=_jump,
        args=(corpus, 1),
        width="stretch",
        help="The next document that holds these words",
    )
    if state.get("find") and state.get("find_failed"):
        st.caption(f"No other document holds “{plain(state.find)}”.")
    names = {1: "1", 10: "10", 100: "100", 0: "all that fit"}
    following = many_box.selectbox(
        "How many", list(names), index=1, format_func=names.get, key="following",
        help=f"From that document on; never more than fit {WORDS_AT_ONCE:,} tokens.",
    )  # fmt: skip
    ends = model.table_.doc_ptr[wanted + 1 :]
    count = max(1, int(np.searchsorted(ends, model.table_.doc_ptr[wanted] + WORDS_AT_ONCE, side="right")))
    return list(range(wanted, wanted + (min(count, following) if following else count)))


def _jump(corpus: Corpus, skip: int) -> None:
    """Go to the next document that holds the words in the find box (any case), from the current one plus ``skip``."""
    state = st.session_state
    needle = state.get("find", "").lower()
    start = min(state.get("document", 0) + skip, len(corpus))
    order = [*range(start, len(corpus)), *range(start)]
    hit = next((d for d in order if needle in corpus.texts[d].lower()), None) if needle else None
    state.find_failed = needle != "" and hit is None
    if hit is not None:
        state.document = hit


def draw_dictionary(model: CompressiveFeatures) -> None:
    """The dictionary: sortable by its headings, filtered by words and length; a row chooses its K-gram."""
    text, length = st.columns([3, 2])
    needle = text.text_input("Filter", key="filter", placeholder="part of a K-gram", label_visibility="collapsed")
    lengths = ["any length", *range(1, model.max_gram + 1)]
    words = length.selectbox("Words", lengths, key="filter_length", label_visibility="collapsed")
    frame = model.dictionary_
    if needle:
        frame = frame[frame["gram"].str.contains(needle.lower(), regex=False)]
    if words != "any length":
        frame = frame[frame["length"] == words]
    shown = frame.sort_values("count", ascending=False, kind="stable").head(LISTED)
    _choose_row(shown, ["gram", "length", "count", "documents", "cost"], key=f"dictionary_{needle}_{words}")
    more = f", the {LISTED:,} most used of them" if len(frame) > LISTED else ""
    st.caption(f"{many(len(frame), 'K-gram')}{more}. Choose a row to see it in context; headings sort.")


def draw_document_grams(model: CompressiveFeatures, document: int) -> None:
    """The K-grams that the first document on show points at."""
    frame = grams_of_document(model, document)
    _choose_row(frame, ["gram", "length", "here", "count", "documents", "cost"], key=f"document_grams_{document}")
    st.caption(f"Document {document}: {many(len(frame), 'K-gram')}.")


def _choose_row(frame: pd.DataFrame, columns: list[str], *, key: str) -> None:
    """A table whose chosen row becomes the current K-gram (the frame's index holds their ids).

    The key must change with the rows: a selection is a position, and would silently mean another K-gram.
    """
    event = st.dataframe(
        frame[columns], hide_index=True, column_config=_COLUMNS, height=560, on_select="rerun",
        selection_mode="single-row", key=key, alt="K-grams with their pointers, documents and cost",
    )  # fmt: skip
    rows = event.selection.rows
    chosen = int(frame.index[rows[0]]) if rows and rows[0] < len(frame) else None
    # only a new choice counts: the same selection comes back with every rerun, also after a click in the text
    if chosen != st.session_state.get(f"{key}_chosen"):
        st.session_state[f"{key}_chosen"] = chosen
        if chosen not in (None, st.session_state.get("gram")):
            st.session_state.gram = chosen
            st.rerun()


def draw_concordance(model: CompressiveFeatures, corpus: Corpus, gram: int) -> None:
    """The chosen K-gram in context; a row goes to its document."""
    entry = model.dictionary_.iloc[gram]
    st.subheader(f"“{plain(entry['gram'])}”")
    st.caption(
        f"{many(int(entry['count']), 'pointer')} in {many(int(entry['documents']), 'document')}; stored once for "
        f"{number(entry['cost'], 0 if float(entry['cost']).is_integer() else 2)}."
    )
    frame = concordance(model, corpus, gram)
    event = st.dataframe(
        frame, hide_index=True, on_select="rerun", selection_mode="single-row", key=f"concordance_{gram}", height=300,
        alt="The K-gram's pointers in context",
        column_config={
            "document": st.column_config.NumberColumn(width="small"),
            "before": st.column_config.TextColumn(alignment="right", width=330),
            "K-gram": st.column_config.TextColumn(alignment="center", width=120),
            "after": st.column_config.TextColumn(width=330),
        },
    )  # fmt: skip
    rows = event.selection.rows
    document = int(frame["document"].iloc[rows[0]]) if rows else None
    if document != st.session_state.get("concordance_document"):
        st.session_state.concordance_document = document
        if document is not None:
            st.session_state.document = document
            st.rerun()
