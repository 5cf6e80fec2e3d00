"""λ-path: from single words to long phrases, every solution certified, under a slider."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.path.view import draw_path, draw_path_controls
from pages.parts.shared.controls import invite
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import PATH, current_job
from pages.parts.shared.words import plain

st.title("Words to phrases")
st.markdown(
    "λ is what each use of a phrase costs. Where uses are cheap, texts are kept as single words; where they are "
    "expensive, as long phrases. Here a whole range of λ is solved, each proved to be near the best; then move λ and "
    "watch the text and its phrases change. Where you let go between two solutions, the solver goes on from the better "
    "one."
)
draw_path_controls()

job = current_job(PATH)
if job is None:
    invite("Run the path", "compress {} at every λ")
elif job.state == FAILED:
    st.error(plain(job.error))
else:
    draw_path(job)
