"""The learnt models as tables: compared on held-out documents, their words, files to take away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv
from cflengine.linear import LinearModel, about_comparison, largest_weights
from cflengine.sentence_lasso import estimator_of, sentence_weights, sentences_frame
from pages.parts.shared.commands import class_list, command_line
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.models import model_download
from pages.parts.shared.words import gap_text, many, number, percent, plain
from pages.parts.telling.run import ComparisonRun, Rows, Wanted

TITLES = {"sentence": "sentence regulariser", "elastic": "elastic net", "ridge": "ridge", "lasso": "lasso",
           "frequency": "frequency-weighted net"}  # fmt: skip


def draw_comparison(run: ComparisonRun) -> None:
    """Table 2 for this corpus, as far as it is known."""
    frame = run.table()
    if not len(frame):
        return
    shown = pd.DataFrame(
        {
            "model": [TITLES[kind] for kind in frame["penalty"]],
            "test": [percent(value, 1) for value in frame["accuracy"]],
            "development": [percent(value, 1) for value in frame["dev_accuracy"]],
            "words kept": [percent(value, 1) for value in frame["model_size"]],
            "proved gap": [gap_text(value) for value in frame["gap"]],
            "seconds": [number(value, 1) for value in frame["seconds"]],
            "parameters": [_parameters(one.penalty.parameters) for one in list(run.best.values())[: len(frame)]],
            "p": ["" if math.isnan(value) else f"{value:.2g}" for value in frame["p"]],
        }
    )
    right = {name: st.column_config.TextColumn(alignment="right") for name in shown.columns[1:6]}
    right["p"] = st.column_config.TextColumn(
        "p", alignment="right",
        help="Sign test against the sentence regulariser: of the test documents that only one of the two gets "
        "right, the probability of numbers as unequal as these if both were equally good.",
    )  # fmt: skip
    right["seconds"] = st.column_config.TextColumn(alignment="right", help="Of all solves of the model's grid.")
    st.dataframe(shown, hide_index=True, column_config=right, alt="A row a model: accuracy, size, gap, seconds")
    comparison = run.comparison
    assert comparison is not None
    st.caption(
        "Each model's regularisation is that of the paper's grid that is best on "
        f"{many(len(comparison.dev), 'document')}; of equally good ones the smallest model. It is judged on "
        f"{many(len(comparison.test), 'document')} that took no part. "
        "The frequency-weighted net knows how often words occur, but nothing of sentences: what it gains over the "
        "lasso is not the sentences' doing."
    )


def _parameters(parameters: dict[str, float]) -> str:
    symbols = {"lam_sen": "λ_sen", "lam_las": "λ_las", "lam_rid": "λ_rid"}
    return ", ".join(f"{symbols[name]} {value:g}" for name, value in parameters.items())


def draw_words(run: ComparisonRun, rows: Rows) -> None:
    """The largest weights of the solution under the sliders."""
    comparison = run.comparison
    assert comparison is not None
    model, classes = LinearModel.of(rows), comparison.labels.classes
    for first in range(0, len(classes), 2):
        for k, column in zip(range(first, min(first + 2, len(classes))), st.columns(2, gap="medium"), strict=False):
            w = model.coef[0] if len(model.coef) == 1 else model.coef[k]
            sign = -1 if len(model.coef) == 1 and k == 0 else 1
            frame = largest_weights(comparison.names, w, len(w), occurrences=comparison.occurrences)
            own = frame[np.sign(frame["weight"]) == sign].head(200)
            column.markdown(f"Words for **{plain(classes[k])}**")
            column.dataframe(
                own, hide_index=True, height=320, alt=f"Words for {classes[k]}",
                column_config={"weight": st.column_config.NumberColumn(format="%.3f")},
            )  # fmt: skip


def draw_files(run: ComparisonRun, loaded: LoadedCorpus, are_shown: bool) -> None:
    """The chosen models as CSV, and the command that makes them again; are_shown: whether the page shows the chosen
    sentence model, or one at the user's λ."""
    comparison = run.comparison
    assert comparison is not None
    models = list(run.best.values())
    files: dict[str, Any] = {
        "Sentences": ("sentences.csv", lambda: frame_csv(sentences_frame(comparison, models, loaded.corpus.texts))),
        "Weights": ("weights.csv", lambda: frame_csv(sentence_weights(comparison, models))),
        "Comparison": ("models.csv", lambda: frame_csv(run.table())),
    }
    if models and not are_shown:
        st.caption(
            "⚠ These are the models that the development set chose of the grid; above are the sentences of yours."
        )
    about = about_comparison(comparison, loaded.corpus)
    with st.container(horizontal=True, gap="small"):
        for best in models:
            own = estimator_of(
                best.penalty, comparison.classes, best.results, comparison.data, comparison.features,
                comparison.language, comparison.groups,
            )  # fmt: skip
            model_download(own, about, key=f"comparison_model_{best.penalty.kind}", label=f"Model: {best.penalty.kind}")
    with st.container(horizontal=True, gap="small"):
        for label, (name, make) in files.items():
            st.download_button(f"{label} (CSV)", make, name, "text/csv", on_click="ignore", key=f"comparison_{name}")
    wanted = run.wanted
    st.caption("The same from the command line, with the models that the development set chose:")
    st.code(comparison_command(loaded, wanted), language="shell", wrap_lines=True)


def comparison_command(loaded: LoadedCorpus, wanted: Wanted) -> str:
    """The ``cflengine sentences`` call that learns the same models."""
    options = {
        "label_column": wanted.column, "classes": class_list(wanted.classes), "dev_split": wanted.dev,
        "test_split": wanted.test, "seed": wanted.seed,
    }  # fmt: skip
    usual = Wanted(wanted.column, wanted.classes)
    own = {name: getattr(wanted, name) for name in ("groups", "group_weights")}
    options |= {name: value for name, value in own.items() if value != getattr(usual, name)}
    return command_line("sentences", loaded, options, "sentences")
