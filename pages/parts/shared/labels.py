"""Columns that may be labels."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from cflengine.engine import InputError
from cflengine.linear import MOST_CLASSES
from cflengine.text import TEST_NAMES, own_part, role_of
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.state import current_corpus
from pages.parts.shared.words import plain

_LIKELY = ("label", "class", "category", "sentiment", "target", "polarity")
_FEWEST = 5  # documents of a class
_FEW_NAMES = 12  # of documents that all have their own: fewer may be groups of one


def label_columns(metadata: pd.DataFrame, *, some: bool = False, fewest: int = _FEWEST) -> dict[str, list[str]]:
    """Columns that can be labels, the likeliest first -> their values, the most frequent first (as text).

    some: also columns of words with more than MOST_CLASSES values, of which so many, the most frequent, are to be
    chosen from; they come last but for those that say which documents to judge by. fewest: documents that two of the
    values have at least; a column of many values, no two documents with the same, has no groups.
    """
    found: dict[str, list[str]] = {}
    cut: set[str] = set()
    small: set[str] = set()
    for column in metadata.columns:
        values = metadata[column].dropna().astype(str)
        counts = values.value_counts()
        of_words = not (is_numeric_dtype(metadata[column]) or is_datetime64_any_dtype(metadata[column]))
        if some and len(counts) > MOST_CLASSES and of_words:
            counts = counts[counts >= max(fewest, 2)].iloc[:MOST_CLASSES]
            cut.add(str(column))
        named_apart = len(counts) > _FEW_NAMES and counts.iloc[0] == 1
        if 2 <= len(counts) <= MOST_CLASSES and counts.iloc[1] >= fewest and not named_apart:
            found[str(column)] = [str(name) for name in counts.index]
            if counts.iloc[1] < _FEWEST:
                small.add(str(column))

    def unlikely(column: str) -> tuple[bool, bool, bool, bool, int]:
        splits = column.lower() == "split" or role_of(column, metadata[column]).role == "split"
        return splits, column in small, column in cut, column.lower() not in _LIKELY, len(found[column])

    return {column: found[column] for column in sorted(found, key=unlikely)}


def usual_test(label: str) -> float | str:
    """The test set of a model of this column before another is chosen: what the corpus sets apart, or a fifth."""
    return corpus_part(label) or 0.2


def corpus_part(label: str, names: Collection[str] = TEST_NAMES) -> str | None:
    """:func:`own_split` of the session's corpus, looked for once."""
    loaded = current_corpus()
    known = st.session_state.get("own_parts")
    if known is None or known[0] != loaded.id:
        known = st.session_state.own_parts = (loaded.id, {})
    key = (label, frozenset(names))
    if key not in known[1]:
        known[1][key] = own_split(loaded.corpus.metadata, label, names)
    return known[1][key]


def possible_part(part: float | str, label: str, names: Collection[str] = TEST_NAMES) -> bool:
    """Whether that may be the test set, or another part, of a model of this column: a share, or what the corpus brings
    along."""
    return not isinstance(part, str) or part == corpus_part(label, names)


def likely_test(part: float | str, label: str) -> float | str:
    """The test set where another column is chosen: as it was, if it may be."""
    return part if possible_part(part, label) else usual_test(label)


def own_split(metadata: pd.DataFrame, label: str, names: Collection[str] = TEST_NAMES) -> str | None:
    """The test set, or another part, that the corpus brings along, as ``COLUMN=VALUE``; label: the column to learn,
    which cannot be that one."""
    try:
        return own_part(metadata, names, beside=(label,))
    except InputError:  # several: neither is meant more than the other
        return None


def _columns(loaded: LoadedCorpus) -> dict[str, list[str]]:
    """The label columns of a corpus, looked for once."""
    known = st.session_state.get("comparison_columns")
    if known is None or known[0] != loaded.id:
        known = st.session_state.comparison_columns = (loaded.id, label_columns(loaded.corpus.metadata, some=True))
    return known[1]


def documents_beside(column: str, classes: Collection[str]) -> int:
    """How many documents of the session's corpus have none of these values; the column is counted once."""
    loaded = current_corpus()
    known = st.session_state.get("label_counts")
    if known is None or known[0] != (loaded.id, column):
        counts = loaded.corpus.metadata[column].dropna().astype(str).value_counts()
        known = st.session_state.label_counts = ((loaded.id, column), counts)
    return len(loaded.corpus) - int(known[1].reindex(list(classes), fill_value=0).sum())


def current_label_columns() -> dict[str, list[str]]:
    """The label columns of the session's corpus; where it has none, that is said."""
    columns = _columns(current_corpus())
    if not columns:
        st.info(
            "This corpus has no column with labels: a column in which at least two values stand in five documents "
            f"each.{plain(_nearest(current_corpus().corpus.metadata))} Choose another corpus, or one with a label for "
            "every document."
        )
    return columns


def _nearest(metadata: pd.DataFrame) -> str:
    """A sentence on the column that comes nearest to labels, " …"; empty where none has two values twice."""
    best, found = 1, ""
    for column in metadata.columns:
        counts = metadata[column].dropna().astype(str).value_counts()
        if 2 <= len(counts) <= MOST_CLASSES and counts.iloc[1] > best:
            best = int(counts.iloc[1])
            found = f" {column} comes nearest: {counts.index[1]} has only {best} documents."
    return found
