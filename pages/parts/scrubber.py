"""The recorded homotopy under a slider: numbers at each ζ, and the same text before and after."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from pages.parts.figures import stages_figure
from pages.parts.metrics import metric_row
from pages.parts.text_view import text_view
from pages.parts.views import final_view, stage_view
from pages.parts.words import number, percent


@st.fragment
def draw_scrubber(model: CompressiveFeatures, corpus: Corpus) -> None:
    """The ζ slider and what it shows; a fragment, so that dragging reruns nothing else."""
    stages = model.result_.stages
    if not stages:
        return
    st.header("Along the homotopy")
    if len(stages) == 1:
        stage = stages[0]
        st.caption("The solve ended at ζ = 0, so there is one stage to look at.")
    else:
        zetas = [s.zeta for s in stages]
        if st.session_state.get("zeta") not in zetas:  # left over from a run that went further
            st.session_state.zeta = zetas[0]
        zeta = st.select_slider(
            "ζ", zetas, format_func=lambda value: f"{value:.1f}", key="zeta",
            help="0: the relaxation, pointers may be used in part. 1: every pointer is in or out.",
        )  # fmt: skip
        stage = next(s for s in stages if s.zeta == zeta)
    metric_row(
        [
            (
                "Binary share of w",
                percent(stage.binary_share, 1),
                "Of the pointers with w > 0.01, those with w ≥ 0.99.",
            ),
            ("Pointers chosen", number(stage.n_pointers)),
            ("K-grams used", number(stage.dictionary_size)),
            ("Cost, rounded here", number(stage.objective)),
        ]
    )
    document = st.number_input("Document", 0, len(corpus) - 1, 0, key="scrub_document", width=200)
    before, after = st.columns(2)
    with before:
        st.markdown(f"**At ζ = {stage.zeta:.1f}**" + (" · strength of colour: w" if stage.weights is not None else ""))
        documents, grams = stage_view(model, corpus, [document], stage.marks, stage.weights)
        text_view(documents, grams=grams, key="text_before", height=420, counted="occurs")
    with after:
        st.markdown("**At the end**")
        documents, grams = final_view(model, corpus, [document])
        text_view(documents, grams=grams, key="text_after", height=420)
    st.plotly_chart(stages_figure(stages, stage.zeta), key="stages", config={"displayModeBar": False})
    with st.expander("All stages as a table"):
        st.dataframe(pd.DataFrame([s.summary() for s in stages]), hide_index=True)
