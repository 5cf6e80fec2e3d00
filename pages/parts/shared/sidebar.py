"""The sidebar: which corpus, which settings, and how the session's jobs stand, on every page."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.asking import COMPILED_ONCE, STOPPING, engine_is_warm
from pages.parts.shared.controls import TITLES, rerun_at_end
from pages.parts.shared.jobs import BOARD, DONE, FAILED, QUEUED, Job
from pages.parts.shared.keys import STOP
from pages.parts.shared.state import (
    KINDS,
    READ,
    SOLVE,
    current_corpus,
    current_job,
    is_stale,
    solve_settings,
    stop_job,
)
from pages.parts.shared.words import at_least, gap_text, many, number, plain

_NAMES = {
    "job": "Watch the solver", "race": "Race",
    "path": "Words to phrases", "telling": "Telling sentences", "weights": "Word groups",
    "tagger": "Training the tagger", "names": "Names",
    "loss": "Losses", "tasks": "Tasks", "embeddings": "Embeddings", "training": "Training",
    "compare": "Compare", "boilerplate": "Boilerplate", "reading": "Reading", "subwords": "Tokenizer",
    "wordlist": "My word list",
}  # fmt: skip


def draw_sidebar() -> None:
    """Everything in the sidebar."""
    loaded, chosen = current_corpus(), solve_settings()
    with st.sidebar:
        st.markdown(f"**{plain(loaded.corpus.name)}**")
        st.caption(f"{many(len(loaded.corpus), 'document')} · {many(loaded.table.n_tokens, 'token')}")
        st.caption(f"λ = {chosen.lam:g} · K = {chosen.max_gram} · {chosen.weighting} · {TITLES[str(chosen.solver)]}")
        # A container each, also where it stays empty: Streamlit knows a fragment by its place, and drops the click on a
        # Stop whose fragment has moved since it was drawn.
        notice, warming = st.container(), st.container()
        places = {kind: st.container() for kind in KINDS}
        if st.session_state.notice:
            notice.info(plain(st.session_state.notice))
        if not engine_is_warm():
            with warming:
                _warming()
        for kind, place in places.items():
            job = current_job(kind)
            if job is not None and (kind == SOLVE or job.active):
                # a fragment that ticks only while there is something to wait for; it is also the job's heartbeat
                with place:
                    st.fragment(_job_status, run_every=1.0 if job.active else None)(job.id, kind)
        st.caption("Nothing leaves this computer.")


@st.fragment(run_every=1.0)
def _warming() -> None:
    if engine_is_warm():
        st.rerun()
    st.caption(":material/hourglass_top: Compiling the engine: once after an installation, about half a minute.")


def _job_status(job_id: str, kind: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    st.divider()
    if job.active:
        _running(job, kind)
    elif job.state == FAILED:
        st.error(plain(job.error))
    elif kind == SOLVE and job.state == DONE:
        result = job.result.result_
        st.markdown(f"**Watch the solver**, λ = {float(job.result.lam):g}")
        st.markdown(f"cost **{number(result.objective)}**  \nproved bound **{at_least(result.lower_bound)}**")
        ended = f"{TITLES[result.solver]}: {result.reason!s}, {number(result.seconds, 1)} s"
        gap = "**optimal** (proved)" if result.optimal else f"gap **{gap_text(result.gap)}** (proved)"
        st.markdown(f"{gap}  \n{ended}")
        if is_stale():
            st.caption("⚠ Settings have changed since: run again to see their effect.")
    rerun_at_end(job)


def _running(job: Job, kind: str) -> None:
    st.markdown(f"**{_NAMES[kind]}**")
    if waits := BOARD.place(job):
        st.markdown(waits)
    elif kind == READ:
        st.markdown("Stopping …" if job.stop.is_set() else plain(job.stage))
    elif job.stop.is_set():
        st.markdown(STOPPING)
    elif job.stage and engine_is_warm():
        st.markdown(plain(job.stage))
    elif not job.rows:
        st.markdown("Preparing …" if engine_is_warm() else "Waiting until the engine is compiled …")
        if kind != SOLVE and engine_is_warm():
            st.caption(COMPILED_ONCE)
    else:
        row = job.rows[-1]
        where = f"{row['stage']} · step {row['i']:,}"
        if job.solver in ("homotopy", "relay") and row["zeta"] >= 0:
            st.progress(min(max(row["zeta"], 0.0), 1.0), text=where)
        else:
            # the stages of a solve in two parts say themselves whose they are
            who = row.get("who") or job.solver or f"λ = {row['lam']:.3g}"
            st.markdown(where if job.solver == "relay" else f"{who}: {where}")
    if kind == SOLVE and is_stale():
        st.caption("⚠ Settings have changed since this run began: it goes on with those it began with.")
    st.button(
        "Stop",
        key=f"stop_sidebar_{kind}",
        on_click=stop_job,
        args=(kind,),
        disabled=job.stop.is_set(),
        width="stretch",
        shortcut=None if job.state == QUEUED or job.beside else STOP,  # one runs at a time
    )
