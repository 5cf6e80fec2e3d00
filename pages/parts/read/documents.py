"""Which documents a page shows the text of: from one on, of the group that goes along; words that are looked for."""

from __future__ import annotations

import numpy as np
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.text import TokenTable
from pages.parts.shared.selection import group_documents, selected_document, selected_group
from pages.parts.shared.state import shown_path
from pages.parts.shared.words import brief, many, plain

WORDS_AT_ONCE = 100_000
MOST_MOVED = 150_000  # tokens that a slider moves, times the λ that are sent along with them
MOST_FOUND = 2_000  # places of a search that are lit
_FOLLOWING = {1: "1", 3: "3", 10: "10", 100: "100", 0: "all that fit"}  # documents on show


def choose_documents(table: TokenTable, corpus: Corpus) -> list[int]:
    """The documents to show: one, or as many from there on as fit a hundred thousand words."""
    state = st.session_state
    last, own = len(corpus) - 1, group_documents(corpus.metadata)
    wanted = selected_document(len(corpus))
    if state.get("group_on_show") != (group := selected_group(corpus.metadata)):  # chosen since this was drawn last
        state.group_on_show = group
        wanted = state.document = _nearest(own, wanted)
    state.widget_document = wanted
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):  # wraps on a narrow screen
        st.number_input(
            "Document", 0, last, key="widget_document", width=110,
            on_change=lambda: state.update(document=state.widget_document),
        )  # fmt: skip
        st.text_input("Find in the corpus", key="find", placeholder="words", on_change=_jump, args=(corpus, 0))
        st.button(
            "›", key="find_next", on_click=_jump, args=(corpus, 1), help="The next document that holds these words"
        )
        following = st.selectbox(
            "How many", list(_FOLLOWING), index=_usual(table, wanted), format_func=_FOLLOWING.get, key="following",
            width=125,
            help=f"From that document on; never more than fit {WORDS_AT_ONCE:,} tokens.",
        )  # fmt: skip
    if state.get("find"):
        _say_found(corpus, wanted)
    if own is not None and group is not None:
        stranger = "" if wanted in own else f" Document {wanted} is not one of them."
        said = f"{plain(group[0])}: {plain(brief(group[1]))}"
        st.caption(f"Of the {many(len(own), 'document')} with {said}, the group that goes along.{stranger}")
    return _on_show(table, wanted, following, own)


def _nearest(own: np.ndarray | None, document: int) -> int:
    """The document, or where it is none of the group's, the next that is, or the group's first."""
    if own is None:
        return document
    after = int(np.searchsorted(own, document))
    return int(own[after if after < len(own) else 0])


def _on_show(table: TokenTable, first: int, following: int, own: np.ndarray | None) -> list[int]:
    """A document and those after it, of the group where there is one. following: how many are wanted, 0 for all that
    fit."""
    if own is None:
        ends = table.doc_ptr[first + 1 :] - table.doc_ptr[first]
        later = None
    else:
        later = own[np.searchsorted(own, first, side="right") :]
        sizes = table.doc_ptr[later + 1] - table.doc_ptr[later]
        ends = np.cumsum(np.append(table.doc_ptr[first + 1] - table.doc_ptr[first], sizes))
    fit = max(1, int(np.searchsorted(ends, WORDS_AT_ONCE, side="right")))
    count = min(fit, following) if following else fit
    return list(range(first, first + count)) if later is None else [first, *later[: count - 1].tolist()]


def _usual(table: TokenTable, first: int) -> int:
    """Which number of documents to begin with: ten, but fewer where that many are too long to move under the slider."""
    ends = table.doc_ptr[first + 1 :] - table.doc_ptr[first]
    job = shown_path()
    n_lams = max(len(job.so_far.points) if job is not None else 0, 12)
    return next((k for k, n in ((2, 10), (1, 3)) if int(ends[:n][-1]) <= MOST_MOVED / n_lams), 0)


def go_to_use(model: CompressiveFeatures, table: TokenTable, gram: int, own: np.ndarray | None = None) -> None:
    """Show documents in which a row of the dictionary is used, of the group ``own`` if one of them does, where none of
    those on show uses it."""
    state, encoding = st.session_state, model.encoding_
    using = encoding.document[encoding.gram == gram]
    first = selected_document(len(table.doc_ptr) - 1)
    following = state.get("following", list(_FOLLOWING)[_usual(table, first)])
    if len(using) and not np.isin(using, _on_show(table, first, following, own)).any():
        of_group = using if own is None else using[np.isin(using, own)]
        state.document = _nearest(of_group if len(of_group) else using, first)


def _say_found(corpus: Corpus, here: int) -> None:
    """How often the words of the find box stand in the corpus, and in which place of the documents one is."""
    state, needle = st.session_state, st.session_state.find.lower()
    if state.get("find_failed"):
        other = "other " if needle in corpus.texts[here].lower() else ""
        st.caption(f"No {other}document holds “{plain(state.find)}”.")
    known = state.get("find_counts")
    if known is None or known[0] != (corpus.digest, needle):
        counts = [text.lower().count(needle) for text in corpus.texts]
        known = state.find_counts = ((corpus.digest, needle), np.array(counts))
    counts = known[1]
    holding = np.flatnonzero(counts)
    if len(holding):
        at = f"; document {here} is number {np.searchsorted(holding, here) + 1:,} of them" if counts[here] else ""
        st.caption(f"{many(int(counts.sum()), 'place')} in {many(len(holding), 'document')}{at}.")


def places_found(corpus: Corpus, shown: list[int]) -> list[tuple[int, int, int]]:
    """Where the words of the find box stand in the documents on show: (position, start, end), in code points."""
    needle = st.session_state.get("find", "").lower()
    spans: list[tuple[int, int, int]] = []
    for position, d in enumerate(shown):
        text = corpus.texts[d].lower()
        if not needle or len(text) != len(corpus.texts[d]):  # lower-casing moved the offsets
            continue
        at = text.find(needle)
        while at >= 0 and len(spans) < MOST_FOUND:
            spans.append((position, at, at + len(needle)))
            at = text.find(needle, at + len(needle))
    return spans


def _jump(corpus: Corpus, skip: int) -> None:
    """Go to the next document that holds the words in the find box (any case), from the current one plus ``skip``."""
    state = st.session_state
    needle = state.get("find", "").lower()
    start = min(state.get("document", 0) + skip, len(corpus))
    order = [*range(start, len(corpus)), *range(start)]
    hit = next((d for d in order if needle in corpus.texts[d].lower()), None) if needle else None
    state.find_failed = needle != "" and hit is None
    if hit is not None:
        state.document = hit
