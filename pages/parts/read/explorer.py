"""The tables of the page Read: dictionary, a document's K-grams, concordance, prices.

What is chosen stands in the session: ``gram``, a row of the dictionary; ``document``; ``token``, (document, start);
``marked``, (document, start, end), a token or a sentence. Offsets are code points.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.text import printable
from pages.parts.components.text_view import LITERAL, HeatScale, text_view
from pages.parts.read.documents import places_found
from pages.parts.read.prices import QUANTILE, PriceBook, sentence_prices, token_price
from pages.parts.shared.selection import new_row
from pages.parts.shared.views import final_view, grams_of_document, price_view
from pages.parts.shared.words import many, number, percent, plain

POINTERS, PRICES = "Pieces", "Surprise"
LISTED = 5000
LISTED_DOCUMENTS = 50_000

_COLUMNS = {
    "gram": st.column_config.TextColumn("phrase", width=130),
    "length": st.column_config.NumberColumn("words", width=50),
    "here": st.column_config.NumberColumn("here", width=45, help="Uses in this document"),
    "count": st.column_config.NumberColumn("uses", width=50, help="How often the corpus is built from it (pointers)"),
    "documents": st.column_config.NumberColumn("docs", width=50, help="Documents that use it"),
    "cost": st.column_config.NumberColumn("cost", width=45, help="Cost of storing it in the dictionary, once"),
    "saves": st.column_config.NumberColumn(
        "saves", width=55, format="%.1f", help="By how much all storage would rise without it"
    ),
}
_PRICE_COLUMNS = {
    "each": st.column_config.NumberColumn("a token", width=60, format="%.3f", help="Price per token"),
    "price": st.column_config.NumberColumn("price", width=55, format="%.2f", help="Sum over its tokens"),
    "share": st.column_config.NumberColumn("share", width=62, format="%.3f %%", help="Of the proved bound"),
    "tokens": st.column_config.NumberColumn("tokens", width=52),
    "document": st.column_config.NumberColumn("doc", width=40),
    "sentence": st.column_config.TextColumn("sentence", width=420),
    "begins": st.column_config.TextColumn("begins", width=300),
}


def choose_mode() -> str:
    """Whether the text shows its pointers or its prices; kept while other pages are visited."""
    state = st.session_state
    state.widget_mode = state.get("mode", POINTERS)
    return st.segmented_control(
        "Show", [POINTERS, PRICES], key="widget_mode", required=True, label_visibility="collapsed",
        on_change=lambda: state.update(mode=state.widget_mode),
    )  # fmt: skip


def draw_pointers(model: CompressiveFeatures, corpus: Corpus, shown: list[int], names: pd.Series) -> None:
    """The text with its pointers; a click chooses a K-gram. names: of the dictionary's entries."""
    documents, grams = final_view(model, corpus, shown)
    for gram, entry in grams.items():
        entry["label"] = names.loc[gram]
    selected = st.session_state.get("gram")
    click = text_view(
        documents, grams=grams, key="text", height=640, selected_gram=selected if selected in grams else None,
        found=places_found(corpus, shown),
    )  # fmt: skip
    if click is not None and click["gram"] not in (LITERAL, selected):
        st.session_state.gram = click["gram"]
        st.rerun()


def draw_dictionary(model: CompressiveFeatures, frame: pd.DataFrame) -> None:
    """The dictionary (``frame``, perhaps with what each K-gram saves): sortable by its headings, filtered by words and
    length, content first; a row chooses its K-gram."""
    everything = st.toggle("Also function words and punctuation", key="dictionary_all")
    if not everything:
        frame = frame[frame["telling"]]
    text, length = st.columns([3, 2])
    needle = text.text_input("Filter", key="filter", placeholder="part of a phrase", label_visibility="collapsed")
    lengths = ["any length", *range(1, model.max_gram + 1)]
    words = length.selectbox("Words", lengths, key="filter_length", label_visibility="collapsed")
    if needle:
        frame = frame[frame["gram"].str.contains(needle, case=False, regex=False)]
    if words != "any length":
        frame = frame[frame["length"] == words]
    shown = frame.sort_values("count", ascending=False, kind="stable").head(LISTED)
    saves = ["saves"] if "saves" in frame else []
    _choose_row(
        shown, ["gram", "length", "count", *saves, "documents", "cost"], key=f"dictionary_{needle}_{words}_{everything}"
    )
    more = f", the {LISTED:,} most used of them" if len(frame) > LISTED else ""
    st.caption(f"{many(len(frame), 'phrase')}{more}. Choose a row to see it in context; headings sort.")


def draw_document_grams(model: CompressiveFeatures, document: int, names: pd.DataFrame) -> None:
    """The K-grams that the first document on show points at. names: of all, with ``gram`` and ``telling``."""
    frame = grams_of_document(model, document)
    frame["gram"] = names["gram"].loc[frame.index]
    everything = st.toggle("Also function words and punctuation", key="document_grams_all")
    shown = frame if everything else frame[names["telling"].loc[frame.index]]
    columns = ["gram", "length", "here", "count", "documents", "cost"]
    _choose_row(shown, columns, key=f"document_grams_{document}_{everything}")
    others = "" if everything else f", {len(frame) - len(shown):,} more are function words and punctuation"
    st.caption(f"Document {document}: {many(len(shown), 'phrase')}{others}.")


def _choose_row(frame: pd.DataFrame, columns: list[str], *, key: str) -> None:
    """A table whose chosen row becomes the current K-gram (the frame's index holds their ids).

    The key must change with the rows: a selection is a position, and would silently mean another K-gram.
    """
    event = st.dataframe(
        frame[columns], hide_index=True, column_config=_COLUMNS, height=560, on_select="rerun",
        selection_mode="single-row", key=key, alt="Phrases with their uses, documents and cost",
    )  # fmt: skip
    row = new_row(event, len(frame), key)
    if row is not None and int(frame.index[row]) != st.session_state.get("gram"):
        st.session_state.gram = int(frame.index[row])
        st.rerun()


def draw_occurrences(frame: pd.DataFrame, *, key: str) -> None:
    """Places in the corpus in context; a row goes to its document.

    frame: document, before, K-gram, after (see :func:`pages.parts.shared.views.concordance`); further columns are shown
    behind them.
    """
    event = st.dataframe(
        frame, hide_index=True, on_select="rerun", selection_mode="single-row", key=key, height=300,
        alt="The phrase in context",
        column_config={
            "document": st.column_config.NumberColumn(width="small"),
            "before": st.column_config.TextColumn(alignment="right", width=330),
            "K-gram": st.column_config.TextColumn("phrase", alignment="center", width=120),
            "after": st.column_config.TextColumn(width=330),
            "lost to": st.column_config.TextColumn(width=200),
        },
    )  # fmt: skip
    row = new_row(event, len(frame), key)
    if row is not None:
        st.session_state.document = int(frame["document"].iloc[row])
        st.rerun()


def draw_prices(model: CompressiveFeatures, corpus: Corpus, book: PriceBook, shown: list[int]) -> None:
    """The text as a heat map of its prices; a click chooses a token."""
    st.caption(
        "A token's **price** is what it adds to the proved minimum cost of storing the corpus, "
        f"{number(book.bound)} in all: expensive tokens are hard to compress.",
        help="Prices are the dual solution behind the bound. It need not be unique: words that always stand together "
        "can share their price in more than one way, so trust sums over sentences and documents more than one token.",
    )
    documents, grams = price_view(model, corpus, shown, book.word_mean, book.word_count)
    scale, marked = book.scale, st.session_state.get("marked")
    note = "The same in every document."
    if scale.above:
        note = (
            f"Ends near the {100 * QUANTILE:.0f} % quantile, so that a few extreme values do not hide the others: "
            f"{percent(scale.above, 1)} of all tokens cost more, up to {number(scale.highest, 2)}."
        )
    click = text_view(
        documents, grams=grams, key="text", height=640, scale=HeatScale(scale.top, note),
        found=places_found(corpus, shown),
        marked=(shown.index(marked[0]), *marked[1:]) if marked and marked[0] in shown else None,
    )  # fmt: skip
    if click is not None:
        document, start, end = shown[click["document"]], click["start"], click["end"]
        st.session_state.update(token=(document, start), marked=(document, start, end))
        st.rerun()


def draw_token(model: CompressiveFeatures, book: PriceBook, names: pd.Series) -> None:
    """The chosen token: its price, the pointers that cover it, what its word costs elsewhere."""
    chosen = st.session_state.get("token")
    token = token_price(model, book, *chosen) if chosen is not None else None
    with st.container(border=True, gap="small"):
        if token is None:
            st.caption("Click a token in the text to see what it costs, and why.")
            return
        word = plain(printable(token.word))
        st.markdown(f"**“{word}”**, document {chosen[0]}: price **{number(token.price, 4)}**")
        if token.count == 1:
            st.caption(f"“{word}” stands nowhere else in the corpus.")
        else:
            st.caption(
                f"“{word}” costs {number(token.mean, 4)} on average over its {token.count:,} occurrences; "
                f"{percent(token.cheaper, 0)} of the others cost less."
            )
        for gram, words in token.pointers:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.caption("Covered by", width="content")
                st.button(
                    f"“{plain(names.iloc[gram])}”", key=f"cover_{gram}", help="See it in context",
                    on_click=st.session_state.update, kwargs={"gram": gram},
                )  # fmt: skip
                st.caption(f"all its words: {number(words, 4)}", width="content")


def draw_price_tables(model: CompressiveFeatures, corpus: Corpus, book: PriceBook, shown: list[int]) -> None:
    """The sentences on show or all documents, the hardest first."""
    tables = ["Sentences", "Documents"]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        view = st.segmented_control(
            "Prices of", tables, default=tables[0], required=True, key="price_table", width="content"
        )
        least = st.number_input("Tokens, at least", 1, None, 1, key="least_tokens", width=130)
    if view == "Sentences":
        _draw_sentences(sentence_prices(model.result_.alpha, model.table_, corpus.texts, shown), shown, least)
    else:
        _draw_documents(book, least)


def _draw_sentences(frame: pd.DataFrame, shown: list[int], least: int) -> None:
    """Sentences (see ``sentence_prices``); a row marks its sentence in the text."""
    frame = frame[frame["tokens"] >= least].sort_values("each", ascending=False, kind="stable")
    columns = ["each", "price", "tokens", *(["document"] if len(shown) > 1 else []), "sentence"]
    key = f"sentences_{shown[0]}_{len(shown)}_{least}"
    row = _price_table(frame, columns, key=key, alt="Sentences with their prices")
    where = f"document {shown[0]}" if len(shown) == 1 else f"the {len(shown):,} documents on show"
    st.caption(f"{many(len(frame), 'sentence')} of {where}, the hardest first. Choose a row to see it in the text.")
    if row is not None:
        document, start, end = (int(frame[name].iloc[row]) for name in ("document", "start", "end"))
        st.session_state.marked = (document, start, end)
        st.rerun()


def _draw_documents(book: PriceBook, least: int) -> None:
    """All documents; a row opens its document."""
    every = book.documents
    frame = every[every["tokens"] >= least].sort_values("each", ascending=False, kind="stable")
    listed = frame if len(frame) <= LISTED_DOCUMENTS else pd.concat(
        [frame.head(LISTED_DOCUMENTS // 2), frame.tail(LISTED_DOCUMENTS // 2)]
    )  # fmt: skip
    listed = listed.assign(share=100 * listed["share"])
    columns = ["each", "price", "share", "tokens", "document", "begins"]
    row = _price_table(listed, columns, key=f"document_prices_{least}", alt="Documents with their prices")
    few = f" (listed: the {len(listed):,} at both ends)" if len(listed) < len(frame) else ""
    st.caption(
        f"{many(len(frame), 'document')}{few}, the hardest first; headings sort. Together they cost "
        f"{number(frame['price'].sum())}, {percent(frame['share'].sum(), 1)} of the proved bound. "
        "Choose a row to open its document."
    )
    if row is not None:
        st.session_state.update(document=int(listed["document"].iloc[row]), marked=None)
        st.rerun()


def _price_table(frame: pd.DataFrame, columns: list[str], *, key: str, alt: str) -> int | None:
    """A table of prices; the position of a row that has just been chosen."""
    event = st.dataframe(
        frame[columns], hide_index=True, column_config=_PRICE_COLUMNS, height=480, on_select="rerun",
        selection_mode="single-row", key=key, alt=alt,
    )  # fmt: skip
    return new_row(event, len(frame), key)
