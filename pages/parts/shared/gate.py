"""Pages that show a result send the reader to the solver while there is none."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import BOARD, FAILED
from pages.parts.shared.solution import Solution, current_solution
from pages.parts.shared.state import PATH, current_job, explore
from pages.parts.shared.words import plain


def result_or_stop() -> Solution:
    """What is certified of the session's corpus; while there is nothing, what it waits for, and the end of the page."""
    found = current_solution()
    if found is None:
        _nothing_yet()
        end_page()
    if found.improving:
        st.caption("Still improving: what is shown is certified, and gets better while the solver works.")
    path = current_job(PATH)
    if path is not None and path.active and not path.so_far.points:
        st.caption("A new path is being solved. Until its first λ is certified, the one before it is shown.")
    return found


def _nothing_yet() -> None:
    job = current_job(PATH)
    if job is not None and job.active:
        st.fragment(_waiting, run_every=0.5)(job.id)
        return
    if job is not None and job.state == FAILED:
        st.error(plain(job.error))
    st.info("Nothing is compressed yet.")
    st.button("Compress it", type="primary", on_click=explore, key="gate_explore")


def _waiting(job_id: str) -> None:
    """Until the first λ is certified."""
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    st.caption(f"Looking for the cheapest pieces: {plain(job.rows[-1]['stage'])} …" if job.rows else "Reading …")
    if job.so_far.points:
        st.rerun()
    rerun_at_end(job)
