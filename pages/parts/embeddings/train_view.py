"""The Embeddings page: a network and the words' vectors, trained under the user's eyes; before and after."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import streamlit as st

from cflengine.embedding import DEFAULT_LAMS, NETWORKS, REGULARISERS
from cflengine.engine import frame_csv
from cflengine.linear import about_corpus
from pages.parts.components.figure_view import figure_view
from pages.parts.embeddings.close import embed_command, vector_arrays, vector_text
from pages.parts.embeddings.controls import (
    HAS_NEURAL,
    is_wanted,
    own_test,
    set_train,
    start_training,
    stopped_training,
    train_choice,
)
from pages.parts.embeddings.figures import film_figure, moment_figure, still_figures, training_figure
from pages.parts.embeddings.run import MOST_DOCUMENTS, PATIENCE, EmbedRun, TrainChoice, TrainRun
from pages.parts.embeddings.view import Pair, pair_names
from pages.parts.shared.controls import queue_notes, rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, FAILED, Job
from pages.parts.shared.metrics import metric_row
from pages.parts.shared.models import model_download
from pages.parts.shared.selection import note_changes
from pages.parts.shared.state import TRAIN, current_corpus, current_job, stop_job
from pages.parts.shared.words import many, percent, plain

_NETWORKS = {"mean": "mean of the vectors", "cnn": "convolution", "gru": "GRU", "bilstm": "BiLSTM"}
PENALTIES = {
    "wmmd": "wMMD: keep classes apart", "none": "none", "l1": "ℓ1", "dropout": "dropout",
    "re-embedding": "stay near the beginning", "group lasso": "group lasso on words", "bigram wmmd": "wMMD of bigrams",
}  # fmt: skip
DIMENSIONS, RATES = (2, 5, 10, 20, 50, 100, 300), (0.003, 0.01, 0.03, 0.1, 0.3)
TEST = {0.1: "10 %", 0.2: "20 %", 0.25: "25 %", 0.5: "half"}
DEV = {0.0: "no documents", 0.1: "10 %", 0.2: "20 %"}
MOST_DROPPED = 0.5  # of a document's words
LAMS = (0.0, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 100_000.0)


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
    run: TrainRun | None = None if job is None or job.state == FAILED else job.so_far
    if job is not None and run is not None:
        note_changes(job, job.key if is_wanted(run) else (), "this network was trained")
    if job is None:
        st.info("Press **Train** to see loss, accuracy and wMMD² move epoch by epoch, and the words with them.")
    elif job.state == FAILED:
        st.error(plain(job.error))
    elif job.active:
        st.fragment(_training, run_every=0.7)(job.id, compared.id, pair)
    else:
        _trained(job.result, compared.result, pair, loaded)


def _training_controls(compared: Job, job: Job | None) -> None:
    choice, busy = train_choice(), job is not None and job.active
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.selectbox(
            "Network", NETWORKS, index=NETWORKS.index(choice.network), format_func=_NETWORKS.__getitem__, width=195,
            key="widget_train_network", on_change=lambda: set_train(network=st.session_state.widget_train_network),
        )  # fmt: skip
        names = list(PENALTIES)
        st.selectbox(
            "Penalty", names, index=names.index(choice.regulariser), format_func=PENALTIES.__getitem__, width=215,
            key="widget_train_penalty", on_change=_take_penalty, help=f"Here: {REGULARISERS[choice.regulariser]}.",
        )  # fmt: skip
        if choice.regulariser != "none":
            most = MOST_DROPPED if choice.regulariser == "dropout" else LAMS[-1]
            offered = [value for value in LAMS if value <= most]
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
    with st.expander("How it is trained", key="train_details"):
        _details(choice, own_test(compared.result))


def _details(choice: TrainChoice, own: str | None) -> None:
    """What is usual stands there; the article's numbers are in the help. own: the corpus's own test set."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if not choice.given:
            st.select_slider(
                "Numbers in a vector", DIMENSIONS, choice.dimension, width=150, key="widget_train_dimension",
                on_change=lambda: set_train(dimension=st.session_state.widget_train_dimension),
                help="r in the article, which has 20, 100 and 300.",
            )  # fmt: skip
        st.number_input(
            "Epochs", 1, 200, choice.epochs, width=105, key="widget_train_epochs",
            on_change=lambda: set_train(epochs=st.session_state.widget_train_epochs), help="The article has 30.",
        )  # fmt: skip
        st.select_slider(
            "Learning rate", RATES, choice.rate, width=150, key="widget_train_rate",
            on_change=lambda: set_train(rate=st.session_state.widget_train_rate),
            help="Of Adam; the article has 0.1. Recurrent networks learn from long documents at a smaller one.",
        )  # fmt: skip
        if own is None:
            st.select_slider(
                "Judged by", list(TEST), choice.test, width=120, format_func=TEST.get, key="widget_train_test",
                on_change=lambda: set_train(test=st.session_state.widget_train_test),
                help="A share of the documents that it does not learn from; half in the article.",
            )  # fmt: skip
        else:
            st.caption(f"Judged by the documents with {plain(own.replace('=', ' = '))}.")
        st.segmented_control(
            "Stop early by", DEV, default=choice.dev, required=True, format_func=DEV.get, key="widget_train_dev",
            on_change=lambda: set_train(dev=st.session_state.widget_train_dev),
            help="A share of the documents to learn from is kept aside. Training ends when it gets no better by them "
            f"for {PATIENCE} epochs; the best epoch is kept.",
        )  # fmt: skip
        st.toggle(
            "Cut long gradients", choice.clip, key="widget_train_clip", help="To length 1, as recurrent networks need "
            "that diverge otherwise.", on_change=lambda: set_train(clip=st.session_state.widget_train_clip),
        )  # fmt: skip


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
        figure_view(figure, "train_live", "Loss, accuracy and wMMD² by epoch")
        words = run.words
        shares = _shares(compared.result, pair, words)
        figure = moment_figure(run.film[-1], words, shares, pair_names(compared.result, pair))
        figure_view(figure, "train_moment", "The most frequent words in the plane, at this epoch")
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
        items.append(("Right, test", percent(run.right["test"], 1), _of_test(run, about)))
    own = "Of the documents learnt from, by a kernel as wide as the median distance of its vectors."
    wmmd, result = run.wmmd(), model.result_
    for moment, value, error in zip(("before", "after"), wmmd.values(), result.discrepancy_errors(), strict=True):
        off = f" By random features: standard error {error:.2g}." if error > 0 else ""
        items.append((f"wMMD² {moment}", f"{value:.4g}", own + off))
    if math.isfinite(run.of_words):
        items.append(
            ("wMMD² of words", f"{run.of_words:.4g}", "Of the same documents: every two words as far apart as any "
             "other two (M = identity), width √2 = 1.41. On another scale.")
        )  # fmt: skip
    metric_row(items)
    if model.n_drawn_:
        st.caption(
            f"{many(model.n_drawn_, 'word')} of {len(model.words_):,} had no vector in the file: those began at random."
        )
    ended = {
        "iteration limit": "all epochs done", "numerical error": "stopped, since training diverged,",
        "interrupted": "stopped", "converged": "stopped early",
    }  # fmt: skip
    st.caption(
        f"{_NETWORKS[run.choice.network].capitalize()}, {PENALTIES[run.choice.regulariser]}"
        f"{f', λ = {run.choice.lam:g}' if run.choice.regulariser != 'none' else ''}: "
        f"{ended.get(str(result.reason), str(result.reason))} after {many(result.n_iterations, 'epoch')}"
        f"{f' (the weights of epoch {result.best_epoch} are kept)' if run.choice.dev else ''}, "
        f"learnt from {many(run.n_learnt, 'document')}. The loss is not convex, so nothing is proved about these "
        "weights; the numbers are recomputed from them."
    )
    figure_view(training_figure(run.rows), "train_done", "Loss, accuracy and wMMD² by epoch")
    names, words = pair_names(about, pair), run.words
    shares = _shares(about, pair, words)
    film, both = st.tabs(["Film", "Before and after"], key="simulation_tabs")
    with film:
        figure_view(
            film_figure(run.film, words, shares, names),
            "train_film",
            "A film of the most frequent words, epoch by epoch",
        )
        st.caption("The most frequent words after each epoch, in the plane of the last one. Press Play.")
    stills = still_figures(run.film, words, shares, names)
    for column, figure, key in zip(both.columns(2), stills, ("before", "after"), strict=True):
        with column:
            st.markdown(f"**{key.capitalize()}**: wMMD² {wmmd[key]:.4g}")
            figure_view(figure, f"train_{key}", f"The most frequent words in the plane, {key} training")
    with st.container(horizontal=True, gap="small"):
        model_download(model, about_corpus(current_corpus().corpus, about.choice.column), key="train_model")
        st.download_button("Trace (CSV)", lambda: frame_csv(model.trace_), "trace.csv", "text/csv", key="train_trace",
                           on_click="ignore")  # fmt: skip
        for label, name, make in (
            ("Vectors (npz)", "vectors-trained.npz", lambda: vector_arrays(model.words_, model.vectors_)),
            ("Vectors (text)", "vectors-trained.txt", lambda: vector_text(model.words_, model.vectors_)),
            ("Predictions (CSV)", "predictions.csv", lambda: frame_csv(run.predictions(about, loaded.corpus))),
        ):
            st.download_button(label, make, name, key=f"train_{name}", on_click="ignore")
    if str(result.reason) not in ("iteration limit", "converged"):
        st.caption(f"From the command line, which trains all {many(run.choice.epochs, 'epoch')}:")
    elif run.n_learnt == MOST_DOCUMENTS:
        st.caption(f"From the command line, which learns from all documents, not from {MOST_DOCUMENTS:,} of them:")
    else:
        st.caption("The same from the command line:")
    st.code(embed_command(about, loaded, run.choice), language="shell", wrap_lines=True)


def _of_test(run: TrainRun, about: EmbedRun) -> str:
    """What the network has not seen of them."""
    if run.choice.given and about.choice.vectors is None:
        return (
            "Of documents whose classes nothing was learnt from. The vectors that training began with were learnt from "
            "the texts of all documents compared, these included."
        )
    return "Of documents that nothing was learnt from."


def _shares(about: EmbedRun, pair: Pair, words: list[str]) -> np.ndarray:
    """float64 (words, 2): of the words of documents of either class."""
    found = about.comparison
    assert found is not None
    laws = found.words.laws
    number = {word: k for k, word in enumerate(found.words.vectors.words)}
    at = np.array([number.get(word, -1) for word in words])
    shares = (laws.sums / laws.sizes)[:, list(pair)]
    return np.where(at[:, None] >= 0, shares[np.maximum(at, 0)], 0.0)
