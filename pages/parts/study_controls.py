"""What the Sentences page asks for: which labels, which split; and the job that learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from cflengine.linear.labels import MOST_CLASSES
from cflengine.sentence_lasso.warm import warm_up
from pages.parts.controls import run_and_stop
from pages.parts.corpora import LoadedCorpus
from pages.parts.jobs import Job
from pages.parts.state import STUDY, current_corpus, current_job, start_job, stop_job
from pages.parts.study_run import StudyRun, Wanted

_LIKELY = ("label", "class", "category", "sentiment", "target", "polarity")


def label_columns(metadata: pd.DataFrame) -> dict[str, list[str]]:
    """Columns that can be labels, the likeliest first -> their values, the most frequent first (as text)."""
    found: dict[str, list[str]] = {}
    for column in metadata.columns:
        values = metadata[column].dropna().astype(str)
        counts = values.value_counts()
        if 2 <= len(counts) <= MOST_CLASSES and counts.iloc[1] >= 5:
            found[str(column)] = [str(name) for name in counts.index]

    def unlikely(column: str) -> tuple[bool, int]:
        return column.lower() not in _LIKELY, len(found[column])

    return {column: found[column] for column in sorted(found, key=unlikely)}


def _columns(loaded: LoadedCorpus) -> dict[str, list[str]]:
    """The label columns of a corpus, looked for once."""
    known = st.session_state.get("study_columns")
    if known is None or known[0] != loaded.id:
        known = st.session_state.study_columns = (loaded.id, label_columns(loaded.corpus.metadata))
    return known[1]


def current_label_columns() -> dict[str, list[str]]:
    """The label columns of the session's corpus; where it has none, that is said."""
    columns = _columns(current_corpus())
    if not columns:
        st.info(
            "This corpus has no column with labels: a column of 2 to 50 different values. Choose another corpus, or "
            "one with a label for every document."
        )
    return columns


def draw_study_controls() -> bool:
    """Labels, split, Learn and Stop; False where the corpus has no labels, which is said."""
    columns = current_label_columns()
    if not columns:
        return False
    job = current_job(STUDY)
    wanted = _wanted(columns)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        column = st.selectbox(
            "Labels", list(columns), index=list(columns).index(wanted.column), key="widget_column",
            on_change=_change_column, args=(columns,), width=180,
        )  # fmt: skip
        names = columns[column]
        for k, title in enumerate(("Tell apart", "and")):
            other = wanted.classes[1 - k]
            choices = [name for name in names if name != other]
            st.selectbox(
                title, choices, index=choices.index(wanted.classes[k]), key=f"widget_class_{k}_{column}_{other}",
                on_change=_take_class, args=(k, f"widget_class_{k}_{column}_{other}"), width=180,
            )  # fmt: skip
        with st.container(width=220):
            run_and_stop(job, start_study, lambda: stop_job(STUDY), label="Learn")
    with st.expander("How the documents are split"):
        _split(wanted)
    if job is not None and not job.active and job.key != study_key():
        st.caption("⚠ The choices above have changed since these models were learnt.")
    return True


def _wanted(columns: dict[str, list[str]]) -> Wanted:
    """The session's wish, if this corpus can fulfil it; else its first column and its two most frequent values."""
    wanted = st.session_state.get("study_wanted")
    possible = columns.get(wanted.column, []) if wanted else []
    if not wanted or any(name not in possible for name in wanted.classes):
        column = next(iter(columns))
        wanted = Wanted(column, _pair(columns[column]))
        st.session_state.study_wanted = wanted
    return wanted


def _pair(values: list[str]) -> tuple[str, str]:
    """The two most frequent values, in alphabetical order: "negative" stands left of "positive"."""
    first, second = sorted(values[:2])
    return first, second


def _set(**changes: Any) -> None:
    state = st.session_state
    state.study_wanted = Wanted(**(vars(state.study_wanted) | changes))


def _change_column(columns: dict[str, list[str]]) -> None:
    column = st.session_state.widget_column
    _set(column=column, classes=_pair(columns[column]))


def _take_class(k: int, widget: str) -> None:
    classes = list(st.session_state.study_wanted.classes)
    classes[k] = st.session_state[widget]
    _set(classes=tuple(classes))


def _split(wanted: Wanted) -> None:
    """Shares and seed; a split that the corpus brings along."""
    metadata = current_corpus().corpus.metadata
    own = [f"split={value}" for value in ("test",) if "split" in metadata and (metadata["split"] == value).any()]
    st.caption(
        "Weights are learnt from the training documents, strengths chosen on the development set, and the models "
        "judged on the test set, which neither has seen."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        choices: list[Any] = [0.1, 0.2, 0.3, 0.4, *own]
        st.selectbox(
            "Test set", choices, index=choices.index(wanted.test) if wanted.test in choices else 1, width=220,
            format_func=lambda choice: choice if isinstance(choice, str) else f"{100 * choice:g} % of each class",
            key="widget_test", on_change=lambda: _set(test=st.session_state.widget_test),
        )  # fmt: skip
        shares = [0.1, 0.2, 0.3, 0.4]
        st.selectbox(
            "Development set", shares, index=shares.index(wanted.dev), width=220, key="widget_dev",
            format_func=lambda share: f"{100 * share:g} % of the rest",
            on_change=lambda: _set(dev=st.session_state.widget_dev),
        )  # fmt: skip
        st.number_input(
            "Seed", 0, 9999, wanted.seed, key="widget_seed", width=120,
            on_change=lambda: _set(seed=st.session_state.widget_seed),
            help="Another seed draws other documents.",
        )  # fmt: skip


def study_key() -> tuple[Any, ...]:
    """Corpus, kind, wish."""
    return (st.session_state.corpus_id, STUDY, replace(st.session_state.study_wanted, tokens=current_corpus().tokens))


def start_study() -> None:
    """Queue a study of the session's corpus."""
    loaded = current_corpus()
    run = StudyRun(study_key()[2])

    def work(job: Job) -> StudyRun:
        warm_up()
        run.run(loaded.corpus.texts, loaded.corpus.metadata, job)
        return run

    st.session_state.update(study_here=None, study_solve=None, study_path=None)
    start_job(STUDY, Job(loaded.corpus.name, study_key(), work, size=4 * loaded.table.n_tokens, so_far=run))
