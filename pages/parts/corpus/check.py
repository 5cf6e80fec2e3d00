"""What a look at the corpus says: its script, repeated documents, documents that are no text, what columns are for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.text import CorpusCheck
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.state import look_after
from pages.parts.shared.words import many, number, percent, plain

MOST_TOKENS = 12_000_000  # more are looked at when asked for: it takes some seconds
PATIENCE_S = 0.7  # a look that is done by then needs no second run of the page
_SCRIPTS = {"CJK": "Chinese characters", "HIRAGANA": "Hiragana", "KATAKANA": "Katakana"}
_ROLES = {
    "split": "split: pages take it without being asked", "date": "dates", "id": "a name for each document",
    "label": "labels: classes to learn or to compare", "group": "groups", "number": "numbers to predict",
    "constant": "the same everywhere", "empty": "empty", "text": "text",
}  # fmt: skip


def draw_check(loaded: LoadedCorpus) -> None:
    """What was found, one sentence each; nothing is said of what is as it should be."""
    job = None if loaded.is_checked else _look(loaded)
    if loaded.is_checked:
        st.markdown("\n".join(f"- {sentence}" for sentence in sentences(loaded.check, loaded)))
    elif job is not None and job.state == FAILED:
        st.error(plain(job.error))
    elif job is not None:
        st.fragment(_looking, run_every=0.5)(job.id)


def _look(loaded: LoadedCorpus) -> Job | None:
    """The look at the corpus, in a thread of its own: a large one takes seconds. None where it has not been asked for
    yet."""
    corpus_id, job_id = st.session_state.get("check_job", ("", ""))
    job = BOARD.get(job_id) if corpus_id == loaded.id else None
    if job is not None:
        return job
    if loaded.table.n_tokens > MOST_TOKENS and not st.button("Look for repeated documents", key="check_now"):
        return None
    job = Job("The corpus", (loaded.id, "check"), lambda job: loaded.check, passing=True)
    st.session_state.check_job = (loaded.id, job.id)
    look_after(job)
    BOARD.start(job)
    job.ended.wait(PATIENCE_S)
    return job


def _looking(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:  # done, and forgotten since
        st.rerun()
    st.caption("Looking at the corpus: language, repeated documents, what is no text …")
    rerun_at_end(job)


def draw_roles(loaded: LoadedCorpus) -> None:
    """What the other columns may be for, folded away."""
    if not loaded.is_checked:
        return
    check = loaded.check
    if check.roles:
        frame = pd.DataFrame(
            {
                "column": [role.column for role in check.roles],
                "looks like": [_ROLES[role.role] for role in check.roles],
                "different values": [role.values for role in check.roles],
                "filled": [100 * role.filled for role in check.roles],
            }
        )
        others = many(len(frame), "other column").removeprefix("1 ")
        with st.expander(f"What the {others} may be for", key="check_roles"):
            st.dataframe(
                frame, hide_index=True, alt="Columns and what they look like",
                column_config={"filled": st.column_config.NumberColumn(format="%.0f %%")},
            )  # fmt: skip


def sentences(check: CorpusCheck, loaded: LoadedCorpus) -> list[str]:
    """The findings. loaded: the corpus, as it is cut."""
    tokens, several = loaded.tokens, loaded.table.n_documents > 1
    low, middle, high = check.lengths
    shares = [(_SCRIPTS.get(name, name.capitalize()), share) for name, share in check.scripts if share >= 0.01]
    scripts = ", ".join(f"{name} ({percent(share, 0)})" for name, share in shares)
    found = [
        f"Documents have {number(low)} to {number(high)} tokens, half of them {number(middle)} or fewer."
        if low < high
        else f"{'Every' if several else 'The'} document has {many(low, 'token')}.",
        f"{_language(check)}Letters: {scripts or 'none'}.",
    ]
    if check.unspaced and tokens.preset not in ("dictionary", "characters") and not tokens.own:
        found.append(
            "This script puts no blanks between words, so that a “word” here is all between two punctuation marks: "
            "phrases will be whole clauses. Choose characters or dictionary words under “What is a word”."
        )
    found += _said(check.repeated, "repeats an earlier one word by word", "repeat an earlier one word by word")
    found += _said(check.nearly, "nearly repeats an earlier one", "nearly repeat an earlier one")
    if has_much_html(check, loaded):
        found.append(
            f"{many(len(check.html), 'document')} {'holds' if len(check.html) == 1 else 'hold'} HTML, such as "
            f"{plain(check.first_html)}, whose pieces will be phrases."
        )
    found += [
        f"{one} Under “Read … otherwise”, leave out documents of fewer than 2 words (answers of one word, too)."
        for one in _said(check.no_answer, "is nothing but NA or the like", "are nothing but NA or the like")
    ]
    no_text = "like encoded data or a table, not like text"
    return found + _said(check.no_text, f"looks {no_text}", f"look {no_text}")


def _language(check: CorpusCheck) -> str:
    if check.second_language:
        return f"Languages: {check.language or 'mixed'}, and {check.second_language} in some documents. "
    return f"Language: {check.language}, it seems. " if check.language else ""


def has_much_html(check: CorpusCheck, loaded: LoadedCorpus) -> bool:
    """Whether so many documents hold HTML that it is worth a word."""
    return 200 * len(check.html) > len(loaded.corpus)


def _said(documents: np.ndarray, one: str, more: str) -> list[str]:
    if not len(documents):
        return []
    numbers = ", ".join(str(d) for d in documents[:5].tolist())
    rest = ", …" if len(documents) > 5 else ""
    return [f"{many(len(documents), 'document')} {one if len(documents) == 1 else more} ({numbers}{rest})."]
