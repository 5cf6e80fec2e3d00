"""The parameters of the penalty: two sliders, the solver, what is proved, the path along one of them."""

from __future__ import annotations

import math
import time

import numpy as np
import streamlit as st

from cflengine.linear import LinearModel
from pages.parts.components.figure_view import figure_view
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.figures import html
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.state import watch_job
from pages.parts.shared.words import gap_text, many, number, percent, plain
from pages.parts.telling.figures import path_figure
from pages.parts.telling.run import LAMS, ComparisonRun, Rows

PATIENCE_S = 0.6  # how long a page run waits for a solve before it shows what there is


# ---- the sliders and the solution under them


def draw_sliders(run: ComparisonRun) -> tuple[float, float]:
    """λ_sen and λ_las: those that the development set chose, the first models' until the grid's is there, unless the
    user has moved the sliders."""
    state = st.session_state
    chosen = tuple(min(LAMS, key=lambda lam, x=x: abs(math.log(lam / x))) for x in run.chosen)
    if not state.get("comparison_moved"):
        state.comparison_here = chosen
    # others where another model was chosen: a browser may still send what the sliders were at for the first one
    keys = [f"widget_{name}_{chosen[0]:g}_{chosen[1]:g}" for name in ("lam_sen", "lam_las")]
    state[keys[0]], state[keys[1]] = state.comparison_here

    def take() -> None:
        state.update(comparison_here=(state[keys[0]], state[keys[1]]), comparison_moved=True)

    columns = st.columns(2, gap="medium")
    titles = (f"λ_sen: penalty on whole {run.wanted.groups}s", "λ_las: penalty on single words")
    for column, title, key in zip(columns, titles, keys, strict=True):
        column.select_slider(
            title, LAMS, format_func=lambda lam: f"{lam:g}", key=key, on_change=take
        )  # fmt: skip
    return state.comparison_here


def draw_solver(unit: str) -> bool:
    """Which algorithm solves at the sliders' λ; whether it is the paper's ADMM. unit: what a group of words is."""
    names = {"exact": "the certified optimum", "admm": "the paper's ADMM"}
    chosen = st.segmented_control(
        f"{unit.capitalize()}s kept by", list(names), default="exact", format_func=names.get, required=True,
        key="comparison_solver",
        help=f"The optimum lets a {unit} go when all weights of its words are 0. ADMM, the paper's algorithm, has a "
        f"copy of the weights for every training {unit}, stops early by its own rule, and lets a {unit} go when its "
        "copy is 0.",
    )  # fmt: skip
    return chosen == "admm"


def solution_here(
    run: ComparisonRun, job: Job, lams: tuple[float, float], *, admm: bool = False
) -> tuple[Rows, Job | None]:
    """The solution at these λ, or the nearest one and the job that is on its way to it; admm: by the paper's ADMM."""
    state, wanted = st.session_state, (*lams, admm)
    known = run.at(*lams, admm=admm)
    if known is None and job.active:  # it holds the solver's thread, and looks between two models what is asked for
        run.asked = wanted
        end = time.monotonic() + PATIENCE_S
        while known is None and job.active and time.monotonic() < end:
            time.sleep(0.02)
            known = run.at(*lams, admm=admm)
        if known is None and job.active:
            nearest = run.nearest(*lams)
            assert nearest is not None
            return nearest, job
    solving = BOARD.get(state.get("comparison_solve"))
    if known is None and not (solving is not None and solving.active and solving.key[-1] == wanted):
        if solving is not None:
            solving.stop.set()

        def work(job: Job) -> ComparisonRun:
            run.solve_at(*lams, job, admm=admm)
            return run

        solving = Job(job.label, (*job.key, wanted), work, passing=True)
        state.comparison_solve = solving.id
        watch_job(solving)
        end = time.monotonic() + PATIENCE_S
        while solving.active and time.monotonic() < end:
            time.sleep(0.01)
        known = run.at(*lams, admm=admm)
    if known is not None:
        return known, None
    nearest = run.nearest(*lams)
    assert nearest is not None
    return nearest, solving


def draw_numbers(run: ComparisonRun, rows: Rows, solving: Job | None, place: tuple[float, float, bool]) -> None:
    """What the solution keeps, how good it is, what is proved. place: the sliders' λ, and whether ADMM's is wanted."""
    comparison = run.comparison
    assert comparison is not None
    model, copied, unit = LinearModel.of(rows), rows[0].copies is not None, comparison.groups
    group_norm = np.max([row.sentence_norms(comparison.data.groups) for row in rows], axis=0)
    kept, words = np.mean(group_norm > 0), model.size / max(1, len(comparison.names))
    how = f"Training {unit}s of which at least one word has a weight, for some class."
    if copied:
        how = f"Training {unit}s whose copy of the weights, v, is not 0: the paper's choice (§5.4)."
    objective, bound = sum(row.objective for row in rows), sum(row.lower_bound for row in rows)
    metric_row(
        [
            (f"{unit.capitalize()}s with a weight", percent(kept, 1), how),
            ("Words kept", percent(words, 1), f"{model.size:,} of {len(comparison.names):,} have a weight."),
            ("Right, test", percent(run.accuracy(model, "test"), 1)),
            ("Right, development", percent(run.accuracy(model, "dev"), 1)),
            (
                "Gap, proved",
                gap_text(max(row.gap for row in rows)),
                f"Objective {number(objective, 4)}, proved bound {number(bound, 4)}: no other weights have an "
                "objective below the bound.",
            ),
        ]
    )
    if copied:
        by_weights = float(
            np.mean(np.max([row.sentence_norms(comparison.data.groups, by="weights") for row in rows], axis=0) > 0)
        )
        steps, reasons = sum(row.n_iterations for row in rows), sorted({str(row.reason) for row in rows})
        st.caption(
            f"ADMM took {many(steps, 'step')} ({', '.join(reasons)}). By its copies it keeps {percent(kept, 1)} of the "
            f"{unit}s; by its weights w, which are those of the classifier, {percent(by_weights, 1)}."
        )
    _draw_whose(run, place)
    if solving is not None:
        st.fragment(_solving, run_every=0.4)(solving.id, place)


def _draw_whose(run: ComparisonRun, place: tuple[float, float, bool]) -> None:
    """Whose choice the λ are, and which model stands in the table and the files."""
    best, state = run.best.get("sentence"), st.session_state
    if best is None and state.get("comparison_moved"):
        st.caption("Your choice. What the development set chooses of the paper's grid is not yet known.")
    elif best is None:
        st.caption("The best of a few first models; the best of the paper's grid takes its place when it is known.")
    elif is_chosen(run, place):
        st.caption("The development set chose these λ of the paper's grid; the table and the files hold this model.")
    else:
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            at = " and ".join(f"λ_{name} = {lam:g}" for name, lam in zip(("sen", "las"), run.chosen, strict=True))
            chosen = f"Your choice. The development set chose {at}: that model stands in the table and the files."
            st.caption(plain(chosen), width="content")
            st.button(
                "Back to it", key="comparison_back",
                on_click=lambda: state.update(comparison_moved=False, comparison_solver="exact"),
            )  # fmt: skip


def is_chosen(run: ComparisonRun, place: tuple[float, float, bool]) -> bool:
    """Whether the page shows what the development set chose of the grid."""
    best = run.best.get("sentence")
    return best is not None and place == (*run.place_of(best), False)


def _solving(job_id: str, place: tuple[float, float, bool]) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    if isinstance(job.so_far, ComparisonRun) and job.so_far.at(*place[:2], admm=place[2]) is not None:
        st.rerun()
    if job.state == FAILED:
        st.error(plain(job.error))
    elif job.active:
        row = job.rows[-1] if job.rows else None
        gap = f" gap {gap_text(row['gap'])}" if row and math.isfinite(row["gap"]) else ""
        st.caption(f"Solving here …{gap} Meanwhile below: the nearest solution.")
    rerun_at_end(job)


# ---- the path


def draw_path(run: ComparisonRun, job: Job, lams: tuple[float, float]) -> None:
    """Solutions along one λ, solved when asked for."""
    over = st.segmented_control(
        "Along", ["lam_sen", "lam_las"], default="lam_sen", required=True, key="comparison_over",
        format_func=lambda name: {"lam_sen": "λ_sen", "lam_las": "λ_las"}[name],
    )  # fmt: skip
    solving = _path_job(run, job, lams, over)
    st.fragment(_path, run_every=0.4 if solving is not None and solving.active else None)(job.id, lams, over)


def _path_job(run: ComparisonRun, job: Job, lams: tuple[float, float], over: str) -> Job | None:
    state = st.session_state
    k = 0 if over == "lam_sen" else 1
    wanted = [(lam, lams[1]) if k == 0 else (lams[0], lam) for lam in LAMS]
    missing = [place for place in wanted if run.at(*place) is None]
    solving = BOARD.get(state.get("comparison_path"))
    key = (over, lams[1 - k])
    if solving is not None and solving.active:
        if solving.key[-1] == key:
            return solving
        solving.stop.set()
    if not missing or (solving is not None and solving.key[-1] == key):
        return None

    def work(job: Job) -> ComparisonRun:
        for place in reversed(missing):  # from the strongest penalty on, each from its neighbour
            if not job.poll():
                break
            run.solve_at(*place, job)
        return run

    solving = Job(job.label, (*job.key, "path", key), work, passing=True)
    state.comparison_path = solving.id
    watch_job(solving)
    return solving


def _path(job_id: str, lams: tuple[float, float], over: str) -> None:
    job = BOARD.seen(job_id)
    solving = BOARD.get(st.session_state.get("comparison_path"))
    if job is None:
        return
    run: ComparisonRun = job.so_far
    comparison = run.comparison
    assert comparison is not None
    points = run.path(*lams, over)
    k = 0 if over == "lam_sen" else 1
    models = [LinearModel.of(rows) for _, rows in points]
    groups = comparison.data.groups
    norms = [np.max([one.sentence_norms(groups) for one in rows], axis=0) for _, rows in points]
    shares = {
        f"{comparison.groups}s with a weight": [float(np.mean(group_norm > 0)) for group_norm in norms],
        "words kept": [model.size / max(1, len(comparison.names)) for model in models],
        "right, test": [run.accuracy(model, "test") for model in models],
        "right, development": [run.accuracy(model, "dev") for model in models],
    }
    symbols = ("λ<sub>sen</sub>", "λ<sub>las</sub>")
    names = [html(name) for name in comparison.names]
    first = [(lam, rows[0]) for lam, rows in points]
    figure = path_figure(
        first, names, shares, here=lams[k], title=f"{symbols[k]}   ({symbols[1 - k]} = {lams[1 - k]:g})"
    )
    figure_view(
        figure, f"comparison_path_{over}", "Accuracy, words and sentences kept along the path of regularisation"
    )
    worst = max((one.gap for _, rows in points for one in rows), default=math.nan)
    st.caption(
        f"{many(len(points), 'solution')}, each with a proved gap of at most {percent(worst, 3)}. The dotted line is "
        "where the sliders stand."
        + ("" if len(comparison.classes) == 2 else f" Weights are those for {plain(comparison.labels.classes[0])}.")
    )
    if solving is not None and solving.active:
        solving.touch()
        st.caption("Solving the others …")
    if solving is not None:
        rerun_at_end(solving)
