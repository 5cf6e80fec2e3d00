"""The controls of a solve, and its numbers while it runs."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import streamlit as st

from cflengine.compression import SOLVERS, ExactSettings, enough_shards, estimated_seconds, needed_bytes
from cflengine.engine import fits, format_bytes
from pages.parts.shared.asking import COMPILED_ONCE, STOPPING
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.keys import RUN
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.settings import LAMBDAS
from pages.parts.shared.state import (
    change_settings,
    current_corpus,
    current_job,
    ended_jobs,
    is_stale,
    run_solver,
    settings,
    solve_settings,
    stop_job,
)
from pages.parts.shared.words import at_least, duration, gap_text, many, number, plain

_RELAXATIONS = {"as in the paper": None, "proved to 1 %": 1e-2, "proved to 0.1 %": 1e-3, "proved to 0.01 %": 1e-4}
_SLOW_S = 8.0  # without an event: where all is compiled, most corpora have one before
_GAPS = (0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 0.0)

#: The solvers that can run here; the exact one needs a package that is not required.
SOLVERS_HERE = tuple(name for name in SOLVERS if name != "exact" or find_spec("highspy"))

LESS_IS_OPEN = (
    "No dictionary of phrases of up to K words is cheaper: the best cost and the proved bound are closer together "
    "than two different costs can be."
)

#: Those that can race each other: what fits into memory is only slower in shards.
RACED = tuple(name for name in SOLVERS_HERE if name not in ("relay", "sharded"))

#: What they are called on pages.
TITLES = {
    "guided": "guided",
    "homotopy": "homotopy",
    "reweighting": "reweighting",
    "relay": "homotopy, then guided",
    "sharded": "guided, in shards",
    "exact": "exact",
}

#: What is written into the chart where a solver's relaxation is solved.
PHASES = {
    "guided": "search from here",
    "homotopy": "ζ > 0 from here",
    "relay": "ζ > 0 from here|guided search from here",
    "reweighting": "reweighted from here",
    "sharded": "search from here",
    "exact": "branch and cut from here",
}


def lam_slider(*, disabled: bool = False) -> None:
    """λ, where one λ is solved."""
    st.select_slider(
        "λ, the price of a use",
        sorted({*LAMBDAS, settings().lam}),
        value=settings().lam,
        format_func=lambda value: f"{value:g}",
        key="widget_lam",
        on_change=_take("lam", "widget_lam"),
        help="0 keeps single words, since uses (pointers) are free. High values store long phrases.",
        disabled=disabled,
    )


def gram_slider(*, disabled: bool = False) -> None:
    """K."""
    st.session_state.widget_k = settings().max_gram
    st.slider(
        "K, words of the longest phrase",
        1,
        8,
        key="widget_k",
        on_change=_take("max_gram", "widget_k"),
        disabled=disabled,
    )


BUTTONS = 320  # pixels for both, in a row of fields: less, and they stand one above the other


def run_and_stop(
    job: Job | None, run: Any, stop: Any, *, label: str = "Run", disabled: bool = False, key: str = "", width: int = 220
) -> None:
    """The two buttons, at the end of a row of controls; run, stop: their callbacks; key: where a page has two pairs;
    width: pixels for both, enough for a short label; BUTTONS for a longer one."""
    busy = job is not None and job.active
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", width=width):
        st.button(
            label, type="primary", on_click=run, disabled=busy or disabled, width="stretch", key=f"run{key}",
            shortcut=None if key else RUN,
        )  # fmt: skip
        st.button(
            "Stop",
            on_click=stop,
            disabled=not busy or job.stop.is_set(),
            width="stretch",
            key=f"stop{key}",
            help="Keeps what has been found so far.",
        )


def invite(button: str, purpose: str) -> None:
    """What to press where nothing was run yet; ``purpose`` says what for, with {} where the corpus comes."""
    loaded = current_corpus()
    sizes = f"{many(len(loaded.corpus), 'document')}, {many(loaded.table.n_tokens, 'token')}"
    st.info(f"Press **{button}** to {purpose.format(f'{plain(loaded.corpus.name)} ({sizes})')}.")


def draw_controls() -> bool:
    """λ, K, Run and Stop in one row where they fit; the solver and its settings folded away. Whether Run would run: not
    where the corpus is too large for the chosen solver, for which there then are shards."""
    job, chosen = current_job(), solve_settings()
    busy = job is not None and job.active
    needed, refused = too_many_bytes(), _too_many_pointers() if chosen.solver == "exact" else ""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=440):
            lam_slider(disabled=busy)
        with st.container(width=220):
            gram_slider(disabled=busy)
        run_and_stop(job, run_solver, stop_job, disabled=bool(needed or refused))
    if is_stale() and not job.active:
        st.caption("⚠ The settings have changed since the last run; what is below belongs to the old ones.")
    if needed:
        _offer_shards(needed)
    elif refused:
        st.warning(refused)
    elif settings().solver in (None, "guided", "relay") and not _is_quick():
        _open_choice(str(chosen.solver))
    with st.expander(f"Solver: {TITLES[str(chosen.solver)]}", key="solver_settings"):
        _solver_settings()
    return not (needed or refused)


def _too_many_pointers() -> str:
    """Why the exact solver would refuse the corpus; empty where it would not."""
    lengths, most = np.diff(current_corpus().table.segment_ptr), ExactSettings().max_pointers
    n = int(sum(np.maximum(lengths - k, 0).sum() for k in range(settings().max_gram)))
    too_many = f"The exact solver is for small corpora: this one has {n:,} pointers, and it takes {most:,} at most."
    return "" if n <= most else f"{too_many} Take another solver, a smaller K or fewer documents."


def too_many_bytes() -> int:
    """What the chosen solver takes of the corpus where that is more than is free, 0 where it fits, or where the solver
    is at work."""
    solver, job = str(solve_settings().solver), current_job()
    if solver == "sharded" or (job is not None and job.active):
        return 0
    needed = needed_bytes(*_sizes(), solver)
    return 0 if fits(needed) else needed


def _sizes() -> tuple[int, int, int]:
    """Tokens, K, tokens of the longest document."""
    table = current_corpus().table
    return table.n_tokens, settings().max_gram, int(np.diff(table.segment_ptr).max(initial=0))


def _offer_shards(needed: int) -> None:
    """In how many shards the corpus fits into memory, and how long that takes."""
    enough = enough_shards(*_sizes())
    too_much = f"In one piece this corpus takes about {format_bytes(needed)} of memory, more than is free."
    if enough is None:
        st.warning(f"{too_much} Take a smaller K, or fewer documents.")
        return
    shards, in_shards = enough
    minutes = duration(estimated_seconds(settings().max_gram * current_corpus().table.n_tokens, "sharded"))
    said, button = st.columns([5, 2], vertical_alignment="center")
    said.warning(
        f"{too_much} In {shards} shards, which wait on disk, it takes {format_bytes(in_shards)}, and about {minutes} "
        "to a proved gap of 1 %."
    )
    button.button(
        f"Solve in {shards} shards", on_click=_solve_in_shards, args=(shards,), width="stretch", key="solve_in_shards",
        type="primary",
    )  # fmt: skip


def _solve_in_shards(shards: int) -> None:
    change_settings(solver="sharded", shards=shards)
    run_solver()


def _is_quick() -> bool:
    """Whether the homotopy takes so little by estimate that it is run unasked."""
    return replace(settings(), solver=None).for_tokens(current_corpus().table.n_tokens).solver == "relay"


def _open_choice(chosen: str) -> None:
    """Which solver, where the homotopy would take long: users should not wait for it unasked."""
    n_pointers = settings().max_gram * current_corpus().table.n_tokens
    homotopy, guided = (duration(estimated_seconds(n_pointers, name)) for name in ("homotopy", "guided"))
    st.radio(
        "How to solve this corpus",
        ["guided", "relay"],
        index=["guided", "relay"].index(chosen),
        format_func={
            "guided": f"Guided: proved to one per cent in about {guided}, then better",
            "relay": f"The homotopy first, to watch it (about {homotopy}), then guided",
        }.__getitem__,
        key=f"widget_how_{chosen}",  # the solver may be chosen below as well
        on_change=_take("solver", f"widget_how_{chosen}"),
    )


def _solver_settings() -> None:
    chosen = solve_settings()
    st.segmented_control(
        "Solver", SOLVERS_HERE, default=chosen.solver, required=True, key="widget_solver", label_visibility="collapsed",
        format_func=TITLES.__getitem__, on_change=_take("solver", "widget_solver"),
    )  # fmt: skip
    st.caption(f"{SOLVERS[chosen.solver].summary.capitalize()}.")
    own, limit = st.columns([2, 1])
    with own:
        if chosen.solver in ("guided", "relay", "sharded"):
            _guided_settings()
        if chosen.solver == "sharded":
            st.number_input(
                "Shards, which wait on disk", 2, 64, value=chosen.shards, key="widget_shards",
                on_change=_take("shards", "widget_shards"),
                help="Documents are cut into so many parts, of which one is worked on at a time: memory goes with the "
                "largest. A corpus that fits into memory is solved sooner in one piece.",
            )  # fmt: skip
        if chosen.solver in ("homotopy", "relay"):
            _homotopy_settings()
        elif chosen.solver == "reweighting":
            st.number_input(
                "Rounds of reweighting, at most", 1, 100, value=chosen.rounds, key="widget_rounds",
                on_change=_take("rounds", "widget_rounds"),
                help="The rounds end sooner when the solution is binary, or when three of them found nothing better.",
            )  # fmt: skip
    limit.number_input(
        "Time limit in seconds (0: none)", 0.0, 86400.0, value=chosen.time_limit or 0.0, step=10.0, format="%g",
        key="widget_limit", on_change=lambda: change_settings(time_limit=st.session_state.widget_limit or None),
    )  # fmt: skip
    _plain_words()


def _plain_words() -> None:
    """External Macro Data Compression (§3.2), and what a word then costs."""
    chosen = settings()
    on = st.toggle(
        "Single words stand in the text as they are, and need no entry", value=chosen.plain_cost is not None,
        key="widget_plain",
        on_change=lambda: change_settings(plain_cost=1.0 if st.session_state.widget_plain else None),
        help="External macro data compression (§3.2): phrases alone are stored, and words cost nothing to store. Holds "
        "for runs on this page; the λ-path keeps words as entries.",
    )  # fmt: skip
    if on:
        cost = 1.0 if chosen.plain_cost is None else chosen.plain_cost
        st.number_input(
            "What a word in the text costs", 0.0, 1e6, value=cost, step=0.5, format="%g", width=260,
            key="widget_plain_cost", on_change=_take("plain_cost", "widget_plain_cost"),
        )  # fmt: skip


def _guided_settings() -> None:
    gap = settings().gap
    st.select_slider(
        "Stop when the gap is proved to be at most",
        _GAPS,
        value=min(_GAPS, key=lambda choice: abs(choice - gap)),
        format_func=lambda value: f"{100 * value:g} %" if value else "0 %: search on",
        key="widget_gap",
        on_change=_take("gap", "widget_gap"),
        help="0 %: until the search brings nothing any more. Some gap remains: the bound is that of a relaxation.",
    )


def _homotopy_settings() -> None:
    chosen = settings()
    steps, precision, last = st.columns(3)
    last.select_slider(
        "Last ζ", [i / 10 for i in range(11)], value=chosen.last_zeta, format_func=lambda value: f"{value:.1f}",
        key="widget_last_zeta", on_change=_take("last_zeta", "widget_last_zeta"),
        help="1: on to a solution in which every pointer is in or out. 0: the relaxation alone.",
    )  # fmt: skip
    steps.number_input(
        "Steps at each ζ > 0, at most",
        1,
        2000,
        value=chosen.stage_iterations,
        key="widget_steps",
        on_change=_take("stage_iterations", "widget_steps"),
        help="The paper takes 150. ζ rises by 0.1 earlier if the residuals are small.",
    )
    names = list(_RELAXATIONS)
    current = next((name for name, gap in _RELAXATIONS.items() if gap == chosen.relaxation_gap), names[0])
    precision.selectbox(
        "Relaxation (ζ = 0) solved",
        names,
        index=names.index(current),
        key="widget_precision",
        on_change=lambda: change_settings(relaxation_gap=_RELAXATIONS[st.session_state.widget_precision]),
        help="The paper's residuals are strict; a proved gap ends the first stage much earlier on large corpora.",
    )


def _take(name: str, widget: str) -> Any:
    """A callback that makes a widget's value a setting."""
    return lambda: change_settings(**{name: st.session_state[widget]})


def live_numbers(job: Job) -> None:
    """Cost, bound, gap and progress; ticks while the job is active and reruns the page once at its end."""
    st.fragment(_numbers, run_every=0.5 if job.active else None)(job.id)


def _numbers(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    row = job.rows[-1] if job.rows else {}
    result = getattr(job.result, "result_", None)
    best = result.objective if result else row.get("best", math.nan)
    bound = result.lower_bound if result else row.get("bound", math.nan)
    gap = result.gap if result else row.get("gap", math.nan)
    metrics = [
        ("Best cost", number(best), "What all pointers cost, and the dictionary."),
        ("Proved bound", at_least(bound), "No dictionary of phrases of up to K words is cheaper."),
        ("Gap, proved", "optimal", LESS_IS_OPEN) if result and result.optimal else ("Gap, proved", gap_text(gap)),
    ]
    if result:
        if math.isfinite(result.unverified_bound):
            said = (
                "What HiGHS's branch and bound says is proved, to its tolerances: not recomputed, no part of the gap."
            )
            metrics.append(("HiGHS's bound", number(result.unverified_bound), said))
        metrics += [("K-grams kept", number(result.dictionary_size)), ("Pointers", number(result.n_pointers))]
    else:
        metrics += [("Stage", job.stage or row.get("stage", "–")), ("Step", f"{row.get('i', 0):,}")]
    metric_row(metrics)
    queue_notes(job)
    rerun_at_end(job)


def queue_notes(job: Job) -> None:
    """What a job that shows nothing yet is waiting for."""
    if waits := BOARD.place(job):
        st.caption(waits)
    elif job.active and job.stop.is_set():
        st.caption(STOPPING)


def rerun_at_end(job: Job) -> None:
    """One rerun of the whole page when a job has ended, however many fragments watch it."""
    if not job.active and job.id not in ended_jobs():
        ended_jobs().add(job.id)
        st.rerun()


def draw_stage(job: Job, *, shown: bool = False) -> None:
    """What a job does at the moment; reruns the page at its end, and when what it has so far is ``ready`` to be shown;
    shown: whether the page shows it already."""
    st.fragment(_stage, run_every=0.5)(job.id, shown)


def _stage(job_id: str, shown: bool) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    slow = not job.rows and job.began is not None and time.monotonic() - job.began > _SLOW_S
    st.caption(f"{plain(job.so_far.stage)} …{f' {COMPILED_ONCE}' if slow else ''}")
    if not shown and getattr(job.so_far, "ready", False):
        st.rerun()
    rerun_at_end(job)


def draw_waiting(job: Job, before: str) -> None:
    """What a job that is on its way waits for, ``before`` its first event; reruns the page at its end."""
    st.fragment(_waiting, run_every=0.4)(job.id, before)


def _waiting(job_id: str, before: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    if not job.rows:
        st.caption(before)
    rerun_at_end(job)
