"""Over time: how hard each period is to compress, phrases that come in bursts, any phrase by period and by group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from cflengine.compression import Periods, bursts, count_matrix, periods_of, permuted_weight, rates
from cflengine.engine import InputError, frame_csv
from cflengine.text import count_dates, find_words
from pages.parts.components.figure_view import figure_view
from pages.parts.overtime.figures import rates_figure
from pages.parts.phrases.table import spelt_dictionary
from pages.parts.shared.asking import asked
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import table_height
from pages.parts.shared.selection import new_row, select_phrase, selected_group, selected_phrase, session_choice
from pages.parts.shared.solution import Solution
from pages.parts.shared.words import many, number, plain, said

PERIODS = ("year", "month", "day")
MOST_GROUPS = 6
SHOWN = 1_000
_NONE = "all documents"


def time_columns(metadata: pd.DataFrame) -> list[str]:
    """Columns of dates, then those of whole numbers that can be years."""
    dates, years = [], []
    for name in metadata.columns:
        values = metadata[name]
        if pd.api.types.is_datetime64_any_dtype(values):
            dates.append(str(name))
        elif pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            known = values.dropna()
            whole = len(known) > 0 and (known == known.round()).all()
            if whole and known.between(1000, 2500).all() and known.nunique() > 1:
                years.append(str(name))
    return dates + years


@dataclass(frozen=True)
class TimeChoice:
    """What is asked of the page. unit: of a column of dates, empty for what suits their span; by: the column that tells
    lines apart, None for all documents together, empty for that of the group that goes along."""

    column: str
    unit: str = ""
    by: str | None = ""


def choose_periods(loaded: LoadedCorpus) -> Periods | None:
    """The column and the length of a period; None, and a sentence, where there is none."""
    metadata = loaded.corpus.metadata
    columns = time_columns(metadata)
    if not columns:
        _say_why(metadata)
        return None

    def fits(one: TimeChoice) -> bool:
        return one.column in columns and (not one.by or (one.by in metadata.columns and _tells_apart(metadata[one.by])))

    choice: TimeChoice = session_choice("time", None, fits, lambda: TimeChoice(columns[0]))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        column = st.selectbox(
            "By", columns, columns.index(choice.column), key="widget_time_column", width=200,
            on_change=lambda: _set(column=st.session_state.widget_time_column, unit=""),
        )  # fmt: skip
        values, unit = metadata[column], "year"
        if pd.api.types.is_datetime64_any_dtype(values):
            key = f"widget_time_unit_{column}"
            unit = st.segmented_control(
                "Period", PERIODS, default=choice.unit or _usual(values), required=True, key=key,
                on_change=lambda: _set(unit=st.session_state[key]),
            )  # fmt: skip
    try:
        periods = periods_of(values, unit)
    except InputError as error:
        st.error(said(error))
        return None
    undated = int((periods.number < 0).sum())
    if undated:
        st.caption(f"{many(undated, 'document')} without a date, left out on this page.")
    return periods


def _set(**changes: Any) -> None:
    st.session_state.time_choice = replace(st.session_state.time_choice, **changes)


def _say_why(metadata: pd.DataFrame) -> None:
    """There is no time here, and what stayed words though some of it looks like dates."""
    st.info(
        "This corpus has no column of dates (2024-01-31, 31.1.2024, 31/1/2024) or years. Choose another corpus, or "
        "one with a date a document."
    )
    for name, values in metadata.items():
        found, whole = count_dates(values)
        if found:
            st.caption(
                f"The column {plain(str(name))} stayed words: {found:,} of its {whole:,} values look like dates. "
                "At least 95 % have to (cells such as unknown or n/a do not count), and of 3/4/2024 some date has "
                "to tell which number is the day."
            )


def _usual(values: pd.Series) -> str:
    """Years, unless there are few."""
    span = values.max() - values.min()
    return "year" if span.days > 3 * 366 else "month" if span.days > 90 else "day"


def draw_cost(found: Solution, loaded: LoadedCorpus, periods: Periods) -> None:
    """What a word of each period adds to the proved cost of the corpus."""
    alpha, table = found.model.result_.alpha, found.model.table_
    prices = np.add.reduceat(np.append(alpha, 0.0), table.doc_ptr[:-1]) * (np.diff(table.doc_ptr) > 0)
    frame = rates(prices, np.diff(table.doc_ptr), periods)
    frame[["rate", "low", "high"]] /= 1e6
    st.markdown(
        "**How hard each period is to compress**: what a word of it adds to the proved cost of the whole corpus."
    )
    figure = rates_figure({"": frame}, "cost a word", ",.3f")
    figure_view(figure, "time_cost", "What a word costs in each period, with 95 % intervals")
    st.caption(
        "Low: the period says what is said elsewhere, too. High: it has words and phrases of its own. Bars: 95 % "
        "intervals, documents taken as independent."
    )


def draw_bursts(found: Solution, loaded: LoadedCorpus, periods: Periods) -> None:
    """Phrases that come in bursts; a row shows its phrase below."""
    names = spelt_dictionary(found, loaded)
    telling = np.flatnonzero(names["telling"])
    answer = _bursts(found, periods, telling)
    if answer is None:
        return
    frame, limit = answer
    frame = frame.assign(phrase=names["gram"].to_numpy()[telling[frame["phrase"].to_numpy()]])
    shown = frame.head(SHOWN)
    when = [_span(first, last) for first, last in zip(shown["first"], shown["last"], strict=True)]
    shown = pd.DataFrame(
        {
            "phrase": shown["phrase"], "when": when, "weight": shown["weight"], "count": shown["count"],
            "accident": np.where(shown["weight"] > limit, "", "possible"),
        }
    )  # fmt: skip
    clear = int((frame["weight"] > limit).sum())
    if not len(frame):
        st.markdown("**No phrase comes in a burst.**")
        return
    if clear:
        come = "comes in a burst" if clear == 1 else "come in bursts"
        st.markdown(f"**{many(clear, 'phrase')}** {come} that {'is' if clear == 1 else 'are'} no accident "
                    f"(weight above {limit:.1f}).")  # fmt: skip
    else:
        st.markdown(f"**All bursts here may be accidents**: none has a weight above {limit:.1f}.")
    st.caption(
        "A burst: periods at about twice the usual rate. The limit is the heaviest burst of any of these phrases after "
        "dates were exchanged among documents at random, 19 times. Function words and punctuation are left out."
    )
    key = f"bursts_{len(periods.names)}_{found.id}"
    wide = 24 + 7 * max(map(len, when))  # pixels
    event = st.dataframe(
        shown, hide_index=True, height=table_height(len(shown), 400), on_select="rerun",
        selection_mode="single-row", key=key,
        alt="Phrases with their strongest burst",
        column_config={
            "phrase": st.column_config.TextColumn(width=max(100, 250 - wide)),
            "when": st.column_config.TextColumn(width=wide),
            "weight": st.column_config.NumberColumn(format="%.1f", width=62, help="How clear the burst is"),
            "count": st.column_config.NumberColumn("uses", width=52, help="Uses of the phrase then"),
            "accident": st.column_config.TextColumn("accident?", width=72, help="Its weight is below the limit"),
        },
    )  # fmt: skip
    row = new_row(event, len(shown), key)
    if row is not None:
        select_phrase(str(shown["phrase"].iloc[row]))
    st.container(horizontal=True).download_button(
        "Bursts (CSV)", lambda: frame_csv(frame),
        "bursts.csv", "text/csv", on_click="ignore", key="bursts_csv",
    )  # fmt: skip


def _span(first: str, last: str) -> str:
    """Two periods, of the second what differs: 2024-01-30 – 02-03."""
    if first == last:
        return first
    a, b = first.split("-"), last.split("-")
    same = next((k for k, (one, other) in enumerate(zip(a, b, strict=True)) if one != other), 0)
    return f"{first} – {'-'.join(b[same:])}"


def _bursts(found: Solution, periods: Periods, phrases: np.ndarray) -> tuple[pd.DataFrame, float] | None:
    """The bursts of these phrases, and the weight that one of them reaches at random, once they are there."""
    model = found.model

    def work() -> tuple[pd.DataFrame, float]:
        counts = count_matrix(model.encoding_, len(model.grams_))[:, phrases]
        sizes = np.diff(model.table_.doc_ptr)
        return bursts(counts, sizes, periods), permuted_weight(counts, sizes, periods)

    key = (found.id, periods.names, st.session_state.time_choice.column)
    return asked("bursts", key, work, waiting="Looking for bursts …")


def draw_phrase(loaded: LoadedCorpus, periods: Periods) -> None:
    """Any words over time, by group if wanted."""
    state, metadata = st.session_state, loaded.corpus.metadata
    state.widget_time_phrase = selected_phrase()
    groups, choice = [str(name) for name in metadata.columns if _tells_apart(metadata[name])], state.time_choice
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.text_input(
            "Words over time", key="widget_time_phrase", placeholder="words; * stands for any letters", width=260,
            on_change=lambda: select_phrase(state.widget_time_phrase),
        )  # fmt: skip
        along, by = selected_group(metadata), ""
        if groups:
            first = along[0] if choice.by == "" and along is not None else choice.by
            # not None for all documents: Streamlit shows a button to clear that
            by = st.selectbox(
                "By", ["", *groups], 1 + groups.index(first) if first in groups else 0, key="widget_time_group",
                format_func=lambda name: plain(name) if name else _NONE, width=200,
                on_change=lambda: _set(by=state.widget_time_group or None),
            )  # fmt: skip
    query = selected_phrase()
    if not query.strip():
        st.caption("Choose a phrase in the table, or write words.")
        return
    try:
        places = find_words(loaded.table, query, pattern=loaded.tokens.pattern, lowercase=loaded.tokens.lowercase)
    except InputError as error:
        st.error(said(error))
        return
    counts = np.bincount(places.documents(loaded.table), minlength=len(loaded.corpus)) * (periods.number >= 0)
    sizes = np.diff(loaded.table.doc_ptr)
    dated = int(sizes[periods.number >= 0].sum())
    frames: dict[str, Any] = {}
    left_out = ""
    if not by:
        frames[""] = rates(counts, sizes, periods)
    else:
        labels = metadata[by].astype(str)
        for name in shown_groups(metadata[by]):
            own = Periods(np.where(labels == name, periods.number, -1), periods.names)
            frames[name] = rates(counts, sizes, own)
        if len(frames) < metadata[by].nunique():
            left_out = f" Of {metadata[by].nunique()} values of {plain(by)}, the {len(frames)} with most documents."
    figure = rates_figure(frames, f"“{query}” a million words", ",.0f")
    figure_view(figure, "time_phrase_figure", "How often the phrase stands in each period")
    million = number(1e6 * counts.sum() / max(dated, 1))
    st.caption(f"{many(int(counts.sum()), 'place')} in all, {million} a million words.{left_out}")


def _tells_apart(values: pd.Series) -> bool:
    """Whether there are lines to draw, and few enough to choose from."""
    return 2 <= values.nunique() <= 50


def shown_groups(values: pd.Series) -> list[str]:
    """The most frequent values of a column, as text; numbers and dates in their order, others as frequent as they
    are."""
    known = values.dropna()
    texts = known.astype(str)
    most = texts.value_counts().index[:MOST_GROUPS]
    if pd.api.types.is_numeric_dtype(known) or pd.api.types.is_datetime64_any_dtype(known):
        return texts[known.sort_values(kind="stable").index].drop_duplicates()[lambda rows: rows.isin(most)].tolist()
    return list(most)
