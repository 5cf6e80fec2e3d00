"""What a session is about: a corpus, the settings, the current job; kept across pages and in the address.

``st.session_state`` holds them under names that belong to no widget, since Streamlit forgets a widget's value
when its page is left. The address's query mirrors them, so a link or a reload brings them back (a corpus that
was uploaded, and a job's result, as long as this server runs).
"""

from __future__ import annotations

import gc
import math
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from cflengine import CompressiveFeatures, HomotopySettings, warm_up
from cflengine.compression.features import WEIGHTINGS
from pages.parts import corpora
from pages.parts.corpora import LoadedCorpus
from pages.parts.jobs import BOARD, DONE, Job

LAMBDAS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 50.0)


@dataclass(frozen=True)
class Settings:
    """What the user has set: the model, and how long the solver may take."""

    lam: float = 1.0
    max_gram: int = 3
    weighting: str = "count"
    stage_iterations: int = 150
    relaxation_gap: float | None = None
    time_limit: float | None = None

    def solve_key(self, corpus_id: str) -> tuple[Any, ...]:
        """What a solve depends on: not on the weighting, which only reads its result."""
        return (corpus_id, self.lam, self.max_gram, self.stage_iterations, self.relaxation_gap, self.time_limit)

    def solver(self) -> HomotopySettings:
        return HomotopySettings(
            stage_iterations=self.stage_iterations,
            relaxation_gap=self.relaxation_gap,
            time_limit=self.time_limit,
            keep_stages=True,
        )


@st.cache_resource(show_spinner=False)
def _warm() -> threading.Thread:
    """Compile the engine in the background, once a server, then take what exists out of the collector's hands."""

    def work() -> None:
        warm_up()
        gc.collect()
        gc.freeze()

    thread = threading.Thread(target=work, name="warm-up", daemon=True)
    thread.start()
    return thread


def engine_is_warm() -> bool:
    """Whether every kernel is compiled (a first start takes about half a minute)."""
    return not _warm().is_alive()


def _orphan(job_ids: list[str]) -> None:
    for job_id in job_ids:
        job = BOARD.get(job_id)
        if job is not None and job.active:
            job.orphaned_at = time.monotonic()


@st.cache_resource(scope="session", on_release=_orphan, show_spinner=False)
def _session_jobs() -> list[str]:
    """The jobs this session looks after; released when its tab closes."""
    return []


def start_session() -> None:
    """Read the address once, then keep it in step with the session."""
    _warm()
    state = st.session_state
    if "settings" not in state:
        query = st.query_params
        state.settings = _settings_from(query)
        state.corpus_id = query.get("corpus", corpora.SAMPLE)
        state.job_id = query.get("job")
        state.notice = ""
        if corpora.recall(state.corpus_id) is None:
            state.notice = "The corpus in this link is not on this server (any more); here is the sample instead."
            state.corpus_id, state.job_id = corpora.SAMPLE, None
    if state.job_id and BOARD.get(state.job_id) is None:
        state.job_id = None
    if state.job_id and state.job_id not in _session_jobs():
        _session_jobs().append(state.job_id)
    _write_query()


def _settings_from(query: Any) -> Settings:
    """Settings from an address; what does not parse or is out of range is left at its default."""
    found: dict[str, Any] = {}
    try:
        lam = float(query.get("lam", "nan"))
    except ValueError:
        lam = math.nan  # a link somebody typed
    if 0 <= lam <= LAMBDAS[-1]:
        found["lam"] = min(LAMBDAS, key=lambda choice: abs(choice - lam))
    if query.get("k") in tuple("12345678"):
        found["max_gram"] = int(query["k"])
    if query.get("weighting") in WEIGHTINGS:
        found["weighting"] = query["weighting"]
    return Settings(**found)


def _write_query() -> None:
    state, settings, default = st.session_state, st.session_state.settings, Settings()
    wanted = {
        "corpus": state.corpus_id if state.corpus_id != corpora.SAMPLE else None,
        "lam": f"{settings.lam:g}" if settings.lam != default.lam else None,
        "k": str(settings.max_gram) if settings.max_gram != default.max_gram else None,
        "weighting": settings.weighting if settings.weighting != default.weighting else None,
        "job": state.job_id,
    }
    for name, value in wanted.items():
        if value is None:
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != value:
            st.query_params[name] = value


def settings() -> Settings:
    """The current settings."""
    return st.session_state.settings


def change_settings(**changes: Any) -> None:
    """Replace some settings (for widget callbacks)."""
    st.session_state.settings = replace(st.session_state.settings, **changes)


def current_corpus() -> LoadedCorpus:
    """The session's corpus; the sample if another one has been dropped from memory."""
    loaded = corpora.recall(st.session_state.corpus_id)
    if loaded is None:
        st.session_state.corpus_id = corpora.SAMPLE
        loaded = corpora.recall(corpora.SAMPLE)
        assert loaded is not None  # the sample is always there
    return loaded


def choose_corpus(loaded: LoadedCorpus) -> None:
    """Make ``loaded`` the session's corpus; a running job of another one is stopped."""
    if loaded.id != st.session_state.corpus_id:
        job = current_job()
        if job is not None and job.active:
            job.stop.set()
        st.session_state.job_id = None
    st.session_state.corpus_id = loaded.id
    st.session_state.notice = ""
    _write_query()


def current_job() -> Job | None:
    """The session's job, if it is about the session's corpus."""
    job = BOARD.get(st.session_state.get("job_id"))
    return job if job is not None and job.key[0] == st.session_state.corpus_id else None


def finished_job() -> Job | None:
    """The last finished job for the session's corpus: the current one, or the one before it while that runs."""
    job = current_job()
    if job is not None and job.state == DONE:
        return job
    earlier = BOARD.get(st.session_state.get("finished_id"))
    return earlier if earlier is not None and earlier.key[0] == st.session_state.corpus_id else None


def current_model() -> CompressiveFeatures | None:
    """The last finished model for the session's corpus."""
    job = finished_job()
    return job.result if job is not None else None


def is_stale() -> bool:
    """Whether the settings have changed since the job was started."""
    job = current_job()
    return job is not None and job.key != settings().solve_key(st.session_state.corpus_id)


def run_solver() -> None:
    """Start a solve of the current corpus with the current settings."""
    loaded, wanted = current_corpus(), settings()
    before = current_job()
    if before is not None and before.active:
        return
    if before is not None and before.state == DONE:
        st.session_state.finished_id = before.id  # its result stays in view until the new one is there

    def work(job: Job) -> CompressiveFeatures:
        warm_up()
        model = CompressiveFeatures(
            lam=wanted.lam, max_gram=wanted.max_gram, listeners=(job,), settings=wanted.solver()
        )
        model.fit_tokens(loaded.table)
        model.set_params(listeners=())  # the model outlives the job
        return model

    job = Job(loaded.corpus.name, wanted.solve_key(loaded.id), work, size=loaded.table.n_tokens)
    st.session_state.job_id = job.id
    _session_jobs().append(job.id)
    BOARD.submit(job)
    _write_query()


def stop_solver() -> None:
    """Ask the current job to stop; it keeps its best solution."""
    job = current_job()
    if job is not None:
        job.stop.set()
