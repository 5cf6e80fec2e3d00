"""Names: a chain CRF learnt from tagged sentences, your own sentence tagged by it, and the names of the corpus."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.names.corpus_view import draw_corpus_names
from pages.parts.names.view import draw_tagger, draw_tagger_controls, draw_training
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import TAGGER, current_job
from pages.parts.shared.words import many, plain

st.title("Names")
st.markdown(
    "A linear-chain conditional random field gives every token of a sentence a label, such as what kind of name it is "
    "part of, and looks at the labels on both sides. It learns from tagged sentences and says how sure it is."
)
file = draw_tagger_controls()
if file is None:
    st.stop()
job = current_job(TAGGER)
if job is None:
    st.info(
        f"Press **Train** to learn from {plain(file.name)}: {many(len(file.rows), 'sentence')}, "
        f"{many(file.n_tokens, 'token')}. The last fifth is kept to judge by."
    )
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_training(job)
else:
    draw_tagger(job.result, job.id)
    draw_corpus_names(job.result, job.id)
