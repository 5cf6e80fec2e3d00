"""Saved models: a model that was learnt elsewhere, at work on the corpus at hand."""

from pages.parts.shared.guard import through_router

through_router()

import hashlib

import streamlit as st

from pages.parts.shared.glossary import link_to
from pages.parts.shared.models import draw_applied, draw_model, read_uploaded
from pages.parts.shared.state import current_corpus
from pages.parts.shared.words import plain

_MOST_MB = 200

st.title("Saved models")
st.markdown(
    "Every page that learns a model hands it out as a file, and so do the commands. Bring one along, and it predicts "
    "the documents of the corpus in the sidebar. A model's file holds numbers and text, and never runs code."
)
uploaded = st.file_uploader(
    "A model (model.cflm)", type=["cflm"], max_upload_size=_MOST_MB, key="widget_model",
    help="From the Files tab of Telling sentences, Losses or Word groups, from Embeddings, from cflengine "
    "train-logistic, sentences, erm or embed, or from cflengine.save_model.",
)  # fmt: skip
state = st.session_state
if uploaded is not None:
    state.model_file = (uploaded.name, uploaded.getvalue())
if state.get("model_file") is None:
    st.info("No model yet. The quickest way to one: fit a loss on the page Losses, and take it from its tab Files.")
    link_to("losses", "To the losses")
    st.stop()
name, data = state.model_file
digest = hashlib.sha256(data).hexdigest()
if state.get("model_read", ("",))[0] != digest:
    try:
        state.model_read = (digest, *read_uploaded(data, name))
    except ValueError as error:
        st.error(plain(str(error)))
        st.stop()
_, model, header = state.model_read
draw_model(header)
draw_applied(model, header, current_corpus(), key=digest)
