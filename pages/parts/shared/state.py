"""What a session is about: a corpus, the settings, its jobs; kept across pages and in the address.

``st.session_state`` holds them under names that belong to no widget, since Streamlit forgets a widget's value
when its page is left. The address's query mirrors them, so a link or a reload brings them back (a corpus that
was uploaded, and a job's result, as long as this server runs).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import streamlit as st

from cflengine import (
    CompressiveFeatures,
    GuidedSettings,
    warm_up,
)
from cflengine.compression import nearest_lam, path_lams
from cflengine.engine import Watch
from pages.parts.shared import corpora
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.guard import whole
from pages.parts.shared.jobs import BOARD, DONE, KEEP_BYTES, Job, held_bytes
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.settings import Settings, in_digits, settings_from

# what a session may have a job of, each by its name in the address; its id stands under name + "_id" in the session
SOLVE, RACE, PATH, TELLING, WEIGHTS, TAGGER, LOSS = "job", "race", "path", "telling", "weights", "tagger", "loss"
#: tokens at most, and the λ of a path where none was chosen
USUAL_LAMS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (300_000, (0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)),
    (3_000_000, (0.1, 0.3, 1.0, 2.0, 4.0)),
    (30_000_000, (0.3, 1.0, 3.0)),
    (1 << 62, (1.0,)),
)
SAMPLE_JOB = "sample"  # the id of the shipped λ-path
OPENED = "opened"  # in the key of a path that came with a project
TASKS, EMBED, TRAIN, COMPARE = "tasks", "embeddings", "training", "compare"  # "embed" is Streamlit's own name
BOILERPLATE, NAMES, READ, SUBWORDS, WORD_LIST = "boilerplate", "names", "reading", "subwords", "wordlist"
KINDS = (
    SOLVE, RACE, PATH, TELLING, WEIGHTS, TAGGER, LOSS, TASKS, EMBED, TRAIN, COMPARE, BOILERPLATE, NAMES, READ, SUBWORDS,
    WORD_LIST,
)  # fmt: skip


#: where the ids of further jobs stand, of what pages show beside
_BESIDE = ("loss_race", "weights_ties", "comparison_solve", "comparison_path", "simulation_job")


def _orphan(job_ids: list[str]) -> None:
    BOARD.release(id(job_ids))
    for job_id in job_ids:
        job = BOARD.get(job_id)
        if job is not None and job.active:
            job.orphaned_at = time.monotonic()


@st.cache_resource(scope="session", on_release=_orphan, show_spinner=False)
def _session_jobs() -> list[str]:
    """The jobs this session looks after; released when its tab closes."""
    return []


@cache
def sample_job() -> Job:
    """The sample's λ-path as it is shipped, checked and certified anew; listed as long as the server runs."""
    loaded = corpora.recall(corpora.SAMPLE)
    assert loaded is not None
    run = PathRun.kept(corpora.SAMPLE_PATH, loaded.table, corpora.SAMPLE_MAX_GRAM, loaded.corpus.texts)
    run.film = corpora.SAMPLE_FILM
    job = _done(loaded.corpus.name, (corpora.SAMPLE, PATH, "shipped"), run, id=SAMPLE_JOB)
    BOARD.keep(job)
    return job


@whole
def start_session() -> None:
    """Read the address once, then keep it in step with the session."""
    state = st.session_state
    if "settings" not in state:
        query = st.query_params
        state.settings = settings_from(query)
        state.corpus_id = query.get("corpus", corpora.SAMPLE)
        state.update({f"{kind}_id": query.get(kind) for kind in KINDS})
        state.notice = ""
        if corpora.recall(state.corpus_id) is None:
            state.notice = "The corpus in this link is not on this server (any more); here is the sample instead."
            state.corpus_id = corpora.SAMPLE
            state.update({f"{kind}_id": None for kind in KINDS})
    for name in [f"{kind}_id" for kind in KINDS]:
        if state[name] and BOARD.get(state[name]) is None:
            state[name] = None
        if name == f"{PATH}_id" and not state[name] and state.corpus_id == corpora.SAMPLE:
            state[name] = sample_job().id
        job = BOARD.get(state[name])
        if job is not None and job.id not in _session_jobs():
            _session_jobs().append(job.id)
        if job is not None and not job.active:
            ended_jobs().add(job.id)
    hold_jobs()
    write_query()


def hold_jobs() -> None:
    """What the session shows is not forgotten, however much is done here and in other tabs."""
    state = st.session_state
    shown = [state[f"{kind}_id"] for kind in KINDS] + [state.get("finished_id"), state.get("earlier_path")]
    shown += [state.get("opened_path", ("", ""))[1], *(state.get(name) for name in _BESIDE)]
    there: list[Job] = []
    for left in left_corpora():
        there += [job for job_id in left.jobs.values() if (job := BOARD.get(job_id)) is not None]
        if held_bytes(there) > KEEP_BYTES // 2:  # the results of corpora that were left must not fill the memory
            break
        shown += [job.id for job in there]
    BOARD.hold(id(_session_jobs()), [job_id for job_id in shown if job_id])


def ended_jobs() -> set[str]:
    """Jobs whose end this session's page has drawn, or draws now: those that ended before a run of the script began
    need no other run."""
    return st.session_state.setdefault("ended_jobs", set())


def write_query() -> None:
    state, settings, default = st.session_state, st.session_state.settings, Settings()
    wanted = {
        "corpus": state.corpus_id if state.corpus_id != corpora.SAMPLE else None,
        "lam": in_digits(settings.lam) if settings.lam != default.lam else None,
        "k": str(settings.max_gram) if settings.max_gram != default.max_gram else None,
        "weighting": settings.weighting if settings.weighting != default.weighting else None,
        "counting": settings.counting if settings.counting != default.counting else None,
        "temperature": f"{settings.temperature:g}" if settings.temperature != default.temperature else None,
        "solver": settings.solver if settings.solver != default.solver else None,
    }
    wanted |= {kind: state[f"{kind}_id"] for kind in KINDS}
    if wanted[PATH] == SAMPLE_JOB:
        wanted[PATH] = None
    for name, value in wanted.items():
        if value is None:
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != value:
            st.query_params[name] = value


def settings() -> Settings:
    """The current settings."""
    return st.session_state.settings


def solve_settings() -> Settings:
    """The current settings with the solver that a run of the current corpus would take."""
    return settings().for_tokens(current_corpus().table.n_tokens)


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
    st.session_state.held_corpus = loaded  # as long as the session lives, however many others there are
    return loaded


@dataclass(frozen=True)
class Left:
    """A corpus that the session has turned from: the ids of what was done on it, by their names in the session, and the
    settings of then."""

    corpus_id: str
    jobs: dict[str, str]
    settings: Settings


def left_corpora() -> list[Left]:
    """Corpora that the session has turned from, the last one first, as long as this server has them."""
    lefts = st.session_state.get("left_corpora", [])
    return [left for left in lefts if corpora.recall(left.corpus_id) is not None]


def current_job(kind: str = SOLVE) -> Job | None:
    """The session's job of that kind, if it is about the session's corpus."""
    job = BOARD.get(st.session_state.get(f"{kind}_id"))
    return job if job is not None and job.key[0] == st.session_state.corpus_id else None


def active_jobs() -> list[Job]:
    """What the session has running or queued."""
    jobs = [current_job(kind) for kind in KINDS]
    return [job for job in jobs if job is not None and job.active]


def finished_job() -> Job | None:
    """The last finished solve of the session's corpus: the current one, or the one before it while that runs."""
    job = current_job()
    if job is not None and job.state == DONE:
        return job
    earlier = BOARD.get(st.session_state.get("finished_id"))
    return earlier if earlier is not None and earlier.key[0] == st.session_state.corpus_id else None


def shown_path() -> Job | None:
    """The path whose solutions pages show: the session's, and as long as that has none, the one before it."""
    job = current_job(PATH)
    return job if job is None or job.so_far.points else earlier_path() or job


def earlier_path() -> Job | None:
    """The path that the session's has taken the place of, with its points."""
    job = BOARD.get(st.session_state.get("earlier_path"))
    return job if job is not None and job.key[0] == st.session_state.corpus_id else None


def bring_back_path() -> None:
    """Let the session's path and the one before it change places; K and the range of λ are those it was solved for."""
    state, before, now = st.session_state, earlier_path(), current_job(PATH)
    if before is None:
        return
    lams = before.so_far.lams
    wanted = (lams[0], lams[-1], len(lams))
    state.earlier_path = now.id if now is not None and now.so_far.points else None
    state.update(path_here=None, path_gram=None, path_refine=None, path_wanted=None)
    if len(lams) > 1 and tuple(path_lams(*wanted)) == lams:
        state.path_wanted = wanted
    state[f"{PATH}_id"] = before.id
    change_settings(max_gram=before.so_far.max_gram)
    write_query()


def is_stale() -> bool:
    """Whether the settings have changed since the solve was started."""
    job = current_job()
    return job is not None and job.key != solve_settings().solve_key(st.session_state.corpus_id)


def run_solver() -> None:
    """Start a solve of the current corpus with the current settings."""
    loaded, wanted = current_corpus(), solve_settings()
    before = current_job()
    if before is not None and before.active:
        return
    if before is not None and before.state == DONE:
        st.session_state.finished_id = before.id  # its result stays in view until the new one is there

    def work(job: Job) -> CompressiveFeatures:
        warm_up("guided", "homotopy", str(wanted.solver))
        model = CompressiveFeatures(
            lam=wanted.lam,
            max_gram=wanted.max_gram,
            plain_cost=wanted.plain_cost,
            solver=str(wanted.solver),
            listeners=(job,),
            settings=wanted.solver_settings(),
            **loaded.tokens.parameters,
        )
        job.so_far = Watch()  # not the job's poll: also what is stopped here has a solution to show
        model.fit_tokens(loaded.table, watch=job.so_far)
        model.set_params(listeners=())  # the model outlives the job
        return model

    key = wanted.solve_key(loaded.id)
    start_job(SOLVE, Job(loaded.corpus.name, key, work, solver=str(wanted.solver)))


@whole
def start_job(kind: str, job: Job) -> None:
    """Queue a job as the session's of that kind."""
    st.session_state[f"{kind}_id"] = job.id
    watch_job(job)
    hold_jobs()
    write_query()


def watch_job(job: Job) -> None:
    """Queue a job that ends with the session's tab."""
    look_after(job)
    BOARD.submit(job)


def look_after(job: Job) -> None:
    """Let a job end with the session's tab."""
    _session_jobs().append(job.id)


def wanted_lams() -> tuple[float, ...]:
    """The λ of the session's path: what the user has set, else those of the path that is there, else round ones, the
    fewer the larger the corpus."""
    own, path = st.session_state.get("path_wanted"), current_job(PATH)
    if own is not None and own[0] < own[1]:
        return tuple(path_lams(*own))
    if path is not None and len(path.so_far.lams) > 1:
        return path.so_far.lams
    size = current_corpus().table.n_tokens
    return next(lams for most, lams in USUAL_LAMS if size <= most)


def path_key() -> tuple[Any, ...]:
    """What the session's path depends on."""
    chosen = settings()
    return (st.session_state.corpus_id, PATH, wanted_lams(), chosen.max_gram, chosen.gap)


def explore() -> None:
    """Queue a path over the session's corpus, its own λ first; one of the same settings is gone on with."""
    loaded, chosen, lams = current_corpus(), settings(), wanted_lams()
    now, before = current_job(PATH), shown_path()
    if now is not None and now.active and now.key == path_key():
        return  # asked for already
    run = PathRun(lams, chosen.max_gram, GuidedSettings(tol=chosen.gap), loaded.corpus.texts, loaded.tokens)
    first = nearest_lam(lams, chosen.lam)

    known = before.so_far if before is not None and before.key == path_key() else None

    def work(job: Job) -> PathRun:
        if known is not None:  # not sooner: while the new one waits, the one before is shown
            run.points, run.corpus, run.first, run.stages = known.points, known.corpus, known.first, known.stages
        warm_up("guided", "homotopy")
        run.solve(loaded.table, job, first=first)
        return run

    job = Job(loaded.corpus.name, path_key(), work, solver="path", so_far=run)
    job.gives_way = True
    if before is not None and before.so_far.points:
        st.session_state.earlier_path = before.id
    st.session_state.update(path_here=None, path_gram=None, path_refine=None)
    start_job(PATH, job)


def keep_path(loaded: LoadedCorpus, run: PathRun) -> None:
    """A path that is there already, as the session's once ``loaded`` is chosen."""
    job = _done(loaded.corpus.name, (loaded.id, PATH, OPENED), run)
    BOARD.add(job)
    st.session_state.opened_path = (loaded.id, job.id)
    hold_jobs()  # before another tab's work lets go of it


@whole
def keep_result(kind: str, result: Any) -> None:
    """What needs no work, as the session's of that kind for its corpus: a reload finds it by the address."""
    loaded = current_corpus()
    job = _done(loaded.corpus.name, (loaded.id, kind), result)
    BOARD.add(job)
    st.session_state[f"{kind}_id"] = job.id
    look_after(job)
    hold_jobs()
    write_query()


def _done(name: str, key: tuple[Any, ...], result: Any, **more: Any) -> Job:
    """A job that is nothing but its result; more: what else it is made with."""
    job = Job(name, key, lambda job: result, so_far=result, **more)
    job.result, job.state = result, DONE
    return job


def stop_job(kind: str = SOLVE) -> None:
    """Ask the session's job of that kind to stop; it keeps what it has."""
    job = current_job(kind)
    if job is not None:
        job.end()
