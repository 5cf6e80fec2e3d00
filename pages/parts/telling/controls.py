"""What the page asks for: which labels, which split; and the job that learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from cflengine.sentence_lasso import GROUP_WEIGHTS, warm_up
from cflengine.text import DEV_NAMES, UNITS
from pages.parts.shared.controls import run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.labels import (
    corpus_part,
    current_label_columns,
    documents_beside,
    likely_test,
    possible_part,
    usual_test,
)
from pages.parts.shared.selection import note_changes, session_choice
from pages.parts.shared.state import TELLING, current_corpus, current_job, start_job, stop_job
from pages.parts.shared.words import many
from pages.parts.telling.run import ComparisonRun, Wanted

FEW, MOST_TOLD = 4, 12  # classes at first, at most


def draw_comparison_controls() -> bool:
    """Labels, split, Learn and Stop; False where the corpus has no labels, which is said."""
    columns = current_label_columns()
    if not columns:
        return False
    job = current_job(TELLING)
    wanted = _wanted(columns)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        column = st.selectbox(
            "Labels", list(columns), index=list(columns).index(wanted.column), key="widget_column",
            on_change=_change_column, args=(columns,), width=180,
        )  # fmt: skip
        names = columns[column]
        st.multiselect(
            "Classes", names, default=list(wanted.classes), key=f"widget_classes_{column}", width=420,
            max_selections=MOST_TOLD, on_change=_take_classes, args=(f"widget_classes_{column}",),
            help="Two classes, or more: then each against all others.",
        )  # fmt: skip
        run_and_stop(job, start_comparison, lambda: stop_job(TELLING), label="Learn", disabled=len(wanted.classes) < 2)
    if others := documents_beside(column, wanted.classes):
        st.caption(f"{many(others, 'document')} of other classes, or of none, are left out.")
    with st.expander("How the documents are split, and what a group of words is"):
        _split(wanted)
        _groups(wanted)
    note_changes(job, comparison_key(), "these models were learnt")
    return True


def _wanted(columns: dict[str, list[str]]) -> Wanted:
    """What the session asks for, or its first column and its most frequent values."""

    def usual() -> Wanted:
        column = next(iter(columns))
        dev = corpus_part(column, DEV_NAMES) or Wanted.dev
        return Wanted(column, _usual(columns[column]), test=usual_test(column), dev=dev)

    def fits(one: Wanted) -> bool:
        if (
            one.column not in columns
            or len(one.classes) > MOST_TOLD
            or not set(one.classes) <= set(columns[one.column])
        ):
            return False
        return possible_part(one.test, one.column) and possible_part(one.dev, one.column, DEV_NAMES)

    return session_choice("telling", TELLING, fits, usual)


def _usual(values: list[str]) -> tuple[str, ...]:
    """The most frequent values, in alphabetical order: "negative" stands left of "positive"."""
    return tuple(sorted(values[:FEW]))


def _set(**changes: Any) -> None:
    state = st.session_state
    state.telling_choice = Wanted(**(vars(state.telling_choice) | changes))


def _change_column(columns: dict[str, list[str]]) -> None:
    column = st.session_state.widget_column
    before: Wanted = st.session_state.telling_choice
    dev = before.dev if possible_part(before.dev, column, DEV_NAMES) else Wanted.dev
    _set(column=column, classes=_usual(columns[column]), test=likely_test(before.test, column), dev=dev)


def _take_classes(widget: str) -> None:
    _set(classes=tuple(sorted(st.session_state[widget])))


def _split(wanted: Wanted) -> None:
    """Shares and seed; a split that the corpus brings along."""
    split = corpus_part(wanted.column)
    own = [split] if split else []
    st.caption(
        "Weights are learnt from the training documents, regularisation chosen on the development set, and the models "
        "judged on the test set, which neither has seen."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        choices: list[Any] = [0.1, 0.2, 0.3, 0.4, *own]
        st.selectbox(
            "Test set", choices, index=choices.index(wanted.test) if wanted.test in choices else 1, width=220,
            format_func=lambda choice: choice if isinstance(choice, str) else f"{100 * choice:g} % of each class",
            key="widget_test", on_change=lambda: _set(test=st.session_state.widget_test),
        )  # fmt: skip
        part = corpus_part(wanted.column, DEV_NAMES)
        shares: list[Any] = [0.1, 0.2, 0.3, 0.4, *([part] if part else [])]
        st.selectbox(
            "Development set", shares, index=shares.index(wanted.dev) if wanted.dev in shares else 1, width=220,
            format_func=lambda choice: choice if isinstance(choice, str) else f"{100 * choice:g} % of the rest",
            key="widget_dev",
            on_change=lambda: _set(dev=st.session_state.widget_dev),
        )  # fmt: skip
        st.number_input(
            "Seed", 0, 9999, wanted.seed, key="widget_seed", width=120,
            on_change=lambda: _set(seed=st.session_state.widget_seed),
            help="Another seed draws other documents.",
        )  # fmt: skip


def _groups(wanted: Wanted) -> None:
    """What stands in the place of sentences, and how λ goes by length."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Group words by", UNITS, index=UNITS.index(wanted.groups), width=220, key="widget_groups",
            on_change=lambda: _set(groups=st.session_state.widget_groups),
            help="The paper's groups are sentences. A clause ends at a comma, semicolon, colon or dash; a paragraph at "
            "a blank line. What is called a sentence below is then one of these.",
        )  # fmt: skip
        st.selectbox(
            "λ_sen, on a group of n words", GROUP_WEIGHTS, index=GROUP_WEIGHTS.index(wanted.group_weights), width=220,
            format_func={"equal": "the same for all", "length": "times √n"}.get,
            key="widget_group_weights",
            on_change=lambda: _set(group_weights=st.session_state.widget_group_weights),
        )  # fmt: skip


def comparison_key() -> tuple[Any, ...]:
    """Corpus, kind, what is wanted."""
    return (
        st.session_state.corpus_id,
        TELLING,
        replace(st.session_state.telling_choice, tokens=current_corpus().tokens),
    )


def start_comparison() -> None:
    """Queue a comparison of the session's corpus."""
    loaded = current_corpus()
    run = ComparisonRun(comparison_key()[2])

    def work(job: Job) -> ComparisonRun:
        warm_up()
        run.run(loaded.corpus.texts, loaded.corpus.metadata, job)
        return run

    st.session_state.update(
        comparison_moved=False, comparison_solve=None, comparison_path=None, comparison_share=None, comparison_open=None
    )
    start_job(TELLING, Job(loaded.corpus.name, comparison_key(), work, so_far=run))
