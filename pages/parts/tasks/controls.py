"""What the Tasks page asks for: columns, how documents are split, how thoroughly; and the job that evaluates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from cflengine.experiments import read_target
from cflengine.text import role_of
from pages.parts.shared.controls import BUTTONS, gram_slider, run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.labels import corpus_part
from pages.parts.shared.selection import note_changes, session_choice
from pages.parts.shared.state import TASKS, current_corpus, current_job, settings, start_job, stop_job
from pages.parts.shared.words import plain
from pages.parts.tasks.run import HOW, OWN_SPLIT, SLOW_TOKENS, TasksChoice, TasksRun

MOST_COLUMNS = 8
_LIKELY = ("label", "class", "category", "sentiment", "target", "polarity", "rating", "author")
_ROLES = ("label", "group", "number")  # of columns, the likeliest to be predicted first
_WORDS = {"class": "classes", "number": "a number", "author": "many values, as authors"}


def target_columns(metadata: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Columns that can be predicted, the likeliest first -> the task each would be; and those that cannot -> why, in a
    sentence. Dates, and the column that says which documents are for testing, are for splitting, and in neither; names
    of documents come last."""
    found, refused, rank = {}, {}, {}
    order = {name: k for k, name in enumerate(_LIKELY)}
    for column in map(str, metadata.columns):
        role = role_of(column, metadata[column]).role
        if role in ("date", "split"):
            continue
        try:
            found[column] = read_target(metadata, column).task
        except ValueError as error:
            refused[column] = str(error)
            continue
        place = _ROLES.index(role) if role in _ROLES else len(_ROLES)
        rank[column] = (role == "id", order.get(column.lower(), len(order)), place)
    return dict(sorted(found.items(), key=lambda item: rank[item[0]])), refused


def draw_task_controls() -> bool:
    """Columns, Compare and Stop; the rest folded away. False where there is nothing to predict, which is said."""
    columns = _columns()
    if not columns:
        st.info(
            "This corpus has no column to predict: no classes, no numbers, no eight authors of ten documents each. "
            "Choose another corpus, or one with a rating, a label or an author for every document."
        )
        return False
    job, choice = current_job(TASKS), _choice(columns)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.multiselect(
            "Predict", list(columns), default=list(choice.columns), key="widget_tasks_columns", width=520,
            max_selections=MOST_COLUMNS, format_func=lambda column: f"{column} ({_WORDS[columns[column]]})",
            on_change=_take_columns,
            help="One or several columns. Features are made once for all of them." + _refused(),
        )  # fmt: skip
        run_and_stop(
            job, start_tasks, lambda: stop_job(TASKS), label="Compare", disabled=not choice.columns, width=BUTTONS,
        )  # fmt: skip
    if refused := _known()[1]:
        st.caption(f"Not offered: {plain(', '.join(refused))}; the question mark above says why.")
    with st.expander("How: split, λ, other tools", key="tasks_details"):
        _details(choice)
    note_changes(job, _key(), "this comparison was made")
    return True


def _details(choice: TasksChoice) -> None:
    names = [str(name) for name in current_corpus().corpus.metadata.columns if str(name) not in choice.columns]
    split, by = st.columns(2)
    hows = [how for how in HOW if names or how not in ("group", "time")]
    own = any(corpus_part(column) for column in choice.columns)
    split.selectbox(
        "Documents that are judged", hows, index=hows.index(choice.how) if choice.how in hows else 0,
        format_func=lambda how: OWN_SPLIT if how == "usual" and own else HOW[how], key="widget_tasks_how",
        on_change=_take_how, help="Of authors some documents each are held out instead, as in the paper.",
    )  # fmt: skip
    if "author" in {_columns().get(column) for column in choice.columns}:
        by.number_input(
            "Documents held out of each author", 1, 9, choice.held_out, key="widget_tasks_held",
            on_change=lambda: _set(held_out=int(st.session_state.widget_tasks_held)),
        )  # fmt: skip
    if choice.how in ("group", "time"):
        by.selectbox(
            "By column", names, index=names.index(choice.by) if choice.by in names else 0, key="widget_tasks_by",
            on_change=_take_how,
        )  # fmt: skip
    lams, others = st.columns(2)
    with lams:
        st.segmented_control(
            "Values of λ", [4, 10], default=choice.n_lams, required=True, key="widget_tasks_lams",
            format_func=lambda n: f"{n}, from 0.01 to 3",
            on_change=lambda: _set(n_lams=st.session_state.widget_tasks_lams),
        )  # fmt: skip
        st.toggle(
            "Other tools, too", choice.rivals, key="widget_tasks_rivals",
            on_change=lambda: _set(rivals=st.session_state.widget_tasks_rivals),
            help="All K-grams selected by usual scores; gensim's phrases and byte pairs where they are installed.",
        )  # fmt: skip
    with others:
        gram_slider()


def _columns() -> dict[str, str]:
    return _known()[0]


def _refused() -> str:
    """Which columns are not offered, and why, for a tooltip."""
    refused = _known()[1]
    if not refused:
        return ""
    return "\n\nNot offered:\n" + "".join(f"\n- {plain(why)}" for why in refused.values())


def _known() -> tuple[dict[str, str], dict[str, str]]:
    loaded = current_corpus()
    known = st.session_state.get("tasks_columns")
    if known is None or known[0] != loaded.id:
        known = st.session_state.tasks_columns = (loaded.id, target_columns(loaded.corpus.metadata))
    return known[1]


def _take_columns() -> None:
    """New columns; a split by one of them, which is now predicted, is none any more."""
    choice, columns = st.session_state.tasks_choice, tuple(st.session_state.widget_tasks_columns)
    if choice.by in columns:
        choice = replace(choice, how="usual", by=None)
    st.session_state.tasks_choice = replace(choice, columns=columns)


def _take_how() -> None:
    state = st.session_state
    how, before = state.widget_tasks_how, state.tasks_choice
    if how not in ("group", "time"):
        _set(how=how, by=None)
        return
    names = [str(name) for name in current_corpus().corpus.metadata.columns if str(name) not in before.columns]
    by = state.get("widget_tasks_by") if how == before.how and state.get("widget_tasks_by") in names else None
    likely = ("date", "time", "year") if how == "time" else ("group", "author", "beer", "user", "source")
    _set(how=how, by=by or next((name for name in names if name.lower() in likely), names[0]))


def _choice(columns: dict[str, str]) -> TasksChoice:
    """The session's, or the likeliest column."""

    def usual() -> TasksChoice:
        large = current_corpus().table.n_tokens > SLOW_TOKENS
        return TasksChoice((next(iter(columns)),), n_lams=4 if large else 10, rivals=not large)

    def fits(one: TasksChoice) -> bool:
        others = {str(name) for name in current_corpus().corpus.metadata.columns} - set(one.columns)
        by = one.by in others if one.how in ("group", "time") else one.by is None
        return set(one.columns) <= set(columns) and len(one.columns) <= MOST_COLUMNS and by

    return session_choice("tasks", TASKS, fits, usual)


def _set(**changes: Any) -> None:
    st.session_state.tasks_choice = replace(st.session_state.tasks_choice, **changes)


def _key() -> tuple[Any, ...]:
    choice = replace(st.session_state.tasks_choice, max_gram=settings().max_gram, tokens=current_corpus().tokens)
    return (st.session_state.corpus_id, TASKS, choice)


def start_tasks() -> None:
    """Queue an evaluation of the session's corpus."""
    loaded, key = current_corpus(), _key()
    run = TasksRun(key[2])

    def work(job: Job) -> TasksRun:
        run.run(loaded.corpus.texts, loaded.corpus.metadata, job)
        return run

    start_job(TASKS, Job(loaded.corpus.name, key, work, so_far=run))
