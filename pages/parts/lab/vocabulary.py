"""A vocabulary that the user brings, encoded and compared with the solver's dictionary and with its proved bound.

Let f be the cost (1) of the corpus with the vocabulary (``cflengine.compression.analysis.foreign_vocabulary``), F the
cost of the solver's solution and b ≤ min (1) its proved bound, all at the model's λ. Then

    f / b - 1   is at most how far the vocabulary is from the cheapest possible, since b is below every solution;
    f / F - 1   is what this encoding costs above a solution that exists.

f is what a good use of the vocabulary costs. Its best use may be cheaper, so f / F - 1 is no lower bound on how far the
vocabulary itself is from optimal. Everything that runs kernels runs in the solver's thread.
"""

from __future__ import annotations

import hashlib
import io
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, CorpusError
from cflengine.compression import count_uses, encode_with_vocabulary, match_vocabulary
from cflengine.engine import defuse_cell, relative_gap, restore_cell
from cflengine.text import DelimitedTable, Tokenizer, detect, initial_decoding, long_fields, printable
from pages.parts.shared import corpora
from pages.parts.shared.guard import end_page
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.solution import Solution
from pages.parts.shared.state import WORD_LIST, current_job, keep_result
from pages.parts.shared.words import plain

MAX_BYTES, MAX_LINES, MAX_TYPED = 20 << 20, 2_000_000, 200_000
PATIENCE_S = 1.5  # a measurement that is done by then needs no second run of the page
SHOWN, LISTED, SNIPPET = 20, 500, 80
# a heading of the column of phrases; no loss where it is meant as a phrase, since every single word may be used anyway
HEADINGS = frozenset({"gram", "k-gram", "ngram", "n-gram", "phrase", "term", "word", "feature", "token", "text"})


@dataclass(frozen=True)
class Brought:
    """A vocabulary as it came: the file's name ('' for the text box) and its bytes."""

    name: str
    data: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """What tells it from another one."""
        return hashlib.blake2b(self.name.encode("utf-8", "replace") + b"\0" + self.data, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Check:
    """A vocabulary measured on a corpus.

    cost: objective of (1) with it; cover: uint8 (n,), the pointers there. n_phrases: different phrases; too_long
    (more than K words) and absent (not in the corpus): up to ``SHOWN`` of the n_too_long and n_absent that name no
    K-gram. n_grams: K-grams named; n_added: single words that the encoding needs beside them. used, unused: the
    vocabulary's K-grams with and without a pointer; lacking: K-grams of two words and more that the solver's
    dictionary has beyond it. Frames of gram, length, count (pointers; of the solver in ``lacking``), occurrences,
    cost, by number in the index; the last two hold the ``LISTED`` most frequent of n_unused and n_lacking.
    """

    cost: float
    cover: np.ndarray = field(repr=False)
    n_phrases: int
    n_too_long: int
    n_absent: int
    too_long: tuple[str, ...]
    absent: tuple[str, ...]
    n_grams: int
    n_added: int
    n_unused: int
    n_lacking: int
    used: pd.DataFrame = field(repr=False)
    unused: pd.DataFrame = field(repr=False)
    lacking: pd.DataFrame = field(repr=False)


# ---- reading


def read_phrases(brought: Brought) -> list[str]:
    """The different phrases, in order: lines, or the cells of a CSV's column that is called so, else of its first one
    with letters.

    Cells that ``cflengine.compression.export`` defused are restored. Raises CorpusError, one sentence, for what is too
    large, no text, or without a phrase.
    """
    name = brought.name or "The text box"
    if len(brought.data) > MAX_BYTES:
        raise CorpusError(f"'{name}' is larger than {MAX_BYTES >> 20} MB, the most that a vocabulary may have.")
    text = _decoded(brought.data, name)
    if "\0" in text:
        raise CorpusError(f"'{name}' contains NUL bytes, so it is no text; save it as UTF-8 text.")
    cells = _phrase_column(text, name) if brought.name.lower().endswith(".csv") else iter(text.splitlines())
    phrases: dict[str, None] = {}
    for n, cell in enumerate(cells):
        if n >= MAX_LINES:
            raise CorpusError(f"'{name}' has more than {MAX_LINES:,} lines, the most that a vocabulary may have.")
        if cell.strip():
            phrases[" ".join(cell.split())] = None
    if not phrases:
        raise CorpusError(f"'{name}' holds no phrase; give one a line.")
    return list(phrases)


def _decoded(data: bytes, name: str) -> str:
    """Text by the rules of ``cflengine.text.reading.encodings``, as a corpus would be read."""
    decoding = initial_decoding(data[:4])
    try:
        return decoding.text(data)
    except UnicodeDecodeError as error:
        if not decoding.one_byte_units:
            raise CorpusError(
                f"'{name}' is not valid {decoding.encoding} ({error.reason}); save it as UTF-8."
            ) from error
    return (decoding.forgiving() if decoding.note else detect([data])).text(data)


def _phrase_column(text: str, name: str) -> Iterator[str]:
    with long_fields():
        table = DelimitedTable(iter(io.StringIO(text, newline="")), "csv", name)
        named = [column for column in table.columns if table.has_header and column.strip().lower() in HEADINGS]
        records = table.records()
        head = list(islice(records, 50))
        chosen = named[0] if named else _wordy(table.columns, head)
        if table.has_header and len(table.columns) == 1 and not named:
            yield _restored(chosen)  # a list without a heading
        for record in chain(head, records):
            yield _restored(record.get(chosen) or "")


def _wordy(columns: Sequence[str], head: Sequence[Mapping[str, Any]]) -> str:
    """The first column most of whose first cells hold a letter, else the first: not that of numbers."""

    def letters(column: str) -> int:
        return sum(any(map(str.isalpha, record.get(column) or "")) for record in head)

    return next((column for column in columns if 2 * letters(column) > len(head)), columns[0])


def _restored(cell: str) -> str:
    """A cell as it was before export; one with an apostrophe of its own, from elsewhere, stays."""
    restored = restore_cell(cell)
    return restored if defuse_cell(restored) == cell else cell


# ---- measuring


def measure(model: CompressiveFeatures, brought: Brought) -> Check:
    """Read, match and encode. For the solver's thread: it runs kernels. Raises CorpusError."""
    phrases = read_phrases(brought)
    tokenizer = Tokenizer(model.token_pattern, model.lowercase)
    named, missing = match_vocabulary(model.table_, model.index_, phrases, tokenizer)
    is_long = np.diff(tokenizer(missing).doc_ptr) > model.max_gram
    too_long = [phrase for phrase, over in zip(missing, is_long.tolist(), strict=True) if over]
    absent = [phrase for phrase, over in zip(missing, is_long.tolist(), strict=True) if not over]
    cover, cost, used = encode_with_vocabulary(model.index_, model.costs_at(model.lam), named)
    mine, in_use = named > 0, used > 0
    theirs = np.zeros(len(mine), dtype=bool)
    theirs[model.result_.dictionary] = True
    theirs[: model.index_.len_ptr[1]] = False  # single words may be used by any vocabulary
    first, occurrences = model.index_.first_positions(np.arange(len(mine))), model.index_.counts()
    uses, solver_uses = count_uses(model.index_, cover), count_uses(model.index_, model.result_.cover)

    def frame(chosen: np.ndarray, by: np.ndarray, count: np.ndarray, most: int | None) -> pd.DataFrame:
        grams = np.flatnonzero(chosen)
        grams = grams[np.argsort(-by[grams].astype(np.int64), kind="stable")][:most]
        return _gram_frame(model, grams, first[grams], count[grams], occurrences[grams])

    unused, lacking = mine & ~in_use, theirs & ~mine
    return Check(
        cost, cover, len(phrases), len(too_long), len(absent), _snippets(too_long), _snippets(absent),
        int(mine.sum()), int((in_use & ~mine).sum()), int(unused.sum()), int(lacking.sum()),
        used=frame(mine & in_use, uses, uses, None),
        unused=frame(unused, occurrences, uses, LISTED),
        lacking=frame(lacking, solver_uses, solver_uses, LISTED),
    )  # fmt: skip


def _gram_frame(
    model: CompressiveFeatures, grams: np.ndarray, first: np.ndarray, count: np.ndarray, occurrences: np.ndarray
) -> pd.DataFrame:
    lengths = np.searchsorted(model.index_.len_ptr, grams, side="right")
    tokens, words = model.index_.tokens, model.table_.vocabulary
    spans = zip(first.tolist(), lengths.tolist(), strict=True)
    return pd.DataFrame(
        {
            "gram": [" ".join(printable(words[t]) for t in tokens[i : i + k]) for i, k in spans],
            "length": lengths,
            "count": count,
            "occurrences": occurrences,
            "cost": model.costs_at(model.lam).dictionary[grams],
        },
        index=grams,
    )


def _snippets(phrases: Iterable[str]) -> tuple[str, ...]:
    shown = list(phrases)[:SHOWN]
    return tuple(phrase if len(phrase) <= SNIPPET else phrase[: SNIPPET - 1] + "…" for phrase in shown)


def verdict(cost: float, objective: float, bound: float) -> tuple[str, str]:
    """What is proved, in two sentences. "At most" is rounded up, "more" and "less" down: never a claim too many."""
    above, excess = relative_gap(cost, bound), relative_gap(cost, objective)
    if math.isfinite(above):
        proved = f"**Your vocabulary is at most {rounded(above, math.ceil)} above the cheapest possible.**"
    else:
        proved = "This run was stopped before anything was proved, so how far from optimal cannot be said."
    if excess > 1e-9 and math.isfinite(excess):
        found = f"Encoded this way it costs {rounded(excess, math.floor)} more than with a dictionary that exists: the "
        return proved, found + "solver’s."
    if excess < -1e-9:
        return proved, f"It costs {rounded(-excess, math.floor)} less than the best that the solver found."
    return proved, "It costs what the solver’s own dictionary costs."


def rounded(share: float, direction: Callable[[float], int]) -> str:
    """A share in percent, two digits, rounded in a stated direction."""
    return f"{direction(round(1e4 * share, 6)) / 100:,.2f} %"


# ---- in the session


def ask_vocabulary() -> Brought | None:
    """The box and the uploader; what was last sent, kept while other pages are visited, and found after a reload."""
    state = st.session_state
    if "vocabulary" not in state:
        _restore()
    generation = state.setdefault("vocabulary_upload", 0)
    with st.form("vocabulary_form"):
        typed, sent = st.columns(2)
        text = typed.text_area(
            "Your phrases, one a line", state.get("vocabulary_text", ""), key="widget_vocabulary", height=150,
            max_chars=MAX_TYPED, placeholder="the nose\na hint of",
        )  # fmt: skip
        upload = sent.file_uploader(
            "Or a file: .txt, a phrase a line, or .csv, its column phrase or first", type=["txt", "csv"],
            key=f"vocabulary_upload_{generation}", max_upload_size=MAX_BYTES >> 20,
            help="It is used in place of the box. The dictionary.csv of this app will do. Stays on this computer.",
        )  # fmt: skip
        pressed = st.form_submit_button("Measure it", type="primary")
    if pressed:
        state.vocabulary_job = None
        if upload is not None:
            path = corpora.spill(upload)
            # one byte more than is allowed is enough to see that it is too large
            with path.open("rb") as file:
                state.vocabulary = Brought(upload.name, file.read(MAX_BYTES + 1))
            path.unlink()
            state.vocabulary_upload = generation + 1  # a fresh uploader: the old one's bytes are gone
            st.rerun()
        state.vocabulary_text = text
        if text.strip():
            state.vocabulary = Brought("", text.encode("utf-8", "replace"))
        elif state.vocabulary is None or not state.vocabulary.name:  # a file that was sent stays what is measured
            state.vocabulary = None
            st.error("The box is empty: write a phrase a line, or choose a .txt or .csv file.")
    brought, job = state.vocabulary, current_job(WORD_LIST)
    if brought is not None and (job is None or job.result != brought):
        keep_result(WORD_LIST, brought)
    return brought


def _restore() -> None:
    """A session begins with the vocabulary that its address names, if there is one."""
    state, job = st.session_state, current_job(WORD_LIST)
    state.vocabulary = None if job is None else job.result
    if state.vocabulary is not None and not state.vocabulary.name:
        state.vocabulary_text = state.vocabulary.data.decode("utf-8")


def check_or_stop(solved: Solution, brought: Brought) -> Check:
    """The vocabulary measured against what is solved; a sentence and the end of the page where that cannot be yet."""
    state, key = st.session_state, (solved.id, brought.digest)
    if state.get("vocabulary_key") == key:
        return state.vocabulary_check
    try:
        check = _check(solved.model, key, brought)
    except ValueError as error:
        st.error(plain(str(error)))
        end_page()
    state.update(vocabulary_key=key, vocabulary_check=check, vocabulary_job=None)
    return check


def _check(model: CompressiveFeatures, key: tuple[Any, ...], brought: Brought) -> Check:
    """The check by a job of its own; ends the page while that is under way. Raises ValueError if it failed."""
    state = st.session_state
    job = state.get("vocabulary_job")
    if job is None or job.key != ("vocabulary", *key):
        if job is not None:
            job.stop.set()

        kept = weakref.ref(model)  # this job must not keep a corpus in memory

        def work(_: Job) -> Check:
            found = kept()
            if found is None:
                raise ValueError("The result has been dropped from memory: run the solver again.")
            return measure(found, brought)

        job = state.vocabulary_job = Job("Your vocabulary", ("vocabulary", *key), work, passing=True)
        idle = not BOARD.busy
        BOARD.submit(job)
        if idle:
            job.ended.wait(PATIENCE_S)
    if job.active:
        st.fragment(_wait, run_every=1.0)(job)
        end_page()
    if job.state == FAILED:
        raise ValueError(job.error)
    return job.result


def _wait(job: Job) -> None:
    """What is said while the job is under way; reruns the page at its end."""
    job.touch()
    if not job.active:
        st.rerun()
    st.info(f"Measuring … {BOARD.place(job)}")
