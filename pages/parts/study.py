"""The learnt models on the page: sliders, numbers, the document, the path."""

from __future__ import annotations

import math
import time

import numpy as np
import streamlit as st

from cflengine.linear.model import LinearModel
from cflengine.sentence_lasso.result import SentenceResult
from pages.parts.controls import queue_notes, rerun_at_end
from pages.parts.corpora import LoadedCorpus
from pages.parts.jobs import BOARD, FAILED, Job
from pages.parts.metrics import metric_row
from pages.parts.sentence_view import cut_pieces, sentence_view
from pages.parts.state import watch_job
from pages.parts.study_figure import path_figure
from pages.parts.study_run import LAMS, MODELS, StudyRun
from pages.parts.study_tables import TITLES
from pages.parts.words import gap_text, many, number, percent, plain

PATIENCE_S = 0.6  # how long a page run waits for a solve before it shows what there is
MOST_LISTED = 2000


def draw_learning(job: Job) -> None:
    """How far the grids are; ticks until the models are there."""
    st.fragment(_learning, run_every=0.4)(job.id)


def _learning(job_id: str) -> None:
    job = BOARD.get(job_id)
    if job is None:
        return
    job.touch()
    queue_notes(job)
    run: StudyRun = job.so_far
    for kind in MODELS:
        progress = run.progress.get(kind)
        if progress is not None:
            best = "" if math.isnan(progress.best) else f", best {percent(progress.best, 1)} on the development set"
            st.progress(
                progress.done / progress.total,
                text=f"{TITLES[kind]}: {progress.done} of {progress.total}{best}",
            )
    if not run.progress:
        st.caption("Cutting the documents into sentences …")
    rerun_at_end(job)


# ---- the sliders and the solution under them


def draw_sliders(run: StudyRun) -> tuple[float, float]:
    """λ_sen and λ_las; at first those that the development set chose."""
    state = st.session_state
    if not state.get("study_here"):
        state.study_here = tuple(min(LAMS, key=lambda lam, x=x: abs(math.log(lam / x))) for x in run.chosen)

    def take() -> None:
        state.study_here = (state.widget_lam_sen, state.widget_lam_las)

    columns = st.columns(2, gap="medium")
    titles = ("λ_sen: how much whole sentences are let go", "λ_las: how much single words are let go")
    for column, title, value, key in zip(columns, titles, state.study_here, ("lam_sen", "lam_las"), strict=True):
        column.select_slider(
            title.replace("_", r"\_"), LAMS, value=value, format_func=lambda lam: f"{lam:g}", key=f"widget_{key}",
            on_change=take,
        )  # fmt: skip
    return state.study_here


def draw_solver() -> bool:
    """Which algorithm solves at the sliders' λ; whether it is the paper's ADMM."""
    names = {"exact": "the certified optimum", "admm": "the paper's ADMM"}
    chosen = st.segmented_control(
        "Sentences kept by", list(names), default="exact", format_func=names.get, required=True, key="study_solver",
        help="The optimum lets a sentence go when all weights of its words are 0. ADMM, the paper's algorithm, has a "
        "copy of the weights for every training sentence, stops early by its own rule, and lets a sentence go when its "
        "copy is 0.",
    )  # fmt: skip
    return chosen == "admm"


def solution_here(
    run: StudyRun, job: Job, lams: tuple[float, float], *, admm: bool = False
) -> tuple[SentenceResult, Job | None]:
    """The solution at these λ, or the nearest one and the job that is on its way to it; admm: by the paper's ADMM."""
    state, wanted = st.session_state, (*lams, admm)
    known = run.at(*lams, admm=admm)
    solving = BOARD.get(state.get("study_solve"))
    if known is None and not (solving is not None and solving.active and solving.key[-1] == wanted):
        if solving is not None:
            solving.stop.set()

        def work(job: Job) -> StudyRun:
            run.solve_at(*lams, job, admm=admm)
            return run

        solving = Job(job.label, (*job.key, wanted), work, passing=True)
        state.study_solve = solving.id
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


def draw_numbers(run: StudyRun, result: SentenceResult, solving: Job | None) -> None:
    """What the solution keeps, how good it is, what is proved."""
    study = run.study
    assert study is not None
    model = LinearModel.of([result])
    strength = result.sentence_strength(study.data.groups)
    kept, words = np.mean(strength > 0), result.support / max(1, len(study.names))
    how = "Training sentences of which at least one word has a weight."
    if result.copies is not None:
        how = "Training sentences whose copy of the weights, v, is not 0: the paper's choice (§5.4)."
    metric_row(
        [
            ("Sentences kept", percent(kept, 1), how),
            ("Words kept", percent(words, 1), f"{result.support:,} of {len(study.names):,} have a weight."),
            ("Right, test", percent(run.accuracy(model, "test"), 1)),
            ("Right, development", percent(run.accuracy(model, "dev"), 1)),
            (
                "Gap, proved",
                gap_text(result.gap),
                f"Objective {number(result.objective, 4)}, proved bound {number(result.lower_bound, 4)}: no other "
                "weights have an objective below the bound.",
            ),
        ]
    )
    if result.copies is not None:
        by_weights = float(np.mean(result.sentence_strength(study.data.groups, by="weights") > 0))
        st.caption(
            f"ADMM took {many(result.n_iterations, 'step')} ({result.reason!s}). By its copies it keeps "
            f"{percent(kept, 1)} of the sentences; by its weights w, which are those of the classifier, "
            f"{percent(by_weights, 1)}."
        )
    if solving is not None:
        st.fragment(_solving, run_every=0.4)(solving.id)


def _solving(job_id: str) -> None:
    job = BOARD.get(job_id)
    if job is None:
        return
    job.touch()
    if job.state == FAILED:
        st.error(plain(job.error))
    elif job.active:
        row = job.rows[-1] if job.rows else None
        gap = f" gap {percent(row['gap'])}" if row and math.isfinite(row["gap"]) else ""
        st.caption(f"Solving here …{gap} Meanwhile below: the nearest solution.")
    rerun_at_end(job)


# ---- the document


def draw_document(run: StudyRun, result: SentenceResult, loaded: LoadedCorpus) -> None:
    """A document with its sentences."""
    study = run.study
    assert study is not None
    models = run.models(result)
    classes = study.labels.classes
    predicted = models["sentence"].predict(study.X)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        parts = {"test": "test", "dev": "development", "train": "training"}
        part = st.segmented_control(
            "Documents", list(parts), default="test" if len(study.test) else "dev", format_func=parts.get,
            required=True, key="study_part",
        )  # fmt: skip
        wrong = st.toggle("only those it gets wrong", key="study_wrong")
        where = getattr(study, part)
        where = where[predicted[where] != study.y[where]] if wrong else where
        listed = where[:MOST_LISTED].tolist()
        if not listed:
            st.caption("There is none.")
            return
        position = st.selectbox(
            "Document", listed, key=f"study_document_{part}_{wrong}", width=420,
            format_func=lambda i: (
                f"Document {study.documents[i]}: {classes[study.y[i]]}"
                + ("" if predicted[i] == study.y[i] else f", taken for {classes[predicted[i]]}")
            ),
        )  # fmt: skip
    if len(where) > MOST_LISTED:
        st.caption(f"The first {MOST_LISTED:,} of {len(where):,}.")
    frame = study.relevance(models, np.array([position]))
    copied = result.copies is not None and part == "train"
    if copied:
        frame["strength"] = result.sentence_strength(study.data.groups)[study.training_sentences(position)]
    text = loaded.corpus.texts[int(study.documents[position])]
    words = study.weighted_words(text, result.w)
    sign = 1.0 if study.y[position] == 1 else -1.0  # odds are towards the document's own class; the view has two sides
    sentences = [
        {
            "pieces": cut_pieces(text, row["start"], row["end"], words),
            "strength": row["strength"],
            "odds": [sign * row[f"log_odds_{kind}"] for kind in models],
        }
        for row in frame.to_dict("records")
    ]
    strongest = max(float(result.sentence_strength(study.data.groups).max(initial=0.0)), 1e-9)
    sentence_view(
        sentences, classes=(classes[0], classes[1]), models=list(models), strongest=strongest, key="study_view"
    )
    st.caption(
        f"A bar is a sentence's log-odds for the document's class, {plain(classes[study.y[position]])}: the log of its "
        "probability with all sentences, less that without this one. It points to the class the sentence speaks for. "
        + (
            "Strength is the norm of ADMM's copy of the weights for this sentence."
            if copied
            else "Strength is the norm of the weights of the sentence's words"
            + (": ADMM has copies for the training documents only." if result.copies is not None else ".")
        )
    )


# ---- the path


def draw_path(run: StudyRun, job: Job, lams: tuple[float, float]) -> None:
    """Solutions along one λ, solved when asked for."""
    over = st.segmented_control(
        "Along", ["lam_sen", "lam_las"], default="lam_sen", required=True, key="study_over",
        format_func=lambda name: {"lam_sen": "λ_sen", "lam_las": "λ_las"}[name],
    )  # fmt: skip
    solving = _path_job(run, job, lams, over)
    st.fragment(_path, run_every=0.4 if solving is not None and solving.active else None)(job.id, lams, over)


def _path_job(run: StudyRun, job: Job, lams: tuple[float, float], over: str) -> Job | None:
    state = st.session_state
    k = 0 if over == "lam_sen" else 1
    wanted = [(lam, lams[1]) if k == 0 else (lams[0], lam) for lam in LAMS]
    missing = [place for place in wanted if run.at(*place) is None]
    solving = BOARD.get(state.get("study_path"))
    key = (over, lams[1 - k])
    if solving is not None and solving.active:
        if solving.key[-1] == key:
            return solving
        solving.stop.set()
    if not missing or (solving is not None and solving.key[-1] == key):
        return None

    def work(job: Job) -> StudyRun:
        for place in reversed(missing):  # from the strongest penalty on, each from its neighbour
            if not job.poll():
                break
            run.solve_at(*place, job)
        return run

    solving = Job(job.label, (*job.key, "path", key), work, passing=True)
    state.study_path = solving.id
    watch_job(solving)
    return solving


def _path(job_id: str, lams: tuple[float, float], over: str) -> None:
    job = BOARD.get(job_id)
    solving = BOARD.get(st.session_state.get("study_path"))
    if job is None:
        return
    job.touch()
    run: StudyRun = job.result
    study = run.study
    assert study is not None
    points = run.path(*lams, over)
    k = 0 if over == "lam_sen" else 1
    models = [LinearModel.of([result]) for _, result in points]
    shares = {
        "sentences kept": [float(np.mean(r.sentence_strength(study.data.groups) > 0)) for _, r in points],
        "words kept": [model.size / max(1, len(study.names)) for model in models],
        "right, test": [run.accuracy(model, "test") for model in models],
        "right, development": [run.accuracy(model, "dev") for model in models],
    }
    symbols = ("λ<sub>sen</sub>", "λ<sub>las</sub>")
    names = [name.replace("&", "&amp;").replace("<", "&lt;") for name in study.names]
    figure = path_figure(
        points, names, shares, here=lams[k], title=f"{symbols[k]}   ({symbols[1 - k]} = {lams[1 - k]:g})"
    )
    st.plotly_chart(figure, key=f"study_path_{over}", config={"displayModeBar": False})
    worst = max((result.gap for _, result in points), default=math.nan)
    st.caption(
        f"{many(len(points), 'solution')}, each with a proved gap of at most {percent(worst, 3)}. The dotted line is "
        "where the sliders stand."
    )
    if solving is not None and solving.active:
        solving.touch()
        st.caption("Solving the others …")
    if solving is not None:
        rerun_at_end(solving)
