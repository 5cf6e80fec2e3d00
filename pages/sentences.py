"""Sentences: a classifier that learns which sentences matter, on your own labelled text."""

from pages.parts.guard import through_router

through_router()

import streamlit as st

from pages.parts.controls import invite
from pages.parts.jobs import FAILED
from pages.parts.state import STUDY, current_corpus, current_job
from pages.parts.study import (
    draw_document,
    draw_learning,
    draw_numbers,
    draw_path,
    draw_sliders,
    draw_solver,
    solution_here,
)
from pages.parts.study_controls import draw_study_controls
from pages.parts.study_tables import draw_comparison, draw_files, draw_words
from pages.parts.words import plain

st.title("Telling sentences")
st.markdown(
    "A linear classifier of labelled documents, with one more idea: the words of every training sentence form a group, "
    "and a group that helps to tell nothing apart is let go as a whole (Yogatama and Smith, 2014). What is left are "
    "the sentences and words the labels hang on. Lasso, ridge, elastic net and a net that knows only word frequencies "
    "are learnt beside it, every fit with a proved gap."
)
labelled = draw_study_controls()
job = current_job(STUDY)
if not labelled:
    st.stop()
if job is None:
    invite("Learn", "learn from the labels of {}")
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_learning(job)
else:
    run = job.result
    lams = draw_sliders(run)
    result, solving = solution_here(run, job, lams, admm=draw_solver())
    draw_numbers(run, result, solving)
    draw_document(run, result, current_corpus())
    compared, path, words, files = st.tabs(["Models compared", "Path", "Words", "Files"])
    with compared:
        draw_comparison(run)
    with path:
        if st.toggle("Solve along the path", key="study_path_on"):
            draw_path(run, job, lams)
    with words:
        draw_words(run, result)
    with files:
        draw_files(run, current_corpus())
