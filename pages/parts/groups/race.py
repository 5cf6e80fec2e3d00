"""The solvers of logistic regression side by side, in the Lab: those that Word groups has just run."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.parts.components.live_chart import live_trace_chart
from pages.parts.groups.run import TITLES, WeightsRun, solvers
from pages.parts.shared.glossary import link_to
from pages.parts.shared.jobs import FAILED, Job, followed
from pages.parts.shared.state import WEIGHTS, current_job
from pages.parts.shared.words import gap_text, number, plain

GAPS = (1e-2, 1e-4, 1e-6)


def draw_weights_race() -> None:
    """The race of the session's labels, live; where there is none, where it begins."""
    job = current_job(WEIGHTS)
    st.markdown(
        "Logistic regression on your labels: plain L-BFGS, the clustered scheme of Mathur and Chakrabarti (2006), the "
        "same with clusters drawn at random, and this project's default."
    )
    if job is None or job.state == FAILED:
        st.caption("Learn on the page Word groups first: its solvers are what is shown here.")
        link_to("clusters", "Word groups")
        return
    draw_race(job)
    if not job.active:
        draw_standings(job.result)


def draw_race(job: Job) -> None:
    """Objective and bound of every solver by seconds or passes, live."""
    live_trace_chart(
        **followed(job),
        key=f"weights_race_{job.id}",
        on_done=lambda: None,
        series=[TITLES[name] for name in solvers(job.key[2])],
        levels=GAPS[:2],
        log=True,
        height=400,
        steps="passes over the data",
        value="objective",
    )
    st.caption(
        "Thick lines: the best objective so far. Thin lines: that of the moment, which rises where clusters are lifted "
        "back to single weights. Dotted lines: the bound each solver has proved. All end at the same optimum."
    )


def draw_standings(run: WeightsRun) -> None:
    """A row a solver: passes and seconds to each gap."""
    rows = []
    for name, result in run.results.items():
        trace = result.trace
        row: dict[str, Any] = {"solver": TITLES[name]}
        for gap in GAPS:
            reached = trace[trace["gap"] <= gap]
            row[f"passes to {100 * gap:g} %"] = number(reached["work"].min())
            row[f"s to {100 * gap:g} %"] = number(reached["elapsed_s"].min(), 2)
        rows.append(row | {"proved gap": gap_text(result.gap), "ended": str(result.reason)})
    frame = pd.DataFrame(rows)
    right = {name: st.column_config.TextColumn(alignment="right") for name in frame.columns[1:-1]}
    st.dataframe(frame, hide_index=True, column_config=right, alt="Passes and seconds to each proved gap")
    st.caption(
        "The paper reports 2 to 9 times fewer passes for the clustered scheme. Against an L-BFGS whose line search "
        "costs no pass and that remembers 20 steps, that does not hold: random clusters, which know nothing of the "
        "weights, do about as well. How far weights do move together, the other tabs show."
        + (f" The default: {plain(run.results['auto'].why)}." if "auto" in run.results else "")
    )
