"""How K-grams are counted: chosen on the Features page, applied to a model that is there."""

from __future__ import annotations

import streamlit as st
from sklearn.base import clone

from cflengine import CompressiveFeatures
from cflengine.compression import COUNTINGS
from pages.parts.shared.settings import TEMPERATURES
from pages.parts.shared.state import change_settings, settings

_TEMPERATURES = tuple(map(float, TEMPERATURES))
_WORDS = {
    "pointers": "The pointers of the cheapest encoding, as in the paper. A near tie falls one way or the other, so "
    "that a small change of a text may change many counts.",
    "occurrences": "Wherever a K-gram of the dictionary stands, inside longer ones too.",
    "soft": "How often a K-gram is used on average over all ways to encode the document, cheap ways counting most.",
}


def draw_counting() -> None:
    """The way to count, and the temperature of soft counts."""
    chosen = settings()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.segmented_control(
            "Counting", COUNTINGS, default=chosen.counting, required=True, key="widget_counting",
            on_change=lambda: change_settings(counting=st.session_state.widget_counting),
            help="On most corpora measured, occurrences or soft counts beat pointers for learning: see Tasks.",
        )  # fmt: skip
        if chosen.counting == "soft":
            nearest = min(_TEMPERATURES, key=lambda value: abs(value - chosen.temperature))
            st.select_slider(
                "Temperature", _TEMPERATURES, nearest, format_func=lambda value: f"{value:g}", width=240,
                key="widget_temperature",
                on_change=lambda: change_settings(temperature=st.session_state.widget_temperature),
                help="Near 0 only the encodings with the fewest pieces count; at large values all of them alike.",
            )  # fmt: skip
    st.caption(_WORDS[chosen.counting])


def counted(model: CompressiveFeatures, counting: str, temperature: float) -> CompressiveFeatures:
    """The same dictionary, counted another way; kept for the session while model and choice stay the same."""
    if counting == model.counting and (counting != "soft" or temperature == model.temperature):
        return model
    known = st.session_state.get("counted")
    if known is not None and known[0] is model and known[1:3] == (counting, temperature):
        return known[3]
    other = clone(model).set_params(counting=counting, temperature=temperature, listeners=())
    other.adopt(model.corpus_, model.result_)
    st.session_state.counted = (model, counting, temperature, other)
    return other
