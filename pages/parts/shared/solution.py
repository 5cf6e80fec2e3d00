"""What pages show: the best certified result for the session's corpus at its λ, and how good it is; while there is
none, what they wait for."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from cflengine import CompressiveFeatures
from cflengine.compression import PathPoint
from cflengine.text import Phrasebook
from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.state import PATH, current_job, explore, finished_job, settings, shown_path
from pages.parts.shared.words import gap_words, plain


@dataclass(frozen=True)
class Solution:
    """What pages show. id: of this very result, for keys; improving: whether the solver is still at work on it."""

    id: str
    model: CompressiveFeatures
    improving: bool = False


def _shown() -> tuple[Job | None, PathPoint | None]:
    """The job whose result is shown, and if it is the path's, the point; no job where there is none: a solve that ended
    is shown at its own λ, unless the path has a better solution there, else the path, where any λ that is certified
    already opens every page."""
    own, path = _own_solve(), shown_path()
    points = path.so_far.points if path is not None else ()
    if not points:
        return finished_job(), None
    point = points.nearest(settings().lam)
    if own is None or _is_better(point, path.so_far.max_gram, own.result):
        return path, point
    return own, None


def _own_solve() -> Job | None:
    """The last solve that ended, where it is of the session's λ."""
    solve = finished_job()
    return solve if solve is not None and solve.result.lam == settings().lam else None


def _is_better(point: PathPoint, max_gram: int, model: CompressiveFeatures) -> bool:
    """Than a solution of the same problem: cheaper, or as cheap with a smaller gap."""
    if (point.lam, max_gram, None) != (model.lam, model.max_gram, model.plain_cost):
        return False
    return (point.result.objective, point.result.gap) < (model.result_.objective, model.result_.gap)


def solve_solution() -> Solution | None:
    """What the session's last solve ended with, whatever λ is chosen by now and the path has there."""
    job = finished_job()
    return None if job is None else Solution(job.id, job.result)


def is_surpassed(job: Job) -> bool:
    """Whether a solve that ended is not what pages show at its own λ, since the path has better there."""
    return job is _own_solve() and _shown()[0] is not job


def current_solution() -> Solution | None:
    """The best certified result for the session's corpus at its λ."""
    job, point = _shown()
    if job is None or point is None:
        return None if job is None else Solution(job.id, job.result)
    known = st.session_state.get("solution")
    if known is None or known[0] is not point or known[1].improving != job.active:
        model = known[1].model if known is not None and known[0] is point else job.so_far.model(point.lam)
        digest = hashlib.blake2b(point.result.cover.data, digest_size=8).hexdigest()
        known = st.session_state.solution = (point, Solution(f"{job.id}:{point.lam:g}:{digest}", model, job.active))
    return known[1]


def phrasebook(model: CompressiveFeatures, texts: Sequence[str]) -> Phrasebook:
    """Of all K-grams of a model's index, as the texts spell them; kept while pages show that model."""
    known = st.session_state.get("phrasebook")
    if known is None or known[0] is not model.index_:
        known = st.session_state.phrasebook = (model.index_, Phrasebook(texts, model.table_, model.index_))
    return known[1]


@dataclass(frozen=True)
class Standing:
    """How good what is shown is: lam, where it was found; gap, proved; improving: whether the solver is at work;
    optimal: proved."""

    lam: float
    max_gram: int
    gap: float
    improving: bool
    optimal: bool


def current_standing() -> Standing | None:
    """Of :func:`current_solution`, which need not be made for it."""
    job, point = _shown()
    if job is None:
        return None
    if point is None:
        model = job.result
        return Standing(model.lam, model.max_gram, model.duality_gap_, False, model.result_.optimal)
    return Standing(point.lam, job.so_far.max_gram, point.result.gap, job.active, point.result.optimal)


def path_lams_here() -> list[float]:
    """The λ of the path on show that are certified, rising."""
    path = shown_path()
    return [point.lam for point in path.so_far.points] if path is not None else []


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
    job, solve = current_job(PATH), current_job()
    if job is not None and job.active:
        st.fragment(_waiting, run_every=0.5)(job.id)
        return
    if solve is not None and solve.active:  # of shards, where there is no path: nothing can be read before its end
        st.fragment(_solving, run_every=1.0)(solve.id)
        return
    if job is not None and job.state == FAILED:
        st.error(plain(job.error))
    st.info("Nothing is compressed yet.")
    st.button("Compress it", type="primary", on_click=explore, key="gate_explore")


def _solving(job_id: str) -> None:
    """Until a solve ends that shows nothing before."""
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    gap = job.rows[-1]["gap"] if job.rows else math.nan
    proved = f", proved so far: within {gap_words(gap)} of the best" if math.isfinite(gap) else ""
    st.info(
        f"The corpus is being compressed{proved}. It can be read here when that has ended, or once you stop it on "
        "**Watch the solver**."
    )
    rerun_at_end(job)


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
