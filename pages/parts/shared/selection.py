"""What goes with the user from page to page: a phrase, a document, a group; and what each page was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from pages.parts.shared.jobs import Job
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.state import current_job

PHRASE, GROUP = "phrase_query", "selected_group"
PATTERN = "phrase_is_pattern"  # the toggle's own key is forgotten on other pages


_Choice = TypeVar("_Choice")


def session_choice(
    name: str, kind: str | None, fits: Callable[[_Choice], bool], usual: Callable[[], _Choice]
) -> _Choice:
    """What a page is asked for: the session's choice, if it was made for this corpus and still fits; else that of the
    job in the address; else the usual one. kind: of the job, whose key is corpus, kind, choice and what else there is;
    None for a page without.
    """
    state = st.session_state
    choice: _Choice | None = state.get(f"{name}_choice")
    if choice is None or state.get(f"{name}_corpus") != state.corpus_id or not fits(choice):
        job = current_job(kind) if kind is not None else None
        choice = job.key[2] if job is not None and fits(job.key[2]) else usual()
        state.update({f"{name}_choice": choice, f"{name}_corpus": state.corpus_id})
    return choice


def note_changes(job: Job | None, key: tuple, since: str, what: str = "The choices above have changed") -> None:
    """Say that what a page is asked for, ``key``, is not what its job was asked for; since: what that job has done.
    One at work keeps what it began with."""
    if job is not None and job.key != key:
        then = "this run began: it goes on with those it began with" if job.active else since
        st.caption(f"⚠ {what} since {then}.")


def select_phrase(phrase: str) -> None:
    """A phrase as the text spells it; empty for none."""
    if phrase != selected_phrase():
        st.session_state.document_asked = False  # Read opens where this one is used
    st.session_state.update({PHRASE: phrase, "phrase_regular": False, PATTERN: False})


def selected_phrase() -> str:
    """The phrase, empty if there is none; what is looked for as a regular expression is none."""
    return "" if st.session_state.get(PATTERN) else str(st.session_state.get(PHRASE) or "")


def choose_gram(run: PathRun, gram: int | None) -> None:
    """A K-gram of a path, by its number in the index, as the phrase that goes along; None for none. For callbacks
    within a fragment, which then calls :func:`show_choice`."""
    st.session_state.gram_chosen = True
    if gram is None:
        forget_selection()
    else:
        st.session_state.path_gram = gram
        select_phrase(run.label(gram))


def show_choice() -> None:
    """Run the page anew where a callback within a fragment has chosen a phrase: the bar above shows it."""
    if st.session_state.pop("gram_chosen", False):
        st.rerun()


def select_document(document: int, metadata: pd.DataFrame) -> None:
    """The document that Read opens on: it was asked for, whether it is of the group that goes along, and uses the
    phrase, or not."""
    st.session_state.update(document=document, group_on_show=selected_group(metadata), document_asked=True)


def selected_document(documents: int) -> int:
    """Its number, of so many."""
    return min(int(st.session_state.get("document", 0)), documents - 1)


def forget_document() -> None:
    """Go back to the first document."""
    st.session_state.update(document=0, document_asked=False)


def select_group(column: str, value: str) -> None:
    """The documents of one value of a column."""
    st.session_state[GROUP] = (column, value)


def selected_group(metadata: pd.DataFrame) -> tuple[str, str] | None:
    """Column and value, where the corpus has them."""
    return None if group_documents(metadata) is None else st.session_state[GROUP]


def group_documents(metadata: pd.DataFrame) -> np.ndarray | None:
    """int64: the documents of the group that goes along, rising; None where there is none."""
    state = st.session_state
    found = state.get(GROUP)
    if found is None or found[0] not in metadata.columns:
        return None
    key, known = (state.corpus_id, found), state.get("group_members")
    if known is None or known[0] != key:
        known = state.group_members = (key, np.flatnonzero(metadata[found[0]].astype(str) == found[1]))
    return known[1] if len(known[1]) else None


def new_row(event: Any, n_rows: int, key: str) -> int | None:
    """The row that has just been chosen in a table. The same selection comes back with every rerun, also after a
    click in the text: only a new one counts."""
    rows = event.selection.rows
    chosen = rows[0] if rows and rows[0] < n_rows else None
    if chosen == st.session_state.get(f"{key}_chosen"):
        return None
    st.session_state[f"{key}_chosen"] = chosen
    return chosen


def phrase_row(names: pd.Series, phrase: str) -> int | None:
    """The row of the dictionary that is spelt like that, in any case."""
    if not phrase:
        return None
    hits = names.index[names.str.lower() == phrase.lower()]
    return int(hits[0]) if len(hits) else None


def forget_selection() -> None:
    """No phrase is selected any more."""
    st.session_state.update({PHRASE: "", "gram": None, "path_gram": None})


def forget_group() -> None:
    """No group is selected any more."""
    st.session_state[GROUP] = None
    for widget in ("phrase_group", "phrase_column"):  # which then show their first choice
        st.session_state.pop(widget, None)
