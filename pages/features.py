"""Features: the bag of K-grams as you like, to take away."""

from pages.parts.guard import through_router

through_router()

import streamlit as st

from cflengine.linear.weighting import WEIGHTINGS
from pages.parts.counting import counted, draw_counting
from pages.parts.downloads import command_line, draw_downloads, preview_table, python_lines
from pages.parts.gate import result_or_stop
from pages.parts.metrics import metric_row
from pages.parts.state import change_settings, current_corpus, settings
from pages.parts.words import number, percent

st.title("Export")
model = result_or_stop().model
loaded = current_corpus()
st.markdown(
    "A document's features are how often it uses each K-gram of the dictionary. New documents are counted with the "
    "same dictionary, so a model trained on these features can be used on them."
)
chosen = settings()
draw_counting()
st.segmented_control(
    "Weighting",
    WEIGHTINGS,
    default=chosen.weighting,
    required=True,
    key="widget_weighting",
    on_change=lambda: change_settings(weighting=st.session_state.widget_weighting),
    help="count: as they are. tf: divided by the document's sum. idf: counts times the inverse document frequency. "
    "tf-idf: both. damped: the square root of counts times idf, documents scaled to length 1; best for learning.",
)
model = counted(model, chosen.counting, chosen.temperature)
features = model.features(weighting=chosen.weighting)
metric_row(
    [
        ("Documents", number(features.shape[0])),
        ("Features", number(features.shape[1])),
        ("Non-zero entries", number(features.nnz)),
        ("Density", percent(features.nnz / max(1, features.shape[0] * features.shape[1]), 3)),
    ]
)
st.dataframe(
    preview_table(model, features, loaded.corpus), height=330, alt="The first documents by the most frequent features"
)
st.caption("The first 50 documents by the 30 K-grams that most documents use; the downloads hold everything.")
draw_downloads(model, features, chosen.weighting)
st.page_link("pages/tasks.py", label="What are they worth? Predict a column of yours from them", icon="🎯")
st.subheader("Reproduce it")
st.caption("The same features from a terminal, or in Python:")
st.code(command_line(loaded, model, chosen.weighting), language="bash")
st.code(python_lines(loaded, model, chosen.weighting), language="python")
