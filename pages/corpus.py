"""Corpus: upload or pick one, say which column is the text, see what was read and what was left out."""

from pages.parts.shared.guard import through_router

through_router()

import pandas as pd
import streamlit as st

from pages.parts.corpus.check import draw_check, draw_roles
from pages.parts.corpus.first import draw_first
from pages.parts.corpus.sources import draw_source, offer_without_html
from pages.parts.corpus.tokens import draw_tokens, what_tokens
from pages.parts.shared.corpora import SAMPLE
from pages.parts.shared.glossary import link_to
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.state import PATH, current_corpus, current_job, explore
from pages.parts.shared.views import shortened, without_midnight
from pages.parts.shared.words import many, number, plain, said

PREVIEW_ROWS = 200

st.title("See what your text is made of")
draw_source()

loaded = current_corpus()
corpus, report, table = loaded.corpus, loaded.corpus.report, loaded.table
job = current_job(PATH)
if loaded.id == SAMPLE:
    st.caption("The sample: 2,000 invented beer reviews, written for this project by a generator. Drag the slider.")
else:
    st.markdown(f"**{plain(corpus.name)}**")
if job is not None:
    draw_first(job)
else:
    st.button("Compress it", type="primary", on_click=explore, key="explore")
with st.container(horizontal=True, gap="medium"):
    link_to("path", "Read the whole corpus like this")
    link_to("tasks", "What are these phrases worth?")

st.header("What was read")
metric_row(
    [
        ("Documents", number(len(corpus))),
        ("Tokens", number(table.n_tokens), what_tokens(loaded.tokens)),
        (
            "Types",
            number(len(table.vocabulary)),
            "Distinct tokens" + (", lower-cased." if loaded.tokens.lowercase else "."),
        ),
        ("Left out", number(report.n_left_out), "Records without enough text, see below."),
    ]
)
draw_check(loaded)
offer_without_html(loaded)
draw_roles(loaded)
draw_tokens(loaded)
if report.encoding_note:
    st.info(f"{said(report.encoding_note)}.")
for warning in report.warnings:
    st.warning(plain(warning))
if report.n_left_out:
    reasons = {"no text": report.n_missing, "blank": report.n_empty, "too short": report.n_too_short}
    summary = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    with st.expander(f"{many(report.n_left_out, 'record')} left out: {summary}"):
        st.dataframe(pd.DataFrame(report.left_out, columns=["record", "why"]), hide_index=True, alt="Records left out")
        if report.n_left_out > len(report.left_out):
            st.caption(f"The first {len(report.left_out)} of {report.n_left_out:,}.")
head = without_midnight(corpus.metadata.head(PREVIEW_ROWS))
head.insert(0, "text", corpus.texts[:PREVIEW_ROWS], allow_duplicates=True)
head.insert(0, "record", corpus.rows[:PREVIEW_ROWS], allow_duplicates=True)
head.columns = [*head.columns[:2], *(f"{name} " if name in ("record", "text") else name for name in head.columns[2:])]
st.dataframe(
    shortened(head),
    hide_index=True,
    height=360,
    column_config={
        "text": st.column_config.TextColumn(width="large"),
        "record": st.column_config.NumberColumn(width="small"),
    },
    alt="The first documents of the corpus with their other columns",
)
if len(corpus) > PREVIEW_ROWS:
    st.caption(f"The first {PREVIEW_ROWS} of {many(len(corpus), 'document')}.")
