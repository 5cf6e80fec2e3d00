"""The cure for deep links.

Until ``st.navigation`` has run once in a server's life, Streamlit takes ``pages/`` for its own kind of
multipage app and runs a deep-linked page file without ``app.py``: no sidebar, no wide layout. Every page
therefore calls :func:`through_router` first, which switches that off for good and starts the run over.
"""

from __future__ import annotations

import streamlit as st


def through_router() -> None:
    """Make sure that this page was started by ``app.py``; keeps the path and the query."""
    try:
        from streamlit.runtime.pages_manager import PagesManager
    except ImportError:  # an internal name: if it moves, deep links before the first visit look plain, no more
        return
    if getattr(PagesManager, "uses_pages_directory", False):
        PagesManager.uses_pages_directory = False
        st.rerun()
