"""Names: a chain CRF learnt from tagged sentences, your own sentence tagged by it, and the names of the corpus."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.names.corpus_view import draw_corpus_names
from pages.parts.names.run import TaggerChoice
from pages.parts.names.view import draw_tagger, draw_tagger_controls, draw_training
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import TAGGER, current_job
from pages.parts.shared.words import many, plain

st.title("Names")
st.markdown(
    "Finds the names in your texts: of people, places and beers in the example, of whatever is tagged in sentences of "
    "your own. It learns from sentences in which names are marked, and says how sure it is of each that it finds: a "
    "linear-chain conditional random field, which looks at the labels on both sides of a word."
)
file = draw_tagger_controls()
if file is None:
    end_page()
job = current_job(TAGGER)
if job is None:
    judged = TaggerChoice("").n_judged(len(file.rows))
    kept = f"The last {many(judged, 'sentence')} of them {'is' if judged == 1 else 'are'} kept to judge by."
    st.info(
        f"Press **Train** to learn from {plain(file.name)}: {many(len(file.rows), 'sentence')}, "
        f"{many(file.n_tokens, 'token')}. {kept if judged else 'They are too few to keep any to judge by.'}"
    )
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_training(job)
else:
    draw_tagger(job.result, job.id)
    draw_corpus_names(job.result, job.id)
