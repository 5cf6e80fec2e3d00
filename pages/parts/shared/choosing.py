"""Which corpus a session is about: what is done on another one is kept for a while, for the way back."""

from __future__ import annotations

import streamlit as st

from cflengine.text import TokenChoice
from pages.parts.shared import corpora
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.guard import whole
from pages.parts.shared.jobs import BOARD, FAILED
from pages.parts.shared.settings import Settings
from pages.parts.shared.state import (
    KINDS,
    PATH,
    READ,
    SAMPLE_JOB,
    Left,
    active_jobs,
    change_settings,
    current_job,
    explore,
    left_corpora,
    look_after,
    settings,
    write_query,
)

EXPLORE = True  # whether a corpus that is chosen is solved at once
KEEP_LEFT = 3  # corpora whose results a session finds again

#: what pages keep of results; of another corpus it would only hold memory
_RESULTS = (
    "solution", "read_points", "first_of", "first_points", "first_documents", "spelt_dictionary", "constraint",
    "phrasebook", "counted", "concordance_places", "find_counts", "selected_group", "group_members", "gram",
    "weights_ties", "loss_race", "comparison_path", "comparison_solve", "names_chosen", "comparison_open",
    "compare_groups", "boilerplate_group", "boilerplate_document", "phrase_query", "phrase_is_pattern",
    "phrase_regular", "phrase_place", "names_place", "document", "document_asked", "own_test",
    "scrub_film",
)  # fmt: skip


def usual_max_gram(tokens: TokenChoice) -> int:
    """K where none was chosen: of single characters, words have up to four of them."""
    return 4 if tokens.preset == "characters" and not tokens.own else Settings().max_gram


@whole
def choose_corpus(loaded: LoadedCorpus) -> None:
    """Make ``loaded`` the session's corpus; what runs on another one is stopped."""
    back = False
    if loaded.id != st.session_state.corpus_id:
        for job in active_jobs():
            job.stop.set()
        back = _turn_to(loaded.id)
        _forget_results()
    before: LoadedCorpus | None = st.session_state.get("held_corpus")
    st.session_state.update(corpus_id=loaded.id, held_corpus=loaded, notice="", path_wanted=None, pending_corpus=None)
    known = usual_max_gram(before.tokens) if before is not None else Settings().max_gram
    if not back and settings().max_gram == known:
        change_settings(max_gram=usual_max_gram(loaded.tokens))
    project, kept = st.session_state.get("project_settings", (None, {}))
    if project == loaded.id:
        st.session_state.update({**kept, "project_settings": (None, {})})
    opened, job_id = st.session_state.get("opened_path", (None, None))
    if loaded.id == corpora.SAMPLE:
        st.session_state[f"{PATH}_id"] = st.session_state.get(f"{PATH}_id") or SAMPLE_JOB
    elif opened == loaded.id and BOARD.get(job_id) is not None:
        st.session_state.update({f"{PATH}_id": job_id, "opened_path": (None, None)})  # from now on it is as any other
        look_after(BOARD.get(job_id))
    elif EXPLORE and current_job(PATH) is None:
        explore()
    write_query()


def _turn_to(corpus_id: str) -> bool:
    """Keep what there is of the session's corpus, and bring back what there was of another one; whether there was."""
    state, names = st.session_state, [*(f"{kind}_id" for kind in KINDS if kind != READ), "finished_id", "earlier_path"]
    jobs = {name: state[name] for name in names if state.get(name)}
    known = {left.corpus_id: left for left in [Left(state.corpus_id, jobs, state.settings), *left_corpora()][::-1]}
    back = known.pop(corpus_id, None)
    state.left_corpora = list(known.values())[::-1][:KEEP_LEFT]
    state.update(dict.fromkeys([*names, f"{READ}_id", "path_here", "path_gram", "path_refine"]))
    if back is not None:
        found = {name: BOARD.get(job_id) for name, job_id in back.jobs.items()}
        state.update({name: job.id for name, job in found.items() if job is not None and job.state != FAILED})
        state.settings = back.settings
    return back is not None


def _forget_results() -> None:
    state = st.session_state
    for name in [name for name in state if name in _RESULTS or str(name).startswith("asked_")]:
        del state[name]
