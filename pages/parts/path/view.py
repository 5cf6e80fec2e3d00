"""The λ-path page: its controls, the path as it grows, and what stands under the slider.

What is chosen stands in the session: ``path_wanted``, (first λ, last λ, how many); ``path_here``, where the slider is
(see :class:`~pages.parts.components.path_chart.PathMove`); ``path_gram``, a K-gram's number in the index, the same all
along the path; ``path_refine``, the id of the job that solves at the slider's λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import Corpus
from cflengine.engine import frame_csv
from pages.parts.components.path_bars import path_bars
from pages.parts.components.path_chart import path_chart
from pages.parts.components.text_view import LITERAL, text_view
from pages.parts.export.files import Shape, draw_files
from pages.parts.read.documents import choose_documents
from pages.parts.shared.concordance import gram_on_path
from pages.parts.shared.controls import BUTTONS, gram_slider, queue_notes, rerun_at_end, run_and_stop
from pages.parts.shared.jobs import BOARD, FAILED, Job, stream_url
from pages.parts.shared.path_run import Here, PathRun
from pages.parts.shared.selection import choose_gram, show_choice
from pages.parts.shared.state import (
    OPENED,
    PATH,
    SAMPLE_JOB,
    bring_back_path,
    change_settings,
    current_corpus,
    current_job,
    earlier_path,
    explore,
    path_key,
    settings,
    stop_job,
    wanted_lams,
    watch_job,
)
from pages.parts.shared.views import stage_view
from pages.parts.shared.words import gap_text, number, plain

LEAST, MOST, MOST_POINTS = 0.001, 1000.0, 40
LISTED, HEIGHT = 20, 330

_COLUMNS = {
    "lam": st.column_config.NumberColumn("λ", format="%.4g"),
    "objective": st.column_config.NumberColumn("cost", format="localized"),
    "lower_bound": st.column_config.NumberColumn("cannot be below", format="localized", help="The proved bound"),
    "gap": st.column_config.NumberColumn("provably within", format="%.3f %%", help="The proved gap"),
    "dictionary_size": st.column_config.NumberColumn("phrases", format="localized", help="K-grams in the dictionary"),
    "n_pointers": st.column_config.NumberColumn("uses", format="localized", help="Pointers"),
    "seconds": st.column_config.NumberColumn("seconds", format="%.1f"),
} | {
    f"{k} w.": st.column_config.TextColumn(alignment="right", help=f"Share of the uses that have {k} words")
    for k in range(1, 9)
}


# ---- controls


def draw_path_controls() -> None:
    """The range of λ, how many, K; Run and Stop."""
    job, state, lams = current_job(PATH), st.session_state, wanted_lams()
    first, last, count = state.get("path_wanted") or (lams[0], lams[-1], max(2, len(lams)))
    state.update(widget_first=first, widget_last=last, widget_count=count)

    def take() -> None:
        state.path_wanted = (state.widget_first, state.widget_last, state.widget_count)

    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        options: dict[str, Any] = {"on_change": take, "disabled": job is not None and job.active}
        st.number_input("First λ", LEAST, MOST, format="%g", key="widget_first", width=130, **options)
        st.number_input("Last λ", LEAST, MOST, format="%g", key="widget_last", width=130, **options)
        st.number_input(
            "How many", 2, MOST_POINTS, key="widget_count", width=100, help="Evenly spaced in ratio.", **options
        )
        with st.container(width=220):
            gram_slider(disabled=options["disabled"])
        run_and_stop(
            job, explore, lambda: stop_job(PATH), label="Run the path", disabled=not first < last, width=BUTTONS
        )
    if not first < last:
        st.caption("⚠ The path goes upwards: the last λ must be above the first.")
    elif job is not None and _settings_changed(job):
        st.caption(f"⚠ The settings have changed since this path was {'begun' if job.active else 'solved'}.")
    before = earlier_path()
    if before is not None and (job is None or not (job.active or (job.key == before.key and job.so_far.points))):
        run: PathRun = before.so_far
        lams = [point.lam for point in run.points]
        st.button(
            f"Bring back the path before: {_lams(lams)}, K = {run.max_gram}",
            key="bring_back", type="tertiary", on_click=bring_back_path, help="This one can be brought back likewise.",
        )  # fmt: skip


def _lams(lams: list[float]) -> str:
    return f"{len(lams)} λ from {lams[0]:g} to {lams[-1]:g}" if len(lams) > 1 else f"λ = {lams[0]:g} alone"


def _settings_changed(job: Job) -> bool:
    """Since it was solved; a path that was brought along, in a project or with the sample, has none of this session."""
    return job.id != SAMPLE_JOB and job.key[2:] != (OPENED,) and job.key != path_key()


# ---- the path and what is under its slider


def draw_path(job: Job) -> None:
    """The chart, as far as the path has come, and under it the text at the slider's λ once it is there.

    A fragment: a move of the slider reruns nothing else. It ticks while the path is being solved.
    """
    st.fragment(_path, run_every=0.5 if job.active else None)(job.id)


def _path(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    show_choice()
    queue_notes(job)
    run: PathRun = job.so_far
    if job.active:
        _progress(job, run)
    if len(run.points) < 2 and (job.active or not run.points):
        path_chart(
            run.points, span=(run.lams[0], run.lams[-1]), key=f"path_{job.id}", working=_working(job), height=HEIGHT
        )
    else:
        _under_the_slider(job, run)
    rerun_at_end(job)


def _progress(job: Job, run: PathRun) -> None:
    if not job.rows:
        return
    row, done = job.rows[-1], len(run.points)
    st.progress(
        min(1.0, done / len(run.lams)),
        text=f"λ = {row['lam']:.3g}: {plain(row['stage'])}, gap {gap_text(row['gap'])}. "
        f"{done} of {len(run.lams)} λ certified{', and being improved' if done >= len(run.lams) else ''}.",
    )


def _working(job: Job) -> float | None:
    """The λ that the path is at."""
    return job.rows[-1]["lam"] if job.active and job.rows else None


def _under_the_slider(job: Job, run: PathRun) -> None:
    """The path, as far as it is known, and the text at the slider's λ."""
    state, key = st.session_state, f"path_{job.id}"
    _agree(run)
    here = run.at(_slider(run))
    solving = _solve_here(run, job) if not job.active else None  # one session solves for both
    gram = gram_on_path(current_corpus(), run)
    path_chart(
        run.points,
        span=(run.lams[0], run.lams[-1]),
        key=key,
        asked=[point.lam for point in run.points if point.lam not in run.lams],
        working=_working(job),
        choices=run.choices,
        lam=here.lam,
        answer=state.get("path_answer", 0),
        gram=None if gram is None else (run.label(gram), [run.count(point, gram) for point in run.points]),
        stream_url=stream_url(solving) if solving is not None else None,
        height=HEIGHT if gram is None else HEIGHT + 80,
        # a λ that was chosen elsewhere since takes the slider's away, not that its message came
        on_move=lambda: state.update(path_here=state[key]["move"], path_answer=state[key]["move"]["n"]),
        on_done=lambda: None,
    )
    _numbers_here(run, here, solving, job.active)
    _text_and_features(run, here, current_corpus().corpus)
    if not job.active:  # a table of features takes a while, and this is drawn twice a second meanwhile
        _take_away(run, here)


def _agree(run: PathRun) -> None:
    """The slider here and the λ of all pages are one: where the slider is let go, the λ of its solution; a λ that was
    chosen elsewhere moves the slider."""
    state, lam = st.session_state, settings().lam
    if state.get("path_lam") not in (None, lam):
        state.path_here = None
    here = state.get("path_here")
    if here and not here["held"]:
        lam = run.at(here["lam"]).point.lam
    state.path_lam = lam
    if lam != settings().lam:
        change_settings(lam=lam)
        st.rerun()  # the bar was drawn before


def _slider(run: PathRun) -> float:
    """The slider's λ; at first the path's own nearest to the one the session solves at."""
    here = st.session_state.get("path_here")
    if here and run.points[0].lam <= here["lam"] <= run.points[-1].lam:
        return here["lam"]
    st.session_state.path_here = None
    return min(run.choices, key=lambda lam: abs(lam - run.points.nearest(settings().lam or LEAST).lam))


def _solve_here(run: PathRun, path: Job) -> Job | None:
    """The job that solves at the λ where the slider was let go, started if there is anything to gain; a job for
    another λ is stopped. None while the slider is held, or when nothing is left to gain."""
    state = st.session_state
    job, here = BOARD.get(state.get("path_refine")), state.get("path_here")
    active = job is not None and job.active
    if not here or here["held"]:
        return job if active else None
    lam = here["lam"]
    mine = job is not None and job.key[-1] == lam
    if mine and active:
        return job
    if mine and job.state == FAILED:  # it would fail again
        st.error(plain(job.error))
        return None
    if active:
        job.stop.set()
    if run.effort(lam) == 0:
        return None

    def work(job: Job) -> PathRun:
        run.refine(lam, job)
        return run

    job = Job(path.label, (*path.key, lam), work, passing=True)
    state.path_refine = job.id
    watch_job(job)
    return job


def _numbers_here(run: PathRun, here: Here, solving: Job | None, growing: bool) -> None:
    """One line of numbers, not a row of metrics: the text below must be in sight while the slider moves."""
    result = here.point.result
    proved = f"gap **{gap_text(here.gap)}** proved"
    if here.solved and result.optimal:
        proved = "**none is cheaper**, proved"
    st.markdown(
        f"Cost **{number(here.objective, 1 if here.objective < 1e4 else 0)}** · {proved} · "
        f"**{number(result.dictionary_size)}** phrases in the dictionary · **{number(result.n_pointers)}** uses, of "
        f"**{number(here.point.mean_length, 2)}** words on average"
    )
    if here.solved and here.lam in run.lams:
        words = "Solved and certified on the path."
    elif here.solved:
        words = "Solved and certified at this λ."
    else:
        words = f"The solution of λ = {here.point.lam:.3g}, priced and certified at this λ."
    if solving is not None:
        words += " A better one is being sought …"
    elif not here.solved and growing:
        words += " A λ that is still to be solved may give a better one."
    elif not here.solved and run.effort(here.lam):
        words += " Let go of the slider to solve here."
    elif not here.solved:
        words += " That is within the gap asked for, so nothing is solved here."
    st.caption(
        words,
        help="A solution costs its dictionary and λ for every pointer, at any λ. A bound between two λ that are solved "
        "lies on the line between theirs: the prices that prove bounds form a convex set.",
    )


def _text_and_features(run: PathRun, here: Here, corpus: Corpus) -> None:
    state = st.session_state
    gram = state.get("path_gram")
    assert run.corpus is not None
    text, features = st.columns([5, 3], gap="medium")
    with text:
        view = st.container()  # what the slider changes stands next to it, the choice of documents below
        shown = choose_documents(run.corpus.table, corpus)
        documents, grams = stage_view(run.corpus, corpus, shown, here.point.result.cover)
        for used, entry in grams.items():
            entry["count"] = run.count(here.point, used)
        with view:
            text_view(
                documents, grams=grams, key="path_text", height=560, selected_gram=gram if gram in grams else None,
                on_click=lambda: _choose(run, state.path_text["click"]["gram"]),
            )  # fmt: skip
    with features:
        lengths = range(1, run.max_gram + 1)
        least = st.segmented_control(
            "Most used phrases, of so many words", lengths, default=min(2, run.max_gram), required=True,
            format_func=lambda k: f"{k} +", key=f"path_least_{run.max_gram}",
        )  # fmt: skip
        everything = st.toggle("Also function words and punctuation", key="path_everything")
        top = run.top(here.point, least, LISTED, telling=not everything)
        path_bars(top, key="path_bars", selected=gram, on_click=lambda: _choose(run, state.path_bars["click"]["gram"]))
        if not top:
            st.caption("No phrase of this length is worth its storage here.")


def _choose(run: PathRun, gram: int) -> None:
    """Choose a K-gram, or take the choice back."""
    if gram != LITERAL:
        choose_gram(run, None if st.session_state.get("path_gram") == gram else gram)


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """The path's table with shares in per cent, for ``_COLUMNS``."""
    shares = [name for name in frame.columns if name.startswith("share_")]
    shown = frame.drop(columns=["reason", *shares])
    # outward: no more is proved
    shown["objective"] = np.ceil(shown["objective"] * 10) / 10
    shown["lower_bound"] = np.floor(shown["lower_bound"] * 10) / 10
    shown["gap"] = np.ceil(shown["gap"] * 1e5) / 1e3
    for name in shares:
        shown[f"{name.removeprefix('share_')} w."] = [f"{100 * share:.1f} %" for share in frame[name]]
    return shown


def _take_away(run: PathRun, here: Here) -> None:
    frame = run.points.frame()
    table = st.expander("The path as a table")
    table.dataframe(_readable(frame), hide_index=True, column_config=_COLUMNS, alt="A row a λ")
    table.download_button(
        "Table as CSV", lambda: frame_csv(frame), "path.csv", "text/csv", on_click="ignore", key="path_csv"
    )
    if not st.toggle(f"Features at λ = {here.lam:.3g}", key="path_features"):
        return
    if not here.solved:
        st.caption("Features are those of a λ that is solved: let go of the slider and wait a moment.")
        return
    model, weighting = run.model(here.lam), settings().weighting
    features = model.features(weighting=weighting)
    st.caption(
        f"{number(features.shape[0])} documents × {number(features.shape[1])} K-grams, weighting {weighting} (to be "
        "changed on the Export page)."
    )
    draw_files(model, features, weighting, current_corpus(), Shape())
