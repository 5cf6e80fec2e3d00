"""Solve: drag λ, watch the solver and its proof; after a homotopy, scrub through it on your own text."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.components.live_chart import live_trace_chart
from pages.parts.lab.scrubber import draw_scrubber
from pages.parts.lab.tightness import draw_tightness
from pages.parts.shared.controls import PHASES, draw_controls, invite, live_numbers
from pages.parts.shared.jobs import FAILED, followed
from pages.parts.shared.solution import current_solution, is_surpassed, solve_solution
from pages.parts.shared.state import current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Watch the solver")
st.markdown(
    "Every document is rebuilt from **pointers** into a **dictionary** of word sequences. A pointer costs λ, a "
    "dictionary entry its number of words; the solver looks for the cheapest way to store the whole corpus. It "
    "starts from a relaxation, which may use pointers in part and proves a bound, and goes on to solutions in which "
    "every pointer is in or out."
)
fits = draw_controls()

job = current_job()
if job is not None and job.state == FAILED:
    st.error(plain(job.error))
elif job is not None:
    live_numbers(job)
    live_trace_chart(
        **followed(job),
        key=f"chart_{job.id}",
        on_done=lambda: None,  # the page reruns once when the solve ends
        zeta=job.solver in ("homotopy", "relay"),
        phase=PHASES[job.solver],
    )
    if is_surpassed(job):
        st.info("Words to phrases has a better solution at this λ: the other pages go on to show that one.")
    st.caption(
        "The certified bound is a proof: no dictionary of phrases of up to K words stores this corpus for less. "
        "The gap is how far the best solution can be from the best possible one."
    )
elif fits:
    invite("Run", "compress {}")

solution = solve_solution() or current_solution()
if solution is not None and not solution.improving and (job is None or not job.active):
    draw_tightness(solution, current_corpus().corpus)
if solution is not None and solution.model.result_.stages and (job is None or not job.active):
    st.header("Along the homotopy")
    draw_scrubber(solution.model, current_corpus().corpus, solution.model.result_.stages)
