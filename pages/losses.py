"""Losses: say what an error costs, and what coefficients must obey; the fit comes with a proof."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.losses.controls import draw_loss_controls
from pages.parts.losses.view import (
    draw_coefficients,
    draw_files,
    draw_numbers,
    draw_predictions,
    draw_proof,
    draw_race,
)
from pages.parts.shared.controls import draw_waiting, invite
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import FAILED
from pages.parts.shared.state import LOSS, current_corpus, current_job
from pages.parts.shared.words import plain

st.title("Losses")
st.markdown(
    "Predict a class or a number from the texts, and decide yourself what an error costs: pick a loss or draw one, and "
    "say what the coefficients must obey. All such problems have one form (ReHLine, Dai and Qiu, 2023) and one solver, "
    "and every solution is proved."
)
possible = draw_loss_controls()
job = current_job(LOSS)
if not possible:
    end_page()
if job is None:
    invite("Fit", "predict a column of {}")
elif job.state == FAILED:
    st.error(plain(job.error))
elif job.active:
    draw_proof(job)
    draw_waiting(job, "Making features of the documents …")
else:
    run = job.result
    draw_numbers(run)
    racing = [] if run.choice.numbers else ["Two forms race"]  # of support vector machines, which are for classes
    names = ["Coefficients", "Predictions", "Proof", *racing, "Files"]
    words, predictions, proof, *race, files = st.tabs(names, key=f"loss_tabs_{run.choice.numbers}")
    with words:
        draw_coefficients(run, current_corpus())
    with predictions:
        draw_predictions(run)
    with proof:
        draw_proof(job)
    for tab in race:
        with tab:
            draw_race(run, job)
    with files:
        draw_files(run, current_corpus())
