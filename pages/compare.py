"""Compare: which phrases a group uses more than others do, and what one group costs in another's words."""

from pages.parts.shared.guard import through_router

through_router()

import numpy as np
import streamlit as st

from pages.parts.compare.controls import draw_compare_controls
from pages.parts.compare.groups import current_groups
from pages.parts.compare.view import choose_group, chosen_phrase, draw_cross, draw_keys, draw_plot, draw_rates
from pages.parts.shared.concordance import draw_concordance
from pages.parts.shared.controls import draw_stage, invite
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.solution import result_or_stop
from pages.parts.shared.state import COMPARE, current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Compare")
st.markdown(
    "Take any column of yours: authors, years, parties, ratings. Which phrases does each group use more than the "
    "others do, and how foreign is one group's language to another?"
)
solution, loaded = result_or_stop(), current_corpus()
possible = draw_compare_controls(solution)
job = current_job(COMPARE)
if possible and job is None:
    invite("Compare", "compare groups in {}")
elif possible and job.state == FAILED:
    st.error(plain(job.error))
elif possible and job.active:
    draw_stage(job, shown=job.so_far.ready)
run = None if job is None else job.so_far
if possible and run is not None and run.ready:
    group = choose_group(run)
    keys, plot, cross = st.tabs(["Key phrases", "All phrases", "In each other's words"], key="compare_tabs")
    with keys:
        table, right = st.columns([2, 1], gap="medium")
        with table:
            draw_keys(run, group)
        chosen = chosen_phrase(run)
        with right:
            draw_rates(run, "keys")
            if chosen is None:
                st.caption("Choose a phrase to see how often each group has it, and where it stands.")
    with plot:
        draw_plot(run, group)
    with cross:
        draw_cross(run, job)
    if chosen is not None:
        of_group = current_groups()[0][run.choice.column].astype(str) == group
        draw_concordance(loaded, run.phrases[chosen], height=300, first=np.flatnonzero(of_group), whose=group)
