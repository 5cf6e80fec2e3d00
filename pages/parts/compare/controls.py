"""What the Compare page asks for: the column of groups, which of them; and the job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.parts.compare.groups import MOST_GROUPS, current_groups
from pages.parts.compare.run import CompareChoice, CompareRun
from pages.parts.shared.controls import BUTTONS, run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.selection import note_changes, selected_group, session_choice
from pages.parts.shared.solution import Solution
from pages.parts.shared.state import COMPARE, current_corpus, current_job, start_job, stop_job

FIRST = 6  # groups that are compared unasked


def draw_compare_controls(found: Solution) -> bool:
    """Column, groups, Compare and Stop; False where the corpus has no groups, which is said."""
    _, columns = current_groups()
    if not columns:
        return False
    job, choice = current_job(COMPARE), _choice(columns)
    key = f"widget_compare_groups:{choice.column}"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Groups of", list(columns), index=list(columns).index(choice.column), key="widget_compare_column",
            width=180, on_change=_take_column, args=(columns,),
        )  # fmt: skip
        st.multiselect(
            "Compare", columns[choice.column], default=list(choice.groups), key=key, width=430,
            max_selections=MOST_GROUPS, on_change=lambda: _set(groups=tuple(st.session_state[key])),
        )  # fmt: skip
        run_and_stop(
            job, lambda: start_compare(found), lambda: stop_job(COMPARE), label="Compare",
            disabled=len(choice.groups) < 2, width=BUTTONS,
        )  # fmt: skip
    if len(choice.groups) < 2:
        st.caption("Choose two groups or more.")
    else:
        note_changes(job, _key(found), "this comparison was made", "The choices above, or λ, have changed")
    return True


def _choice(columns: dict[str, list[str]]) -> CompareChoice:
    """The session's, or that of the group that goes along, or the likeliest column."""
    along = selected_group(current_corpus().corpus.metadata)
    column, own = next(iter(columns)), ""
    if along is not None and along[1] in columns.get(along[0], ()):
        column, own = along
    groups = sorted(columns[column], key=lambda name: name != own)[:FIRST]  # that one, and the most frequent
    usual = CompareChoice(column, tuple(name for name in columns[column] if name in groups))

    def fits(one: CompareChoice) -> bool:
        return one.column in columns and set(one.groups) <= set(columns[one.column]) and len(one.groups) <= MOST_GROUPS

    return session_choice("compare", COMPARE, fits, lambda: usual)


def _take_column(columns: dict[str, list[str]]) -> None:
    column = st.session_state.widget_compare_column
    st.session_state.compare_choice = CompareChoice(column, tuple(columns[column][:FIRST]))


def _set(**changes: Any) -> None:
    st.session_state.compare_choice = replace(st.session_state.compare_choice, **changes)


def _key(found: Solution) -> tuple[Any, ...]:
    return (st.session_state.corpus_id, COMPARE, st.session_state.compare_choice, found.model.lam, found.model.max_gram)


def start_compare(found: Solution) -> None:
    """Queue a comparison of the session's groups."""
    loaded, key = current_corpus(), _key(found)
    run, model, (metadata, _) = CompareRun(key[2]), found.model, current_groups()

    def work(job: Job) -> CompareRun:
        run.run(model, list(loaded.corpus.texts), metadata, job)
        return run

    start_job(COMPARE, Job(loaded.corpus.name, key, work, so_far=run))
