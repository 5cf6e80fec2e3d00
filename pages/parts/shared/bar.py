"""The bar above every page: what is looked at, at which λ, how near to the best that is proved to be, a link."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from urllib.parse import urlencode, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cflengine.compression import nearest_lam
from pages.parts.shared.corpora import SAMPLE
from pages.parts.shared.glossary import draw_glossary
from pages.parts.shared.keys import draw_keys
from pages.parts.shared.selection import (
    forget_document,
    forget_group,
    forget_selection,
    selected_document,
    selected_group,
    selected_phrase,
)
from pages.parts.shared.solution import Standing, current_standing, path_lams_here
from pages.parts.shared.state import PATH, change_settings, current_corpus, current_job, settings
from pages.parts.shared.words import brief, gap_words, many, plain


def draw_bar(pages: Mapping[str, str]) -> Callable[[], None]:
    """Corpus, λ, K, the proved gap, a link; pages: letter -> title, for the table of keys. The answer is called once
    the page stands, which may have chosen another phrase, group or document: they are drawn again."""
    loaded, path = current_corpus(), current_job(PATH)
    busy = path is not None and path.active
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="bar"):
        st.markdown(f"**{plain(loaded.corpus.name)}** · {many(len(loaded.corpus), 'document')}", width="content")
        _lam()
        # ticks while the path is at work, since what is proved changes then
        st.fragment(_standing, run_every=0.5 if busy else None)(busy and not path.so_far.points)
        selection = st.empty()
        drawn = _selection(selection)
        with st.popover("Share", width="content"):
            _share(loaded.id)
        with st.popover(
            "Words and keys", width="content", key="words", help="What the words here mean; keyboard shortcuts (?)"
        ):
            words, keys = st.tabs(["Words", "Keys"], key="bar_tabs")
            with words:
                draw_glossary()
            with keys:
                draw_keys(pages)

    def again() -> None:
        if _selected() != drawn:
            _selection(selection, "_new")

    return again


def _standing(waiting: bool) -> None:
    """How near to the best what is shown is. waiting: for the first λ of a path, with which the page is drawn anew."""
    found, path = current_standing(), current_job(PATH)
    if waiting and path is not None and path.so_far.points:
        st.rerun()
    if found is None:
        busy = any(job is not None and job.active for job in (path, current_job()))
        st.caption("being compressed …" if busy else "not compressed yet", width="content")
        return
    gap = gap_words(found.gap)
    proved = f"proved within {gap} of the best" if math.isfinite(found.gap) else "not proved yet"
    proved = "none is cheaper, proved" if found.optimal else proved
    more = " · still improving" if found.improving and not found.optimal else ""
    st.caption(f"up to {many(found.max_gram, 'word')} · {proved}{more}{_unsolved(found)}", width="content")


def _unsolved(found: Standing) -> str:
    """What of the settings nothing was solved for."""
    wanted = settings()
    names = [f"λ = {wanted.lam:g}"] if wanted.lam != found.lam else []
    names += [f"K = {wanted.max_gram}"] if wanted.max_gram != found.max_gram else []
    return f" · {' and '.join(names)} {'is' if len(names) == 1 else 'are'} set and not solved for yet" if names else ""


def _lam() -> None:
    """λ, of those that are certified; a page shows no value that nothing was solved for."""
    lams = path_lams_here()
    if len(lams) < 2:
        st.caption(f"λ = {settings().lam:g}", width="content")
        return
    here = nearest_lam(lams, settings().lam)
    st.selectbox(
        "λ", lams, index=lams.index(here), format_func=lambda lam: f"λ = {lam:g}", key=f"widget_bar_{lams}_{here}",
        label_visibility="collapsed", width=112, help="λ: from single words (small) to long phrases (large)",
        on_change=lambda: change_settings(lam=st.session_state[f"widget_bar_{lams}_{here}"]),
    )  # fmt: skip


def _selected() -> tuple[str, tuple[str, str] | None, int]:
    """The phrase, the group and the document that go along."""
    corpus = current_corpus().corpus
    return selected_phrase(), selected_group(corpus.metadata), selected_document(len(corpus))


def _selection(place: DeltaGenerator, again: str = "") -> tuple[str, tuple[str, str] | None, int]:
    """Draw them, the first document apart, which is any page's own choice; again: what tells the keys of a second
    drawing in a run from the first."""
    phrase, group, document = _selected()
    with place.container(horizontal=True, gap="small", width="content"):
        if group is not None:
            st.button(
                f"{plain(group[0])}: {plain(brief(group[1]))} ✕", key=f"bar_group{again}", type="tertiary",
                on_click=forget_group, help="The group goes with you from page to page; press to let it go.",
            )  # fmt: skip
        if phrase:
            st.button(
                f"“{plain(brief(phrase))}” ✕", key=f"bar_phrase{again}",
                type="tertiary", on_click=forget_selection,
                help="The phrase goes with you from page to page; press to let it go.",
            )  # fmt: skip
        if document:
            st.button(
                f"document {document} ✕", key=f"bar_document{again}", type="tertiary", on_click=forget_document,
                help="The document that Read opens, and the concordance of one; press to go back to the first.",
            )  # fmt: skip
    return phrase, group, document


def _share(corpus_id: str) -> None:
    st.caption(
        "This address brings back corpus, settings and results, as long as this server runs."
        if corpus_id != SAMPLE
        else "This address brings back the sample with these settings."
    )
    st.code(address(st.context.url or "", st.query_params.to_dict()), language=None, wrap_lines=True)


def address(page: str, query: Mapping[str, str]) -> str:
    """A page's address with its parameters, which Streamlit's own has lost."""
    return urlsplit(page)._replace(query=urlencode(query)).geturl()
