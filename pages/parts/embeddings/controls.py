"""What the Embeddings page asks for: classes, vectors, kernel; and the jobs that compare, train and simulate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from cflengine.embedding import check_vectors_file, has_neural
from cflengine.engine import InputError
from pages.parts.embeddings.run import EmbedChoice, EmbedRun, SimulationChoice, SimulationRun, TrainChoice, TrainRun
from pages.parts.shared import corpora
from pages.parts.shared.controls import BUTTONS, run_and_stop
from pages.parts.shared.jobs import Job
from pages.parts.shared.labels import current_label_columns, own_split
from pages.parts.shared.selection import note_changes, session_choice
from pages.parts.shared.state import EMBED, TRAIN, current_corpus, current_job, start_job, stop_job, watch_job
from pages.parts.shared.words import plain

MOST_CLASSES = 6  # chosen to begin with
KERNELS = {"gaussian": "gaussian", "laplace": "Laplace", "linear": "linear: means alone"}
_MANY = 4  # classes, which take a row of their own
_FEWEST = 5  # documents of a class that is compared unasked
UPLOAD_MB = 2_000
HAS_NEURAL = has_neural()


def draw_embed_controls() -> bool:
    """Column, classes, vectors, Compare and Stop; False where the corpus has no classes, which is said."""
    columns = current_label_columns()
    if not columns:
        return False
    job, choice = current_job(EMBED), _choice(columns)
    key = f"widget_embed_classes:{choice.column}"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Classes of", list(columns), index=list(columns).index(choice.column), key="widget_embed_column", width=170,
            on_change=_take_column, args=(columns,),
        )  # fmt: skip
        st.multiselect(
            "Compare", columns[choice.column], default=list(choice.classes), key=key,
            width=430 if len(choice.classes) < _MANY else 560,
            on_change=lambda: _set(classes=tuple(st.session_state[key])),
        )  # fmt: skip
        run_and_stop(
            job, start_embed, lambda: stop_job(EMBED), label="Compare", disabled=len(choice.classes) < 2, width=BUTTONS,
        )  # fmt: skip
    what = choice.vectors[1] if choice.vectors else "learnt from this corpus"
    with st.expander(f"Vectors: {plain(what)}; kernel: {KERNELS[choice.kernel]}", key="embed_details"):
        _details(choice)
    if len(choice.classes) < 2:
        st.caption("Choose two classes or more.")
    note_changes(job, _key(), "this comparison was made")
    return True


def _details(choice: EmbedChoice) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        generation = st.session_state.get("embed_generation", 0)
        upload = st.file_uploader(
            "Vectors of your own: word2vec or GloVe text (also .gz), or npz", key=f"embed_upload_{generation}",
            type=["txt", "vec", "gz", "npz"], max_upload_size=UPLOAD_MB,
            help="An npz has arrays 'words' and 'vectors'. Only words of your texts are kept. Stays on this computer.",
        )  # fmt: skip
        if upload is not None:
            _take_vectors(corpora.spill(upload), upload.name)
            st.session_state.embed_generation = generation + 1
            st.rerun()
        if refused := st.session_state.get("embed_refused"):
            st.error(plain(refused))
        if choice.vectors is not None:
            st.button("Learn them from the corpus instead", on_click=lambda: _set(vectors=None), key="embed_no_vectors")
        else:
            st.caption(
                "Without a file, vectors are learnt here: from which words stand near each other (PPMI, factorised). "
                "No label is looked at."
            )
    with right:
        st.segmented_control(
            "Kernel", list(KERNELS), default=choice.kernel, required=True, format_func=KERNELS.__getitem__,
            key="widget_embed_kernel", on_change=lambda: _set(kernel=st.session_state.widget_embed_kernel),
            help="How alike two words are, by the distance of their vectors. Gaussian and Laplace kernels see every "
            "difference of laws; a linear one sees a difference of means only.",
        )  # fmt: skip
        st.toggle(
            "Leave out English stop words", choice.stop, key="widget_embed_stop",
            on_change=lambda: _set(stop=st.session_state.widget_embed_stop),
        )  # fmt: skip
        st.segmented_control(
            "Permutations", [99, 999, 4999], default=choice.permutations, required=True,
            key="widget_embed_permutations",
            on_change=lambda: _set(permutations=st.session_state.widget_embed_permutations),
            help="Labels are exchanged at random so many times; p can be no smaller than one in so many.",
        )  # fmt: skip


def _take_vectors(path: Path, name: str) -> None:
    """Choose a file of vectors, unless its beginning is of none, which is said."""
    try:
        check_vectors_file(path)
    except (InputError, OSError) as error:
        path.unlink(missing_ok=True)
        st.session_state.embed_refused = str(error).replace(path.name, name)
    else:
        st.session_state.embed_refused = ""
        _set(vectors=(str(path), name))


def _choice(columns: dict[str, list[str]]) -> EmbedChoice:
    """The session's, or the likeliest column, and what does not depend on the corpus as it was."""

    def usual() -> EmbedChoice:
        before, column = st.session_state.get("embed_choice"), next(iter(columns))
        if before is not None and before.vectors is not None and not Path(before.vectors[0]).exists():
            before = replace(before, vectors=None)
        classes = _classes(column, columns)
        return EmbedChoice(column, classes) if before is None else replace(before, column=column, classes=classes)

    def fits(one: EmbedChoice) -> bool:
        there = one.vectors is None or Path(one.vectors[0]).exists()  # an upload goes with the session it was made in
        return there and one.column in columns and set(one.classes) <= set(columns[one.column])

    return session_choice("embed", EMBED, fits, usual)


def _classes(column: str, columns: dict[str, list[str]]) -> tuple[str, ...]:
    """Those to begin with: of two documents or more, the most frequent."""
    counts = current_corpus().corpus.metadata[column].dropna().astype(str).value_counts()
    return tuple(name for name in columns[column] if counts[name] >= _FEWEST)[:MOST_CLASSES]


def _take_column(columns: dict[str, list[str]]) -> None:
    state = st.session_state
    column = state.widget_embed_column
    state.embed_choice = replace(state.embed_choice, column=column, classes=_classes(column, columns))


def _set(**changes: Any) -> None:
    st.session_state.embed_choice = replace(st.session_state.embed_choice, **changes)


def _key() -> tuple[Any, ...]:
    return (st.session_state.corpus_id, EMBED, replace(st.session_state.embed_choice, tokens=current_corpus().tokens))


def start_embed() -> None:
    """Queue a comparison of the session's corpus."""
    loaded, key = current_corpus(), _key()
    run = EmbedRun(key[2])

    def work(job: Job) -> EmbedRun:
        run.run(loaded.corpus.texts, loaded.corpus.metadata, loaded.table.n_tokens, job)
        return run

    stop_job(TRAIN)
    st.session_state[f"{TRAIN}_id"] = None  # it was about the classes and vectors of the last comparison
    start_job(EMBED, Job(loaded.corpus.name, key, work, so_far=run))


def train_choice() -> TrainChoice:
    """What the session would train."""
    return st.session_state.setdefault("train_choice", TrainChoice())


def set_train(**changes: Any) -> None:
    """Replace some of it (for widget callbacks)."""
    st.session_state.train_choice = replace(train_choice(), **changes)


def stopped_training() -> TrainRun | None:
    """The last training, where it was stopped, and what the session would train is the same: it can go on."""
    job = current_job(TRAIN)
    run = None if job is None or job.active else job.result
    return run if run is not None and run.can_go_on and is_wanted(run) else None


def is_wanted(run: TrainRun) -> bool:
    """Whether the session would train the same."""
    about = current_job(EMBED)
    return about is None or about.result is None or wanted_training(about.result) == run.choice


def own_test(about: EmbedRun) -> str | None:
    """The test set that the corpus brings along, as ``COLUMN=VALUE``."""
    known = st.session_state.get("own_test")
    if known is None or known[0] is not about:
        own = own_split(current_corpus().corpus.metadata.iloc[about.documents], about.choice.column)
        known = st.session_state.own_test = (about, own)
    return known[1]


def wanted_training(about: EmbedRun) -> TrainChoice:
    """What the session would train on the classes that were compared."""
    return replace(train_choice(), test=own_test(about) or train_choice().test)


def start_training(compared: Job) -> None:
    """Queue a training on the classes that were compared, or the rest of the one that was stopped."""
    loaded, about, stopped = current_corpus(), compared.result, stopped_training()
    run = TrainRun(wanted_training(about), corpora.session_path(".npz")) if stopped is None else stopped.further()

    def work(job: Job) -> TrainRun:
        run.run(about, loaded.corpus.texts, loaded.corpus.metadata, job)
        return run

    key = (st.session_state.corpus_id, TRAIN, compared.id, run.choice)
    start_job(TRAIN, Job(loaded.corpus.name, key, work, so_far=run))


def simulation_choice() -> SimulationChoice:
    """What the session would simulate."""
    return st.session_state.setdefault("simulation_choice", SimulationChoice())


def set_simulation(**changes: Any) -> None:
    """Replace some of it (for widget callbacks)."""
    st.session_state.simulation_choice = replace(simulation_choice(), **changes)


def start_simulation() -> None:
    """Queue a simulation."""
    run = SimulationRun(simulation_choice())

    def work(job: Job) -> SimulationRun:
        run.run(job)
        return run

    job = Job("Simulation", (st.session_state.corpus_id, "simulation", run.choice), work, so_far=run)
    st.session_state.simulation_job = job.id
    watch_job(job)
