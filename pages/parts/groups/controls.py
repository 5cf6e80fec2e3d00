"""What the page asks for: a class against the rest, the ridge, the policies; and the job that learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from cflengine.loglinear import CLUSTERINGS
from pages.parts.groups.run import RIDGES, WeightsChoice, WeightsRun
from pages.parts.shared.controls import run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.labels import current_label_columns, likely_test, possible_part, usual_test
from pages.parts.shared.selection import note_changes, selected_group, session_choice
from pages.parts.shared.state import WEIGHTS, current_corpus, current_job, start_job, stop_job

_CLUSTERINGS = {
    "chunks": "chunks of sorted weights (the paper's)",
    "kmeans": "k-means of the weights",
    "trajectories": "k-means of recent trajectories",
}


def draw_weights_controls() -> bool:
    """Class, ridge, Run and Stop; the policies folded away. False where the corpus has no labels, which is said."""
    columns = current_label_columns()
    if not columns:
        return False
    job, choice = current_job(WEIGHTS), _choice(columns)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Labels", list(columns), index=list(columns).index(choice.column), key="widget_weights_column", width=180,
            on_change=_take_column, args=(columns,),
        )  # fmt: skip
        names = columns[choice.column]
        st.selectbox(
            "Class, against all others", names, index=names.index(choice.name),
            key=f"widget_weights_name_{choice.column}",
            width=220, on_change=lambda: _set(name=st.session_state[f"widget_weights_name_{choice.column}"]),
        )  # fmt: skip
        st.select_slider(
            "Ridge, 1/σ²", RIDGES, choice.ridge, format_func=lambda ridge: f"{ridge:g}", key="widget_weights_ridge",
            width=260, on_change=lambda: _set(ridge=st.session_state.widget_weights_ridge),
            help="How strongly weights are held near 0. The smaller, the longer plain L-BFGS takes.",
        )  # fmt: skip
        run_and_stop(job, start_weights, lambda: stop_job(WEIGHTS), label="Learn")
    with st.expander("The clustered scheme"):
        _policies(choice)
    note_changes(job, _key(), "this was learnt")
    return True


def _policies(choice: WeightsChoice) -> None:
    st.caption(
        "A few fine steps; weights of nearly the same size become a cluster; coarse steps move clusters as one; then "
        "each weight goes on alone. This is repeated for each round; fine steps finish the fit."
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choices = [name for name in CLUSTERINGS if name in _CLUSTERINGS]
        st.selectbox(
            "Clusters are", choices, choices.index(choice.clustering), format_func=_CLUSTERINGS.get, width=300,
            key="widget_weights_clustering",
            on_change=lambda: _set(clustering=st.session_state.widget_weights_clustering),
        )  # fmt: skip
        for name, title, least, most in (
            ("cluster_factor", "Weights to a cluster", 2, 200),
            ("rounds", "Rounds", 1, 5),
            ("fine_iter", "Fine steps in a round", 1, 30),
        ):
            st.number_input(
                title, least, most, int(getattr(choice, name)), key=f"widget_weights_{name}", width=170,
                on_change=_take(name),
            )  # fmt: skip


def _take_column(columns: dict[str, list[str]]) -> None:
    state = st.session_state
    column = state.widget_weights_column
    _set(column=column, name=columns[column][0], test=likely_test(state.weights_choice.test, column))


def _take(name: str) -> Any:
    kind = float if name == "cluster_factor" else int
    return lambda: _set(**{name: kind(st.session_state[f"widget_weights_{name}"])})


def _choice(columns: dict[str, list[str]]) -> WeightsChoice:
    """The session's, or its first column and the most frequent value; of two the rarer, which is harder to guess."""

    def usual() -> WeightsChoice:
        along = selected_group(current_corpus().corpus.metadata)
        if along is not None and along[1] in columns.get(along[0], ()):
            return WeightsChoice(*along, test=usual_test(along[0]))
        column = next(iter(columns))
        return WeightsChoice(column, columns[column][len(columns[column]) == 2], test=usual_test(column))

    def fits(one: WeightsChoice) -> bool:
        return one.name in columns.get(one.column, []) and possible_part(one.test, one.column)

    return session_choice("weights", WEIGHTS, fits, usual)


def _set(**changes: Any) -> None:
    state = st.session_state
    state.weights_choice = WeightsChoice(**(vars(state.weights_choice) | changes))


def _key() -> tuple[Any, ...]:
    """Corpus, kind, choice."""
    return (
        st.session_state.corpus_id,
        WEIGHTS,
        replace(st.session_state.weights_choice, tokens=current_corpus().tokens),
    )


def start_weights() -> None:
    """Queue a race on the session's corpus."""
    loaded = current_corpus()
    run = WeightsRun(_key()[2])

    def work(job: Job) -> WeightsRun:
        run.run(loaded.corpus.texts, loaded.corpus.metadata, job)
        return run

    st.session_state.update(weights_ties=None)
    start_job(WEIGHTS, Job(loaded.corpus.name, _key(), work, so_far=run))
