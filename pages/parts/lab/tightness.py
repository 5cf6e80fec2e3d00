"""Where the proof is not tight: the documents and phrases between whose cost and the bound the gap lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import GapAttribution, gap_of
from cflengine.text import Phrasebook, no_text
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
    "gram": st.column_config.TextColumn("phrase", width="medium"),
    "share": st.column_config.NumberColumn("of the gap", format="percent", width="small"),
    "count": st.column_config.NumberColumn("uses", width="small"),
}


@dataclass(frozen=True)
class NoTexts:
    """Documents that look like no text: how many, their share of the cost, and the costliest of them."""

    n: int
    share: float
    costliest: tuple[int, ...]

    def sentence(self) -> str:
        """What they are and what they cost; empty where there are none."""
        if not self.n:
            return ""
        numbers = ", ".join(map(str, self.costliest)) + (", …" if self.n > len(self.costliest) else "")
        look = f"{many(self.n, 'document')} {'looks' if self.n == 1 else 'look'} like encoded data or tables, not text"
        return f"{look} ({numbers}): {percent(self.share)} of the cost."


@dataclass(frozen=True)
class Tightness:
    """found: all of it; documents, grams: those with most of the gap, as they are listed; listed: the share of the gap
    that the listed documents have; closed: there is none; no_texts: documents that look like none."""

    found: GapAttribution
    documents: pd.DataFrame
    grams: pd.DataFrame
    listed: float
    closed: bool
    no_texts: NoTexts

    def sentence(self) -> list[tuple[str, bool]]:
        """What the gap is made of and where most of it lies, in parts that are bold or not."""
        total, of = self.found.total, self.found.documents
        names = ("slack", "unspent", "overlap", "lift")
        terms = {name: percent(abs(float(of[name].sum())) / total, 0) for name in names}
        trees = [(", less ", False), (terms["lift"], True), (" by which branching trees lift the bound", False)]
        return [
            (f"The cost is {number(total, 1)} above the bound: ", False), (terms["slack"], True),
            (" as pointers that cost more than the prices of their words, ", False), (terms["unspent"], True),
            (" as entries that their uses do not pay for in full, ", False), (terms["overlap"], True),
            (" as words that are covered twice", False), *(trees if of["lift"].any() else ()),
            (". The documents below account for ", False), (percent(self.listed, 0), True),
            (f" of this; 99 % lies in {self.found.nearly_all:,} of {many(len(of), 'document')}.", False),
        ]  # fmt: skip


def draw_tightness(solution: Solution, corpus: Corpus) -> None:
    """A switch, and what it shows: it takes a second or more on large corpora."""
    if not st.toggle(
        "Where the proof is not tight", key="tightness",
        help="What lies between the best cost and the proved bound, charged to documents and K-grams.",
    ):  # fmt: skip
        return
    seen = tightness(solution.id, solution.model, corpus)
    if seen.no_texts.n:
        st.caption(seen.no_texts.sentence())
    if seen.closed:
        st.caption("The proof is tight: between cost and bound there is nothing that another solution could save.")
        return
    st.markdown("".join(f"**{part}**" if bold else part for part, bold in seen.sentence()))
    st.dataframe(seen.documents, hide_index=True, column_config=_DOCUMENTS, key="tightness_documents",
                 alt="The documents where most of the gap lies")  # fmt: skip
    st.dataframe(seen.grams, hide_index=True, column_config=_GRAMS, key="tightness_grams", alt="Their phrases")


@st.cache_resource(max_entries=4, show_spinner=False)
def tightness(solution_id: str, _model: CompressiveFeatures, _corpus: Corpus) -> Tightness:
    """Of a certified result; in the cache's key its id stands for it."""
    return tightness_of(_model, _corpus)


def tightness_of(model: CompressiveFeatures, corpus: Corpus) -> Tightness:
    """Of a certified result; K-grams as the text spells them."""
    found = gap_of(model)
    total = max(found.total, np.finfo(float).tiny)
    worst = found.documents.nlargest(LISTED, "gap")
    worst = worst[worst["gap"] > 0]
    texts = [corpus.texts[d] for d in worst["document"].tolist()]
    every = found.costliest(no_text(corpus.texts))
    odd = every["document"].tolist()
    share = float(every["cost"].sum() / max(model.result_.objective, np.finfo(float).tiny))
    no_texts = NoTexts(len(odd), share, tuple(odd[:LISTED]))
    documents = pd.DataFrame(
        {
            "document": worst["document"].to_numpy(),
            "share": worst["gap"].to_numpy() / total,
            "cost_share": worst["cost"].to_numpy() / model.result_.objective,
            "begins": [snippet(text[: 2 * SNIPPET], SNIPPET // 2) for text in texts],
            "note": ["looks like no text" if d in odd else "" for d in worst["document"].tolist()],
        }
    )
    grams = found.grams.nlargest(LISTED, "gap")
    feature = np.full(model.index_.n_grams, -1)
    feature[model.gram_ids_] = np.arange(len(model.gram_ids_))
    rows = model.dictionary_.iloc[feature[grams["gram"].to_numpy()]]
    spelt = Phrasebook(corpus.texts, model.table_, model.index_).spell(grams["gram"].to_numpy())
    phrases = pd.DataFrame({"gram": spelt, "share": grams["gap"].to_numpy() / total, "count": rows["count"].to_numpy()})
    if not documents["note"].any():
        documents = documents.drop(columns="note")
    closed = model.result_.optimal or found.total <= 1e-9 * max(model.result_.objective, 1.0)
    return Tightness(found, documents, phrases, float(documents["share"].sum()), closed, no_texts)
