"""The sidebar: which corpus, which settings, and how the current solve stands, on every page."""

from __future__ import annotations

import streamlit as st

from pages.parts.jobs import BOARD, DONE, FAILED, QUEUED, Job
from pages.parts.state import (
    current_corpus,
    current_job,
    engine_is_warm,
    is_stale,
    settings,
    stop_solver,
)
from pages.parts.words import many, number, percent, plain


def draw_sidebar() -> None:
    """Everything in the sidebar."""
    loaded, chosen, job = current_corpus(), settings(), current_job()
    with st.sidebar:
        st.markdown(f"**{plain(loaded.corpus.name)}**")
        st.caption(f"{many(len(loaded.corpus), 'document')} · {many(loaded.table.n_tokens, 'token')}")
        st.caption(f"λ = {chosen.lam:g} · K = {chosen.max_gram} · {chosen.weighting}")
        if st.session_state.notice:
            st.info(st.session_state.notice)
        if not engine_is_warm():
            _warming()
        if job is not None:
            # a fragment that ticks only while there is something to wait for; it is also the job's heartbeat
            st.fragment(_job_status, run_every=1.0 if job.active else None)(job.id)
        st.caption("Nothing leaves this computer.")


@st.fragment(run_every=1.0)
def _warming() -> None:
    if engine_is_warm():
        st.rerun()
    st.caption("⏳ Compiling the engine: once after an installation, about half a minute.")


def _job_status(job_id: str) -> None:
    job = BOARD.get(job_id)
    if job is None:
        return
    job.touch()
    st.divider()
    if job.state == FAILED:
        st.error(plain(job.error))
    elif job.state == DONE:
        result = job.result.result_
        st.markdown(f"cost **{number(result.objective)}**  \nproved bound **{number(result.lower_bound)}**")
        st.markdown(f"gap **{percent(result.gap)}** (proved)  \n{result.reason!s}, {number(result.seconds, 1)} s")
        if is_stale():
            st.caption("⚠ Settings have changed since: run again to see their effect.")
    else:
        _running(job)
    if not job.active and st.session_state.get("seen_end") != job.id:
        st.session_state.seen_end = job.id
        st.rerun()


def _running(job: Job) -> None:
    ahead = BOARD.before(job)
    if job.state == QUEUED and ahead:
        st.markdown(f"Queued: {many(ahead, 'solve')} before yours.")
    elif job.stop.is_set():
        st.markdown("Stopping: certifying the best solution so far …")
    elif not job.rows:
        st.markdown("Preparing …" if engine_is_warm() else "Waiting until the engine is compiled …")
    else:
        row = job.rows[-1]
        st.progress(min(max(row["zeta"], 0.0), 1.0), text=f"ζ = {row['zeta']:.1f} · step {row['i']:,}")
    st.button("Stop", key="stop_sidebar", on_click=stop_solver, disabled=job.stop.is_set(), width="stretch")
