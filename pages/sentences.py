"""Telling sentences: which sentences decide the labels of documents."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.shared.controls import draw_stage, invite
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import TELLING, current_corpus, current_job
from pages.parts.shared.words import plain
from pages.parts.telling.controls import draw_comparison_controls
from pages.parts.telling.sliders import draw_numbers, draw_path, draw_sliders, draw_solver, is_chosen, solution_here
from pages.parts.telling.tables import draw_files, draw_words
from pages.parts.telling.view import draw_document, draw_others, draw_share, draw_telling

st.title("Telling sentences")
st.markdown(
    "Which sentences decide the labels of your documents? A classifier learns from the labels with one idea more: the "
    "words of every training sentence form a group, and the weights of a group that does not help to separate the "
    "classes are set to 0 together (Yogatama and Smith, 2014)."
)
labelled = draw_comparison_controls()
job = current_job(TELLING)
if not labelled:
    end_page()
if job is None:
    invite("Learn", "learn from the labels of {}")
elif job.state == FAILED:
    st.error(plain(job.error))
elif not job.so_far.ready:
    draw_stage(job)
else:
    run, loaded = job.so_far, current_corpus()
    above = st.container()
    below = st.container()
    with below:
        compared, parameters, words, files = st.tabs(
            ["Models compared", "Regularisation parameters", "Words", "Files"], key="comparison_tabs"
        )
    with parameters:
        lams, admm = draw_sliders(run), draw_solver(run.wanted.groups)
        rows, solving = solution_here(run, job, lams, admm=admm)
        draw_numbers(run, rows, solving, (*lams, admm))
        if st.toggle("Solve along the path", key="comparison_path_on", disabled=job.active):
            draw_path(run, job, lams)
    found = run.reading(lams, rows, admm=admm)
    with above:
        k = draw_share(run.comparison, found)
        read = found.read(k)
        draw_telling(run, rows, found, read, loaded)
        draw_document(run, rows, found, read, loaded)
    with compared:
        draw_others(job)
    with words:
        draw_words(run, rows)
    with files:
        if job.active:
            st.caption("Files are there when all models are.")
        else:
            draw_files(run, loaded, is_chosen(run, (*lams, admm)))
