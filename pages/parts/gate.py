"""Pages that show a result send the reader to the solver while there is none."""

from __future__ import annotations

import streamlit as st

from pages.parts.jobs import Job
from pages.parts.state import finished_job


def result_or_stop() -> Job:
    """The finished job for the session's corpus; without one, a sentence, a link and the end of the page."""
    job = finished_job()
    if job is None:
        st.info("Nothing is compressed yet: run the solver first.")
        st.page_link("pages/solve.py", label="To the solver", icon="📈")
        st.stop()
    return job
