"""The Embeddings page once classes are compared: the answer, the words in the plane, the witness, on the text."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.embedding import Comparison, witness_values
from cflengine.text import sentence_spans
from pages.parts.components.figure_view import figure_view
from pages.parts.components.sentence_view import cut_pieces, sentence_view
from pages.parts.embeddings.figures import MOST_WORDS, cloud_figure, null_figure, plane, witness_figure
from pages.parts.embeddings.run import EmbedRun
from pages.parts.shared.concordance import draw_concordance
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.words import many, number, percent, plain

Pair = tuple[int, int]
LISTED = 2_000  # documents of the text view


def draw_answer(run: EmbedRun) -> None:
    """The user's question first: do the classes differ in their words?"""
    found = _found(run)
    words, low_high = found.words, found.interval
    p = found.p_value
    if math.isnan(p):
        st.markdown("The permutations were stopped: nothing can be said of how surprising this difference is.")
    elif p < 0.05:
        st.markdown(
            f"**The classes use words differently.** Of {many(found.n_permutations, 'random exchange')} of the labels, "
            f"{_as_large(found)} as large a difference: **p = {p:.2g}**."
        )
    else:
        st.markdown(
            f"**No difference is shown.** Labels exchanged at random differ as much in {percent(p, 0)} of "
            f"{many(found.n_permutations, 'trial')} (p = {p:.2g})."
        )
    if found.n_permutations < run.choice.permutations:
        st.caption(
            f"Stopped after {found.n_permutations:,} of {run.choice.permutations:,} permutations"
            + (": there is no p for single pairs of classes." if len(words.classes) > 2 else ".")
        )
    n_pairs = len(words.classes) * (len(words.classes) - 1) // 2
    of_all = f", {n_pairs} pairs" if n_pairs > 1 else ""
    of_sum = f"The sum over all {n_pairs} pairs of classes. " if n_pairs > 1 else ""
    items = [
        (
            f"wMMD² of vectors{of_all}", f"{found.statistic:.4g}",
            f"{of_sum}95 % interval {low_high[0]:.4g} to {low_high[1]:.4g} (leaving out a document at a time). 0 where "
            "classes have the same law of words' vectors; the estimate may fall below.",
        ),
        (
            f"wMMD² of words{of_all}", f"{found.identity['statistic']:.4g}",
            "Before any vectors: every two words are as far apart as any other two. Its kernel's width is √2 = 1.41, "
            "that of the vectors stands below, so that the two numbers have no common scale.",
        ),
        ("p, of vectors", f"{p:.2g}" if not math.isnan(p) else "–"),
        (
            "Words with vectors", number(len(words.vectors.words)),
            f"{percent(words.coverage, 1)} of all words{', stop words aside,' if run.choice.stop else ''} that stand "
            "in these documents.",
        ),
    ]  # fmt: skip
    metric_row(items)
    width = f"{found.kernel.family} kernel"
    width += f" of width {found.kernel.widths[0]:.3g}, the median distance" if found.kernel.widths else ""
    notes = [f"{many(words.laws.n_documents, 'document')}; {width}; vectors: {words.vectors.name}"]
    if words.n_empty:
        notes.append(f"{many(words.n_empty, 'document')} without such a word are left out")
    if found.null_kernel == "random features":
        notes.append(
            "documents are so many that the permutations take random features of the kernel, a valid test of its own"
        )
    st.caption(plain(". ".join(notes)) + ". The numbers are recomputed by `cflengine verify`.")
    if found.kernel.family == "linear":
        st.info(
            "A linear kernel compares mean vectors alone: two classes whose words spread differently around the same "
            "mean look the same to it. The Simulation tab shows one."
        )


def _found(run: EmbedRun) -> Comparison:
    assert run.comparison is not None
    return run.comparison


def _as_large(found: Comparison) -> str:
    larger = round(found.p_value * (found.n_permutations + 1)) - 1
    return "none shows" if larger == 0 else f"{larger} show{'s' if larger == 1 else ''}"


def choose_pair(run: EmbedRun) -> Pair:
    """The two classes that are looked at; of more than two their table."""
    found = _found(run)
    names = [str(name) for name in found.words.classes.tolist()]
    if len(names) == 2:
        return 0, 1
    frame = with_corrected(found).sort_values("statistic", ascending=False, kind="stable", ignore_index=True)
    st.markdown("**Pairs of classes**, the most different first: select one to look at it.")
    shown = frame[["class", "other", "statistic", "low", "high", "p_value", "corrected", "identity"]]
    picked = st.dataframe(
        shown, hide_index=True, height=min(300, 36 * (len(shown) + 1) + 2), on_select="rerun", key="embed_pairs",
        selection_mode="single-row", alt="A row a pair of classes, with its discrepancy",
        column_config={
            "statistic": st.column_config.NumberColumn("wMMD²", format="%.5f"),
            "low": st.column_config.NumberColumn("from", format="%.5f"),
            "high": st.column_config.NumberColumn("to (95 %)", format="%.5f"),
            "p_value": st.column_config.NumberColumn("p", format="%.3g", help="Of this pair alone."),
            "corrected": st.column_config.NumberColumn("p, corrected", format="%.3g", help="For all pairs, by Holm."),
            "identity": st.column_config.NumberColumn("wMMD² of words", format="%.5f"),
        },
    )  # fmt: skip
    rows = picked["selection"]["rows"] if picked else []
    row = frame.iloc[rows[0] if rows and rows[0] < len(frame) else 0]
    st.caption(f"Below: **{plain(str(row['class']))}** and **{plain(str(row['other']))}**.")
    return names.index(str(row["class"])), names.index(str(row["other"]))


def with_corrected(found: Comparison) -> pd.DataFrame:
    """The table of pairs of classes, with p corrected for their number."""
    return found.pairwise.assign(corrected=holm(found.pairwise["p_value"].to_numpy()))


def holm(p: np.ndarray) -> np.ndarray:
    """p of several tests, corrected by Holm: the least times their number, the next times one less, and so on."""
    order = np.argsort(p, kind="stable")
    found = np.empty(len(p))
    found[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return found


def pair_names(run: EmbedRun, pair: Pair) -> tuple[str, str]:
    """Labels of two classes."""
    names = [str(name) for name in _found(run).words.classes.tolist()]
    return names[pair[0]], names[pair[1]]


def draw_words(run: EmbedRun, pair: Pair, loaded: LoadedCorpus) -> None:
    """The words that tell a pair apart, each with where it stands."""
    found, names = _found(run), pair_names(run, pair)
    frame = found.witness(*pair)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown(f"What pulls towards **{plain(names[0])}**, and what towards **{plain(names[1])}**")
        figure_view(
            witness_figure(frame, names), f"embed_witness_{pair}", "The words that pull most towards either class"
        )
        st.caption(
            "The witness is the function of words whose means in the two classes differ most. A bar is what a word "
            "adds to that distance: how much oftener it stands in one class, times the witness there."
        )
    with right:
        shown = frame[["word", "class", "contribution", "witness"]].head(400)
        picked = st.dataframe(
            shown, hide_index=True, height=330, on_select="rerun", selection_mode="single-row",
            key=f"embed_words_{pair}", alt="A row a word, with what it adds",
            column_config={
                "contribution": st.column_config.NumberColumn(format="%.5f"),
                "witness": st.column_config.NumberColumn(format="%+.4f"),
            },
        )  # fmt: skip
        rows = picked["selection"]["rows"] if picked else []
        word = str(shown["word"].iloc[rows[0] if rows and rows[0] < len(shown) else 0])
        draw_concordance(loaded, word, height=250, narrow=True)


def draw_cloud(run: EmbedRun, pair: Pair) -> None:
    """The words in the plane, and the statistic among those of exchanged labels."""
    found, names = _found(run), pair_names(run, pair)
    laws = found.words.laws
    shares = (laws.sums / laws.sizes)[:, list(pair)]
    M = found.words.vectors.M
    centre, directions = plane(M, shares.sum(axis=1) + 1e-12)
    colour = witness_values(found.sums, *pair)
    figure = cloud_figure((M - centre) @ directions, found.words.vectors.words, shares, colour, names)
    figure_view(figure, f"embed_cloud_{pair}", "The words of both classes in the plane of their vectors")
    st.caption(
        f"The {min(len(M), MOST_WORDS):,} most frequent words, in the plane in which their vectors differ "
        f"most; larger: more frequent; orange diamonds pull towards {plain(names[0])}, "
        f"blue circles towards {plain(names[1])}. Lines: where words of either class are dense. Two dimensions of "
        f"{found.words.vectors.dimension}: what looks mixed here may be apart there."
    )
    if len(found.null):
        st.markdown("**Could this be an accident?**")
        figure_view(
            null_figure(found.null, found.null_observed),
            "embed_null",
            "The statistic beside those of labels exchanged at random",
        )
        of = "wMMD², summed over all pairs of classes," if len(found.words.classes) > 2 else "wMMD²"
        st.caption(f"Grey: {of} after labels were exchanged at random among documents. Where the blue line stands far "
                   "to the right of all of them, accident does not explain the difference.")  # fmt: skip


def draw_text(run: EmbedRun, pair: Pair, loaded: LoadedCorpus) -> None:
    """The witness on a document's own text."""
    found, names = _found(run), pair_names(run, pair)
    words, h = found.words, witness_values(found.sums, *pair)
    mine = np.flatnonzero((words.laws.y == pair[0]) | (words.laws.y == pair[1]))
    classes = [str(name) for name in words.classes.tolist()]
    means = words.laws.laws @ h
    # h has no zero of its own: it tells classes apart from the middle of both
    h = h - 0.5 * sum(float(means[words.laws.y == c].mean()) for c in pair)
    means = words.laws.laws @ h
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        order = st.segmented_control(
            "Documents", ["typical", "doubtful", "in order"], default="typical", required=True, key="embed_order",
            help="Typical: whose words pull most to their own class. Doubtful: whose words pull to the other one.",
        )  # fmt: skip
        towards = np.where(words.laws.y == pair[0], means, -means)[mine]
        listed = mine if order == "in order" else mine[np.argsort(towards if order == "doubtful" else -towards)]
        chosen = st.selectbox(
            "Document", listed[:LISTED].tolist(), key=f"embed_document_{pair}_{order}", width=420,
            format_func=lambda i: (
                f"Document {run.documents[words.documents[i]]}: {classes[words.laws.y[i]]}, pulls to "
                f"{names[0] if means[i] > 0 else names[1]} by {abs(means[i]):.4f}"
            ),
        )  # fmt: skip
    if len(listed) > LISTED:
        st.caption(f"The first {LISTED:,} of {many(len(listed), 'document')} in this order.")
    position = int(words.documents[chosen])
    text = loaded.corpus.texts[int(run.documents[position])]
    table = words.table
    span = slice(int(table.doc_ptr[position]), int(table.doc_ptr[position + 1]))
    number_of = words.word_of[table.tokens[span]]
    spans = zip(table.start[span].tolist(), table.end[span].tolist(), number_of.tolist(), strict=True)
    weights = [(a, b, -float(h[v])) for a, b, v in spans if v >= 0]
    rows = []
    for start, end in sentence_spans(text).tolist():
        inside = [weight for a, _, weight in weights if start <= a < end]
        rows.append(
            {
                "pieces": cut_pieces(text, start, end, weights),
                "group_norm": 0.0,
                "odds": [sum(inside) / max(len(weights), 1)],
            }
        )
    sentence_view(rows, classes=names, models=["witness"], strongest=0.0, key=f"embed_view_{pair}")
    st.caption(
        f"Every word is marked by the witness, less the middle of both classes: towards "
        f"{plain(names[0])} or towards {plain(names[1])}. A bar is what a sentence adds to the document's mean."
    )
