"""Read: every document as the pieces it is stored in, under λ, linked with the dictionary; what each word costs."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.phrases.table import spelt_dictionary
from pages.parts.read.documents import choose_documents, go_to_use
from pages.parts.read.explorer import (
    PRICES,
    choose_mode,
    draw_dictionary,
    draw_document_grams,
    draw_pointers,
    draw_price_tables,
    draw_prices,
    draw_token,
)
from pages.parts.read.gram_card import draw_force, draw_gram, with_savings
from pages.parts.read.live import draw_live
from pages.parts.read.prices import price_book
from pages.parts.shared.selection import group_documents, phrase_row, select_phrase, selected_phrase
from pages.parts.shared.solution import result_or_stop
from pages.parts.shared.state import current_corpus

st.title("Read")
found = result_or_stop()
model = found.model
loaded = current_corpus()
corpus, names = loaded.corpus, spelt_dictionary(found, loaded)
state = st.session_state
if state.get("gram_of_job") != found.id:  # another result: its numbers mean other K-grams, its tokens have other prices
    state.update(gram_of_job=found.id, gram=None, token=None, marked=None, forced=None)

phrase = selected_phrase()
if phrase != state.get("phrase_read"):  # chosen on another page
    state.update(phrase_read=phrase, gram=phrase_row(names["gram"], phrase))

asked_for = state.pop("document_asked", False)  # by its number
if state.get("gram") != state.get("gram_shown"):  # chosen on another page, or in a table
    state.gram_shown = state.get("gram")
    if state.gram_shown is not None and not asked_for:
        go_to_use(model, model.table_, state.gram_shown, group_documents(corpus.metadata))

text, lists = st.columns([5, 4], gap="medium")
with text:
    priced = choose_mode() == PRICES
    chosen = choose_documents(model.table_, corpus)
if priced and not model.result_.lower_bound > 0:
    text.info("This run was stopped before anything was proved, so there are no prices: let it run for longer.")
elif priced:
    book = price_book(found.id, model, corpus)
    with text:
        draw_prices(model, corpus, book, chosen)
    with lists:
        draw_token(model, book, names["gram"])
        draw_price_tables(model, corpus, book, chosen)
else:
    with text:
        if not draw_live(found, corpus, chosen):
            draw_pointers(model, corpus, chosen, names["gram"])
    with lists:
        view = st.segmented_control(
            "Show", ["Dictionary", "Of this document"], default="Dictionary", required=True,
            key="lists", label_visibility="collapsed",
        )  # fmt: skip
        if view == "Dictionary":
            draw_dictionary(model, with_savings(found, names))
            draw_force(found, corpus)
        else:
            draw_document_grams(model, chosen[0], names)
if state.get("gram") is not None:
    select_phrase(names["gram"].loc[state.gram])
    state.phrase_read = selected_phrase()
    if state.phrase_read != phrase:
        st.rerun()  # the bar was drawn before it was chosen
    draw_gram(found, corpus, state.gram, names["gram"].loc[state.gram])
