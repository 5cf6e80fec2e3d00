"""The controls of a solve, and its numbers while it runs."""

from __future__ import annotations

import math

import streamlit as st

from pages.parts.jobs import BOARD, QUEUED, Job
from pages.parts.metrics import metric_row
from pages.parts.state import (
    LAMBDAS,
    change_settings,
    current_job,
    is_stale,
    run_solver,
    settings,
    stop_solver,
)
from pages.parts.words import many, number, percent

_PRECISION = {"as in the paper": None, "proved to 1 %": 1e-2, "proved to 0.1 %": 1e-3, "proved to 0.01 %": 1e-4}


def draw_controls() -> None:
    """λ, K, Run and Stop in one row; the rest of the solver's settings folded away."""
    job, chosen = current_job(), settings()
    busy = job is not None and job.active
    lam, gram, run, stop = st.columns([5, 3, 1.4, 1.4], vertical_alignment="bottom")
    lam.select_slider(
        "λ, the cost of a pointer",
        LAMBDAS,
        value=chosen.lam,
        format_func=lambda value: f"{value:g}",
        key="widget_lam",
        on_change=lambda: change_settings(lam=st.session_state.widget_lam),
        help="0 keeps single words: pointers are free, only the dictionary costs. High values store long phrases.",
    )
    gram.slider(
        "K, the longest K-gram in words",
        1,
        8,
        value=chosen.max_gram,
        key="widget_k",
        on_change=lambda: change_settings(max_gram=st.session_state.widget_k),
    )
    run.button("Run", type="primary", on_click=run_solver, disabled=busy, width="stretch", key="run")
    stop.button(
        "Stop",
        on_click=stop_solver,
        disabled=not busy or job.stop.is_set(),
        width="stretch",
        key="stop",
        help="Keeps the best solution so far, certified.",
    )
    if is_stale() and not busy:
        st.caption("⚠ The settings have changed since the last run; what is below belongs to the old ones.")
    with st.expander("Solver settings"):
        _solver_settings()


def _solver_settings() -> None:
    chosen = settings()
    steps, precision, limit = st.columns(3)
    steps.number_input(
        "Steps at each ζ > 0, at most",
        1,
        2000,
        value=chosen.stage_iterations,
        key="widget_steps",
        on_change=lambda: change_settings(stage_iterations=st.session_state.widget_steps),
        help="The paper takes 150. ζ rises by 0.1 earlier if the residuals are small.",
    )
    names = list(_PRECISION)
    current = next((name for name, gap in _PRECISION.items() if gap == chosen.relaxation_gap), names[0])
    precision.selectbox(
        "Relaxation (ζ = 0) solved",
        names,
        index=names.index(current),
        key="widget_precision",
        on_change=lambda: change_settings(relaxation_gap=_PRECISION[st.session_state.widget_precision]),
        help="The paper's residuals are strict; a proved gap ends the first stage much earlier on large corpora.",
    )
    limit.number_input(
        "Time limit in seconds (0: none)",
        0.0,
        86400.0,
        value=chosen.time_limit or 0.0,
        step=10.0,
        key="widget_limit",
        on_change=lambda: change_settings(time_limit=st.session_state.widget_limit or None),
    )


def live_numbers(job: Job) -> None:
    """Cost, bound, gap and progress; ticks while the job is active and reruns the page once at its end."""
    st.fragment(_numbers, run_every=0.5 if job.active else None)(job.id)


def _numbers(job_id: str) -> None:
    job = BOARD.get(job_id)
    if job is None:
        return
    job.touch()
    row = job.rows[-1] if job.rows else {}
    result = getattr(job.result, "result_", None)
    best = result.objective if result else row.get("best", math.nan)
    bound = result.lower_bound if result else row.get("bound", math.nan)
    gap = result.gap if result else row.get("gap", math.nan)
    metrics = [
        ("Best cost", number(best), "Pointers × λ plus the dictionary."),
        ("Proved bound", number(bound), "No solution of any kind is cheaper."),
        ("Gap, proved", percent(gap)),
    ]
    if result:
        metrics += [("K-grams kept", number(result.dictionary_size)), ("Pointers", number(result.n_pointers))]
    else:
        metrics += [("ζ", f"{row.get('zeta', 0.0):.1f}"), ("Step", f"{row.get('i', 0):,}")]
    metric_row(metrics)
    if job.state == QUEUED and BOARD.before(job):
        st.caption(f"Queued: {many(BOARD.before(job), 'solve')} before yours.")
    elif job.active and job.stop.is_set():
        st.caption("Stopping: re-encoding and certifying the best solution so far …")
    if not job.active and st.session_state.get("seen_numbers") != job.id:
        st.session_state.seen_numbers = job.id
        st.rerun()
