"""What the page Tokenizer asks for: units, words, the largest size, and a tokenizer of the user's own."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from cflengine.engine import InputError, MissingPackageError
from cflengine.tokenizer import ForeignTokenizer
from pages.parts.lab.vocabulary import Brought
from pages.parts.shared import corpora
from pages.parts.shared.controls import run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.selection import note_changes
from pages.parts.shared.state import SUBWORDS, current_corpus, current_job, start_job, stop_job
from pages.parts.shared.words import many, plain
from pages.parts.subwords.run import SIZES, SubwordChoice, SubwordRun

LARGEST_FILE = 64  # MB
PIECES = {"byte": "bytes", "character": "characters"}
CUT_BY = {"gpt2": "GPT-2's", "gpt4": "GPT-4's", "whitespace": "white space"}


def draw_controls() -> None:
    """All of them in two rows."""
    state = st.session_state
    choice: SubwordChoice = state.setdefault("subwords_choice", SubwordChoice())
    job = current_job(SUBWORDS)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.select_slider(
            "Entries, up to", SIZES, choice.largest, format_func=lambda s: f"{s:,}", key="widget_subwords_largest",
            width=190, on_change=lambda: _set(largest=state.widget_subwords_largest),
            help="All smaller sizes of the scale are solved, too: 20 seconds each at most.",
        )  # fmt: skip
        st.segmented_control(
            "Pieces of", list(PIECES), default=choice.unit, required=True, format_func=PIECES.__getitem__,
            key="widget_subwords_unit", on_change=lambda: _set(unit=state.widget_subwords_unit),
            help="Bytes: any text can be cut, since all 256 are entries. Characters: those of the corpus, bytes for "
            "all others.",
        )  # fmt: skip
        st.selectbox(
            "Words cut by", list(CUT_BY), index=list(CUT_BY).index(choice.pattern), width=160,
            format_func=lambda name: f"{CUT_BY[name]} pattern" if name != "whitespace" else CUT_BY[name],
            key="widget_subwords_pattern", on_change=lambda: _set(pattern=state.widget_subwords_pattern),
            help="No piece reaches beyond a word.",
        )  # fmt: skip
        st.toggle(
            "Lower case", choice.lowercase, key="widget_subwords_lowercase",
            on_change=lambda: _set(lowercase=state.widget_subwords_lowercase),
        )  # fmt: skip
        run_and_stop(job, start, lambda: stop_job(SUBWORDS), label="Choose", width=250)
    with st.expander("Compare a tokenizer of yours with the best of its size", key="subwords_own"):
        _ask_theirs()
    note_changes(job, _key(), "these vocabularies were chosen")


def _ask_theirs() -> None:
    state = st.session_state
    generation = state.setdefault("subwords_upload", 0)
    upload = st.file_uploader(
        "tokenizer.json of Hugging Face (BPE, Unigram, WordPiece) or a SentencePiece model", type=["json", "model"],
        key=f"subwords_upload_{generation}", max_upload_size=LARGEST_FILE, help="Stays on this computer.",
    )  # fmt: skip
    if upload is not None:
        path = corpora.spill(upload)
        brought = Brought(upload.name, path.read_bytes())
        path.unlink()
        try:
            with st.spinner("Reading …"):
                state.subwords_kind = described(brought)
            state.subwords_theirs, state.subwords_refused = brought, ""
        except (InputError, MissingPackageError) as error:
            state.subwords_refused = str(error)
        state.subwords_upload = generation + 1  # a fresh uploader: the old one's bytes are gone
        st.rerun()
    if state.get("subwords_refused"):
        st.error(plain(state.subwords_refused))
    kept: Brought | None = state.get("subwords_theirs")
    if kept is not None:
        said, button = st.columns([4, 1], vertical_alignment="center")
        kind = f"**{plain(kept.name)}** ({plain(state.subwords_kind)})"
        said.markdown(f"{kind} is compared with the best when you press **Choose**.")
        button.button("Leave it out", on_click=lambda: state.pop("subwords_theirs"), key="subwords_drop")


def described(brought: Brought) -> str:
    """What a tokenizer is. Raises InputError for a file of something else, MissingPackageError without its library."""
    found = ForeignTokenizer.read(brought.data, brought.name)
    return f"{found.kind}, {many(len(found.names), 'entry', 'entries')}"


def _set(**changes: object) -> None:
    st.session_state.subwords_choice = replace(st.session_state.subwords_choice, **changes)


def _key() -> tuple[object, ...]:
    brought: Brought | None = st.session_state.get("subwords_theirs")
    choice = replace(st.session_state.subwords_choice, theirs=brought.digest if brought else "")
    return (st.session_state.corpus_id, SUBWORDS, choice)


def start() -> None:
    """Queue the work on the session's corpus."""
    loaded, key = current_corpus(), _key()
    brought: Brought | None = st.session_state.get("subwords_theirs")
    run, job = SubwordRun(key[2]), current_job(SUBWORDS)
    if job is not None and isinstance(job.so_far, SubwordRun):
        run.take_over(job.so_far)

    def work(job: Job) -> SubwordRun:
        run.run(loaded.corpus.texts, brought, job)
        return run

    start_job(SUBWORDS, Job(loaded.corpus.name, key, work, so_far=run))
