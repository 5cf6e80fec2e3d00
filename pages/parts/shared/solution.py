"""What pages show: the best certified result for the session's corpus at its λ, and how good it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from cflengine import CompressiveFeatures
from pages.parts.shared.state import PATH, current_job, finished_job, settings


@dataclass(frozen=True)
class Solution:
    """What pages show. id: of this very result, for keys; improving: whether the solver is still at work on it."""

    id: str
    model: CompressiveFeatures
    improving: bool = False


def current_solution() -> Solution | None:
    """The best certified result for the session's corpus at its λ: of a solve that ended, else of the path, where any
    λ that is certified already opens every page."""
    solve, path = finished_job(), current_job(PATH)
    points = path.so_far.points if path is not None else ()
    if solve is not None and (not points or solve.result.lam == settings().lam):
        return Solution(solve.id, solve.result)
    if not points:
        return None
    assert path is not None
    point = points.nearest(settings().lam)
    known = st.session_state.get("solution")
    if known is None or known[0] is not point or known[1].improving != path.active:
        model = known[1].model if known is not None and known[0] is point else path.so_far.model(point.lam)
        marks = hashlib.blake2b(point.result.marks.data, digest_size=8).hexdigest()
        known = st.session_state.solution = (point, Solution(f"{path.id}:{point.lam:g}:{marks}", model, path.active))
    return known[1]


@dataclass(frozen=True)
class Standing:
    """How good what is shown is: lam, where it was found; gap, proved; improving: whether the solver is at work."""

    lam: float
    max_gram: int
    gap: float
    improving: bool


def current_standing() -> Standing | None:
    """Of :func:`current_solution`, which need not be made for it."""
    solve, path = finished_job(), current_job(PATH)
    points = path.so_far.points if path is not None else ()
    if solve is not None and (not points or solve.result.lam == settings().lam):
        return Standing(solve.result.lam, solve.result.max_gram, solve.result.duality_gap_, False)
    if not points:
        return None
    assert path is not None
    point = points.nearest(settings().lam)
    return Standing(point.lam, path.so_far.max_gram, point.result.gap, path.active)


def path_lams_here() -> list[float]:
    """The λ of the session's path that are certified, rising."""
    path = current_job(PATH)
    return [point.lam for point in path.so_far.points] if path is not None else []


def current_model() -> CompressiveFeatures | None:
    """The model of :func:`current_solution`."""
    found = current_solution()
    return found.model if found is not None else None
