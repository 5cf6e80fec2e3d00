"""Your vocabulary: how far a dictionary of the user's own is from optimal, proved."""

from pages.parts.shared.guard import through_router

through_router()

import math

import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv, relative_gap
from pages.parts.components.text_view import text_view
from pages.parts.lab.vocabulary import LISTED, ask_vocabulary, check_or_stop, rounded, verdict
from pages.parts.read.documents import choose_documents
from pages.parts.shared.guard import end_page
from pages.parts.shared.metrics import metric_row, table_height
from pages.parts.shared.solution import phrasebook, result_or_stop
from pages.parts.shared.state import current_corpus
from pages.parts.shared.views import stage_view
from pages.parts.shared.words import at_least, many, number, plain

COLUMNS = {
    "gram": st.column_config.TextColumn("K-gram", width="medium"),
    "length": st.column_config.NumberColumn("words", width="small"),
    "count": st.column_config.NumberColumn("pointers", width="small"),
    "occurrences": st.column_config.NumberColumn("occurs", width="small", help="Times in the corpus"),
    "cost": st.column_config.NumberColumn("cost", width="small", help="Of storing it in the dictionary, once"),
}

st.title("My word list")
solved = result_or_stop()
model, corpus = solved.model, current_corpus().corpus
st.markdown(
    "How far from optimal is a dictionary that you bring: a term list, a tokenizer’s merges, last year’s features? "
    "The corpus is stored with your phrases, and with single words where they leave gaps. What that costs is held "
    "against the proved bound, below which no dictionary of K-grams can get."
)
brought = ask_vocabulary()
if brought is None:
    st.info("Write or upload some phrases, then press **Measure it**.")
    end_page()
check = check_or_stop(solved, brought)

result = model.result_
above = relative_gap(check.cost, result.lower_bound)
proved, found = verdict(check.cost, result.objective, result.lower_bound)
st.header("From " + plain(brought.name) if brought.name else "From the box")
if brought.name and st.session_state.widget_vocabulary.strip():
    st.caption("The file alone. To measure the phrases in the box, press **Measure it** again.")
metric_row(
    [
        ("With your vocabulary", number(check.cost), "Pointers × λ plus the K-grams in use."),
        ("Best found by the solver", number(result.objective)),
        ("Proved bound", at_least(result.lower_bound), "No dictionary of K-grams is cheaper."),
        ("Above the cheapest, at most", rounded(above, math.ceil) if math.isfinite(above) else "–"),
    ]
)
st.markdown(f"{proved} {found}")
st.caption(
    f"At λ = {model.lam:g} and K = {model.max_gram}. The encoding with your vocabulary is a good one, not "
    "provably its best; its best is at most this far above the cheapest."
)

matched = check.n_phrases - check.n_too_long - check.n_absent
st.markdown(
    f"{many(check.n_phrases, 'phrase')}: {matched:,} found in the corpus, {check.n_too_long:,} longer than "
    f"K = {model.max_gram} words, {check.n_absent:,} not in the corpus."
)
for title, examples, count in (
    (f"Longer than {model.max_gram} words", check.too_long, check.n_too_long),
    ("Not in the corpus", check.absent, check.n_absent),
):
    if examples:
        more = f" … and {count - len(examples):,} more" if count > len(examples) else ""
        st.caption(f"{title}: {' · '.join(plain(phrase) for phrase in examples)}{more}")
metric_row(
    [
        ("K-grams of yours", number(check.n_grams), "Phrases that differ in case alone are one."),
        ("Used", number(len(check.used))),
        ("Never used", number(check.n_unused), "K-grams of yours that no pointer goes to in this encoding."),
        ("Single words added", number(check.n_added), "Words that you did not list, used by themselves and paid for."),
    ]
)


def spelt(frame: pd.DataFrame) -> pd.DataFrame:
    """K-grams as the text spells them."""
    return frame.assign(gram=phrasebook(model, corpus.texts).spell(frame.index.to_numpy()))


for tab, frame, count, text in zip(
    st.tabs(["Yours lacks", "Yours, never used", "Yours, used"], key="vocabulary_tabs"),
    (check.lacking, check.unused, check.used),
    (check.n_lacking, check.n_unused, len(check.used)),
    (
        "of two words and more in the solver’s dictionary and not in yours, by the solver’s pointers.",
        "of yours without a pointer, by occurrences in the corpus.",
        "of yours in use, by pointers.",
    ),
    strict=True,
):
    shown = spelt(frame.head(LISTED))
    tab.dataframe(
        shown, hide_index=True, height=table_height(len(shown), 300), column_config=COLUMNS, alt=f"K-grams {text}"
    )
    tab.caption(f"{many(count, 'K-gram')} {text}" + (f" The first {LISTED:,}." if count > len(shown) else ""))
st.download_button(
    "Download the used part", lambda: frame_csv(spelt(check.used)), "vocabulary-used.csv", "text/csv",
    on_click="ignore", key="download_vocabulary", help="K-gram, words, pointers, occurrences, cost",
)  # fmt: skip

st.header("The same text, stored twice")
chosen = choose_documents(model.table_, corpus)
for column, title, key, cover in zip(
    st.columns(2), ("With your vocabulary", "The solver’s"), ("text_yours", "text_solver"), (check.cover, result.cover),
    strict=True,
):  # fmt: skip
    with column:
        st.markdown(f"**{title}**")
        documents, grams = stage_view(model.corpus_, corpus, chosen, cover)
        text_view(documents, grams=grams, key=key, height=480, counted="occurs", name=title)
