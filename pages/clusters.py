"""Word groups: the weights of a classifier as they find their places, and how many different ones it needs."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.groups.controls import draw_weights_controls
from pages.parts.groups.view import (
    draw_explained,
    draw_film,
    draw_model_file,
    draw_numbers,
    draw_parsimony,
    draw_trajectories,
)
from pages.parts.shared.controls import draw_stage, invite
from pages.parts.shared.glossary import link_to
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import WEIGHTS, current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Word groups")
st.markdown(
    "A classifier gives every word a weight. While it is trained, many weights move together: words that say the same "
    "end near the same value. Mathur and Chakrabarti (2006) trained whole clusters of weights as one to save time; "
    "here you see which words they are, and how few different weights are enough."
)
labelled = draw_weights_controls()
job = current_job(WEIGHTS)
if not labelled:
    end_page()
if job is None:
    invite("Learn", "train on {}")
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_stage(job, shown=job.so_far.ready)
if job is not None and job.so_far.ready:
    run = job.so_far
    draw_numbers(run)
    paths, film, explained, ties = st.tabs(
        ["Groups", "Merging and splitting", "When groups show", "How many weights"], key="weights_tabs"
    )
    with paths:
        draw_trajectories(run, current_corpus())
    with film:
        draw_film(run, job.active)
    with explained:
        draw_explained(run)
    with ties:
        draw_parsimony(run, job)
    draw_model_file(run, current_corpus())
    link_to("race", "The solvers' race on these weights, in the Lab")
