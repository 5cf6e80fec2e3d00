"""Word groups on the page: numbers, trajectories, the scheme's own run as a film, what clusters explain, the parsimony
curve; and, in the Lab, the race."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.linear import about_comparison
from pages.parts.components.figure_view import clicked_point, figure_view
from pages.parts.groups.figures import (
    MOST_FILMED,
    MOST_SHOWN,
    explained_figure,
    film_figure,
    parsimony_figure,
    trajectories_figure,
)
from pages.parts.groups.run import WeightsRun, rest
from pages.parts.shared.concordance import draw_concordance
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.figures import html
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.models import model_download
from pages.parts.shared.state import watch_job
from pages.parts.shared.words import at_least, gap_text, many, number, percent, plain


def draw_numbers(run: WeightsRun) -> None:
    """The plain solution, and how long the others took beside it."""
    plain_result = run.plain
    items: list[Any] = [
        ("Gap, proved", gap_text(plain_result.gap), f"Objective {number(plain_result.objective, 4)}; no weights have "
         f"one below {at_least(plain_result.lower_bound, 6)}. Recomputed from the data."),
        ("F1 on the test set", percent(run.f1(plain_result.w), 1), "Of the class, on documents that took no part."),
        ("F1 of guessing", percent(run.f1(np.append(np.zeros(len(plain_result.w) - 1), 1.0)), 1),
         f"“{plain(run.choice.name)}” for every document."),
        ("Weights", number(len(plain_result.w)), "A weight for every word of the training documents."),
    ]  # fmt: skip
    scheme = run.results.get("clustered")
    if scheme is not None:
        ratio = _passes(plain_result.trace, 1e-4) / _passes(scheme.trace, 1e-4)
        items.append(
            ("Plain / clustered", f"{number(ratio, 2)} ×", "Passes over the data to a proved gap of 0.01 %: above 1, "
             "the clusters have saved some; below 1, they have cost some.")
        )  # fmt: skip
    metric_row(items)


def draw_model_file(run: WeightsRun, loaded: LoadedCorpus) -> None:
    """The plain solution as a model to take away."""
    assert run.comparison is not None
    about = about_comparison(run.comparison, loaded.corpus)
    about |= {"one_class": run.choice.name, "others": rest(run.choice.name)}
    model_download(run.estimator(), about, key="weights_model", label="This model, as a file")


def _passes(trace: pd.DataFrame, gap: float) -> float:
    return float(trace["work"][trace["gap"] <= gap].min())


def draw_trajectories(run: WeightsRun, loaded: LoadedCorpus) -> None:
    """The weights of the words that say most about the class, over the iterations; a cluster's words and places."""
    most = min(MOST_SHOWN, len(run.watch))
    with st.container(horizontal=True, gap="large", vertical_alignment="bottom"):
        shown = st.slider("Words", 5, max(most, 6), min(40, most), key="weights_shown", width=260)
        k = st.slider("Groups", 2, 8, 6, key="weights_k", width=260)
    cluster_of = run.clusters(k)
    titles = run.titles(cluster_of)
    chosen = st.segmented_control(
        "Group", range(len(titles)), format_func=lambda c: plain(titles[c]), key=f"weights_cluster_{k}",
        help="The largest weights speak for the class, the smallest against it.",
    )  # fmt: skip
    top = run.watch[:shown]
    names = [html(run.names[j]) for j in top]
    figure = trajectories_figure(run.plain.trajectories[:, :shown], names, cluster_of[top], titles, chosen)
    key = f"weights_paths_{k}"

    def choose() -> None:
        st.session_state[f"weights_cluster_{k}"] = int(np.ravel(clicked_point(key))[0])

    figure_view(figure, key, "The weights of words step by step", on_point=choose)
    st.caption(
        f"The {shown} words with the most mutual information about the class, {plain(run.choice.name)}. Lines that "
        "cross are words that changed places. A group is a range of final weights (optimal k-means), called by the "
        "words that say most; choose one above, or click a point, to see its words in the text."
    )
    if chosen is not None:
        _cluster_words(run, loaded, cluster_of, int(chosen), titles[int(chosen)])


def draw_film(run: WeightsRun, active: bool) -> None:
    """The clustered scheme's own run, as it was recorded: words as dots at their weights; where whole clusters move as
    one, the words of each stand at one weight."""
    scheme = run.results.get("clustered")
    if scheme is None or len(scheme.trajectories) < 2:
        st.caption("The clustered scheme is run next …" if active else "Stopped before the clustered scheme had begun.")
        return
    most = min(MOST_FILMED, len(run.watch))
    own = run.own_clusters()
    names = [html(run.names[j]) for j in run.watch[:most]]
    stages = scheme.trace["stage"].tolist()
    figure = film_figure(scheme.trajectories[:, :most], stages, names, None if own is None else own[:most])
    figure_view(figure, "weights_film", "A film of the weights, each step with those that move together")
    merged = [len(np.unique(np.round(row, 9))) for row, stage in zip(scheme.trajectories, stages, strict=True)
              if stage == "coarse"]  # fmt: skip
    st.caption(
        f"The {most} words with the most information, the most telling on top. In a *fine* step every weight goes "
        "its own way; in a *coarse* one the dots of a cluster stand in one column and move together"
        + (f": {number(min(merged))} different weights instead of {number(len(run.watch))}." if merged else ".")
    )


def _cluster_words(run: WeightsRun, loaded: LoadedCorpus, cluster_of: np.ndarray, cluster: int, title: str) -> None:
    frame = run.cluster_words(cluster_of, cluster)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(f"Words of the group **{plain(title)}**")
        picked = st.dataframe(
            frame, hide_index=True, height=320, on_select="rerun", selection_mode="single-row",
            key=f"weights_words_{title}", alt="A row a word of the cluster",
            column_config={
                "weight": st.column_config.NumberColumn(format="%.3f"),
                "documents": st.column_config.NumberColumn(help="Documents learnt from that have the word"),
                "information (bits)": st.column_config.NumberColumn(format="%.4f"),
            },
        )  # fmt: skip
    rows = picked["selection"]["rows"] if picked else []
    word = str(frame["word"].iloc[rows[0] if rows and rows[0] < len(frame) else 0])
    with right:
        draw_concordance(loaded, word, height=320)


def draw_explained(run: WeightsRun) -> None:
    """How early the clusters of the end can be seen."""
    explained = run.explained
    figure_view(
        explained_figure(explained, run.choice.cluster_factor),
        "weights_explained",
        "How much of the variance of the weights their groups explain",
    )
    late = int(np.argmax(explained >= 0.9)) if (explained >= 0.9).any() else None
    when = f" From iteration {late} of {len(explained) - 1} on it is at least 90 %." if late is not None else ""
    st.caption(
        f"Weights cut into chunks of {run.choice.cluster_factor:g} by their size at an iteration: the share of the "
        f"variance of the final weights that lies between those chunks.{when} Of the {many(len(run.watch), 'word')} "
        "with the most information about the class."
    )


def draw_parsimony(run: WeightsRun, job: Job) -> None:
    """How many different weights the model needs; solved when asked for."""
    if not st.toggle("Tie the weights and fit again", key="weights_ties_on"):
        st.caption("How many different weights does the model need? The final weights are tied into k clusters, the k "
                   "values are fitted again, and the tied model is judged.")  # fmt: skip
        return
    tying = BOARD.get(st.session_state.get("weights_ties"))
    if not run.fits and (tying is None or tying.state == FAILED):

        def work(own: Job) -> WeightsRun:
            run.tie(own)
            return run

        tying = Job(job.label, (*job.key, "ties"), work, passing=True)
        st.session_state.weights_ties = tying.id
        watch_job(tying)
    active = tying is not None and tying.active
    st.fragment(_parsimony, run_every=0.5 if active else None)(job.id)


def _parsimony(job_id: str) -> None:
    job = BOARD.get(job_id)
    tying = BOARD.get(st.session_state.get("weights_ties"))
    if job is None:
        return
    job.touch()
    run: WeightsRun = job.so_far
    fits = list(run.fits)
    measure = "F1 on the test set" if run.comparison is not None and len(run.comparison.test) else "F1 in training"
    full = run.f1(run.plain.w)
    figure = parsimony_figure(fits, full, len(run.plain.w), measure)
    figure_view(figure, "weights_parsimony", "How good predictions are by number of different weights")
    enough = next((fit.k for fit in fits if fit.quality >= full - 0.01), None)
    if enough is not None and math.isfinite(full):
        st.markdown(
            f"**{many(enough, 'different weight')} {'comes' if enough == 1 else 'come'}** within a point of all "
            f"{len(run.plain.w):,}."
        )
    st.caption(
        "Each k: clusters of the final weights by optimal k-means, their values fitted again to the same objective."
    )
    if tying is not None and tying.active:
        tying.touch()
        st.caption("Tying …")
    if tying is not None:
        rerun_at_end(tying)
