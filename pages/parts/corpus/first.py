"""The first look at a corpus: its text in pieces under λ, as soon as one λ is certified; before that, the solver at
work on the same text."""

from __future__ import annotations

import math

import streamlit as st

from cflengine.compression import read_stages
from pages.parts.components.live_chart import live_trace_chart
from pages.parts.components.live_text import LiveDocuments, live_text
from pages.parts.components.text_view import text_view
from pages.parts.lab.scrubber import draw_scrubber
from pages.parts.read.points import live_points, telling_documents
from pages.parts.shared.concordance import gram_on_path
from pages.parts.shared.controls import PHASES, queue_notes, rerun_at_end, too_many_bytes
from pages.parts.shared.corpora import SAMPLE, LoadedCorpus
from pages.parts.shared.glossary import link_to
from pages.parts.shared.jobs import BOARD, FAILED, Job, stream_url
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.selection import choose_gram, show_choice
from pages.parts.shared.solution import current_standing
from pages.parts.shared.state import (
    PATH,
    change_settings,
    current_corpus,
    earlier_path,
    explore,
    path_key,
    settings,
    stop_job,
)
from pages.parts.shared.views import stage_view
from pages.parts.shared.words import gap_text, many, plain

SHOWN = 3  # documents
MOST = 120  # tokens of each
HEIGHT = 420
KEY = "first_text"


def draw_first(job: Job) -> None:
    """What is known so far; ticks while the job is active."""
    st.fragment(_first, run_every=0.5 if job.active else None)(job.id)


def _first(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    show_choice()
    run: PathRun = job.so_far
    loaded = current_corpus()
    if job.state == FAILED:
        st.error(plain(job.error))
        if too_many_bytes():
            link_to("solve", "Solve it in shards, which wait on disk")
        elif earlier_path() is not None:
            _go_on()
    elif run.points and not (run.early and job.active):
        _draw_text(run, loaded, job)
    elif job.active:
        _draw_solver(run, loaded, job)
    rerun_at_end(job)


def _draw_text(run: PathRun, loaded: LoadedCorpus, job: Job) -> None:
    state = st.session_state
    live_text(
        _shown(run, loaded), key=KEY, lam=settings().lam, selected=gram_on_path(loaded, run), height=HEIGHT,
        on_move=lambda: change_settings(lam=state[KEY]["move"]["lam"]),
        on_choose=lambda: choose_gram(run, state[KEY]["choose"]["gram"]),
    )  # fmt: skip
    found = current_standing()
    if found is not None and found.max_gram != run.max_gram:
        st.caption(
            f"These are the path's phrases, of up to {many(run.max_gram, 'word')}; the other pages show those of the "
            f"last solve, of up to {many(found.max_gram, 'word')}."
        )
    done = len(set(run.lams) & {point.lam for point in run.points})
    if job.active:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Still improving: {done} of {len(run.lams)} λ are certified so far.")
            st.button("Stop", key="stop_first", on_click=stop_job, args=(PATH,), disabled=job.stop.is_set())
        return
    rough = max(point.result.gap for point in run.points)  # where it was stopped before its last pass
    if (done < len(run.lams) or (job.stop.is_set() and rough > run.settings.tol)) and job.key == path_key():
        with st.container(horizontal=True, vertical_alignment="center"):
            within = f", to {gap_text(rough)} at worst" if done == len(run.lams) else ""
            st.caption(f"Stopped: {done} of {len(run.lams)} λ are certified{within}.")
            _go_on()
    if run.stages or run.film is not None:
        film = st.expander("How it was found: ζ from 0 to 1", key="first_stages", on_change="rerun")
        if film.open:
            if run.film is not None and run.corpus is not None and not run.stages:
                run.first, run.stages = read_stages(run.film, run.corpus)
            with film:
                draw_scrubber(run.model(run.points.nearest(run.first).lam), loaded.corpus, run.stages)


def _go_on() -> None:
    if st.button("Go on", key="go_on_first", on_click=explore):
        st.rerun()  # the whole page: this part of it is of the job that has ended


def _shown(run: PathRun, loaded: LoadedCorpus) -> LiveDocuments:
    """The documents, which stay the same while points come in, with all that is said of them; kept for the session
    until there are other points."""
    state = st.session_state
    if state.get("first_of") is not run:
        state.first_of, state.first_documents = run, telling_documents(run, SHOWN, settings().lam)
        state.first_points = None
    known = state.first_points
    if known is None or known[0] is not run.points:
        one = "review" if loaded.id == SAMPLE else "document"
        found = live_points(run, loaded.corpus, state.first_documents, one=one, most=MOST, meta=False)
        known = state.first_points = (run.points, found)
    return known[1]


def _draw_solver(run: PathRun, loaded: LoadedCorpus, job: Job) -> None:
    """The homotopy, or the guided solver, and what it does to the text."""
    queue_notes(job)
    if BOARD.place(job):
        return
    picture, row = run.picture, job.rows[-1] if job.rows else None
    if row is None:
        st.caption("Looking for every phrase of the corpus …")
        return
    proved = f", proved so far: within {gap_text(row['gap'])}" if math.isfinite(row["gap"]) else ""
    st.markdown(f"Looking for the cheapest pieces: **{plain(row['stage'])}**{proved}")
    chart, text = st.columns([3, 2], gap="medium")
    with chart:
        live_trace_chart(
            rows=None, stream_url=stream_url(job), key=f"first_chart_{job.id}", zeta=run.by_homotopy,
            phase=PHASES["relay" if run.by_homotopy else "guided"], height=HEIGHT - 90,
        )  # fmt: skip
    if picture is not None and run.corpus is not None:
        documents = list(range(min(SHOWN, len(loaded.corpus))))
        views, grams = stage_view(run.corpus, loaded.corpus, documents, picture.cover, picture.weights, most=MOST)
        with text:
            text_view(views, grams=grams, key="first_picture", height=HEIGHT, counted="occurs")
