"""What keeps the app whole against three habits of Streamlit.

Until ``st.navigation`` has run once in a server's life, it takes ``pages/`` for its own kind of multipage app and runs
a deep-linked page file without ``app.py``: no sidebar, no wide layout. Every page therefore calls
:func:`through_router` first, which switches that off for good and starts the run over.

And it ends a run of the script at any access of the session's state, to begin the next: a click may come between two
things of which neither may be done alone, as a corpus is chosen and its solve begun. :func:`whole` keeps them together.

And it forgets a file that was made at a click at the second end of a script run behind its making, of any session.
While something is solved, pages tick several times a second, and the file is gone before the browser asks for it (404,
and no word): :func:`keep_downloads`.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import NoReturn, ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

P, R = ParamSpec("P"), TypeVar("R")
KEPT_S = 60.0  # a file that was made at a click, at least


def through_router() -> None:
    """Make sure that this page was started by ``app.py``; keeps the path and the query."""
    try:
        from streamlit.runtime.pages_manager import PagesManager
    except ImportError:  # an internal name: if it moves, deep links before the first visit look plain, no more
        return
    if getattr(PagesManager, "uses_pages_directory", False):
        PagesManager.uses_pages_directory = False
        st.rerun()


class PageEndedError(Exception):
    """A page has nothing more to show: see :func:`end_page`."""


def end_page() -> NoReturn:
    """End the page here, and not what ``app.py`` draws below every page, as ``st.stop`` does. Not within a fragment."""
    raise PageEndedError


def keep_downloads() -> None:
    """Have Streamlit keep files for a minute; once is enough."""
    try:
        from streamlit.runtime.media_file_manager import MediaFileMetadata
    except ImportError:  # an internal name, as above
        return
    if hasattr(MediaFileMetadata, "made_at"):
        return
    plain = MediaFileMetadata.mark_for_delete

    def mark_for_delete(self: MediaFileMetadata) -> None:
        made_at = self.__dict__.setdefault("made_at", time.monotonic())  # asked first when the run at hand ends
        if time.monotonic() - made_at >= KEPT_S:
            plain(self)

    MediaFileMetadata.made_at = None
    MediaFileMetadata.mark_for_delete = mark_for_delete


def whole(work: Callable[P, R]) -> Callable[P, R]:
    """Decorate what is done to its end once it has begun: in a thread of its own, since a run is ended in its own
    alone. In a callback, where the state is locked for other threads, and outside of scripts it runs as it is."""

    @functools.wraps(work)
    def run(*arguments: P.args, **named: P.kwargs) -> R:
        context = get_script_run_ctx(suppress_warning=True)
        if not getattr(context, "has_script_started", False):
            return work(*arguments, **named)
        answer: Future[R] = Future()

        def do() -> None:
            try:
                answer.set_result(work(*arguments, **named))
            except BaseException as error:  # the caller is told
                answer.set_exception(error)

        thread = add_script_run_ctx(threading.Thread(target=do, name="whole"), context)
        thread.start()
        thread.join()
        return answer.result()

    return run
