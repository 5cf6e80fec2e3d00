"""The page Names: which sentences to learn from, the template, a sentence of the user with its labels."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import ChainCRF
from cflengine.engine import frame_csv
from cflengine.loglinear import TaggedFile
from cflengine.text import CorpusError, entities
from pages.parts.names.run import SAMPLE_FILE, TEMPLATE, TaggerChoice, TaggerRun, tagged_frame
from pages.parts.names.tag_view import tag_view
from pages.parts.names.tagging import SavedTagger, Tagger
from pages.parts.shared.asking import asked
from pages.parts.shared.controls import queue_notes, rerun_at_end, run_and_stop
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.metrics import metric_row, table_height
from pages.parts.shared.models import model_download
from pages.parts.shared.selection import note_changes
from pages.parts.shared.state import TAGGER, current_job, start_job, stop_job
from pages.parts.shared.words import at_least, gap_text, many, number, percent, plain

_BUSY = "The engine is busy with a solve; your sentence is tagged at its next step."
_EXAMPLE = "At the Foggy Goat in Ostermere my friend Wim ordered a Red Weir, and Mrs Brackow a Nine Oars."
_FACTORS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@st.cache_resource(max_entries=4, show_spinner=False)
def _parsed(digest: str, _data: bytes, name: str) -> TaggedFile:
    return TaggedFile.read(_data, name=name)


@st.cache_resource(show_spinner=False)
def _sample() -> bytes:
    return SAMPLE_FILE.read_bytes()


def draw_tagger_controls() -> TaggedFile | None:
    """File, template, ℓ2 penalty, Train and Stop; None where the file cannot be read, which is said."""
    state = st.session_state
    if "tagger_file" not in state:
        _restore(current_job(TAGGER))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.select_slider(
            "c₂, how strongly weights are held near 0", _FACTORS, state.setdefault("tagger_c2", 0.1), width=300,
            help="Higher, it trusts single words less: better with few sentences. 0.1 is a good start.",
            key="widget_tagger_c2", on_change=lambda: state.update(tagger_c2=state.widget_tagger_c2),
        )  # fmt: skip
        run_and_stop(current_job(TAGGER), _start, lambda: stop_job(TAGGER), label="Train")
    with st.expander("Your own tagged sentences"):
        uploaded = st.file_uploader(
            "A token a line, the label last, a blank line after a sentence", key="widget_tagger_file",
            help="CoNLL columns, also packed by gzip. Without a file: the sample.",
        )  # fmt: skip
    if uploaded is not None and state.get("tagger_upload") != uploaded.file_id:
        state.update(tagger_upload=uploaded.file_id, tagger_refused="")
        data = uploaded.getvalue()
        try:
            _parsed(hashlib.sha256(data).hexdigest(), data, uploaded.name)
            state.tagger_file = (uploaded.name, data)
        except CorpusError as error:
            state.tagger_refused = str(error)
    if uploaded is not None and state.get("tagger_refused"):
        st.error(f"{plain(state.tagger_refused)} The file before it is still in use.")
    try:
        file = _file(uploaded is None or bool(state.get("tagger_refused")))
    except CorpusError as error:
        st.error(plain(str(error)))
        return None
    key = f"widget_tagger_template_{_suit_template(file)}"
    with st.expander("Template"):
        st.text_area(
            "Attributes of a token (CRF++ template)", state.tagger_template, height=200, key=key,
            on_change=lambda: state.update(tagger_template=state[key]),
            help="%x[row,column]: the cell that many tokens further on, in that column (from 0). B: transitions.",
        )  # fmt: skip
    job = current_job(TAGGER)
    note_changes(job, _key(), "this tagger was trained")
    return file


def _restore(job: Job | None) -> None:
    """A session begins with what the tagger at its address, if there is one, was trained on: its file is not uploaded
    anew after a reload."""
    state = st.session_state
    state.update(tagger_file=None, tagger_kept=None)
    if job is None or not isinstance(job.so_far, TaggerRun):
        return
    run = job.so_far
    state.update(
        tagger_kept=(run.choice.source, run.file), tagger_columns=len(run.file.rows[0][0]),
        tagger_c2=run.choice.c2, tagger_template=run.choice.template,
    )  # fmt: skip


def _file(said: bool) -> TaggedFile:
    """The tagged sentences to learn from; said: whether their name is to be. Raises CorpusError."""
    state = st.session_state
    if state.tagger_file is None and state.tagger_kept is not None:
        state.tagger_digest, file = state.tagger_kept
    else:
        name, data = state.tagger_file or (SAMPLE_FILE.name, _sample())
        known = state.get("tagger_data")
        if known is None or known[0] is not data:  # not at every run: a file may have hundreds of megabytes
            known = state.tagger_data = (data, hashlib.sha256(data).hexdigest())
        file = _parsed(known[1], data, name)
        state.tagger_digest = known[1]
    if said and file.name != SAMPLE_FILE.name:
        st.caption(f"Learning from {plain(file.name)}.")
    return file


def _suit_template(file: TaggedFile) -> int:
    """See that the session's template fits a file's columns; returns how many these are."""
    state, columns = st.session_state, len(file.rows[0][0])
    if state.get("tagger_columns") != columns:  # the user's own template may not fit
        state.update(tagger_columns=columns, tagger_template=_fitting(columns))
    return columns


def _fitting(columns: int) -> str:
    """The usual template, without what asks for a column that the file has not."""
    lines = TEMPLATE.splitlines(keepends=True)
    return "".join(line for line in lines if columns > 1 or ",1]" not in line)


def _key() -> tuple[Any, ...]:
    state = st.session_state
    choice = TaggerChoice(state.get("tagger_digest", ""), state.get("tagger_template", TEMPLATE), state.tagger_c2)
    return (state.corpus_id, TAGGER, choice)


def _start() -> None:
    """Queue the training. The click may come before the page's first run has read the file, so it is read here."""
    try:
        file = _file(False)
    except CorpusError:
        return  # which the page says
    _suit_template(file)
    key = _key()
    run = TaggerRun(key[2], file)

    def work(job: Job) -> TaggerRun:
        run.run(job)
        return run

    start_job(TAGGER, Job(file.name, key, work, so_far=run))


def draw_training(job: Job) -> None:
    """Objective and gap while it trains; reruns the page at the end."""
    st.fragment(_training, run_every=0.4)(job.id)


def _training(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    row = job.rows[-1] if job.rows else {}
    if row:
        st.caption(f"Step {row['i']:,}, objective {number(row['best'], 2)}, proved gap {gap_text(row['gap'])}")
    rerun_at_end(job)


def draw_tagger(run: TaggerRun, tagger_id: str) -> None:
    """Numbers, the user's sentence with its labels, scores, weights; tagger_id: tells it from another."""
    model = run.model
    assert model is not None
    overall = run.scores[run.scores["kind"] == ""] if len(run.scores) else None
    items: list[Any] = [
        ("Gap, proved", gap_text(model.duality_gap_), f"Objective {number(model.result_.objective, 2)}, proved bound "
         f"{at_least(model.result_.lower_bound, 2)}."),
        ("Weights", number(len(model.coef_)), f"Of {many(len(model.attributes_), 'attribute')} and "
         f"{many(len(model.classes_), 'label')}."),
    ]  # fmt: skip
    if overall is not None and len(overall):
        items.insert(
            0, ("F1 by entities", percent(float(overall["f1"].iloc[0]), 1), "As conlleval counts: an entity is right "
                f"if its ends and its kind are. On the last {many(len(run.file.rows) - run.n_train, 'sentence')}."),
        )  # fmt: skip
    metric_row(items)
    frame = _draw_sentence(run, tagger_id)
    tokens, scores, weights = st.tabs(["Token by token", "Scores", "Weights"], key="tagger_tabs")
    _draw_tokens(tokens, frame)
    scores.dataframe(
        run.scores.assign(kind=run.scores["kind"].replace("", "all")) if len(run.scores) else run.scores,
        hide_index=True, alt="Precision, recall and F1 by kind of entity",
        column_config={name: st.column_config.NumberColumn(format="percent") for name in ("precision", "recall", "f1")},
    )  # fmt: skip
    with weights:
        every = _draw_weights(model)
        model_download(model, {"learnt_from": run.file.name}, key="tagger_model")
        st.download_button("Weights (CSV)", lambda: frame_csv(every), "weights.csv", "text/csv", on_click="ignore")


def draw_saved_tagger(tagger: SavedTagger, tagger_id: str) -> None:
    """A tagger from a file: the user's sentence with its labels, weights."""
    if tagger.learnt_columns:
        beside = many(tagger.learnt_columns, "column")
        st.caption(
            f"⚠ It has learnt from {beside} beside the word, too, such as a part of speech. Texts have none, and its "
            "file does not hold the usual values of words there (the page Names has them where the tagger is learnt). "
            "So it uses the words alone, and is less accurate than on the file it was judged on."
        )
    frame = _draw_sentence(tagger, tagger_id)
    tokens, weights = st.tabs(["Token by token", "Weights"], key="saved_tagger_tabs")
    _draw_tokens(tokens, frame)
    with weights:
        _draw_weights(tagger.model)


def _draw_sentence(tagger: Tagger, tagger_id: str) -> pd.DataFrame:
    """The user's sentence with its labels; returns a row a token."""
    model = tagger.model
    assert model is not None
    text = st.text_input("Your sentence", _EXAMPLE, key="tagger_text", max_chars=2000)
    answer = asked("tagged", (tagger_id, text), lambda: tagger.tagged(text), waiting=_BUSY, short=True)
    rows, labels, probabilities = answer or ([], [], np.zeros((0, len(model.classes_))))
    if rows:
        kinds = sorted({label.partition("-")[2] or label for label in model.classes_ if label != "O"})
        tag_view(
            [row[0] for row in rows], labels, probabilities, model.classes_, entities(labels), kinds, key="tagger_view"
        )
    return tagged_frame(rows, labels, probabilities, model.classes_)


def _draw_tokens(where: Any, frame: pd.DataFrame) -> None:
    bar = st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)
    where.dataframe(
        frame, hide_index=True, column_config={"probability": bar, "with": bar}, alt="A row a token of your sentence"
    )


def _draw_weights(model: ChainCRF) -> pd.DataFrame:
    """Attributes and transitions with their weights; returns all of them, each kind's largest first."""
    states = model.state_features_.sort_values("weight", key=abs, ascending=False)
    left, right = st.columns([3, 2], gap="medium")
    three = {"weight": st.column_config.NumberColumn(format="%.3f")}
    left.dataframe(
        states.head(500), hide_index=True, height=table_height(len(states), 320), column_config=three,
        alt="Attribute, label, weight",
    )  # fmt: skip
    moves = model.transition_features_.sort_values("weight", ascending=False)
    right.dataframe(
        moves, hide_index=True, height=table_height(len(moves), 320), column_config=three,
        alt="Label before, label after, weight",
    )  # fmt: skip
    return pd.concat([states, moves], ignore_index=True)
