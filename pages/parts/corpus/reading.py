"""Reading beside the page: a corpus is read, cut into words and counted in a thread of its own, with its progress, so
that no script run waits for it; then it becomes the session's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import streamlit as st

from cflengine.engine import Stopped, Watch, go_on
from cflengine.text import CorpusError, reading_watched
from pages.parts.shared.choosing import choose_corpus
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.guard import whole
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.settings import Settings
from pages.parts.shared.state import READ, active_jobs, hold_jobs, keep_path, look_after
from pages.parts.shared.words import plain

PATIENCE_S = 1.0  # what is read within that needs no progress


@dataclass(frozen=True)
class Reading:
    """What was read. run, settings, kept: of a project, its certified path, the settings it was left with, and what the
    session takes over, by its names there."""

    loaded: LoadedCorpus
    run: PathRun | None = None
    settings: Settings | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


def choose(read: Callable[[Watch], Reading], name: str, total: int = 0) -> NoReturn:
    """Read a corpus and make it the session's (:func:`begin_reading`). Ends the script run and begins another."""
    begin_reading(read, name, total)
    st.rerun()


def begin_reading(read: Callable[[Watch], Reading], name: str, total: int = 0) -> None:
    """Read a corpus, which the next script run makes the session's; where that takes long, the page Corpus shows how
    far it is.

    total: the bytes of the file, 0 where they are not known.
    """
    state = st.session_state
    before = BOARD.get(state.get(f"{READ}_id"))
    if before is not None:
        before.stop.set()
    state.reading_error = ""
    job = Job(name, (state.corpus_id, READ), lambda job: _work(job, read))
    job.so_far = Watch(job.poll)
    job.so_far.begin("reading", "bytes", total)
    state[f"{READ}_id"] = job.id
    look_after(job)
    hold_jobs()
    thread = BOARD.start(job)
    with st.spinner("Reading and counting …"):
        thread.join(PATIENCE_S)


def _work(job: Job, read: Callable[[Watch], Reading]) -> Reading:
    try:
        with reading_watched(job.so_far):
            found = read(job.so_far)
        go_on(job.poll)
        found.loaded.count(job.so_far)
        go_on(job.poll)
    except Stopped:
        raise CorpusError("Reading was stopped; the corpus from before is still here.") from None
    if found.loaded.table.n_tokens == 0:
        raise CorpusError("This corpus holds no token: nothing could be compressed.")
    return found


@whole
def take_read() -> None:
    """What was read since the last script run, as the session's corpus; one sentence where it could not be."""
    state = st.session_state
    job = BOARD.get(state.get(f"{READ}_id"))
    if job is None or job.active:
        return
    state[f"{READ}_id"] = None
    if job.state == FAILED:
        job.passing = True
        state.update(reading_error=job.error, notice=job.error, path_read=None)
        return
    found: Reading | None = job.result
    job.result, job.passing = None, True  # it is the session's from here on
    if found is None:  # another tab with the same address has taken it
        return
    if found.run is not None:
        keep_path(found.loaded, found.run)
    if found.settings is not None:
        state.project_settings = (found.loaded.id, {"settings": found.settings, **found.kept})
    state.update(reading_error="", ask_column=False)
    take_corpus(found.loaded)


def take_corpus(loaded: LoadedCorpus) -> None:
    """Make it the session's corpus, unless that would stop what runs: then the user is asked."""
    if loaded.id != st.session_state.corpus_id and any(not job.stop.is_set() for job in active_jobs()):
        st.session_state.pending_corpus = loaded.id
    else:
        choose_corpus(loaded)


def draw_reading() -> None:
    """How far the reading is, and Stop; nothing where nothing is read."""
    job = BOARD.get(st.session_state.get(f"{READ}_id"))
    if job is not None and job.active:
        st.fragment(_reading, run_every=0.3)(job.id)


def _reading(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    watch: Watch = job.so_far
    with st.container(horizontal=True, vertical_alignment="center"):
        share = watch.fraction
        st.progress(0.0 if math.isnan(share) else share, text=f"{plain(job.label)}: {watch}")
        st.button("Stop", key="stop_reading", on_click=job.stop.set, disabled=job.stop.is_set())
    rerun_at_end(job)
