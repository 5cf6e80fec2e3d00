"""The Losses page once a fit is under way: the live proof, numbers, coefficients in the text, predictions, the race."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv
from cflengine.linear import about_comparison, comparison_pipeline, row_names
from cflengine.plq import FEASIBLE, coefficients_frame, documents_frame
from pages.parts.components.figure_view import figure_view
from pages.parts.components.live_chart import live_trace_chart
from pages.parts.losses.controls import start_race
from pages.parts.losses.figures import band_figure, prediction_figure, race_figure
from pages.parts.losses.run import CHECK_EVERY, DRAWN, RACE_DOCUMENTS, LossChoice, LossRun
from pages.parts.shared.commands import command_line
from pages.parts.shared.concordance import draw_concordance
from pages.parts.shared.controls import rerun_at_end
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.jobs import BOARD, FAILED, Job, followed
from pages.parts.shared.metrics import metric_row, table_height
from pages.parts.shared.models import model_download
from pages.parts.shared.settings import in_digits
from pages.parts.shared.words import gap_text, many, number, percent, plain


def draw_proof(job: Job) -> None:
    """The objective and the bound its dual proves, live, until they meet."""
    shown = followed(job)
    if shown["ended"]:
        shown["rows"] = job.result.proof_rows()
    live_trace_chart(
        **shown,
        key=f"loss_proof_{job.id}",
        on_done=lambda: None,
        log=False,
        height=320,
        steps="passes over the data",
        value="objective",
    )
    st.caption(
        "From above the objective of the coefficients, from below a bound that no coefficients can be under, proved by "
        "the dual. Where they meet, the fit is done."
    )


def draw_numbers(run: LossRun) -> None:
    """Objective, gap, constraints, and what the model is worth on documents it has not seen."""
    risk, model = run.risk, run.model
    assert risk is not None
    worth, comparison = risk.judge(model), risk.comparison
    judged = (
        f"Of {many(len(comparison.test), 'document')} that took no part; {many(len(comparison.train), 'document')} did."
    )
    items: list[Any] = []
    if not run.choice.numbers:
        items.append(("Right on the test set", percent(worth["test"], 1), judged))
        usual, share = comparison.guess(comparison.test)
        items.append(("Guessing", percent(share, 1), f"“{plain(usual)}” for every document of the test set."))
    elif run.choice.loss == "quantile":
        below = float(np.mean(risk.values[comparison.test] <= model.predict(comparison.X[comparison.test])))
        items.append(
            ("At or below, test set", percent(below, 1), f"Asked for: {percent(run.choice.level, 0)}. {judged}")
        )
    if run.choice.numbers:
        items.append(("Mean loss, test set", number(worth["test"], 3), judged))
    proved = model.violation_ <= FEASIBLE
    objective = sum(result.objective for result in model.results_)
    bound, passes = (sum(getattr(one, of) for one in model.results_) for of in ("lower_bound", "n_passes"))
    items += [
        (f"Gap, {'proved' if proved else 'estimated'}", gap_text(model.duality_gap_),
         f"{_certified(objective, bound)} After {number(passes)} passes over the data."),
        ("Features used", number(int(np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0)))),
         f"Of {number(len(comparison.names))}."),
    ]  # fmt: skip
    if run.choice.imposed:
        note = "Of the constraints, relative; up to 1e-9 the gap is one of the constrained problem."
        items.append(("Largest violation", f"{model.violation_:.0e}" if model.violation_ else "0", note))
    metric_row(items)
    if risk.n_unread:
        st.caption(f"{many(risk.n_unread, 'value')} of {plain(run.choice.column)} are no numbers, and left aside.")


def _certified(objective: float, bound: float) -> str:
    return (
        f"Objective {number(objective, 4)}; no coefficients that meet the constraints have one below "
        f"{number(bound, 4)}. Recomputed from the data."
    )


def draw_coefficients(run: LossRun, loaded: LoadedCorpus) -> None:
    """Coefficients as a table; a row's feature in the text."""
    risk = run.risk
    assert risk is not None
    row = 0
    if not run.choice.numbers and len(run.model.coef_) > 1:
        names = row_names(risk.comparison, len(run.model.coef_))
        row = st.selectbox(
            "Class, against the rest", range(len(names)), format_func=lambda k: names[k], key="loss_row", width=260
        )
    frame = run.coefficients(row)
    if not len(frame):
        lowest = (
            "A loss that is lowest where the score is 0 leaves nothing to learn; so do "
            if run.choice.loss == DRAWN
            else ""
        )
        st.info(f"Every coefficient is 0. {lowest or 'That may come of '}constraints, and a small C.")
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(_meaning(run, row))
        picked = st.dataframe(
            frame, hide_index=True, height=table_height(len(frame), 360), on_select="rerun",
            selection_mode="single-row",
            key=f"loss_features_{row}", alt="A row a feature, with its coefficient",
            column_config={"weight": st.column_config.NumberColumn(format="%.4f")},
        )  # fmt: skip
    rows = picked["selection"]["rows"] if picked else []
    feature = str(frame["feature"].iloc[rows[0] if rows and rows[0] < len(frame) else 0])
    with right:
        draw_concordance(loaded, feature, height=360)


def _meaning(run: LossRun, row: int) -> str:
    if run.choice.numbers:
        return f"Above 0: raises the predicted **{plain(run.choice.column)}**"
    assert run.risk is not None
    names = row_names(run.risk.comparison, len(run.model.coef_))
    return f"Above 0: speaks for **{plain(names[row])}**"


def draw_predictions(run: LossRun) -> None:
    """Test documents: the band, or predicted against true; of classes a table of how they are confused."""
    risk, choice = run.risk, run.choice
    assert risk is not None
    test = risk.comparison.test
    if choice.numbers:
        assert risk.values is not None
        truth, predicted = risk.values[test], run.model.predict(risk.comparison.X[test])
        if run.other is not None:
            other = run.other.predict(risk.comparison.X[test])
            low, high = np.minimum(predicted, other), np.maximum(predicted, other)
            gap = max(run.model.duality_gap_, run.other.duality_gap_)
            inside = float(np.mean((truth >= low) & (truth <= high)))
            figure = band_figure(truth, low, high, choice.column)
            figure_view(figure, "loss_band", "Documents inside and outside the band between two predicted quantiles")
            st.caption(
                f"The band between two quantiles, each fitted on its own and proved to {gap_text(gap)}, is meant to "
                f"hold {percent(abs(2 * choice.level - 1), 0)} of the documents; on the test set it holds "
                f"{percent(inside, 1)}."
            )
            return
        figure = prediction_figure(truth, predicted, choice.column)
        figure_view(figure, "loss_points", "Predicted against true values of the judged documents")
        st.caption("Documents that took no part in the fit.")
        return
    truth, predicted = risk.target[test], run.model.predict(risk.comparison.X[test])
    table = pd.crosstab(pd.Series(truth, name="is"), pd.Series(predicted, name="predicted as"))
    st.dataframe(table, alt="How often each class is predicted as each other")
    st.caption("Rows: what test documents are. Columns: what is predicted.")


def draw_race(run: LossRun, job: Job) -> None:
    """Pure and primal-dual coordinate descent on the same problem: the same steps at other costs."""
    st.markdown(
        "Both take the same steps on the dual of the support vector machine, without intercept. The pure form looks up "
        "a row of an n × n matrix at every step, n² multiplications a sweep; the primal-dual form carries the "
        "coefficients along, and needs twice the entries of the data. That is why it is linear in n."
    )
    race = BOARD.get(st.session_state.get("loss_race"))
    if not run.races and (race is None or race.state == FAILED):
        if race is not None and race.state == FAILED:
            st.error(plain(race.error))
        n = min(RACE_DOCUMENTS, len(run.risk.comparison.train) if run.risk else 0)
        st.button(f"Race on {many(n, 'document')}", on_click=lambda: start_race(job), key="loss_race_button")
        return
    active = race is not None and race.active
    st.fragment(_race, run_every=0.5 if active else None)(job.id)


def _race(job_id: str) -> None:
    job, race = BOARD.seen(job_id), BOARD.get(st.session_state.get("loss_race"))
    if job is None:
        return
    if race is not None and race.active:
        race.touch()
        row = race.rows[-1] if race.rows else None
        st.caption(f"Racing … proved gap {percent(row['gap'], 4)}" if row else "Racing …")
        rerun_at_end(race)
        return
    run: LossRun = job.result
    x = st.segmented_control(
        "Against", ["operations", "sweep_s", "iteration"], default="operations", required=True, key="loss_race_x",
        format_func={"operations": "operations", "sweep_s": "seconds", "iteration": "sweeps"}.__getitem__,
    )  # fmt: skip
    figure = race_figure({name: result.trace for name, result in run.races.items()}, x)
    figure_view(figure, f"loss_race_{x}", "How far each solver is from the optimum")
    rows = []
    for name, result in run.races.items():
        last = result.trace.iloc[-1]
        rows.append(
            {
                "form": name, "sweeps": result.n_iterations, "multiplications": f"{last['operations']:,.0f}",
                "seconds of sweeps": number(last["sweep_s"], 3), "proved gap": gap_text(result.gap),
                "ended": str(result.reason),
            }
        )  # fmt: skip
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt="What each form has cost")
    st.caption(
        "The first point of the pure form is what its matrix costs. A straight line over sweeps or seconds is linear "
        "convergence: every sweep takes off the same share of the gap. Operations have a logarithmic axis, since one "
        "form needs so many more. This project's solver is the primal-dual form with shrinking and screening."
    )


def draw_files(run: LossRun, loaded: LoadedCorpus) -> None:
    """The model and its tables to take away, and the command that makes them again."""
    risk, model = run.risk, run.model
    assert risk is not None
    files: dict[str, Any] = {
        "Coefficients": ("weights.csv", lambda: frame_csv(coefficients_frame(risk, model))),
        "Predictions": ("documents.csv", lambda: frame_csv(documents_frame(risk, model, loaded.corpus.rows))),
    }
    with st.container(horizontal=True, gap="small"):
        model_download(
            comparison_pipeline(risk.comparison, model),
            about_comparison(risk.comparison, loaded.corpus),
            key="loss_model",
        )
        for label, (name, make) in files.items():
            st.download_button(f"{label} (CSV)", make, name, "text/csv", on_click="ignore", key=f"loss_{name}")
    st.caption(
        "The model goes from a text to its prediction, in a file without code: for this app's page Saved models, for "
        "`cflengine predict`, and for `cflengine.load_model`."
    )
    st.caption("The same from the command line:")
    lines = [loss_command(loaded, run.choice)]
    if run.other is not None:  # the band's other end
        lines.append(loss_command(loaded, run.choice, run.other.loss_.name, "fit-other"))
    st.code("\n".join(lines), language="shell", wrap_lines=True)


def loss_command(loaded: LoadedCorpus, choice: LossChoice, loss: str = "", out: str = "fit") -> str:
    """The ``cflengine erm`` call that fits the same model; loss: by its name, where it is not the one chosen."""
    options: dict[str, Any] = {
        "loss": loss or choice.made().name,
        "label_column": choice.column,
        "test_split": choice.test,
    }
    options |= {"C": in_digits(choice.C), "features": "cfl" if choice.features == "kgrams" else "words", "gap": "1e-6"}
    options["check_every"] = CHECK_EVERY
    if choice.features == "kgrams":
        options |= {"max_gram": choice.max_gram, "lam": in_digits(choice.lam)}
    line = command_line("erm", loaded, options, out)
    for one in choice.imposed:
        kind, _, most = one.partition(":")
        line += " " + shlex.quote(
            f"--constraint=fair:{choice.sensitive}:{most}" if kind == "fair" else f"--constraint={one}"
        )
    return line
