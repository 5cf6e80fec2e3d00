"""Race: the papers' solvers and ours on your corpus, each from a fresh start, live."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.components.live_chart import live_trace_chart
from pages.parts.groups.race import draw_weights_race
from pages.parts.lab.race import GAPS, draw_race_controls, draw_standings
from pages.parts.shared.controls import invite
from pages.parts.shared.jobs import FAILED, followed
from pages.parts.shared.state import RACE, current_job
from pages.parts.shared.words import plain

st.title("Race")
phrases, words = st.tabs(["Dictionaries of phrases", "Weights of words"], key="race_tabs")
phrases.markdown(
    "The same corpus, λ and K for each solver, one after the other, each from a fresh start: **guided** is this "
    "project's, **homotopy** (Paskov, Mitchell and Hastie, 2014) and **reweighting** (Paskov, West, Mitchell and "
    "Hastie, 2013) are the papers' own. Each has its default settings."
)
with phrases:
    draw_race_controls()

    job = current_job(RACE)
    if job is None:
        invite("Start", "race on {}")
    elif job.state == FAILED:
        st.error(plain(job.error))
    elif not job.active and not job.rows:
        st.info("Stopped before the first solver had begun: press **Start** again.")
    else:
        live_trace_chart(
            **followed(job),
            key=f"race_{job.id}",
            on_done=lambda: None,  # the page reruns once when the race ends
            series=job.key[4],
            levels=GAPS,
            log=True,
            height=460,
        )
        st.caption(
            "Thick lines fall: the best solution so far. Thin lines: the solution of the moment, which may get worse. "
            "Dotted lines with hollow marks rise: the bound each solver has proved. An × marks where its relaxation is "
            "solved and its search begins. The lines +2 % to +0.1 % are drawn above the best bound of all."
        )
        draw_standings(job)
with words:
    draw_weights_race()
