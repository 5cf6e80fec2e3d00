"""Over time: which periods are hard to compress, which phrases come in bursts, any words by date."""

from pages.parts.shared.guard import through_router

through_router()

import streamlit as st

from pages.parts.overtime.view import choose_periods, draw_bursts, draw_cost, draw_phrase
from pages.parts.shared.solution import result_or_stop
from pages.parts.shared.state import current_corpus

st.title("Over time")
st.markdown(
    "If your documents have dates or years: when is something new said, which phrases come and go, and how often are "
    "words of your own used?"
)
found, loaded = result_or_stop(), current_corpus()
periods = choose_periods(loaded)
if periods is not None:
    draw_cost(found, loaded, periods)
    table, chart = st.columns(2, gap="medium")
    with table:
        draw_bursts(found, loaded, periods)
    with chart:
        draw_phrase(loaded, periods)
