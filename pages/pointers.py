"""Pointers: every document as the pieces it is stored in, linked with the dictionary both ways."""

from pages.parts.guard import through_router

through_router()

import streamlit as st

from pages.parts.explorer import choose_documents, draw_concordance, draw_dictionary, draw_document_grams
from pages.parts.gate import result_or_stop
from pages.parts.state import current_corpus
from pages.parts.text_view import LITERAL, text_view
from pages.parts.views import final_view

st.title("Pointers")
job = result_or_stop()
model = job.result
corpus = current_corpus().corpus
state = st.session_state
if state.get("gram_of_job") != job.id:  # another result, another dictionary: its numbers mean other K-grams
    state.gram_of_job, state.gram = job.id, None

text, lists = st.columns([5, 4], gap="medium")
with text:
    chosen = choose_documents(model, corpus)
    documents, grams = final_view(model, corpus, chosen)
    selected = state.get("gram")
    click = text_view(
        documents, grams=grams, key="text", height=640, selected_gram=selected if selected in grams else None
    )
    if click is not None and click["gram"] not in (LITERAL, selected):
        state.gram = click["gram"]
        st.rerun()
with lists:
    view = st.segmented_control(
        "Show", ["Dictionary", "K-grams of this document"], default="Dictionary", required=True,
        key="lists", label_visibility="collapsed",
    )  # fmt: skip
    if view == "Dictionary":
        draw_dictionary(model)
    else:
        draw_document_grams(model, chosen[0])
if state.get("gram") is not None:
    draw_concordance(model, corpus, state.gram)
