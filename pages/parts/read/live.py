"""Any documents under λ: as on the first screen, with the dictionary beside them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from cflengine import Corpus
from cflengine.compression import PathPoint
from pages.parts.components.live_text import live_text
from pages.parts.read.documents import MOST_MOVED, places_found
from pages.parts.read.points import live_points, note
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.solution import Solution
from pages.parts.shared.state import change_settings, settings, shown_path
from pages.parts.shared.words import many, proved_sentence

KEY = "read_text"


def draw_live(found: Solution, corpus: Corpus, shown: list[int]) -> bool:
    """The documents under a slider over every certified λ; False, and nothing, where the result is not of a path, or
    where too much would have to be sent."""
    job, state = shown_path(), st.session_state
    run: PathRun | None = job.so_far if job is not None else None
    if run is None or run.corpus is None or len(run.points) < 2:
        return False
    here, own = run.points.nearest(found.model.lam), found.model.result_
    if (here.lam, here.result.objective, run.corpus.digest) != (found.model.lam, own.objective, own.digest):
        st.caption("The last solve's result, by itself: at λ that the path has solved there is a slider here.")
        return False
    n_shown = int(np.diff(run.corpus.table.doc_ptr)[shown].sum())
    if n_shown * len(run.points) > MOST_MOVED:
        _draw_fixed(run, here, len(corpus), n_shown, len(shown))
        return False
    known = state.get("read_points")
    if known is None or known[0] is not run.points or known[1] != shown:
        known = state.read_points = (run.points, shown, live_points(run, corpus, shown))
    gram = state.get("gram")
    live_text(
        known[2], key=KEY, lam=settings().lam, alone=True, height=600,
        found=places_found(corpus, shown),
        selected=None if gram is None else int(found.model.gram_ids_[gram]), on_move=_move, on_choose=_choose(found),
    )  # fmt: skip
    return True


def _draw_fixed(run: PathRun, here: PathPoint, documents: int, n_shown: int, n_documents: int) -> None:
    """What is proved at the λ of the text, and why λ does not move it."""
    said = proved_sentence(here.result, run.max_gram, documents, "document")
    st.markdown("".join(f"**{part}**" if bold else part for part, bold in said))
    st.caption(note(here))
    these = f"these {n_documents} documents have" if n_documents > 1 else "this document has"
    most = many(MOST_MOVED // len(run.points), "word")
    instead = "Show fewer documents." if n_documents > 1 else "Another λ is set on Words to phrases."
    st.caption(f"λ = {here.lam:.3g}. The λ slider is off: it can move {most}, and {these} {n_shown:,}. {instead}")


def _move() -> None:
    change_settings(lam=st.session_state[KEY]["move"]["lam"])


def _choose(found: Solution) -> object:
    def chosen() -> None:
        """A piece is a K-gram of the index; the page speaks of rows of the dictionary at the λ it knows."""
        told, state = st.session_state[KEY]["choose"], st.session_state
        gram, ids = told["gram"], found.model.gram_ids_
        if gram is None:
            state.gram = None
            return
        row = np.flatnonzero(ids == gram)  # they are in the order of the columns, not sorted
        state.gram = int(row[0]) if len(row) else None

    return chosen
