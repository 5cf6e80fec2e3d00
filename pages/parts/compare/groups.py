"""What documents can be grouped by: columns of few values as they are, dates by year or month, numbers by quarters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from pages.parts.shared.labels import label_columns
from pages.parts.shared.state import current_corpus

MOST_GROUPS = 12  # that are compared; numbers of more values than that are cut into quarters
QUARTERS = 4


def current_groups() -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """The session's columns with their groupings, and those of groups -> their values, the most frequent first; where
    there are none, that is said."""
    loaded, state = current_corpus(), st.session_state
    known = state.get("compare_groups")
    if known is None or known[0] != loaded.id:
        frame = with_groupings(loaded.corpus.metadata)
        known = state.compare_groups = (loaded.id, frame, label_columns(frame, some=True, fewest=1))
    if not known[2]:
        st.info(
            "There is nothing to group these documents by: no column with values that some documents share, no dates, "
            "no numbers. Choose another corpus, or one with columns beside the text."
        )
    return known[1], known[2]


def with_groupings(metadata: pd.DataFrame) -> pd.DataFrame:
    """The columns, and behind them those that dates and numbers of many values make."""
    found: dict[str, pd.Series] = {}
    for column in metadata.columns:
        values = metadata[column]
        if is_datetime64_any_dtype(values):
            unit, code = ("year", "%Y") if values.dt.year.nunique() > 1 else ("month", "%Y-%m")
            found[f"{column}, by {unit}"] = values.dt.strftime(code)
        elif is_numeric_dtype(values) and not is_bool_dtype(values) and values.nunique() > MOST_GROUPS:
            found[f"{column}, in quarters"] = _quarters(values)
    own = {name: values for name, values in found.items() if name not in metadata.columns}
    return metadata.assign(**own) if own else metadata


def _quarters(values: pd.Series) -> pd.Series:
    """Which quarter of the documents a number is in, by its least and its greatest number, "4.2 to 5", in as many
    digits as tell the quarters apart."""
    part = pd.qcut(values.where(values.abs() < float("inf")), QUARTERS, labels=False, duplicates="drop")
    ends = {number: (float(own.min()), float(own.max())) for number, own in values.groupby(part)}
    for digits in range(4, 18):
        said = {end: _digits(end, digits) for both in ends.values() for end in both}
        if len(set(said.values())) == len(said):
            break
    return part.map({number: f"{said[low]} to {said[high]}" for number, (low, high) in ends.items()})


def _digits(value: float, digits: int) -> str:
    """A number of so many significant digits, without an exponent."""
    return np.format_float_positional(float(f"{value:.{digits}g}"), trim="-")
