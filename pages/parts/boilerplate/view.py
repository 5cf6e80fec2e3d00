"""Repeated passages, documents that bring little new, and the corpus without either."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import streamlit as st

from cflengine import Corpus
from cflengine.engine import frame_csv
from pages.parts.boilerplate.run import LEAST, BoilerplateRun, clean_frame
from pages.parts.corpus.reading import Reading, begin_reading
from pages.parts.shared import corpora
from pages.parts.shared.controls import run_and_stop
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import Job
from pages.parts.shared.metrics import draw_marked, metric_row, table_height
from pages.parts.shared.selection import new_row, note_changes, select_document
from pages.parts.shared.solution import current_solution
from pages.parts.shared.state import BOILERPLATE, current_corpus, current_job, start_job, stop_job
from pages.parts.shared.words import many, number, percent, plain

LISTED, WHERE, CHARACTERS = 2_000, 60, 6_000
_WORDS = re.compile(r"[^\W\d_]{2,}")


def draw_controls() -> None:
    """The shortest passage, Look and Stop."""
    job, state = current_job(BOILERPLATE), st.session_state
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.select_slider(
            "Words of a passage, at least", LEAST, value=state.get("boilerplate_least", 12),
            key="widget_boilerplate_least", width=330,
            on_change=lambda: state.update(boilerplate_least=state.widget_boilerplate_least),
        )  # fmt: skip
        run_and_stop(job, start, lambda: stop_job(BOILERPLATE), label="Look")
    note_changes(job, _key(), "this was looked for", "The choice above, or λ, has changed")


def _key() -> tuple[Any, ...]:
    found = current_solution()
    least = st.session_state.get("boilerplate_least", 12)
    return (st.session_state.corpus_id, BOILERPLATE, least, None if found is None else found.model.lam)


def start() -> None:
    """Queue a look at the session's corpus."""
    loaded, key, found = current_corpus(), _key(), current_solution()
    run = BoilerplateRun(key[2])

    def work(job: Job) -> BoilerplateRun:
        run.run(loaded.table, None if found is None else found.model, job)
        return run

    start_job(BOILERPLATE, Job(loaded.corpus.name, key, work, so_far=run))


def draw_summary(run: BoilerplateRun) -> None:
    """What was found, in numbers."""
    assert run.passages is not None
    fresh = run.passages.fresh
    metric_row(
        [
            ("Repeated", percent(1 - float(fresh.mean()), 1), "Of all words, those that an earlier document has."),
            ("Different passages", number(len(run.groups))),
            ("Documents with one", number(int((run.share > 0).sum()))),
            ("Documents all repeated", number(int((run.share >= 0.99).sum())), "99 % of their words or more."),
        ]
    )


def draw_passages(run: BoilerplateRun, loaded: LoadedCorpus) -> None:
    """The passages, and where the one that is chosen stands."""
    frame, texts = run.groups.head(LISTED).copy(), loaded.corpus.texts
    if not len(frame):
        st.info(f"No passage of {run.least} words or more stands in two documents.")
        return
    places = zip(frame["place"], frame["words"], strict=True)
    frame.insert(0, "passage", [run.text(place, words, texts, 160) for place, words in places])
    everything = st.toggle("Also lines and tables without words", key="boilerplate_everything")
    said = frame["passage"].map(has_words)
    if not everything and said.any():
        frame = frame[said].reset_index(drop=True)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        event = st.dataframe(
            frame[["passage", "words", "times", "documents", "saved"]], hide_index=True,
            height=table_height(len(frame), 520), on_select="rerun",
            selection_mode="single-row", key=f"boilerplate_passages_{everything}",
            column_config={
                "passage": st.column_config.TextColumn(width=290),
                "words": st.column_config.NumberColumn(width=52),
                "times": st.column_config.NumberColumn(width=52),
                "documents": st.column_config.NumberColumn("docs", width=52),
                "saved": st.column_config.NumberColumn(width=60, help="Words of its copies that are in no longer one"),
            },
            alt="Repeated passages with how often they stand",
        )  # fmt: skip
        if len(run.groups) > LISTED:
            st.caption(f"The {LISTED:,} of {len(run.groups):,} that repeat most words.")
    with right:
        row = new_row(event, len(frame), f"boilerplate_passages_{everything}")
        if row is not None:
            st.session_state.boilerplate_group = int(frame["group"].iloc[row])
        group = st.session_state.get("boilerplate_group")
        if group is None or group not in set(frame["group"]):
            group = int(frame["group"].iloc[0])
        where = run.where(group)
        first = frame.loc[frame["group"] == group].iloc[0]
        shown = ", ".join(str(d) for d in where[:WHERE]) + (", …" if len(where) > WHERE else "")
        passage = html.escape(run.text(int(first["place"]), int(first["words"]), texts))
        st.html(f"<p>{passage}</p>")
        st.caption(f"In {many(len(where), 'document')}: {shown}")


def has_words(passage: str) -> bool:
    """Three words at least; or six letters of a script that puts no blanks between words, or whose letters have no
    capitals."""
    uncased = sum(map(str.isalpha, passage)) - sum(letter.lower() != letter.upper() for letter in passage)
    return len(_WORDS.findall(passage)) >= 3 or uncased >= 6


def draw_documents(run: BoilerplateRun, loaded: LoadedCorpus) -> None:
    """The documents, the ones that bring least first, and the chosen one with what is not new in it."""
    frame = run.documents()
    frame = frame[frame["words"] > 0]
    order = ["each", "repeated"] if "each" in frame else ["repeated"]
    frame = frame.sort_values(order[::-1], ascending=[False, True][: len(order)], kind="stable", ignore_index=True)
    shown = frame.head(LISTED).copy()
    shown["repeated"] *= 100
    shown["source"] = [str(d) if d >= 0 else "" for d in shown["source"]]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        event = st.dataframe(
            shown, hide_index=True, height=table_height(len(shown), 520), on_select="rerun",
            selection_mode="single-row",
            key="boilerplate_documents", alt="Documents with the share of them that earlier ones have",
            column_config={
                "repeated": st.column_config.NumberColumn(format="%.1f %%"),
                "source": st.column_config.TextColumn("from", help="The earlier document of its longest passage"),
                "cost": st.column_config.NumberColumn(
                    "price", format="%.1f", help="Given all other documents' dictionary: λ a phrase that they use, "
                    "λ + its words for any other"
                ),
                "each": st.column_config.NumberColumn("price a word", format="%.2f"),
            },
        )  # fmt: skip
        if run.cost is None:
            st.caption("Prices are shown once the corpus is compressed and you press **Look** once more.")
    with right:
        row = new_row(event, len(shown), "boilerplate_documents")
        if row is not None:
            st.session_state.boilerplate_document = int(shown["document"].iloc[row])
            select_document(st.session_state.boilerplate_document, loaded.corpus.metadata)
        document = st.session_state.get("boilerplate_document", int(shown["document"].iloc[0]))
        if not 0 <= document < len(loaded.corpus):
            document = int(shown["document"].iloc[0])
        st.markdown(f"**Document {document}** · {percent(float(run.share[document]), 1)} repeated")
        spans = [(a, e, "") for a, e in run.spans(document)]
        at = spans[0][0] if spans else 0
        draw_marked("bp", loaded.corpus.texts[document], spans, at, most=CHARACTERS, height="30rem")


def _clean(run: BoilerplateRun, loaded: LoadedCorpus, most: float, cut: bool) -> LoadedCorpus:
    """What stays, as a corpus."""
    stem, (texts, kept) = Path(loaded.corpus.name).stem or "corpus", run.clean(loaded.corpus, most, cut)
    own = loaded.corpus.metadata.iloc[kept].reset_index(drop=True)
    clean = Corpus.from_texts(texts, f"{stem}, clean", own, min_words=0)
    options = {"text_column": "text"}
    return corpora.remember(clean, source=f"{stem}-clean.csv", options=options, tokens=loaded.tokens)


def draw_clean(run: BoilerplateRun, loaded: LoadedCorpus) -> None:
    """What stays, to take away or to go on with."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        most = st.slider(
            "Leave out documents of which more is repeated than", 0, 100, 80, format="%d %%", key="boilerplate_most",
            width=420,
        )  # fmt: skip
        cut = st.toggle("and cut the repeated passages out of the others", key="boilerplate_cut")
    corpus = loaded.corpus
    stays = len(run.kept(corpus, most / 100, cut)[0])
    st.markdown(
        f"**{many(stays, 'document')}** of {number(len(corpus))} stay: each is held against those before it that stay."
    )
    stem = Path(corpus.name).stem or "corpus"

    def made() -> bytes:
        texts, kept = run.clean(corpus, most / 100, cut)
        return frame_csv(clean_frame(corpus, texts, kept))

    with st.container(horizontal=True, gap="small"):
        if st.button("Go on with the clean corpus", type="primary", disabled=not stays, key="boilerplate_take"):
            begin_reading(lambda watch: Reading(_clean(run, loaded, most / 100, cut)), f"{stem}, clean")
            st.switch_page("pages/corpus.py")  # which asks whether what runs may be stopped
        st.container(width="content").download_button(
            "Clean corpus (CSV)", made, f"{stem}-clean.csv", "text/csv", on_click="ignore", key="boilerplate_csv",
            disabled=not stays,
        )  # fmt: skip
    if cut and stays:
        shorter = run.shorter(corpus, most / 100)
        st.caption(f"{plain(many(shorter, 'document'))} get{'s' if shorter == 1 else ''} shorter.")
