"""Saved models: a model that was learnt elsewhere, at work on the corpus at hand."""

from pages.parts.shared.guard import through_router

through_router()

import hashlib
from typing import Any

import streamlit as st

from cflengine import ChainCRF
from pages.parts.names.corpus_view import draw_corpus_names
from pages.parts.names.tagging import SavedTagger
from pages.parts.names.view import draw_saved_tagger
from pages.parts.shared.glossary import link_to
from pages.parts.shared.guard import end_page
from pages.parts.shared.models import draw_applied, draw_model, read_uploaded
from pages.parts.shared.state import current_corpus
from pages.parts.shared.words import plain, said

_MOST_MB = 200


def drop_model() -> None:
    """Forget the model."""
    st.session_state.update(model_file=None, model_upload=None)


def _opened(name: str, data: bytes) -> tuple[str, str, Any, Any, str]:
    """Name, digest, model and header; or what is wrong with it."""
    digest = hashlib.sha256(data).hexdigest()
    try:
        model, header = read_uploaded(data, name)
    except ValueError as error:
        return name, digest, None, None, said(error)
    return name, digest, SavedTagger(model) if isinstance(model, ChainCRF) else model, header, ""


st.title("Saved models")
st.markdown(
    "Every page that learns a model hands it out as a file, and so do the commands. Bring one along, and it predicts "
    "the documents of the corpus in the sidebar, or finds the names in them. A model's file holds numbers and text, "
    "and never runs code."
)
uploaded = st.file_uploader(
    "A model (model.cflm)", type=["cflm"], max_upload_size=_MOST_MB,
    key="widget_model", on_change=lambda: drop_model() if st.session_state.widget_model is None else None,
    help="From the tab Files of Telling sentences or Losses, from Word groups, Embeddings or Names, from cflengine "
    "train-logistic, train-crf, sentences, erm or embed, or from cflengine.save_model.",
)  # fmt: skip
state = st.session_state
if uploaded is not None and state.get("model_upload") != uploaded.file_id:  # once: it may have 200 MB
    state.update(model_upload=uploaded.file_id, model_file=_opened(uploaded.name, uploaded.getvalue()))
if state.get("model_file") is None:
    st.info("No model yet. The quickest way to one: fit a loss on the page Losses, and take it from its tab Files.")
    link_to("losses", "To the losses")
    end_page()
name, digest, model, header, wrong = state.model_file
if uploaded is None:  # it was brought along before another page was looked at
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.markdown(plain(name), width="content")
        st.button("Remove", on_click=drop_model, help="Forget this model")
if wrong:
    st.error(wrong)
    end_page()
draw_model(header)
if isinstance(model, SavedTagger):
    draw_saved_tagger(model, f"saved-{digest}")
    draw_corpus_names(model, f"saved-{digest}")
else:
    draw_applied(model, header, current_corpus(), key=digest)
