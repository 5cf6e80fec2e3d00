"""Embeddings: do classes differ in their words, which words are it, and vectors that keep classes apart."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.embeddings.close import draw_files, draw_simulation
from pages.parts.embeddings.controls import draw_embed_controls
from pages.parts.embeddings.train_view import draw_training
from pages.parts.embeddings.view import choose_pair, draw_answer, draw_cloud, draw_text, draw_words
from pages.parts.shared.controls import draw_stage, invite
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import EMBED, current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Embeddings")
st.markdown(
    "Do the classes use different words, and is the difference more than accidental? Words become vectors; what is "
    "compared is how each class's words are spread among them (word-level MMD, Gao and Dai, 2025). Then train vectors "
    "that keep the classes apart."
)
possible = draw_embed_controls()
job = current_job(EMBED)
if possible and job is None:
    invite("Compare", "compare the words of the classes in {}")
elif possible and job.state == FAILED:
    st.error(plain(job.error))
elif possible and job.active:
    draw_stage(job)
run = None if job is None else job.result
if possible and run is not None and run.comparison is None:
    st.info("Stopped before the statistic was known: press **Compare** again.")
if possible and run is not None and run.comparison is not None:
    loaded = current_corpus()
    draw_answer(run)
    pair = choose_pair(run)
    words, cloud, text, training, simulation, files = st.tabs(
        ["Words that tell", "Words in the plane", "On the text", "Train vectors", "Simulation", "Files"],
        key="embeddings_tabs",
    )
    with words:
        draw_words(run, pair, loaded)
    with cloud:
        draw_cloud(run, pair)
    with text:
        draw_text(run, pair, loaded)
    with training:
        draw_training(job, pair, loaded)
    with simulation:
        draw_simulation()
    with files:
        draw_files(run, loaded)
else:
    with st.expander("A simulation: how many documents does the test need?", key="embed_simulation"):
        draw_simulation()
