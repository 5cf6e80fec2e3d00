"""Phrases: what the corpus is built from, as a table, and where each phrase stands."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.phrases.concordance import draw_search
from pages.parts.phrases.table import draw_phrases, phrase_frame
from pages.parts.shared.selection import select_phrase
from pages.parts.shared.solution import result_or_stop
from pages.parts.shared.state import current_corpus

st.title("Phrases")
st.markdown(
    "Every phrase that the corpus is built from, the most used first. Choose one to see all places where it stands; "
    "or look for words of your own."
)
found, loaded = result_or_stop(), current_corpus()
phrases, places = st.columns([4, 6], gap="medium")
with phrases:
    frame, state = phrase_frame(found, loaded), st.session_state
    chosen = draw_phrases(frame, found.model.max_gram)
    if chosen is not None:
        select_phrase(chosen)
with places:
    # the page opens on the most used phrase that says something, which is not the user's choice
    draw_search(loaded, next(iter(frame["phrase"][frame["telling"] & (frame["words"] > 1)]), ""))
