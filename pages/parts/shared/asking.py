"""Short questions to the solver's thread, where kernels run: a page never waits for what runs there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import streamlit as st

from pages.parts.shared.jobs import BOARD

IDLE_S, BUSY_S = 1.5, 0.15  # how long a page run waits, while nothing else runs there, and while something does
WAITING = "The solver is busy; this is answered when it is done."


def asked(kind: str, key: tuple[Any, ...], work: Callable[[], Any], *, waiting: str = WAITING) -> Any:
    """The answer, remembered under ``kind`` until there is another key; None while it is not there yet: that is said,
    and the page comes back by itself. Raises what ``work`` raises."""
    name = f"asked_{kind}"
    known: tuple[Any, Future] | None = st.session_state.get(name)
    if known is None or known[0] != key:
        if known is not None:
            known[1].cancel()
        known = st.session_state[name] = (key, BOARD.enqueue(work))
    try:
        return known[1].result(timeout=BUSY_S if BOARD.busy else IDLE_S)
    except TimeoutError:
        if known[1].done():  # raised by the work itself
            raise
        st.fragment(_until_there, run_every=0.5)(name, waiting)
        return None


def _until_there(name: str, waiting: str) -> None:
    known = st.session_state.get(name)
    if known is not None and known[1].done():
        st.rerun()
    st.caption(waiting)
