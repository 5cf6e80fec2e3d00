"""The Compare page once groups are compared: key phrases, all of them as a plot, one group in another's words."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.engine import frame_csv
from pages.parts.compare.figures import cross_figure, rates_figure, scatter_figure
from pages.parts.compare.run import CompareRun
from pages.parts.components.figure_view import clicked_point, figure_view
from pages.parts.shared.jobs import Job
from pages.parts.shared.selection import (
    GROUP,
    new_row,
    phrase_row,
    select_group,
    select_phrase,
    selected_phrase,
)
from pages.parts.shared.words import gap_text, many, number, plain

SHOWN = 2_000
COLUMNS = {
    "phrase": st.column_config.TextColumn("phrase", width=140),
    "g2": st.column_config.NumberColumn("G²", format="%.1f", width=58, help="Log-likelihood; below 0: rarer here"),
    "log_ratio": st.column_config.NumberColumn("log ratio", format="%+.2f", width=68, help="1: twice as frequent here"),
    "per_million": st.column_config.NumberColumn("a million", format="%.0f", width=68, help="Of a million words here"),
    "others_per_million": st.column_config.NumberColumn("elsewhere", format="%.0f", width=74),
    "documents": st.column_config.NumberColumn("docs", width=50, help="Documents of the group that have it"),
    "spread": st.column_config.NumberColumn("spread", format="%.2f", width=56, help="0: one document has it all"),
    "p": st.column_config.TextColumn("p", width=70, help="Corrected for the number of phrases"),
}


def choose_group(run: CompareRun) -> str:
    """The group that is looked at."""
    names, column = list(run.frames), run.choice.column
    along = st.session_state.get(GROUP)
    first = along[1] if along is not None and along[0] == column and along[1] in names else names[0]
    return st.segmented_control(
        "Group", names, default=first, required=True, key="compare_group", format_func=plain,
        on_change=lambda: select_group(column, st.session_state.compare_group),
    )  # fmt: skip


def _telling(run: CompareRun, frame: pd.DataFrame) -> pd.DataFrame:
    everything = st.session_state.get("compare_all", False)
    return frame if everything else frame[run.telling[frame.index]]


def counted(more: pd.DataFrame, telling: pd.DataFrame) -> str:
    """That a group uses so many phrases more, and how many of them the table leaves out."""
    clearly, shown = (int((frame["p"] < 0.05).sum()) for frame in (more, telling))
    if not clearly:
        return "uses no phrase clearly more often than the others do (p < 0.05, corrected): what follows may be noise."
    said = f"uses {many(clearly, 'phrase')} clearly more often than the others do (p < 0.05, corrected)"
    left = f"; {number(clearly - shown)} of them, of function words and punctuation, are not shown"
    return f"{said}{left if clearly > shown else ''}."


def draw_keys(run: CompareRun, group: str) -> str | None:
    """The group's key phrases; the phrase whose row has been chosen."""
    frame = run.frames[group]
    st.toggle("Also function words and punctuation", key="compare_all")
    more = frame[frame["g2"] > 0]
    telling = _telling(run, more)
    shown = telling.sort_values("g2", ascending=False, kind="stable").head(SHOWN)
    st.markdown(f"**{plain(group)}** {counted(more, telling)}")
    key = f"keys_{group}_{st.session_state.get('compare_all', False)}"
    event = st.dataframe(
        shown[list(COLUMNS)].assign(p=shown["p"].map(_probability)), hide_index=True, height=360, on_select="rerun",
        selection_mode="single-row", key=key,
        column_config=COLUMNS, alt="Key phrases of the group",
    )  # fmt: skip
    st.container(horizontal=True).download_button(
        "Key phrases (CSV)", lambda: frame_csv(keys_table(run, group)), f"keyness-{file_part(group)}.csv", "text/csv",
        on_click="ignore", key="keyness_csv",
    )  # fmt: skip
    st.caption(
        "G² takes words for independent of each other: a phrase that one document repeats looks more certain than it "
        "is. Its spread says so. The CSV has every phrase, function words and punctuation, too; its g2 is below 0 "
        "where a phrase is rarer in the group than elsewhere."
    )
    row = new_row(event, len(shown), key)
    if row is not None:
        select_phrase(run.phrases[int(shown.index[row])])
    return None if row is None else str(shown["phrase"].iloc[row])


def _probability(p: float) -> str:
    """As it is read: small ones are small."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def keys_table(run: CompareRun, group: str) -> pd.DataFrame:
    """All phrases of a group, the most telling first, and in front which column's which group it is."""
    frame = run.frames[group].sort_values("g2", ascending=False)
    frame.insert(0, "column", run.choice.column)
    frame.insert(1, "group", group)
    return frame


def file_part(name: str) -> str:
    """A group's name as part of a file's: letters and digits, the rest a dash; never empty."""
    return "-".join(re.findall(r"\w+", name))[:40] or "group"


def chosen_phrase(run: CompareRun) -> int | None:
    """The phrase that is looked at, here or on another page, if this comparison knows it."""
    return phrase_row(pd.Series(run.phrases), selected_phrase())


def draw_rates(run: CompareRun, where: str) -> None:
    """How often the chosen phrase stands in each group; where: on the page, for the figure's key."""
    phrase = chosen_phrase(run)
    if phrase is None:
        return
    figure = rates_figure(run.rates(phrase), run.phrases[phrase])
    figure_view(figure, f"compare_rates_{where}", "How often the phrase stands in each group")


def draw_plot(run: CompareRun, group: str) -> None:
    """All phrases by who has them."""
    names = run.choice.groups
    others = next(name for name in names if name != group) if len(names) == 2 else "all others"
    figure = scatter_figure(_telling(run, run.frames[group]), group, others)
    key = f"compare_plot_{group}"

    def chosen() -> None:
        select_phrase(run.phrases[int(clicked_point(key)[0])])

    alt = "Phrases by how often the group has them, and how often the others do"
    figure_view(figure, key, alt, on_point=chosen)
    st.caption("A click on a phrase shows how often each group has it, and, below, where it stands.")
    draw_rates(run, "plot")


def draw_cross(run: CompareRun, job: Job) -> None:
    """What each group costs in every other's dictionary, and why."""
    found = run.cross
    if found is None:
        st.caption("Every group is compressed by itself …" if job.active else "Stopped before this was known.")
        return
    st.markdown(
        "Each group is compressed by itself, then written with every other's dictionary, as cheaply as can be. What "
        "that costs more says how foreign the other's phrases are."
    )
    figure = cross_figure(found.names, found.excess)
    figure_view(figure, "compare_cross", "What each group costs in every dictionary, in a grid")
    st.caption(
        f"Dictionaries are proved to be within {gap_text(float(np.max(found.gaps)))} of the cheapest; each encoding in "
        "them is exactly the cheapest. A word that a dictionary lacks costs λ + 1."
    )
    pairs = [(a, b) for a in range(len(found.names)) for b in range(len(found.names)) if a != b]
    a, b = st.selectbox(
        "What makes the difference", pairs, key="compare_pair", width=420,
        format_func=lambda pair: f"{found.names[pair[0]]} in the dictionary of {found.names[pair[1]]}",
    )  # fmt: skip
    frame = _spelled(run, found.lost(a, b))
    st.dataframe(
        frame, hide_index=True, height=330, alt="Phrases that the other dictionary lacks",
        column_config={
            "phrase": st.column_config.TextColumn(width=220),
            "each": st.column_config.NumberColumn("more each", format="%.1f"),
            "more": st.column_config.NumberColumn("more in all", format="%.0f"),
        },
    )  # fmt: skip
    st.caption(
        f"{plain(found.names[a])} costs {number(found.cost[a, a], 1)} a thousand words in its own dictionary, "
        f"{number(found.cost[a, b], 1)} in that of {plain(found.names[b])}."
    )
    st.container(horizontal=True).download_button(
        "These phrases (CSV)", lambda: frame_csv(frame), "difference.csv", "text/csv", on_click="ignore",
        key="cross_csv",
    )  # fmt: skip


def _spelled(run: CompareRun, frame: pd.DataFrame) -> pd.DataFrame:
    """Phrases as the text spells them, where the whole corpus's dictionary has them."""
    return frame.assign(phrase=[run.spelling.get(name, name) for name in frame["phrase"]])
