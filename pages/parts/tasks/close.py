"""The Tasks page, closer: the K-grams that matter in the text, the documents that went wrong, what to take away."""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv, report_bytes
from cflengine.experiments import (
    Finding,
    evaluation_report,
    final_model,
    flat_table,
    judge_of,
    to_the_end,
    word_weights,
)
from cflengine.linear import about_corpus, write_long_csv
from cflengine.text import sentence_spans
from pages.parts.components.figure_view import figure_view
from pages.parts.components.sentence_view import cut_pieces, sentence_view
from pages.parts.shared.asking import asked
from pages.parts.shared.commands import command_line
from pages.parts.shared.concordance import draw_concordance
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.glossary import ICONS
from pages.parts.shared.metrics import table_height
from pages.parts.shared.models import model_download
from pages.parts.shared.settings import LAMBDAS
from pages.parts.shared.state import TASKS, change_settings, current_job, is_stale, run_solver, stop_job
from pages.parts.shared.words import plain
from pages.parts.tasks.figures import curve_figure, points_figure
from pages.parts.tasks.run import TasksRun
from pages.parts.tasks.view import confusions, most_wrong, telling_rows


def draw_telling(finding: Finding, loaded: LoadedCorpus) -> None:
    """The K-grams of largest weight, each where it stands in the texts."""
    if not len(finding.telling):
        st.info("The comparison was stopped before the recommended features were looked at closely.")
        return
    column = finding.task.target.column
    names = list(dict.fromkeys(finding.telling["class"]))
    name = None
    if len(names) > 1:
        name = st.selectbox("Which", names, key=f"tasks_class_{column}", width=320)
    frame = telling_rows(finding, name)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(_meaning(finding, name or (names[0] if names else "")))
        picked = st.dataframe(
            frame, hide_index=True, height=table_height(len(frame), 360), on_select="rerun",
            selection_mode="single-row", key=f"tasks_telling_{column}_{name}", alt="A row a K-gram, with its weight",
            column_config={
                "feature": st.column_config.TextColumn(width=160),
                "weight": st.column_config.NumberColumn(format="%.4f", width=75),
            },
        )  # fmt: skip
    rows = picked["selection"]["rows"] if picked else []
    with right:
        feature = str(frame["feature"].iloc[rows[0] if rows and rows[0] < len(frame) else 0])
        draw_concordance(loaded, feature, height=360)


def _meaning(finding: Finding, name: str) -> str:
    column = plain(finding.task.target.column)
    if finding.task.measure == "mse":
        return f"Above 0: raises the predicted **{column}**"
    if finding.task.target.task == "author":
        return f"What **{plain(name)}** has more of than others"
    return f"Above 0: speaks for **{plain(name)}**"


def draw_errors(finding: Finding, run: TasksRun, loaded: LoadedCorpus) -> None:
    """Numbers against the truth, or classes that are confused; the documents that went most wrong, in their words."""
    task, column = finding.task, finding.task.target.column
    if "compressed" not in finding.predictions:
        st.info("There are no predictions of compressive features yet.")
        return
    if task.measure == "mse":
        predictions = finding.predictions
        figure = points_figure(predictions["truth"].to_numpy(), predictions["compressed"].to_numpy(), column)
        figure_view(figure, f"tasks_points_{column}", "Predicted against true values of the judged documents")
    else:
        pairs = confusions(finding)
        if not len(pairs):
            st.success("None of the judged documents was predicted wrongly.")
            return
        st.markdown("**Taken for each other**")
        st.dataframe(
            pairs, hide_index=True, alt="Pairs of classes that are confused", height=table_height(len(pairs), 300)
        )
    frame = most_wrong(finding)
    if not len(frame):
        return
    st.markdown("**Most wrong**")
    shown = frame.assign(text=[_shortened(loaded.corpus.texts[d]) for d in frame["document"].tolist()])
    picked = st.dataframe(
        shown, hide_index=True, height=table_height(len(shown), 250), on_select="rerun", selection_mode="single-row",
        key=f"tasks_wrong_{column}", alt="Documents that were predicted worst",
        column_config={"wrong": st.column_config.NumberColumn("by how much", format="%.3g")},
    )  # fmt: skip
    rows = picked["selection"]["rows"] if picked else []
    row = frame.iloc[rows[0] if rows and rows[0] < len(frame) else 0]
    _document(finding, run, loaded, row)


def _shortened(text: str, most: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _document(finding: Finding, run: TasksRun, loaded: LoadedCorpus, row: pd.Series) -> None:
    """A document with the words that speak for what was predicted, and against."""
    task, document = finding.task, int(row["document"])
    text, judge = loaded.corpus.texts[document], _judge_of(finding, run, document)
    if judge is None:
        return
    X, weights = judge
    number = task.measure == "mse"
    said, truth = ("", "") if number else (str(row["compressed"]), str(row["truth"]))
    known = number or {said, truth} <= ({said, truth} if len(weights.names) == 1 else set(weights.names))
    if not known or run.evaluation is None:
        st.text(text)
        return
    words = word_weights(run.evaluation, finding, document, weights.towards(said, truth), X)
    sentences = []
    for a, b in sentence_spans(text).tolist():
        inside = [(s, e, w) for s, e, w in words if a <= s < b]
        sentences.append(
            {"pieces": cut_pieces(text, a, b, inside), "group_norm": 0.0, "odds": [sum(w for *_, w in inside)]}
        )
    sides = ("lower", "higher") if number else (truth, said)
    sentence_view(sentences, classes=sides, models=["adds"], strongest=0.0, key=f"tasks_view_{task.target.column}")
    sums = (
        "The words' weights sum to the score, but for the intercept, which is the same for every document."
        if task.linear
        else "The words' weights sum to how much nearer one centroid is than the other, by the cosine."
    )
    if task.target.task == "author":
        sums += f" Judged was the average of {task.held.shape[1]} documents; this is the first of them."
    st.caption(
        f"Document {document}. A solid line is a word that speaks for {plain(sides[1])}, a dashed one for "
        f"{plain(sides[0])}; a bar is what a sentence adds in all. {sums}"
    )


def _judge_of(finding: Finding, run: TasksRun, document: int) -> tuple[Any, Any] | None:
    """The features and the weights of the model that judged a document; None until they are there, which is said."""
    split = finding.task.split_of(document)

    def work() -> tuple[Any, Any]:
        X = run.evaluation.weighted(judge_of(finding, document).make())
        with to_the_end(finding.task):
            return X, finding.task.weights(X, finding.standing.recommended.outcome.chosen, split)

    key = (st.session_state.get(f"{TASKS}_id"), finding.task.target.column, split)
    return asked("judge", key, work, waiting="The model that judged this document is made again …")


def draw_learning(finding: Finding) -> None:
    """The learning curve, and other learners on the same features."""
    if len(finding.curve):
        figure = curve_figure(finding.curve, finding.task.measure)
        figure_view(
            figure,
            f"tasks_curve_{finding.task.target.column}",
            "How good predictions are with more and more documents to learn from",
        )
        st.caption(
            "With a share of the documents to learn from, at the regularisation that all of them chose. Where the "
            "curve still rises, more documents help more than other features."
        )
    if finding.learners:
        rows = [
            {
                "features": one["method"],
                "nearest centroid, Euclidean": one["nearest_centroid_euclidean"],
                "shrunken centroids, all authors": one["shrunken_centroids"],
                "linear SVM, single documents of up to 150 authors": one["linear_svm_single_documents"],
            }
            for one in finding.learners
        ]
        st.markdown("**Other learners on the same features**")
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt="Other learners on the same features")


def draw_files(finding: Finding, run: TasksRun, loaded: LoadedCorpus) -> None:
    """Features with the target, predictions, tables, the model; the λ for other pages; the command."""
    column, best = finding.task.target.column, finding.standing.recommended
    evaluation = run.evaluation
    if best is None or evaluation is None:
        st.info("There is nothing to take away yet.")
        return

    def labels() -> pd.DataFrame:
        target = finding.task.target
        values = target.truth
        shown = (
            [None if y < 0 else target.labels.classes[y] for y in values.tolist()] if target.values is None else values
        )
        return pd.DataFrame({column: shown})

    def features() -> bytes:
        file = io.BytesIO()
        counts = best.candidate.make()
        names = list(best.candidate.names(pd.RangeIndex(counts.shape[1]).to_numpy()))
        write_long_csv(counts, names, file, documents=labels())
        return file.getvalue()

    def labels_alone() -> bytes:
        frame = labels()
        frame.insert(0, "document", range(len(frame)), allow_duplicates=True)
        return frame_csv(frame)

    def report() -> bytes:
        command = {"command": "evaluate", "arguments": tasks_command(loaded, run)}
        found = evaluation_report(evaluation, [finding], loaded.corpus, command, run.seconds)
        return report_bytes(found)

    files = {
        "Features": ("features.csv", features, "document, target, K-gram, count: as the recommended method counts"),
        "Labels": ("labels.csv", labels_alone, "document and target"),
        "Predictions": ("predictions.csv", lambda: frame_csv(finding.predictions), "of every judged document"),
        "Methods": ("methods.csv", lambda: frame_csv(flat_table([finding])), "all methods, with intervals and tests"),
        "λ by λ": ("path.csv", lambda: frame_csv(run.frame(column)), "every candidate that was tried"),
        "Telling K-grams": ("telling.csv", lambda: frame_csv(finding.telling), "with their weights"),
        "Report": ("report.json", report, "every figure of this page, the notes, seconds and versions"),
    }
    with st.container(horizontal=True, gap="small"):
        if finding.task.linear:
            _model(evaluation, finding, about_corpus(loaded.corpus, column), f"tasks_model_{column}")
        for label, (name, make, explanation) in files.items():
            mime = "application/json" if name.endswith("json") else "text/csv"
            st.download_button(
                label, make, name, mime, on_click="ignore", key=f"tasks_{column}_{name}", help=explanation
            )  # fmt: skip
    _use(finding)
    st.caption("The same from the command line:")
    st.code(tasks_command(loaded, run), language="shell", wrap_lines=True)


def _model(evaluation: Any, finding: Finding, about: dict[str, Any], key: str) -> None:
    """The model's button; it is learnt from all documents when it is first asked for."""
    known = st.session_state.setdefault("tasks_models", {})
    if known.get(key, (None,))[0] is not finding:
        if not st.button("Make the model", key=f"{key}_make", help="Learnt from every document with a target."):
            return
        try:
            with st.spinner("Learning from every document …"):
                known[key] = (finding, final_model(evaluation, finding))
        except MemoryError:
            st.error("There is too little memory to learn from every document at once.")
            return
    model_download(known[key][1], about, key=key)


def _use(finding: Finding) -> None:
    standing = finding.standing
    best = standing.best_of(lambda judged: "lam" in judged.candidate.label)
    if best is None:
        return
    label, counting = best.candidate.label, best.candidate.method.partition(":")[2]
    if best is not standing.recommended:
        st.caption(
            "The dictionaries of all λ together are best here; the other pages show one λ at a time, so they are given "
            "the best single one."
        )
    lam = min(LAMBDAS, key=lambda choice: abs(choice - label["lam"]))
    own = {"lam": lam, "counting": counting}
    own |= {"temperature": label["temperature"]} if "temperature" in label else {}
    if not math.isclose(lam, label["lam"], rel_tol=0.01):
        st.caption(f"The other pages offer λ = {lam:g}, the nearest to the one recommended here ({label['lam']:.3g}).")
    if st.button(
        f"Use λ = {lam:g} and {counting} on the other pages", key=f"tasks_use_{lam}_{counting}", icon=ICONS["solve"],
        on_click=lambda: _solve(own), help="Finds this dictionary anew, on the page Watch the solver.",
    ):  # fmt: skip
        st.switch_page("pages/solve.py")


def _solve(settings: Mapping[str, Any]) -> None:
    """With these settings; one that runs with others makes way."""
    change_settings(**settings)
    if current_job() is None or is_stale():
        stop_job()
        run_solver()


def tasks_command(loaded: LoadedCorpus, run: TasksRun) -> str:
    """The ``cflengine evaluate`` call that compares the same."""
    choice = run.choice
    options: dict[str, Any] = {"lams": f"0.01:3:{choice.n_lams}", "max_gram": choice.max_gram}
    options |= {"folds": 5} if choice.how == "folds" else {}
    options |= {"held_out": choice.held_out} if choice.held_out != 3 else {}
    options |= {choice.how: choice.by} if choice.how in ("group", "time") and choice.by else {}
    line = command_line("evaluate", loaded, options, "worth")
    if not choice.rivals:
        line += " --no-rivals"
    # one by one, behind "=": a name that begins with a dash would be taken for an option
    return " ".join([line, *(shlex.quote(f"--target={column}") for column in choice.columns)])
