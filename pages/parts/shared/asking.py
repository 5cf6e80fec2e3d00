"""What pages ask of the solver's thread, where kernels run: to compile them, first, and then short questions. A page
never waits for what runs there."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import streamlit as st

from cflengine import warm_up
from pages.parts.shared.jobs import BOARD

IDLE_S, BUSY_S = 1.5, 0.15  # how long a page run waits, while nothing else runs there, and while something does
WAITING = "The solver is busy; this is answered when it is done."
SOON = "The solver is busy; this is answered at its next step."
COMPILED_FIRST = "The engine is compiled first: once after an installation, about half a minute."
COMPILED_ONCE = "The first time after an installation its solver is compiled: up to half a minute."
STOPPING = "Stopping: what has been found so far is kept …"
_COMPILED = threading.Event()
_DRAWN_S = 2.0  # from a page's last line on the server until it stands in a browser, amply


@st.cache_resource(show_spinner=False)
def _warm() -> Future[None]:
    """Compile the engine, once a server, as the first job of the solver's queue: whatever else wants kernels waits for
    it. Then take what exists out of the collector's hands. The browser has its first page to draw before, on the same
    cores, unless a job waits."""

    def work() -> None:
        ends = time.monotonic() + _DRAWN_S
        while time.monotonic() < ends and not BOARD.busy:
            time.sleep(0.05)
        warm_up("guided", "homotopy")  # reweighting when it is wanted: its kernels take as long as all others
        gc.collect()
        gc.freeze()
        _COMPILED.set()

    return BOARD.enqueue(work, short=True)  # not that it is, but it comes first


def warm_engine() -> None:
    """Begin to compile, unless that is done or under way."""
    _warm()


def engine_is_warm() -> bool:
    """Whether every kernel is compiled (a first start takes about half a minute)."""
    return _COMPILED.is_set()


def asked(
    kind: str, key: tuple[Any, ...], work: Callable[[], Any], *, waiting: str = "", patience_s: float = IDLE_S,
    short: bool = False,
) -> Any:  # fmt: skip
    """The answer, remembered under ``kind`` until there is another key; None while it is not there yet: that is said,
    and the page comes back by itself. patience_s: how long the page waits where nothing else runs, little where it can
    be read without the answer. short: no solve, and nothing that is asked of every document: it passes any job. Raises
    what ``work`` raises."""
    name = f"asked_{kind}"
    known: tuple[Any, Future] | None = st.session_state.get(name)
    if known is None or known[0] != key:
        if known is not None:
            known[1].cancel()
        known = st.session_state[name] = (key, BOARD.enqueue(work, short=short))
    try:
        return known[1].result(timeout=BUSY_S if BOARD.busy else patience_s)
    except TimeoutError:
        if known[1].done():  # raised by the work itself
            raise
        st.fragment(_until_there, run_every=0.5)(name, waiting or (SOON if short else WAITING))
        return None


def _until_there(name: str, waiting: str) -> None:
    known = st.session_state.get(name)
    if known is not None and known[1].done():
        st.rerun()
    st.caption(waiting if engine_is_warm() else f"{waiting} {COMPILED_FIRST}")
