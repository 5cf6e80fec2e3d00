"""The recorded homotopy under the user's hand: ζ beside the document it decides on, and what it has cost."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import StageSnapshot
from pages.parts.components.text_view import text_view
from pages.parts.shared.figures import stages_figure
from pages.parts.shared.metrics import draw_figure, metric_row
from pages.parts.shared.views import final_view, stage_view
from pages.parts.shared.words import number, percent

_STEP_S = 0.7  # of Play
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
    """The ζ slider with Play, and what it shows; a fragment, so that dragging reruns nothing else."""
    zetas = [stage.zeta for stage in stages]
    state = st.session_state
    if state.get("zeta") not in zetas:  # left over from a run that went further
        state.zeta = zetas[0]
    if state.get("zeta_playing"):
        state.zeta = zetas[min(zetas.index(state.zeta) + 1, len(zetas) - 1)]
        state.zeta_playing = state.zeta != zetas[-1]
    with st.container(horizontal=True, gap="medium"):  # unlike columns it wraps where the text would be left no width
        hand, text = st.container(width=420), st.container(width="stretch")
    with hand:
        zeta = _slider(zetas)
        stage = next(stage for stage in stages if stage.zeta == zeta)
        metric_row(
            [
                ("Decided", percent(stage.binary_share, 1), "Of the pointers with w > 0.01, those with w ≥ 0.99."),
                ("Pointers chosen", number(stage.n_pointers)),
                ("Cost, rounded here", number(stage.objective)),
                ("Re-encoded", number(stage.repaired), "The same dictionary, every document at its least cost."),
            ]
        )
        bound = model.result_.lower_bound
        draw_figure(
            stages_figure(stages, stage.zeta, bound), "stages", "Cost, proved bound and share of decided pointers by ζ"
        )
        stays = stages[0].stays_optimal
        if 0 < stays <= 1:
            st.caption(
                f"Up to the dotted line, ζ = {stays:.2f}, every token has a pointer of at least that weight in the "
                "relaxation already, which therefore stays optimal. Circles: where the homotopy starts and ends."
            )
    with text:
        usual = most_changed(stages, model.table_.doc_ptr)
        document = st.number_input(
            "Document", 0, len(corpus) - 1, usual, key="scrub_document", width=200,
            help=f"Document {usual} changes most among the short ones, or among all where none is short.",
        )  # fmt: skip
        st.markdown(f"**At ζ = {stage.zeta:.1f}**" + (" · depth of colour: w" if stage.weights is not None else ""))
        documents, grams = stage_view(model.corpus_, corpus, [document], stage.cover, stage.weights)
        text_view(documents, grams=grams, key="text_before", height=300, counted="occurs")
        st.markdown("**At the end**")
        documents, grams = final_view(model, corpus, [document])
        text_view(documents, grams=grams, key="text_after", height=300)
    with st.expander("All stages as a table"):
        frame = pd.DataFrame([s.summary() for s in stages])
        st.dataframe(
            frame, hide_index=True, column_order=list(_STAGES), column_config=_STAGES, alt="A row a value of ζ"
        )
    if state.get("zeta_playing"):
        time.sleep(_STEP_S)  # a touch of any control interrupts it
        try:
            st.rerun(scope="fragment")
        except StreamlitAPIException:  # this run is of the whole page
            st.rerun()


def _slider(zetas: list[float]) -> float:
    """ζ and Play; where there is one stage alone, it is said."""
    if len(zetas) == 1:
        st.caption("The solve ended at ζ = 0, so there is one stage to look at.")
        return zetas[0]
    slider, button = st.columns([5, 2], vertical_alignment="bottom")
    zeta = slider.select_slider(
        "ζ, how decided pointers have to be", zetas, format_func=lambda value: f"{value:.1f}", key="zeta",
        help="0: the relaxation, pointers may be used in part. 1: every pointer is in or out.",
    )  # fmt: skip
    playing = bool(st.session_state.get("zeta_playing"))
    button.button("❚❚ Pause" if playing else "▶ Play", key="play_zeta", on_click=_play, args=(zetas,), width="stretch")
    return zeta


def _play(zetas: list[float]) -> None:
    state = st.session_state
    state.zeta_playing = not state.get("zeta_playing")
    if state.zeta_playing and state.get("zeta") == zetas[-1]:
        state.zeta = zetas[0]
