"""The address that the Solve page had first; links to it still lead there."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

st.switch_page("pages/solve.py")
