"""The card of one K-gram: its ledger, its runner-up, where it is used, where it lost and to whom, and constraints.

Kernels run in the solver's thread alone (see jobs.py); what they find is kept in the session until another K-gram or
another result is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressionSession, CompressiveFeatures, ConstraintPrice, Corpus
from cflengine.compression import QUICK, GramExplanation, explain, ledger, match_vocabulary
from cflengine.text import Phrasebook, Tokenizer, in_context
from pages.parts.read.explorer import draw_occurrences
from pages.parts.shared.asking import BUSY_S, asked
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.solution import Solution, phrasebook
from pages.parts.shared.views import LISTED, concordance
from pages.parts.shared.words import many, number, plain, said

_CONTEXT = 60
_SAVINGS = "What each phrase saves is being computed …"


def with_savings(found: Solution, frame: pd.DataFrame) -> pd.DataFrame:
    """The dictionary with what each K-gram ``saves``: by how much all storage would rise without it. As it is while the
    solver is busy, or where a run was stopped half-way."""
    savings = asked(
        "savings", (found.id,), lambda: _savings(found.model), waiting=_SAVINGS, patience_s=BUSY_S, short=True
    )
    return frame if savings is None else frame.assign(saves=savings[frame.index.to_numpy()])


def _savings(model: CompressiveFeatures) -> np.ndarray:
    """float64 (features,)."""
    book = ledger(model.index_, model.costs_at(model.lam), model.result_.cover)
    return book.saves[np.searchsorted(book.gram, model.gram_ids_)]


def draw_gram(solution: Solution, corpus: Corpus, feature: int, name: str) -> None:
    """Everything about a K-gram of the dictionary (a row of ``model.dictionary_``); name: as the text spells it."""
    model: CompressiveFeatures = solution.model
    entry = model.dictionary_.iloc[feature]
    gram = int(model.gram_ids_[feature])
    st.header(f"“{plain(name)}”")
    cover = model.result_.cover
    found = asked(
        "explain",
        (solution.id, gram),
        lambda: explain(model.index_, model.costs_at(model.lam), cover, gram),
        short=True,
    )
    if found is None:
        draw_occurrences(concordance(model, corpus, feature), key=f"concordance_{feature}")
        return
    lost = int((~found.used).sum())
    whole = float(entry["cost"]).is_integer()
    metric_row(
        [
            ("Stored once for", number(entry["cost"], 0 if whole else 2)),
            ("Uses", number(entry["count"]), f"Pointers to it, in {many(int(entry['documents']), 'document')}."),
            ("Stands in the text", f"{len(found.positions):,} times"),
            ("Saves", number(found.saves, 2), "By how much all storage would rise without it, the rest re-encoded."),
        ]
    )
    book = phrasebook(model, corpus.texts)
    _draw_runner_up(book, found)
    used, elsewhere, constraint = st.tabs([f"Used, {number(entry['count'])}", f"Not used, {lost:,}", "Do without it"])
    with used:
        draw_occurrences(concordance(model, corpus, feature), key=f"concordance_{feature}")
        _say_first(int(entry["count"]))
    with elsewhere:
        if lost:
            _say_first(lost)
            draw_occurrences(lost_occurrences(model, corpus, book, found), key=f"lost_{feature}")
        else:
            st.caption("Wherever it stands, it is used.")
    with constraint:
        st.caption("Solve the corpus again as if this phrase could not be stored.")
        st.button("Forbid it", key=f"forbid_{gram}", on_click=_constraint, args=(solution, gram, False))
        _draw_constraint(solution, book, gram)


def _say_first(count: int) -> None:
    if count > LISTED:
        st.caption(f"The first {LISTED:,} of {count:,} places; the page Phrases lists them all.")


def _draw_runner_up(book: Phrasebook, found: GramExplanation) -> None:
    if not found.runner_up:
        return
    pieces, times = found.runner_up[0]
    if pieces == (found.gram,):
        st.caption(f"Nothing could stand in its stead {many(times, 'time')} out of {found.pointers:,}.")
        return
    others = f", in {len(found.runner_up) - 1:,} other ways elsewhere" if len(found.runner_up) > 1 else ""
    st.caption(f"Runner-up: {plain(gram_names(book, pieces))}, in its stead {many(times, 'time')}{others}.")


def gram_names(book: Phrasebook, grams: Sequence[int]) -> str:
    """K-grams of the index in the order of a text, as it spells them: “of the” + “sea”."""
    return " + ".join(f"“{name}”" for name in book.spell(np.asarray(grams)))


def lost_occurrences(
    model: CompressiveFeatures, corpus: Corpus, book: Phrasebook, found: GramExplanation
) -> pd.DataFrame:
    """Places where the K-gram stands but is not pointed at, and what covers them; the first ``LISTED``."""
    table, length = model.table_, model.index_.length(found.gram)
    rows = []
    for p in np.flatnonzero(~found.used)[:LISTED].tolist():
        i = int(found.positions[p])
        document = int(np.searchsorted(table.doc_ptr, i, side="right")) - 1
        context = in_context(corpus.texts[document], int(table.start[i]), int(table.end[i + length - 1]), _CONTEXT)
        rows.append((document, *context, gram_names(book, [gram for gram, _ in found.winners(p)])))
    return pd.DataFrame(rows, columns=["document", "before", "K-gram", "after", "lost to"])


def draw_force(found: Solution, corpus: Corpus) -> None:
    """A phrase that the dictionary is to hold in any case."""
    model: CompressiveFeatures = found.model
    with st.form("force", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        phrase = st.text_input("Force in a phrase", key="force_phrase", placeholder="words as they stand in the text")
        wanted = st.form_submit_button("Solve again")
    if wanted and phrase.strip():
        gram = _find(model, phrase)
        if gram is None:
            st.warning(f"“{plain(phrase)}” stands nowhere in the corpus, or is longer than {model.max_gram} words.")
        elif gram in model.gram_ids_:
            st.info(f"“{plain(phrase)}” is in the dictionary already.")
        else:
            _constraint(found, gram, True)
            st.session_state.forced = gram
    if st.session_state.get("forced") is not None:
        _draw_constraint(found, phrasebook(model, corpus.texts), st.session_state.forced)


def _find(model: CompressiveFeatures, phrase: str) -> int | None:
    tokenizer = Tokenizer(model.token_pattern, model.lowercase)
    matched, _ = match_vocabulary(model.table_, model.index_, [phrase], tokenizer)
    grams = np.flatnonzero(matched)
    return int(grams[0]) if len(grams) else None


def _constraint(found: Solution, gram: int, force: bool) -> None:
    """Solve again with the K-gram forced or forbidden; what that costs is asked for when it is drawn."""
    model: CompressiveFeatures = found.model
    constraint = {"force": [gram]} if force else {"forbid": [gram]}

    def work() -> CompressiveFeatures:
        return CompressionSession(model).solve(model.lam, **constraint, known=model.result_, settings=QUICK)

    st.session_state.constraint = (found.id, gram, force, work)


def _draw_constraint(found: Solution, book: Phrasebook, gram: int) -> None:
    """The price of the last constraint, if it was about this K-gram."""
    constraint = st.session_state.get("constraint")
    if constraint is None or constraint[:2] != (found.id, gram):
        return
    model, (_, _, force, work) = found.model, constraint
    try:
        answer = asked("constraint", (found.id, gram, force), work, waiting="Solving again …")
    except ValueError as error:
        st.warning(said(error))
        return
    if answer is None:
        return
    price = ConstraintPrice.of(answer.result_, model.result_)
    name = plain(gram_names(book, [gram]))
    st.markdown(
        f"{'With' if force else 'Without'} {name} the corpus costs **{number(price.estimate, 2)} more** "
        f"({number(answer.result_.objective, 1)} in all; proved: between {number(price.least, 2)} and "
        f"{number(price.most, 2)} more than the optimum)."
    )
    came = np.setdiff1d(answer.result_.dictionary, model.result_.dictionary)
    went = np.setdiff1d(model.result_.dictionary, answer.result_.dictionary)
    for label, grams in (("Comes in", came), ("Goes out", went)):
        if len(grams):
            shown = plain(gram_names(book, grams[:12].tolist()).replace(" + ", ", "))
            st.caption(f"{label}: {shown}{f' and {len(grams) - 12:,} more' if len(grams) > 12 else ''}.")
