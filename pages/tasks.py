"""Tasks: what the features are worth, for any column of the user's own."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.shared.controls import invite
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import TASKS, current_corpus, current_job
from pages.parts.shared.words import plain
from pages.parts.tasks.close import draw_errors, draw_files, draw_learning, draw_telling
from pages.parts.tasks.controls import draw_task_controls
from pages.parts.tasks.view import draw_answer, draw_live, draw_path, draw_table

st.title("Tasks")
st.markdown(
    "Do phrases predict anything better than words do? Pick a column of your own, a rating, a label, an author: it is "
    "learnt from words, from all K-grams and from compressive features at every λ, and all are judged on the same "
    "documents, whose answers nothing was learnt from."
)
possible = draw_task_controls()
job = current_job(TASKS)
if not possible:
    end_page()
if job is None:
    invite("Compare", "learn the column from {} in every way")
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_live(job)
else:
    run, loaded = job.result, current_corpus()
    found = {finding.task.target.column: finding for finding in run.findings}
    column = next(iter(found))
    if len(found) > 1:
        column = st.segmented_control(
            "Target", list(found), default=column, required=True, key="tasks_target", format_func=plain
        )
    finding = found[column]
    draw_answer(finding, run)
    if finding.methods:
        over, methods, telling, errors, learning, files = st.tabs(
            ["Over λ", "All methods", "K-grams that matter", "What went wrong", "More documents", "Files"],
            key="tasks_tabs",
        )
        with over:
            draw_path(finding, run)
        with methods:
            draw_table(finding)
        with telling:
            draw_telling(finding, loaded)
        with errors:
            draw_errors(finding, run, loaded)
        with learning:
            draw_learning(finding)
        with files:
            draw_files(finding, run, loaded)
