"""Where the proof is not tight: the documents and phrases between whose cost and the bound the gap lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import GapAttribution, attribute_gap
from cflengine.text import no_text
from pages.parts.read.prices import SNIPPET, snippet
from pages.parts.shared.solution import Solution
from pages.parts.shared.words import many, number, percent

LISTED = 10

_DOCUMENTS = {
    "document": st.column_config.NumberColumn("document", width="small"),
    "share": st.column_config.NumberColumn("of the gap", format="percent", width="small"),
    "cost_share": st.column_config.NumberColumn(
        "of the cost", format="percent", width="small", help="Its pointers, and its share of the K-grams it uses."
    ),
    "begins": st.column_config.TextColumn("begins", width="large"),
    "note": st.column_config.TextColumn("", width="medium"),
}
_GRAMS = {
    "gram": st.column_config.TextColumn("K-gram", width="medium"),
    "share": st.column_config.NumberColumn("of the gap", format="percent", width="small"),
    "count": st.column_config.NumberColumn("pointers", width="small"),
}


@dataclass(frozen=True)
class Tightness:
    """found: all of it; documents, grams: those with most of the gap, as they are listed; listed: the share of the gap
    that the listed documents have; nearly_all: the fewest documents that have 99 % of it."""

    found: GapAttribution
    documents: pd.DataFrame
    grams: pd.DataFrame
    listed: float
    nearly_all: int


def draw_tightness(solution: Solution, corpus: Corpus) -> None:
    """A switch, and what it shows: it takes a second or more on large corpora."""
    if not st.toggle(
        "Where the proof is not tight", key="tightness",
        help="What lies between the best cost and the proved bound, charged to documents and K-grams.",
    ):  # fmt: skip
        return
    seen = tightness(solution.id, solution.model, corpus)
    found, total = seen.found, seen.found.total
    if total <= 1e-9 * max(solution.model.result_.objective, 1.0):
        st.caption("The bound is reached: nothing lies between.")
        return
    terms = {name: float(found.documents[name].sum()) for name in ("slack", "unspent", "overlap")}
    st.markdown(
        f"{number(total, 1)} lie between the cost and the bound: **{percent(terms['slack'] / total, 0)}** as pointers "
        f"that cost more than the prices of their words, **{percent(terms['unspent'] / total, 0)}** as entries that "
        f"their uses do not pay for in full, **{percent(terms['overlap'] / total, 0)}** as words that are covered "
        f"twice. The documents below have **{percent(seen.listed, 0)}** of it; 99 % of it lie in "
        f"{seen.nearly_all:,} of {many(len(corpus), 'document')}."
    )
    st.dataframe(seen.documents, hide_index=True, column_config=_DOCUMENTS, key="tightness_documents")
    st.dataframe(seen.grams, hide_index=True, column_config=_GRAMS, key="tightness_grams")


@st.cache_resource(max_entries=4, show_spinner=False)
def tightness(solution_id: str, _model: CompressiveFeatures, _corpus: Corpus) -> Tightness:
    """Of a certified result; in the cache's key its id stands for it."""
    model, corpus = _model, _corpus
    found = attribute_gap(model.result_, model.index_, model.costs_at(float(model.lam)), model.table_.doc_ptr)
    total = max(found.total, np.finfo(float).tiny)
    worst = found.documents.nlargest(LISTED, "gap")
    worst = worst[worst["gap"] > 0]
    texts = [corpus.texts[d] for d in worst["document"].tolist()]
    odd = set(no_text(texts).tolist())
    documents = pd.DataFrame(
        {
            "document": worst["document"].to_numpy(),
            "share": worst["gap"].to_numpy() / total,
            "cost_share": worst["cost"].to_numpy() / model.result_.objective,
            "begins": [snippet(text[: 2 * SNIPPET], SNIPPET // 2) for text in texts],
            "note": ["looks like no text" if i in odd else "" for i in range(len(texts))],
        }
    )
    grams = found.grams.nlargest(LISTED, "gap")
    feature = np.full(model.index_.n_grams, -1)
    feature[model.gram_ids_] = np.arange(len(model.gram_ids_))
    rows = model.dictionary_.iloc[feature[grams["gram"].to_numpy()]]
    phrases = pd.DataFrame(
        {"gram": rows["gram"].to_numpy(), "share": grams["gap"].to_numpy() / total, "count": rows["count"].to_numpy()}
    )
    if not odd:
        documents = documents.drop(columns="note")
    shares = np.cumsum(np.sort(found.documents["gap"].to_numpy())[::-1]) / total
    nearly_all = min(int(np.searchsorted(shares, 0.99)) + 1, len(shares))
    return Tightness(found, documents, phrases, float(documents["share"].sum()), nearly_all)
