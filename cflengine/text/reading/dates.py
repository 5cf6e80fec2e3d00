"""Columns of dates: each value by its own form, the order of day and month by the whole column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?")
_YEAR_FIRST = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_EAST_ASIAN = re.compile(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日号號일]")
# 15:01, 15:01:01.79, 3:01 PM behind a date
_TIMED = re.compile(r"(.{6,20}?),? (\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?(?: ?([AaPp])\.?[Mm]\.?)?")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")  # alone, among dates
_MONTHLY = re.compile(r"(1[5-9]\d\d|20\d\d)-(\d\d)")
_MONTH_BEFORE = re.compile(r"(?:(\d\d)[.-]|(\d{1,2})/)(1[5-9]\d\d|20\d\d)")  # 1.2019 may be a number
_NUMBERED = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?: ?[rRгГ]\.?)?")  # "r." and "г." are Slavic for "year"
_SHORT_YEAR = re.compile(r"\d\d([./-])\d\d\1\d\d")  # which of the three is the year, nothing tells
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = dict(zip(_MONTHS, range(1, 13), strict=True)) | {
    name: number
    for number, name in enumerate(
        ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
         "december"), 1,
    )
} | {"sept": 9}  # fmt: skip
_DAY_FIRST = re.compile(r"(\d{1,2})\.?[ -]([A-Za-z]{3,9})\.?,?[ -](\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
# what people write, in any case, where there is no date
_MISSING = frozenset({
    "-", "--", "–", "—", "?", "n/a", "na", "n.a.", "nan", "nat", "nil", "none", "null", "unknown", "undated", "missing",
    "n.d.", "nd", "tbd",
})  # fmt: skip
_LOOKED = 200  # values, among which there has to be a date
_SHARE, _FEWEST = 0.95, 10  # of the values, and how many at least, have to be dates where others are none


class Dates(NamedTuple):
    """series: datetime64, or None where the column has no dates; unread: values that are none; two_readings: a value
    whose day and month may be either, empty for none; short_year: one with a year of two digits, if most are so."""

    series: pd.Series | None
    unread: tuple[str, ...] = ()
    two_readings: str = ""
    short_year: str = ""


def read_dates(values: Sequence[str | None]) -> Dates:
    """Dates as 2024-01-28 (ISO 8601), 2024/1/28, 28/01/2024, 28.01.2024, 28 Jan 2024, January 28, 2024 or 2024年1月28
    日, also mixed, and with a time of day behind them; 2024-01 and 01.2024, and 2024 among others, are the first day of
    the month, or year.

    With the year at the end the day is first after points, and else where a number above 12 tells which it is; a column
    that leaves two readings has no dates. Values that are no dates are missing in the answer, if there are few beside
    those that say so (n/a, unknown, none, -).
    """
    strings = pd.Series(values, dtype=object)
    present = strings.dropna()
    if not set(map(_shape, present.iloc[:_LOOKED])) - {None, "year"}:
        return Dates(None)
    shapes = {value: _shape(value) for value in present.unique()}
    short = [value for value in present if shapes[value] == "short year"]
    if short and len(short) >= _SHARE * sum(not is_no_date(value) for value in present):
        return Dates(None, short_year=short[0])
    if not _are_months([value for value, shape in shapes.items() if shape == "month"]):
        shapes |= dict.fromkeys((value for value, shape in shapes.items() if shape == "month"))
    orders = {mark: _order(shapes, mark) for mark in "./-"}
    # each as ISO 8601
    spelt = {value: None if shape is None else _as_iso(value, shape, orders) for value, shape in shapes.items()}
    ambiguous = next((value for value, shape in shapes.items() if not orders.get(shape or "", "known")), "")
    whole = {shapes[value] for value, iso in spelt.items() if iso is not None} - {"year", "month"}
    zoned = {shape == "zoned" for shape in whole}
    if len(zoned) > 1:
        return Dates(None)
    # what is shaped like a date and is none, such as 2024-02-31, is missing; likewise what the type cannot hold
    try:
        found = pd.to_datetime(present.map(spelt), format="ISO8601", utc=True in zoned, errors="coerce")
    except (ValueError, OverflowError):
        return Dates(None)
    unread = present[found.isna()]
    unlike = sum(not is_no_date(value) for value in unread)
    read = len(present) - len(unread)
    if len(unread) and read < max(_FEWEST, _SHARE * (read + unlike)):
        return Dates(None, two_readings=ambiguous)
    return Dates(found.reindex(strings.index), tuple(value for value in unread if value.strip()), ambiguous)


def count_dates(values: pd.Series) -> tuple[int, int]:
    """How many values look like dates, of how many that there are.

    Parameters
    ----------
    values : pandas.Series
        A column.

    Returns
    -------
    tuple of int and int
        Those that do, and all but those that say that one is missing; 0 of both where the first ones tell of no date.
    """
    present = [value for value in values if isinstance(value, str) and not is_no_date(value)]
    if not set(map(_shape, present[:_LOOKED])) - {None, "year", "short year"}:
        return 0, 0
    return sum(_shape(value) not in (None, "short year") for value in present), len(present)


def is_no_date(value: str) -> bool:
    """Whether a value says that there is none: unknown, n/a."""
    return value.strip().lower() in _MISSING


def _shape(value: str) -> str | None:
    """How a value is written: "iso", "zoned" (with a time zone), "named", "year", "month" (2024-01, 1/2024), "short
    year", or the mark between its numbers; None for no date."""
    iso = ISO.fullmatch(value)
    if iso:
        return "iso" if iso[4] is None else "zoned"
    day, time = _parts(value)
    numbered = _NUMBERED.fullmatch(day)
    if time is None:
        return None
    if numbered:
        return numbered[2]
    if _SHORT_YEAR.fullmatch(day):
        return "short year"
    if _YEAR.fullmatch(value):
        return "year"
    if _month(value):
        return "month"
    return "named" if _named(day) else None


def _are_months(values: Sequence[str]) -> bool:
    """Whether these are months: not seasons (2009-10, 2010-11), not codes, not numbers with a decimal point."""
    found = [_month(value) or (0, 0) for value in values]
    seasons = all((year + 1) % 100 == number for year, number in found)
    numbers = all("." in value and not value.startswith("0") for value in values)  # 10.2019, 12.1950
    return all(1 <= number <= 12 for _, number in found) and not seasons and not numbers


def _month(value: str) -> tuple[int, int] | None:
    """Year and month of 2024-01, 01.2024, 1/2024."""
    match = _MONTHLY.fullmatch(value)
    if match:
        return int(match[1]), int(match[2])
    match = _MONTH_BEFORE.fullmatch(value)
    return (int(match[3]), int(match[1] or match[2])) if match else None


def _parts(value: str) -> tuple[str, str | None]:
    """A date without its time of day, and that as ISO 8601 has it behind one: empty for none, None for what is none."""
    match = _TIMED.fullmatch(value)
    if match is None:
        return value, ""
    day, hours, minutes, seconds, half = match.groups()
    hour = int(hours)
    if hour > 23 or (half and not 1 <= hour <= 12):
        return day, None
    if half:
        hour = hour % 12 + (12 if half in "Pp" else 0)
    return day, f"T{hour:02d}:{minutes}" + (f":{seconds}" if seconds else "")


def _order(shapes: dict[str, str | None], mark: str) -> str:
    """Which number is the day, "first" or "second", in all values with this mark; empty where both may be."""
    first = second = 0
    for value, shape in shapes.items():
        if shape == mark:
            match = _NUMBERED.fullmatch(_parts(value)[0])
            assert match is not None
            first, second = max(first, int(match[1])), max(second, int(match[3]))
    if (first > 12) == (second > 12):
        return "first" if mark == "." and second <= 12 else ""
    return "second" if second > 12 else "first"


def _as_iso(value: str, shape: str, orders: dict[str, str]) -> str | None:
    if shape in ("iso", "zoned"):
        return value
    date, time = _parts(value)
    if shape == "year":
        return f"{value}-01-01"
    if shape == "month":
        return "{:04d}-{:02d}-01".format(*_month(value) or (0, 0))
    if shape == "named":
        return f"{_named(date)}{time}"
    match, order = _NUMBERED.fullmatch(date), orders.get(shape)
    if match is None or not order:
        return None
    day, month = (match[1], match[3]) if order == "first" else (match[3], match[1])
    return f"{match[4]}-{int(month):02d}-{int(day):02d}{time}"


def _named(value: str) -> str | None:
    """A date with the month's English name, or the year first, as ISO 8601."""
    match = _YEAR_FIRST.fullmatch(value) or _EAST_ASIAN.fullmatch(value)
    if match:
        return f"{match[1]}-{int(match[2]):02d}-{int(match[3]):02d}"
    match = _DAY_FIRST.fullmatch(value)
    if match:
        day, name, year = match.groups()
    else:
        match = _MONTH_FIRST.fullmatch(value)
        if not match:
            return None
        name, day, year = match.groups()
    month = _NAMES.get(name.lower())
    return f"{year}-{month:02d}-{int(day):02d}" if month else None
