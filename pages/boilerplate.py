"""Boilerplate: what documents repeat from each other, and the corpus without it."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.boilerplate.view import draw_clean, draw_controls, draw_documents, draw_passages, draw_summary
from pages.parts.shared.controls import draw_stage, invite
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import BOILERPLATE, current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Boilerplate")
st.markdown(
    "Signatures, quoted mails, disclaimers, copies: passages that a document has word by word from an earlier one, and "
    "documents that cost nearly nothing to store once the others are there."
)
draw_controls()
job, loaded = current_job(BOILERPLATE), current_corpus()
if job is None:
    invite("Look", "find what repeats itself in {}")
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_stage(job, shown=job.so_far.ready)
run = None if job is None else job.so_far
if run is not None and run.ready:
    draw_summary(run)
    passages, documents, clean = st.tabs(["Passages", "Documents", "Clean corpus"], key="boilerplate_tabs")
    with passages:
        draw_passages(run, loaded)
    with documents:
        draw_documents(run, loaded)
    with clean:
        draw_clean(run, loaded)
