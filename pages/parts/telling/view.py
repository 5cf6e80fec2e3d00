"""What was learnt, as a reader wants it: how few sentences are enough, which ones say each class, a document."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import streamlit as st

from cflengine.linear import LinearModel
from cflengine.sentence_lasso import Reading, SentenceComparison, telling_sentences
from pages.parts.components.sentence_view import cut_pieces, sentence_view
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.words import many, percent, plain
from pages.parts.telling.run import MODELS, ComparisonRun, Rows
from pages.parts.telling.sentence_list import sentence_list
from pages.parts.telling.tables import TITLES, draw_comparison

MOST_LISTED = 2000
LISTED = 20  # sentences of a class


def draw_others(job: Job) -> None:
    """The models beside it: how far they are, and the table of those that are done."""
    st.fragment(_others, run_every=0.6 if job.active else None)(job.id)


def _others(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    run: ComparisonRun = job.so_far
    if job.active:
        for kind in MODELS:
            progress = run.progress.get(kind)
            if progress is not None and kind not in run.best:
                best = "" if math.isnan(progress.best) else f", best {percent(progress.best, 1)} on the development set"
                text = f"{TITLES[kind]}: {progress.done} of {progress.total}{best}"
                st.progress(min(progress.done / progress.total, 1.0), text=text)
    if run.best:
        draw_comparison(run)
    elif not job.active:
        st.caption("It was stopped before the models were compared.")
    rerun_at_end(job)


# ---- how few are enough


def draw_share(comparison: SentenceComparison, found: Reading) -> int:
    """The slider, and what a reader of so few sentences gets right; returns the share's position. Where no word has a
    weight there is nothing to choose: that is said."""
    state, unit = st.session_state, comparison.groups
    part = "test" if len(comparison.test) else "dev"
    n = len(getattr(comparison, part))
    if not found.group_norm.any():
        right = getattr(found, part)[-1]
        st.info(
            f"Every weight is 0: no {unit} is telling, and all documents are taken for the same class, which is right "
            f"for {percent(right, 1)} of {many(n, 'unseen document')}. Words have weights where λ is smaller: "
            "Regularisation parameters, below."
        )
        return len(found.shares) - 1
    percents = [round(100 * share) for share in found.shares]
    chosen = percents[found.chosen]
    value = state.get("comparison_share") or chosen
    value = st.select_slider(
        f"Share of {unit}s that is read", percents, value=value, format_func=lambda share: f"{share} %",
        key=f"widget_share_{chosen}", on_change=lambda: state.update(comparison_share=state[f"widget_share_{chosen}"]),
        help=f"The strongest {unit}s, by the weights of their words; the others are taken out of the documents.",
    )  # fmt: skip
    k = percents.index(value)
    right, whole = getattr(found, part)[[k, -1]]
    usual, guessed = comparison.guess(getattr(comparison, part))
    st.markdown(
        f"Reading only the **{value} %** most telling {unit}s, the classifier is right on **{percent(right, 1)}** of "
        f"{many(n, 'unseen document')}; reading all of them, on {percent(whole, 1)}; saying “{plain(usual)}” of every "
        f"document, on {percent(guessed, 1)}."
        + (
            f" {chosen} % is the smallest share within one standard error of the best on the development set."
            if value == chosen
            else ""
        )
    )
    return k


# ---- which ones


def draw_telling(run: ComparisonRun, rows: Rows, found: Reading, read: np.ndarray, loaded: LoadedCorpus) -> None:
    """Twenty sentences for each class; one that is pressed opens its document below."""
    comparison = run.comparison
    assert comparison is not None
    classes = comparison.labels.classes
    places: list[Any] = (
        st.columns(2, gap="medium")
        if len(classes) == 2
        else st.tabs([plain(name) for name in classes], key="telling_tabs")
    )
    for k, (name, place) in enumerate(zip(classes, places, strict=True)):
        with place:
            st.markdown(f"They say **{plain(name)}**")
            _list(run, rows, found, read, loaded, k)


def _list(run: ComparisonRun, rows: Rows, found: Reading, read: np.ndarray, loaded: LoadedCorpus, k: int) -> None:
    comparison, state, key = run.comparison, st.session_state, f"telling_{k}"
    assert comparison is not None
    frame = telling_sentences(comparison, loaded.corpus.texts, found, k, LISTED)
    if not len(frame):
        st.caption(f"No {comparison.groups} speaks for it: every weight is 0.")
        return
    coef = rows[0].w * (1.0 if k else -1.0) if len(rows) == 1 else rows[k].w
    listed = []
    for row in frame.itertuples():
        text = loaded.corpus.texts[int(comparison.documents[row.position])]
        listed.append(
            {
                "pieces": cut_pieces(text, row.start, row.end, comparison.weighted_words(text, coef)),
                "said": row.said, "times": row.times, "position": row.position, "read": read[row.sentence],
                "document": comparison.documents[row.position],
            }
        )  # fmt: skip
    sentence_list(listed, key=key, on_open=lambda: state.update(comparison_open=int(state[key]["open"]["position"])))


# ---- a document


def draw_document(run: ComparisonRun, rows: Rows, found: Reading, read: np.ndarray, loaded: LoadedCorpus) -> None:
    """A document with its sentences, what each adds by every model that is there."""
    comparison, state = run.comparison, st.session_state
    assert comparison is not None
    models, classes = run.models(rows), comparison.labels.classes
    predicted = models["sentence"].predict(comparison.X)
    opened = state.get("comparison_open")
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        parts = {"test": "test", "dev": "development", "train": "training"}
        usual = comparison.part_names[opened] if opened is not None else "test" if len(comparison.test) else "dev"
        part = st.segmented_control(
            "Documents", list(parts), default=usual, format_func=parts.get, required=True,
            key=f"comparison_part_{opened}",
        )  # fmt: skip
        wrong = st.toggle("only those it gets wrong", key="comparison_wrong")
        where = getattr(comparison, part)
        where = where[predicted[where] != comparison.y[where]] if wrong else where
        listed = where[:MOST_LISTED].tolist()
        if opened is not None and opened in where and opened not in listed:
            listed.append(opened)
        if not listed:
            st.caption("There is none.")
            return
        position = st.selectbox(
            "Document", listed, key=f"comparison_document_{part}_{wrong}_{opened}", width=420,
            index=listed.index(opened) if opened in listed else 0,
            format_func=lambda i: (
                f"Document {comparison.documents[i]}: {classes[comparison.y[i]]}"
                + ("" if predicted[i] == comparison.y[i] else f", taken for {classes[predicted[i]]}")
            ),
        )  # fmt: skip
    if len(where) > MOST_LISTED:
        st.caption(f"The first {MOST_LISTED:,} of {len(where):,}.")
    _sentences(run, rows, found, read, loaded, int(position), models)


def _sentences(
    run: ComparisonRun,
    rows: Rows,
    found: Reading,
    read: np.ndarray,
    loaded: LoadedCorpus,
    position: int,
    models: dict[str, LinearModel],
) -> None:
    comparison = run.comparison
    assert comparison is not None
    classes, own = comparison.labels.classes, int(comparison.y[position])
    frame = comparison.relevance(models, np.array([position]))
    copied = rows[0].copies is not None and comparison.part_names[position] == "train"
    first = int(np.searchsorted(comparison.table.document, position))
    here = slice(first, first + len(frame))
    group_norm = np.where(read[here], found.group_norm[here], 0.0)
    strongest = float(found.group_norm.max(initial=0.0))
    if copied:
        copies = np.max([row.sentence_norms(comparison.data.groups) for row in rows], axis=0)
        group_norm, strongest = copies[comparison.training_sentences(position)], float(copies.max(initial=0.0))
    text = loaded.corpus.texts[int(comparison.documents[position])]
    two, unit = len(classes) == 2, comparison.groups
    words = comparison.weighted_words(text, rows[0].w if two else rows[own].w)
    sign = -1.0 if two and own == 0 else 1.0  # odds are towards the document's own class; the view has two sides
    sentences = [
        {
            "pieces": cut_pieces(text, row["start"], row["end"], words),
            "group_norm": float(kept),
            "odds": [sign * row[f"log_odds_{kind}"] for kind in models],
        }
        for row, kept in zip(frame.to_dict("records"), group_norm.tolist(), strict=True)
    ]
    sides = (classes[0], classes[1]) if two else ("the others", classes[own])
    sentence_view(
        sentences, classes=sides, models=list(models), strongest=strongest, key="comparison_view",
        unit=unit,
    )  # fmt: skip
    st.caption(
        f"A bar is a {unit}'s log-odds for the document's class, {plain(classes[own])}: the log of its probability "
        f"with all {unit}s, less that without this one. "
        + (
            ""
            if strongest == 0
            else f"Kept and norm are those of ADMM's copy of the weights for this {unit}."
            if copied
            else "Kept is what is read with the share above; norm is that of the weights of its words"
            + (": ADMM has copies for the training documents only." if rows[0].copies is not None else ".")
        )
    )
