"""The recorded homotopy under the user's hand: ζ beside the document it decides on, and what it has cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import StageSnapshot
from pages.parts.components.stage_film import Film, stage_film
from pages.parts.read.documents import MOST_MOVED
from pages.parts.shared.views import final_view, stage_view
from pages.parts.shared.words import many

READABLE = 150  # tokens, which fit into the view
_STAGES = {
    "zeta": st.column_config.NumberColumn("ζ", format="%.1f"),
    "iteration": st.column_config.NumberColumn("steps", format="localized", help="Of the solver, from the start."),
    "objective": st.column_config.NumberColumn("cost, rounded", format="%.1f"),
    "relaxation": st.column_config.NumberColumn(
        "value of w", format="%.1f", help="Cost of the weights w, which may use pointers in part: an estimate."
    ),
    "n_pointers": st.column_config.NumberColumn("pointers", format="localized"),
    "dictionary_size": st.column_config.NumberColumn("K-grams", format="localized"),
    "binary_share": st.column_config.NumberColumn("decided", format="percent"),
    "repaired": st.column_config.NumberColumn(
        "re-encoded", format="%.1f", help="The same dictionary, used at its best."
    ),
}


def most_changed(stages: Sequence[StageSnapshot], doc_ptr: np.ndarray) -> int:
    """The document with the most tokens whose pointers differ between beginning and end, among those of at most
    READABLE tokens where there are any. doc_ptr: int64 (N+1,)."""
    changed = np.flatnonzero(stages[0].cover != stages[-1].cover)
    counts = np.bincount(np.searchsorted(doc_ptr, changed, side="right") - 1, minlength=len(doc_ptr) - 1)
    readable = np.diff(doc_ptr) <= READABLE
    return int(np.argmax(np.where(readable, counts, -1) if readable.any() else counts))


@st.fragment
def draw_scrubber(model: CompressiveFeatures, corpus: Corpus, stages: Sequence[StageSnapshot]) -> None:
    """The film, and what its stages are in numbers; a fragment, so that another document reruns nothing else."""
    usual = most_changed(stages, model.table_.doc_ptr)
    document = st.number_input(
        "Document", 0, len(corpus) - 1, usual, key="scrub_document", width=200,
        help=f"Document {usual} changes most among the short ones, or among all where none is short.",
    )  # fmt: skip
    state = st.session_state
    result, last = model.result_, stages[-1]
    about = (corpus.digest, document, len(stages), last.objective, last.iteration, result.objective, result.lower_bound)
    known = state.get("scrub_film")
    if known is None or known[0] != about:
        known = state.scrub_film = (about, _film(model, corpus, stages, document))
    stage_film(known[1], key="film")
    most, own = MOST_MOVED // len(stages), int(np.diff(model.table_.doc_ptr)[document])
    if own > most:
        st.caption(f"The first {many(most, 'word')} of {own:,}: so many can be sent along for every ζ.")
    with st.expander("All stages as a table"):
        frame = pd.DataFrame([s.summary() for s in stages])
        st.dataframe(
            frame, hide_index=True, column_order=list(_STAGES), column_config=_STAGES, alt="A row a value of ζ"
        )


def _film(model: CompressiveFeatures, corpus: Corpus, stages: Sequence[StageSnapshot], document: int) -> Film:
    """A document at every stage and at the end, as much of it as may be sent."""
    most = MOST_MOVED // len(stages)
    shown = [stage_view(model.corpus_, corpus, [document], s.cover, s.weights, most=most) for s in stages]
    texts = [{"title": view["title"], "text": view["text"], "meta": ""} for view in shown[0][0]]
    (last,), last_grams = final_view(model, corpus, [document])
    table = model.table_
    first, past = (int(x) for x in table.doc_ptr[document : document + 2])
    sent = table.end[first : min(past, first + most)]
    inside = last["pointers"]["end"] <= (sent[-1] if len(sent) else 0)
    return Film.of(
        stages,
        model.result_.lower_bound,
        texts,
        [([view["pointers"] for view in views], _entries(grams)) for views, grams in shown],
        ([{name: column[inside] for name, column in last["pointers"].items()}], _entries(last_grams)),
    )


def _entries(grams: Mapping[int, Mapping[str, Any]]) -> dict[int, tuple[str, int, float]]:
    return {gram: (facts["label"], facts["count"], facts["cost"]) for gram, facts in grams.items()}
