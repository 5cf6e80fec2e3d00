"""Tokenizer: subword vocabularies of several sizes, each with a proof of how close to the best it is."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.shared.controls import invite
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import SUBWORDS, current_corpus, current_job
from pages.parts.shared.words import plain
from pages.parts.subwords.controls import draw_controls
from pages.parts.subwords.view import draw_changes, draw_files, draw_live, draw_sentence, draw_sizes, draw_theirs

st.title("Tokenizer")
st.markdown(
    "A language model reads text in **tokens**: words, or pieces of them, from a list of a fixed size, its vocabulary. "
    "The fewer tokens a text takes, the more of it fits, and the faster it is read. Here is the list of a size that "
    "cuts this corpus into the fewest, with a proof of how close to the best it is."
)
draw_controls()
job = current_job(SUBWORDS)
if job is not None and job.state == FAILED:
    st.error(plain(job.error))
if job is None:
    invite("Choose", "find the vocabularies that cut {} into the fewest tokens")
elif job.active:
    draw_live(job)
elif job.so_far.models:
    run, loaded = job.so_far, current_corpus()
    size = draw_sizes(run)
    sentence, changes, theirs, files = st.tabs(
        ["A sentence, cut", "Pieces that come and go", "Yours", "Files"], key="subwords_tabs"
    )
    with sentence:
        draw_sentence(run, size, loaded)
    with changes:
        draw_changes(run, size)
    with theirs:
        draw_theirs(run)
    with files:
        draw_files(run, size, loaded)
elif job.state != FAILED:
    st.info("Stopped before the first vocabulary was there: press **Choose** again.")
