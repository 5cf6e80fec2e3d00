"""The Embeddings page, further: vectors trained under the user's eyes, the simulation, what to take away."""

from __future__ import annotations

import io
import shlex
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from cflengine.embedding import DEFAULT_LAMS, NETWORKS, REGULARISERS, statistic_report, witness_table, write_text
from cflengine.engine import frame_csv, report_bytes
from cflengine.linear import about_corpus
from pages.parts.embeddings.controls import (
    HAS_NEURAL,
    is_wanted,
    set_simulation,
    set_train,
    simulation_choice,
    start_simulation,
    start_training,
    stopped_training,
    train_choice,
)
from pages.parts.embeddings.figures import (
    film_figure,
    laws_figure,
    moment_figure,
    power_figure,
    still_figures,
    training_figure,
)
from pages.parts.embeddings.run import MOST_DOCUMENTS, OVERLAP_SIZE, EmbedRun, TrainChoice, TrainRun
from pages.parts.embeddings.view import Pair, pair_names, with_corrected
from pages.parts.shared.commands import class_list, command_line
from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.models import model_download
from pages.parts.shared.state import TRAIN, current_corpus, current_job, stop_job
from pages.parts.shared.words import many, percent, plain

_NETWORKS = {"mean": "mean of the vectors", "cnn": "convolution", "gru": "GRU", "bilstm": "BiLSTM"}
_PENALTIES = {
    "wmmd": "wMMD: keep classes apart", "none": "none", "l1": "ℓ1", "dropout": "dropout",
    "re-embedding": "stay near the beginning", "group lasso": "group lasso on words", "bigram wmmd": "wMMD of bigrams",
}  # fmt: skip
_LAMS = (0.0, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 100_000.0)
_SHAPES = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


def draw_training(compared: Job, pair: Pair, loaded: LoadedCorpus) -> None:
    """A network and its vectors, epoch by epoch; before and after."""
    st.markdown(
        "Train a small network on these classes, and the words' vectors with it. The penalty decides what becomes of "
        "the vectors: wMMD pulls the classes' words apart."
    )
    if not HAS_NEURAL:
        st.info(
            "Networks need JAX and optax, which are not installed here. Everything else on this page needs neither."
        )
        st.code("pip install 'cflengine[neural]'", language="shell")
        return
    job = current_job(TRAIN)
    _training_controls(compared, job)
    if job is None:
        st.info("Press **Train** to see loss, accuracy and wMMD² move epoch by epoch, and the words with them.")
    elif job.state == FAILED:
        st.error(plain(job.error))
    elif job.active:
        st.fragment(_training, run_every=0.7)(job.id, compared.id, pair)
    else:
        if not is_wanted(job.result):
            st.caption("⚠ The choices above have changed since this network was trained.")
        _trained(job.result, compared.result, pair, loaded)


def _training_controls(compared: Job, job: Job | None) -> None:
    choice, busy = train_choice(), job is not None and job.active
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Network", NETWORKS, index=NETWORKS.index(choice.network), format_func=_NETWORKS.__getitem__, width=195,
            key="widget_train_network", on_change=lambda: set_train(network=st.session_state.widget_train_network),
        )  # fmt: skip
        names = list(_PENALTIES)
        st.selectbox(
            "Penalty", names, index=names.index(choice.regulariser), format_func=_PENALTIES.__getitem__, width=215,
            key="widget_train_penalty", on_change=_take_penalty, help=f"Here: {REGULARISERS[choice.regulariser]}.",
        )  # fmt: skip
        if choice.regulariser != "none":
            most = 0.5 if choice.regulariser == "dropout" else _LAMS[-1]
            offered = [value for value in _LAMS if value <= most]
            st.select_slider(
                "λ, regularisation", offered, min(offered, key=lambda value: abs(value - choice.lam)), width=170,
                format_func=lambda value: f"{value:g}", key=f"widget_train_lam_{choice.regulariser}",
                on_change=lambda: set_train(lam=st.session_state[f"widget_train_lam_{choice.regulariser}"]),
            )  # fmt: skip
        st.selectbox(
            "Vectors begin", [False, True], index=int(choice.given), width=145, key="widget_train_given",
            format_func=lambda given: "as compared" if given else "at random",
            on_change=lambda: set_train(given=st.session_state.widget_train_given),
        )  # fmt: skip
        st.button(
            "Train" if stopped_training() is None else "Go on", type="primary", on_click=start_training,
            args=(compared,), disabled=busy, key="train", width=85,
        )  # fmt: skip
        st.button("Stop", on_click=stop_job, args=(TRAIN,), disabled=not busy, key="stop_train", width=85)


def _take_penalty() -> None:
    penalty = st.session_state.widget_train_penalty
    set_train(regulariser=penalty, lam=DEFAULT_LAMS[penalty])


def _training(job_id: str, compared_id: str, pair: Pair) -> None:
    job, compared = BOARD.get(job_id), BOARD.get(compared_id)
    if job is None or compared is None:
        return
    job.touch()
    compared.touch()
    queue_notes(job)
    run: TrainRun = job.so_far
    st.caption(f"{run.stage} …")
    if run.rows:
        figure = training_figure(list(run.rows))
        st.plotly_chart(figure, key="train_live", config={"displayModeBar": False})
        words = run.words
        shares = _shares(compared.result, pair, words)
        figure = moment_figure(run.film[-1], words, shares, pair_names(compared.result, pair))
        st.plotly_chart(figure, key="train_moment", config={"displayModeBar": False})
        st.caption("The most frequent words as they stand at this moment; all epochs can be replayed afterwards.")
    rerun_at_end(job)


def _trained(run: TrainRun, about: EmbedRun, pair: Pair, loaded: LoadedCorpus) -> None:
    model = run.model
    if model is None or model.n_iter_ == 0:
        st.info("Stopped before the first epoch was done: press **Train** again.")
        return
    now = "By the weights of the end. The chart has what was right while they still changed, at each step."
    items: list[Any] = [("Right, of training", percent(run.right["train"], 1), now)]
    if "test" in run.right:
        items.append(("Right, test", percent(run.right["test"], 1), "Of documents that nothing was learnt from."))
    own = "Of the documents learnt from, by a kernel as wide as the median distance of its vectors."
    wmmd, of_words = run.wmmd(), about.comparison.identity["statistic"]
    items += [
        ("wMMD² before", f"{wmmd['before']:.4g}", own), ("wMMD² after", f"{wmmd['after']:.4g}", own),
        ("wMMD² of words", f"{of_words:.4g}", "Of all documents compared: M = identity, width √2. On another scale."),
    ]  # fmt: skip
    metric_row(items)
    result = model.result_
    ended = {
        "iteration limit": "all epochs done", "numerical error": "stopped, since training diverged,",
        "interrupted": "stopped",
    }  # fmt: skip
    st.caption(
        f"{_NETWORKS[run.choice.network].capitalize()}, {_PENALTIES[run.choice.regulariser]}"
        f"{f', λ = {run.choice.lam:g}' if run.choice.regulariser != 'none' else ''}: "
        f"{ended.get(str(result.reason), str(result.reason))} after {many(result.n_iterations, 'epoch')}, "
        f"learnt from {many(run.n_learnt, 'document')}. The loss is not convex, so nothing is proved about these "
        "weights; the numbers are recomputed from them."
    )
    st.plotly_chart(training_figure(run.rows), key="train_done", config={"displayModeBar": False})
    names, words = pair_names(about, pair), run.words
    shares = _shares(about, pair, words)
    film, both = st.tabs(["Film", "Before and after"], key="simulation_tabs")
    with film:
        st.plotly_chart(film_figure(run.film, words, shares, names), key="train_film", config={"displayModeBar": False})
        st.caption("The most frequent words after each epoch, in the plane of the last one. Press Play.")
    stills = still_figures(run.film, words, shares, names)
    for column, figure, key in zip(both.columns(2), stills, ("before", "after"), strict=True):
        with column:
            st.markdown(f"**{key.capitalize()}**: wMMD² {wmmd[key]:.4g}")
            st.plotly_chart(figure, key=f"train_{key}", config={"displayModeBar": False})
    with st.container(horizontal=True, gap="small"):
        model_download(model, about_corpus(current_corpus().corpus, about.choice.column), key="train_model")
        st.download_button("Trace (CSV)", lambda: frame_csv(model.trace_), "trace.csv", "text/csv", key="train_trace",
                           on_click="ignore")  # fmt: skip
        st.download_button(
            "Vectors (text)", lambda: _vector_text(model.words_, model.vectors_), "vectors-trained.txt", "text/plain",
            key="train_vectors", on_click="ignore",
        )  # fmt: skip
    if str(result.reason) != "iteration limit":
        st.caption(f"From the command line, which trains all {many(run.choice.epochs, 'epoch')}:")
    elif run.n_learnt == MOST_DOCUMENTS:
        st.caption(f"From the command line, which learns from all documents, not from {MOST_DOCUMENTS:,} of them:")
    else:
        st.caption("The same from the command line:")
    st.code(embed_command(about, loaded, run.choice), language="shell", wrap_lines=True)


def _shares(about: EmbedRun, pair: Pair, words: list[str]) -> np.ndarray:
    """float64 (words, 2): of the words of documents of either class."""
    found = about.comparison
    assert found is not None
    laws = found.words.laws
    number = {word: k for k, word in enumerate(found.words.vectors.words)}
    at = np.array([number.get(word, -1) for word in words])
    shares = (laws.sums / laws.sizes)[:, list(pair)]
    return np.where(at[:, None] >= 0, shares[np.maximum(at, 0)], 0.0)


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
                    f"{title}, {letter}", _SHAPES, values[k], key=f"widget_sim_{name}_{k}",
                    format_func=lambda value: f"{value:g}", on_change=_take_shapes,
                )  # fmt: skip
        st.select_slider(
            "Words of a document", (1, 2, 5, 10, 20, 50), choice.length, key="widget_sim_length",
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
        st.plotly_chart(laws_figure(laws.laws(), choice.n_words), key="sim_laws", config={"displayModeBar": False})
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
        st.plotly_chart(power_figure(run.frames), key="sim_power", config={"displayModeBar": False})
        if any(run.overlaps.values()):
            figure = power_figure(run.overlaps, "overlap")
            st.plotly_chart(figure, key="sim_overlap", config={"displayModeBar": False})
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
    files: dict[str, Any] = {
        "Witness (CSV)": ("witness.csv", lambda: frame_csv(witness_table(found))),
        "Pairs of classes (CSV)": ("pairwise.csv", lambda: frame_csv(with_corrected(found))),
        "Statistic (JSON)": ("statistic.json", lambda: report_bytes(statistic_report(found))),
        "Vectors (npz)": ("vectors.npz", lambda: _npz(found)),
        "Vectors (text)": ("vectors.txt", lambda: _vector_text(found.words.vectors.words, found.words.vectors.M)),
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
        options |= {"epochs": training.epochs, "test_split": training.test}
    if choice.stop:
        options["stop_words"] = "english"
    options["min_count"] = run.min_count
    line = command_line("embed", loaded, options, "apart")
    return line + (" " + shlex.quote(f"--vectors={choice.vectors[1]}") if choice.vectors else "")


def _npz(found: Any) -> bytes:
    data = io.BytesIO()
    np.savez_compressed(data, words=np.array(found.words.vectors.words, dtype=str), vectors=found.words.vectors.M)
    return data.getvalue()


def _vector_text(words: Any, M: np.ndarray) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        write_text(path, words, M)
        return path.read_bytes()
