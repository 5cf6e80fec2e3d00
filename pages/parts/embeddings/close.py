"""The Embeddings page, further: the simulation, what to take away, the command that makes it again."""

from __future__ import annotations

import io
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.embedding import statistic_report, witness_table, word_array, write_text
from cflengine.engine import frame_csv, report_bytes
from pages.parts.components.figure_view import figure_view
from pages.parts.embeddings.controls import (
    set_simulation,
    simulation_choice,
    start_simulation,
)
from pages.parts.embeddings.figures import (
    laws_figure,
    power_figure,
)
from pages.parts.embeddings.run import CLIPPED, OVERLAP_SIZE, PATIENCE, EmbedRun, TrainChoice
from pages.parts.embeddings.view import with_corrected
from pages.parts.shared.commands import class_list, command_line
from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, FAILED
from pages.parts.shared.words import percent, plain

SHAPES = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
LENGTHS = (1, 2, 5, 10, 20, 50)


def draw_simulation() -> None:
    """Two laws of words, drawn by the user, and how many documents it takes to tell them apart."""
    st.markdown(
        "Words 0, 1, 2 … are drawn by a beta-binomial law, another one for each class; a word's vector is its number. "
        "How many documents does the test need to find the difference? With two laws of the same mean, the linear "
        "kernel finds it no more often than by accident."
    )
    choice = simulation_choice()
    left, right = st.columns([2, 3], gap="medium")
    with left:
        for name, title in (("first", "First class"), ("second", "Second class")):
            values = getattr(choice, name)
            one, two = st.columns(2)
            for k, (column, letter) in enumerate(((one, "α"), (two, "β"))):
                column.select_slider(
                    f"{title}, {letter}", SHAPES, values[k], key=f"widget_sim_{name}_{k}",
                    format_func=lambda value: f"{value:g}", on_change=_take_shapes,
                )  # fmt: skip
        st.select_slider(
            "Words of a document", LENGTHS, choice.length, key="widget_sim_length",
            on_change=lambda: set_simulation(length=st.session_state.widget_sim_length),
        )  # fmt: skip
        st.slider(
            "Irrelevant words", 0.0, 0.9, choice.irrelevant, 0.1, key="widget_sim_irrelevant", format="percent",
            on_change=lambda: set_simulation(irrelevant=st.session_state.widget_sim_irrelevant),
            help="A share of 100 further words, the same in both classes.",
        )  # fmt: skip
        job = BOARD.get(st.session_state.get("simulation_job"))
        busy = job is not None and job.active
        with st.container(horizontal=True, gap="small"):
            st.button("Simulate", type="primary", on_click=start_simulation, key="simulate", disabled=busy)
            st.button("Stop", on_click=job.end if job is not None else None, key="stop_simulation", disabled=not busy)
    with right:
        laws = choice.laws
        figure_view(laws_figure(laws.laws(), choice.n_words), "sim_laws", "The two laws that words are drawn by")
        st.caption(f"The two laws overlap by {percent(laws.overlap(), 0)}.")
        if job is not None:
            st.fragment(_simulation, run_every=0.5 if job.active else None)(job.id)


def _take_shapes() -> None:
    state = st.session_state
    found = {name: tuple(state[f"widget_sim_{name}_{k}"] for k in (0, 1)) for name in ("first", "second")}
    set_simulation(**found)


def _simulation(job_id: str) -> None:
    job = BOARD.seen(job_id)
    if job is None:
        return
    queue_notes(job)
    if job.state == FAILED:
        st.error(plain(job.error))
        return
    run = job.so_far
    if any(run.frames.values()):
        figure_view(
            power_figure(run.frames), "sim_power", "How often the test finds the difference, by number of documents"
        )
        if any(run.overlaps.values()):
            figure = power_figure(run.overlaps, "overlap")
            figure_view(figure, "sim_overlap", "How often the test finds the difference, by overlap of the laws")
        st.caption(
            "How often a test at 5 % finds the difference, in 60 simulations of each point: above with more and more "
            f"documents, below with {OVERLAP_SIZE} as the second law moves towards the first, until both are one. The "
            "Gaussian kernel is a quarter of the range of words wide."
            + (" ⚠ The laws above have changed since." if run.choice != simulation_choice() else "")
        )
    elif job.active:
        st.caption("Simulating …")
    rerun_at_end(job)


def draw_files(run: EmbedRun, loaded: LoadedCorpus) -> None:
    """Tables and vectors to take away, and the command that makes them again."""
    found = run.comparison
    assert found is not None
    vectors = found.words.vectors
    files: dict[str, Any] = {
        "Witness (CSV)": ("witness.csv", lambda: frame_csv(witness_table(found))),
        "Pairs of classes (CSV)": ("pairwise.csv", lambda: frame_csv(with_corrected(found))),
        "Statistic (JSON)": ("statistic.json", lambda: report_bytes(statistic_report(found))),
        "Permutations (CSV)": ("null.csv", lambda: frame_csv(pd.DataFrame({"statistic": found.null}))),
        "Vectors (npz)": ("vectors.npz", lambda: vector_arrays(vectors.words, vectors.M)),
        "Vectors (text)": ("vectors.txt", lambda: vector_text(vectors.words, vectors.M)),
    }
    with st.container(horizontal=True, gap="small"):
        for label, (name, make) in files.items():
            st.download_button(label, make, name, on_click="ignore", key=f"embed_{name}")
    whole = found.n_permutations == run.choice.permutations
    st.caption(
        ("The same" if whole else f"With all {run.choice.permutations:,} permutations")
        + " from the command line; `cflengine verify` recomputes it without compiled code:"
    )
    st.code(embed_command(run, loaded), language="shell", wrap_lines=True)


def embed_command(run: EmbedRun, loaded: LoadedCorpus, training: TrainChoice | None = None) -> str:
    """The ``cflengine embed`` call that finds the same statistic, and trains the same network."""
    choice = run.choice
    options: dict[str, Any] = {"label_column": choice.column, "classes": class_list(choice.classes)}
    options |= {"kernel": choice.kernel, "permutations": choice.permutations, "network": "none"}
    if training is not None:
        begin = "compared" if training.given else "random"
        options |= {"network": training.network, "regulariser": training.regulariser, "initial": begin}
        options |= {"lam": training.lam} if training.regulariser != "none" else {}
        options |= {"epochs": training.epochs, "learning_rate": training.rate, "test_split": training.test}
        options |= {} if training.given else {"dimension": training.dimension}
        options |= {"dev_split": training.dev, "patience": PATIENCE} if training.dev else {}
        options |= {"max_gradient": CLIPPED} if training.clip else {}
    if choice.stop:
        options["stop_words"] = "english"
    options["min_count"] = run.min_count
    line = command_line("embed", loaded, options, "apart")
    return line + (" " + shlex.quote(f"--vectors={choice.vectors[1]}") if choice.vectors else "")


def vector_arrays(words: Sequence[str], M: np.ndarray) -> bytes:
    """Words and vectors as npz."""
    data = io.BytesIO()
    np.savez_compressed(data, words=word_array(words), vectors=M)
    return data.getvalue()


def vector_text(words: Sequence[str], M: np.ndarray) -> bytes:
    """Words and vectors as word2vec's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        write_text(path, words, M)
        return path.read_bytes()
