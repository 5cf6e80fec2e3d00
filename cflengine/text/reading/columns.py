"""Columns of a table: which one is the text, and the natural type of each of the others.

Which column is the text, judged on the first 200 records (or 4 million characters):

1. Candidates are columns of strings that are not all numbers or dates and hold a letter somewhere (which is
   not asked of one that is alone or has a telling name). Wordy ones average two words, or, in scripts without
   spaces, ten characters; if any candidate is wordy, the others are out.
2. The only column of a table, if it is a candidate.
3. A candidate with a telling name (``text``, ``review``, ...), else one whose name ends in such a word
   (``reviewText``, ``tweet_content``); of several, the one named first in ``TEXT_NAMES``.
4. Else the wordy candidate with the longest mean length, if it is 1.5 times the next one's.
5. Else it is unclear, and the user must say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.words import numbered
from cflengine.text.corpus import CorpusError
from cflengine.text.reading.dates import ISO, read_dates

TEXT_NAMES = (
    "text", "texts", "document", "doc", "content", "body", "review", "comment", "comments", "message",
    "tweet", "post", "abstract", "article", "description", "sentence", "utterance", "transcript", "feedback",
    "texte", "texto", "testo", "tekst",
)  # fmt: skip
# Cells of an untyped table that are never meant as a document.
NULL_MARKS = frozenset({"NaN", "nan", "<NA>", "#N/A", "NULL", "null"})
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")

# In a column that otherwise holds numbers these mean missing; among words, NA may be Namibia.
_SOFT_MARKS = frozenset({"NA", "N/A", "n/a", "None", "none", "-", "?"})
_INTEGER = re.compile(r"\s*[+-]?(0|[1-9]\d{0,17})\s*")
_FLOAT = re.compile(r"\s*[+-]?((0|[1-9]\d{0,14})(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*")
_LETTER = re.compile(r"[^\W\d_]")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TRUTH = {"true": True, "false": False}
_COMMA, _THOUSANDS = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d{1,3},\d{3}")
# last words of the names of columns whose whole numbers of this size are seconds since 1970 (2001 to 2030), or
# thousandths; a unit may stand behind them
_MOMENTS = frozenset({
    "ts", "time", "timestamp", "date", "datetime", "created", "updated", "published", "posted", "epoch", "unix",
})  # fmt: skip
_UNITS = frozenset({"at", "on", "utc", "s", "sec", "seconds", "ms", "millis"})
_DURATIONS = frozenset(
    {"response", "elapsed", "run", "cpu", "reading", "watch", "wait", "total", "duration", "reaction"}
)
_NAME_BREAKS = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_SECONDS, _MILLISECONDS = (1e9, 1.9e9), (1e12, 1.9e12)
_COMPACT = re.compile(r"\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d")  # 2301312359
_FEW_VALUES = 50  # different ones, which may be names: of versions, say


@dataclass(frozen=True)
class TextChoice:
    """The text column (None if unclear), and the columns that could be it, the likeliest first."""

    column: str | None
    candidates: tuple[str, ...]


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names stripped, numbered where empty (``column_3``), and made distinct (``text``, ``text_2``)."""
    return tuple(numbered((name.strip() or f"column_{k}" for k, name in enumerate(names, 1)), "{}_{}"))


def is_text_name(name: str) -> bool:
    """Whether a column of this name tells that it is the text."""
    return name.strip().lower() in TEXT_NAMES


def choose_text_column(columns: Sequence[str], sample: Sequence[dict[str, Any]]) -> TextChoice:
    """The text column by the rules above, from the first records."""
    lengths: dict[str, float] = {}
    wordy = set()
    for column in columns:
        given = [v for v in (record.get(column) for record in sample) if v is not None and v == v]
        values = [v for v in given if isinstance(v, str) and v.strip()]
        prominent = len(columns) == 1 or is_text_name(column)
        text = any(map(_LETTER.search, values)) or (prominent and all(isinstance(v, str) for v in given))
        if not text or (values and all(NUMBER.fullmatch(v) or ISO.fullmatch(v) for v in values)):
            continue
        n = max(len(values), 1)
        lengths[column] = sum(map(len, values)) / n
        n_words = sum(len(v.split()) for v in values) / n
        if n_words >= 2 or (lengths[column] >= 10 and not all(map(str.isascii, values))):
            wordy.add(column)
    ranked = sorted(lengths, key=lambda column: (column not in wordy, -lengths[column]))
    eligible = [column for column in ranked if column in wordy] or ranked
    if len(columns) == 1:
        return TextChoice(next(iter(ranked), None), tuple(ranked))
    chosen = _by_name(eligible, lambda name: name.strip().lower()) or _by_name(eligible, _last_word)
    if chosen is None and wordy:
        runner_up = lengths[eligible[1]] if len(eligible) > 1 else 0.0
        chosen = eligible[0] if lengths[eligible[0]] >= 1.5 * runner_up else None
    if chosen is not None:
        ranked = [chosen, *(column for column in ranked if column != chosen)]
    return TextChoice(chosen, tuple(ranked))


def _by_name(columns: Sequence[str], key) -> str | None:
    named = [column for column in columns if key(column) in TEXT_NAMES]
    return min(named, key=lambda column: TEXT_NAMES.index(key(column)), default=None)


def _last_word(name: str) -> str:
    parts = _NAME_PARTS.findall(name)
    return parts[-1].lower() if parts else ""


def named_column(columns: Sequence[str], wanted: str, name: str) -> str:
    """The column ``wanted``, or the only one so called if case is ignored. Raises CorpusError otherwise."""
    if wanted in columns:
        return wanted
    alike = [column for column in columns if column.lower() == wanted.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    raise CorpusError(f"'{name}' has no column '{wanted}'; its columns are {listed(columns)}.")


def listed(names: Iterable[str], most: int = 30) -> str:
    """Names in quotes, at most so many of them."""
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


class MetadataBuilder:
    """Collects the other columns of kept records; records may have different columns.

    untyped: whether every value is a string that may spell a number, a date or a truth value (CSV).
    """

    def __init__(self, untyped: bool) -> None:
        self._untyped = untyped
        self._columns: dict[str, list[Any]] = {}
        self._n = 0
        self._shared: dict[str, str] = {}
        self.notes: list[str] = []  # what was left out of columns, once they are a frame

    def add(self, record: dict[str, Any]) -> None:
        """Append one row."""
        for column, value in record.items():
            values = self._columns.get(column)
            if values is None:
                values = self._columns[column] = [None] * self._n
            if isinstance(value, str):
                value = self._one_copy(value)
            elif isinstance(value, list | dict):
                value = json.dumps(value, ensure_ascii=False, default=str)
            values.append(value)
        self._n += 1
        if len(record) < len(self._columns):
            for values in self._columns.values():
                if len(values) < self._n:
                    values.append(None)

    def _one_copy(self, value: str) -> str:
        """Equal short strings, such as labels, are stored once."""
        if len(value) > 64:
            return value
        if len(self._shared) < 100_000:
            return self._shared.setdefault(value, value)
        return self._shared.get(value, value)

    def frame(self, columns: Iterable[str]) -> pd.DataFrame:
        """The rows so far with these columns, each of its natural type. Empties the builder."""
        frame = {}
        for column in columns:
            values = self._columns.pop(column, None) or [None] * self._n
            series, note = natural_series(values, self._untyped)
            frame[column], moments = _moments(column, series)
            self.notes += [f"Column '{column}': {one}" for one in (note, moments) if one]
        return pd.DataFrame(frame, index=pd.RangeIndex(self._n))


def natural_series(values: Sequence[Any], untyped: bool) -> tuple[pd.Series, str]:
    """A Series of the values' natural type, and a sentence on what is missing in it, empty for nothing.

    int64 (Int64 with gaps), float64, bool (boolean with gaps), datetime64 for dates (dates.py), else strings; nested
    and mixed values become JSON strings. Numbers that are all whole are integers, also where a program has written
    them as 1.0, 2.0. Digits with leading zeros, or more of them than the type holds exactly, stay strings, and so do
    numbers with a comma for a point (:func:`are_comma_decimals`), which may as well be two labels.
    """
    if untyped:
        values = [None if v is None or not v.strip() or v in NULL_MARKS else v for v in values]
    present = [v for v in values if v is not None]
    kinds = set(map(type, present))
    if kinds == {str}:
        series = _typed_strings(values, present) if untyped else None
        return _dates(values) if series is None else (series, _one_number(present, series))
    if str in kinds and kinds <= {str, int, float} and all(v in _SOFT_MARKS for v in present if isinstance(v, str)):
        found, _ = natural_series([None if isinstance(v, str) else v for v in values], untyped=False)
        if pd.api.types.is_numeric_dtype(found.dtype):
            return found, ""
    return _typed(values, present, kinds), ""


def are_comma_decimals(texts: Iterable[str]) -> bool:
    """Whether the comma is that of decimals: every text that has one is digits, a comma and digits, none has a point,
    and not all have three digits behind it, as thousands would."""
    with_comma = []
    for text in texts:
        if "." in text or ("," in text and not _COMMA.fullmatch(text)):
            return False
        if "," in text:
            with_comma.append(text)
    return bool(with_comma) and not all(map(_THOUSANDS.fullmatch, with_comma))


def holds_comma_decimals(values: pd.Series) -> bool:
    """Whether a column of words is one of numbers such as "7,3" and "12", but for marks that say that one is missing.

    Parameters
    ----------
    values : Series
        A column, as it was read.

    Returns
    -------
    bool
        True where it is.
    """
    if pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_datetime64_any_dtype(values.dtype):
        return False
    present = [text.strip() for text in values.dropna().astype(str).unique() if text.strip() not in _SOFT_MARKS]
    return are_comma_decimals(present) and all(_COMMA.fullmatch(one) or _INTEGER.fullmatch(one) for one in present)


def _moments(column: str, values: pd.Series) -> tuple[pd.Series, str]:
    """A column of seconds since 1970, by its name and its numbers, as dates; and a sentence that says so."""
    parts = [part.lower() for part in _NAME_BREAKS.split(column) if part]
    if len(parts) > 1 and parts[-1] in _UNITS:
        parts.pop()
    named = bool(parts) and parts[-1] in _MOMENTS and _DURATIONS.isdisjoint(parts)
    if not (named and pd.api.types.is_integer_dtype(values.dtype)) or not values.notna().any():
        return values, ""
    least, most = int(values.min()), int(values.max())
    if all(_COMPACT.fullmatch(str(value)) for value in values.dropna().unique()[:1000].tolist()):
        return values, ""  # year, month, day, hour, minute
    for unit, name, (low, high) in (("s", "seconds", _SECONDS), ("ms", "milliseconds", _MILLISECONDS)):
        if low <= least and most <= high:
            return pd.to_datetime(values, unit=unit), f"its numbers are read as {name} since 1970."
    return values, ""


def _one_number(present: Sequence[str], series: pd.Series) -> str:
    """A sentence on names, of versions say, that are the same number: 1.1 and 1.10."""
    spelt = dict.fromkeys(present) if pd.api.types.is_float_dtype(series.dtype) else {}
    if not 0 < len(spelt) <= _FEW_VALUES:
        return ""
    seen: dict[float, str] = {}
    for one in (text.strip() for text in spelt if text not in _SOFT_MARKS):
        other = seen.setdefault(float(one), one)
        if other != one and len(other) != len(one) and "." in other and "." in one:
            return f"'{other}' and '{one}' are read as the same number."
    return ""


def whole_numbers(values: pd.Series) -> pd.Series:
    """A column of whole numbers as such: one with gaps has been written as 1.0, 2.0 ... by many a program."""
    if not pd.api.types.is_float_dtype(values.dtype):
        return values
    there = values.dropna().to_numpy(dtype=np.float64)
    fit = bool(np.isfinite(there).all() and (there == np.round(there)).all() and (np.abs(there) < 2.0**53).all())
    return values.astype("int64" if len(there) == len(values) else "Int64") if fit and len(there) else values


def _typed(values: Sequence[Any], present: Sequence[Any], kinds: set[type]) -> pd.Series:
    try:
        if kinds and kinds <= {bool}:
            return pd.Series(values, dtype="bool" if len(present) == len(values) else "boolean")
        if kinds and kinds <= {int}:
            return pd.Series(values, dtype="int64" if len(present) == len(values) else "Int64")
        if kinds and kinds <= {int, float}:
            return whole_numbers(pd.Series(values, dtype="float64"))
        if kinds and all(issubclass(kind, date) for kind in kinds):
            aware = any(isinstance(v, datetime) and v.tzinfo for v in present)
            return pd.Series(pd.to_datetime(pd.Series(values, dtype=object), utc=aware))
        if kinds == {timedelta}:
            return pd.Series(values, dtype="timedelta64[us]")
    except (ValueError, OverflowError, TypeError):
        # Beyond what the type can hold (2**70, the year 0000): the values stay as they are spelled.
        pass
    plain = kinds <= {str, int, float} and int in kinds
    if plain and all(v.is_integer() and abs(v) < 2.0**53 for v in present if isinstance(v, float)):
        values = [int(v) if isinstance(v, float) else v for v in values]  # 5.0 beside "n/a" is the 5 of other rows
    return pd.Series([v if v is None or isinstance(v, str) else _spelled(v) for v in values])


def _typed_strings(values: Sequence[str | None], present: Sequence[str]) -> pd.Series | None:
    if all(v.lower() in _TRUTH for v in present):
        return natural_series([None if v is None else _TRUTH[v.lower()] for v in values], untyped=False)[0]
    for pattern, kind in ((_INTEGER, int), (_FLOAT, float)):
        if all(pattern.fullmatch(v) or v in _SOFT_MARKS for v in present):
            numbers = [None if v is None or v in _SOFT_MARKS else kind(v) for v in values]
            return natural_series(numbers, untyped=False)[0] if any(n is not None for n in numbers) else None
    return None


def _dates(values: Sequence[str | None]) -> tuple[pd.Series, str]:
    found = read_dates(values)
    if found.series is None:
        note = ""
        if two := found.two_readings:
            note = f"it does not tell which number of '{two}' is the day, so it stays words; write 2024-01-31."
        elif short := found.short_year:
            note = f"years have two digits, as in '{short}', so it stays words; write 2024-01-31."
        return pd.Series(values), note
    n, unread = found.series.notna().sum() + len(found.unread), found.unread
    kinds = listed(dict.fromkeys(unread[:1000]), most=3)
    return (
        found.series,
        f"{len(unread):,} of {n:,} are not understood as dates, and missing: {kinds}." if unread else "",
    )


def _spelled(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return str(value)
