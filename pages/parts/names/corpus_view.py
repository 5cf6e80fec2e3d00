"""The names of the corpus: an index with counts, where each stands, the tagged text to take away."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv
from cflengine.text import in_context
from pages.parts.names.corpus_run import NamesRun
from pages.parts.names.run import TaggerRun
from pages.parts.names.tagging import Tagger
from pages.parts.shared.controls import draw_stage, run_and_stop
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import FAILED, Job
from pages.parts.shared.metrics import draw_marked, table_height
from pages.parts.shared.selection import new_row, select_document, select_phrase
from pages.parts.shared.state import NAMES, current_corpus, current_job, start_job, stop_job
from pages.parts.shared.words import many, plain

LISTED, PLACES, CHARACTERS = 3_000, 300, 8_000
_AROUND = 45  # characters, as many as their column shows


def draw_corpus_names(tagger: Tagger, tagger_id: str) -> None:
    """Tag the corpus, and what was found; tagger_id: tells it from another."""
    loaded, job = current_corpus(), current_job(NAMES)
    st.header("Names in your corpus")
    if job is not None and job.key[2] != tagger_id:
        job = None  # of another tagger
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.markdown(f"{plain(loaded.corpus.name)}, {many(len(loaded.corpus), 'document')}", width="content")
        run_and_stop(
            job, lambda: _start(tagger, tagger_id), lambda: stop_job(NAMES), label="Find the names", key="_names",
            width=260,
        )  # fmt: skip
    if job is None:
        st.caption("The tagger knows names like those it has learnt from; of other kinds of text it knows less.")
        if isinstance(tagger, TaggerRun) and tagger.learnt_columns:
            st.caption(
                f"It has learnt from {many(tagger.learnt_columns, 'column')} beside the word, too, such as a part of "
                "speech. Your texts have none: each word gets the value that it, or a word like it, has most "
                f"often in {plain(tagger.file.name)}."
            )
        return
    if job.state == FAILED:
        st.error(plain(job.error))
    elif job.active:
        draw_stage(job)
    else:
        _draw_found(job.so_far, loaded)


def _start(tagger: Tagger, tagger_id: str) -> None:
    loaded = current_corpus()
    run = NamesRun(tagger)

    def work(job: Job) -> NamesRun:
        run.run(loaded.corpus.texts, job)
        return run

    key = (loaded.id, NAMES, tagger_id)
    start_job(NAMES, Job(loaded.corpus.name, key, work, so_far=run))


def _draw_found(run: NamesRun, loaded: LoadedCorpus) -> None:
    index, places = run.index(), run.places()
    if not len(index):
        st.info("No name was found.")
        return
    if run.done < len(loaded.corpus):
        st.caption(f"Stopped after {many(run.done, 'document')}.")
    kinds = sorted(index["kind"].unique())
    left, right = st.columns([2, 3], gap="medium")
    with left:
        kind = st.segmented_control(
            "Kind", ["all", *kinds], default="all", required=True, key="names_kind", format_func=plain
        )
        shown = (index if kind == "all" else index[index["kind"] == kind]).head(LISTED).reset_index(drop=True)
        event = st.dataframe(
            shown.assign(sure=100 * shown["sure"]), hide_index=True, on_select="rerun",
            height=table_height(len(shown), 430),
            selection_mode="single-row", key=f"names_index_{kind}", alt="Names with how often they stand",
            column_order=("name", "kind", "count", "sure", "documents"),
            column_config={
                "name": st.column_config.TextColumn(width=118), "kind": st.column_config.TextColumn(width=50),
                "count": st.column_config.NumberColumn(width=52),
                "sure": st.column_config.NumberColumn(format="%.0f %%", help="The mean of its places", width=52),
                "documents": st.column_config.NumberColumn("docs", help="Documents that have it", width=50),
            },
        )  # fmt: skip
        row = new_row(event, len(shown), f"names_index_{kind}")
        if row is not None:
            st.session_state.update(
                names_chosen=(str(shown["name"].iloc[row]), str(shown["kind"].iloc[row])), names_place=None
            )
            select_phrase(str(shown["name"].iloc[row]))
    with right:
        name, own = st.session_state.get("names_chosen") or ("", "")
        here = places[(places["name"] == name) & (places["kind"] == own)]
        if not len(here):  # of another corpus, or of another tagger
            name, own = str(shown["name"].iloc[0]), str(shown["kind"].iloc[0])
            here = places[(places["name"] == name) & (places["kind"] == own)]
        st.markdown(f"**{plain(name)}**, {plain(own)}: {many(len(here), 'place')}")
        _draw_places(run, loaded, here, f"names_places_{name}_{own}")
    with st.container(horizontal=True, gap="small"):
        for label, data, file in (
            ("Names (CSV)", lambda: frame_csv(index), "names.csv"),
            ("Places (CSV)", lambda: frame_csv(places), "places.csv"),
            ("Tokens (CSV)", run.tokens_csv, "tokens.csv"),
            ("Tagged text (CoNLL)", lambda: "".join(run.conll()).encode("utf-8", "replace"), "tagged.conll"),
        ):
            st.container(width="content").download_button(
                label, data, file, "text/plain", on_click="ignore", key=f"names_{file}"
            )


def _draw_places(run: NamesRun, loaded: LoadedCorpus, here: pd.DataFrame, key: str) -> None:
    rows = []
    for place in here.head(PLACES).itertuples():
        before, _, after = in_context(loaded.corpus.texts[place.document], place.start, place.end, _AROUND)
        rows.append({"doc": place.document, "before": before, "name": place.name, "after": after})
    event = st.dataframe(
        rows, hide_index=True, height=table_height(len(rows), 230), on_select="rerun",
        selection_mode="single-row", key=key,
        alt="The places of the name in context",
        column_config={"before": st.column_config.TextColumn(alignment="right", width=5 * _AROUND)},
    )  # fmt: skip
    row = new_row(event, len(rows), key)
    if row is not None:
        st.session_state.names_place = (key, row)
        select_document(rows[row]["doc"], loaded.corpus.metadata)
    of, number = st.session_state.get("names_place") or ("", 0)
    chosen = here.iloc[number if of == key and number < len(here) else 0]
    document, at = int(chosen["document"]), int(chosen["start"])
    st.caption(f"Document {document}, every name in it:")
    spans = sorted((a, e, kind) for d, a, e, _, kind, _ in run.found if d == document)
    text = loaded.corpus.texts[document]
    draw_marked("nm", text, spans, at, most=CHARACTERS, mark="#0072b2 26%", height="15rem")
