"""Targets and splits out of a table: classes or numbers from a column, training, development and test documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.text.reading.columns import are_comma_decimals, whole_numbers

MOST_CLASSES = 50


@dataclass(frozen=True)
class Labels:
    """The classes of N documents.

    Parameters
    ----------
    column : str
        That has them.
    classes : tuple[str, ...]
        Names, sorted.
    y : ndarray
        int64 (N,), the class of each document; -1 where it has none of them.
    """

    column: str
    classes: tuple[str, ...]
    y: np.ndarray

    @property
    def n_unlabelled(self) -> int:
        """Documents without one of the classes."""
        return int(np.count_nonzero(self.y < 0))

    def of(self, documents: np.ndarray) -> np.ndarray:
        """object: the class, by its name, of each of some documents that have one."""
        return np.array(self.classes, dtype=object)[self.y[documents]]

    def only(self, kept: np.ndarray) -> Labels:
        """The same with some classes alone, by number; the documents of the others have none."""
        number = np.full(len(self.classes) + 1, -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return Labels(self.column, tuple(self.classes[k] for k in kept.tolist()), number[self.y])


def read_labels(
    metadata: pd.DataFrame, column: str, classes: Sequence[str] | None = None, *, most: int | None = MOST_CLASSES
) -> Labels:
    """The classes in a column, or those of them that are named.

    Parameters
    ----------
    metadata : pandas.DataFrame
        Columns of the documents.
    column : str
        That of the classes.
    classes : sequence of str, optional
        Those wanted; by default all.
    most : int or None
        How many classes there may be; None for any number.

    Returns
    -------
    Labels
        Their names, and the class of each document, −1 for none of them.

    Raises
    ------
    InputError
        With what there is instead, for a column that is not there, for one with fewer than two values or with more than
        ``most``, and for a class that is not in it.
    """
    values = _column(metadata, column)
    names = names_of(values)
    counts = names.value_counts()
    if classes:
        classes = [as_read(name, values, counts) for name in classes]
        missing = [name for name in classes if name not in counts.index]
        if missing:
            raise InputError(f"column {column!r} has no value {missing[0]!r}; it has {_some(counts)}.")
        found = sorted(set(classes))
    else:
        found = sorted(counts.index)
    if len(found) < 2:
        raise InputError(f"a classifier needs two classes, but column {column!r} gives {_some(counts[found])}.")
    if most is not None and len(found) > most:
        raise InputError(
            f"column {column!r} has {len(found):,} different values, more than the {most} classes that are "
            "possible: name the classes you want, or another column."
        )
    number = {name: k for k, name in enumerate(found)}
    return Labels(column, tuple(found), names.map(number).fillna(-1).to_numpy(dtype=np.int64))


def names_of(values: pd.Series) -> pd.Series:
    """What each value is called as a class, or as a group: str, missing where it is."""
    return whole_numbers(values).astype(str).where(values.notna())


def against_others(values: pd.Series, name: str, others: str) -> pd.Series:
    """Two names in place of many.

    Parameters
    ----------
    values : pandas.Series
        A column, as it was read.
    name : str
        What one class is called.
    others : str
        What all other values are called together.

    Returns
    -------
    pandas.Series
        str (N,), missing where a value is.
    """
    names = names_of(values)
    return names.where(names.isna() | (names == name), others)


def as_read(name: str, values: pd.Series, counts: pd.Series) -> str:
    """The name of a value as it is called here, of one that may be written as the file has it: true, 2.50, 1e3.

    counts: by name, of the values."""
    if name in counts.index:
        return name
    kind = values.dtype
    if pd.api.types.is_bool_dtype(kind) or values.map(lambda value: isinstance(value, bool)).any():
        return next((known for known in counts.index if known.lower() == name.lower()), name)
    if pd.api.types.is_numeric_dtype(kind):
        try:
            wanted = float(name)
        except ValueError:
            return name
        return next((known for known in counts.index if float(known) == wanted), name)
    return name


@dataclass(frozen=True)
class Numbers:
    """A number for each document: y float64 (N,), NaN where it has none. n_unread: values that are no numbers."""

    column: str
    y: np.ndarray
    n_unread: int = 0

    @property
    def stratum(self) -> Labels:
        """The documents with a number as those of the only class, for splitting them."""
        return Labels(self.column, ("",), np.where(np.isnan(self.y), -1, 0))


def read_numbers(metadata: pd.DataFrame, column: str) -> Numbers:
    """The numbers in a column; what is none, or not finite, is missing.

    Raises ValueError, with what there is instead, for a column that is not there, and for one without a number.
    """
    values = _column(metadata, column, "numbers")
    if pd.api.types.is_bool_dtype(values.dtype):
        raise InputError(f"column {column!r} holds true and false, not numbers: learn it as classes.")
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        raise InputError(f"column {column!r} holds dates, not numbers.")
    if not holds_numbers(values):
        raise InputError(
            f"column {column!r} holds {values.dtype} (durations, periods or complex numbers), which are no numbers to "
            "learn: write hours, say, or years."
        )
    found = as_numbers(values)
    if np.isnan(found).all():
        raise InputError(f"column {column!r} holds no numbers; it has {_some(values.astype(str).value_counts())}.")
    return Numbers(column, found, int(np.count_nonzero(np.isnan(found) & values.notna().to_numpy())))


def holds_numbers(values: pd.Series) -> bool:
    """Whether values may be numbers by their type: not true or false, dates, durations, periods or complex."""
    kind, of = values.dtype, pd.api.types
    others = (of.is_bool_dtype, of.is_datetime64_any_dtype, of.is_timedelta64_dtype, of.is_complex_dtype)
    return not (isinstance(kind, pd.PeriodDtype) or any(is_other(kind) for is_other in others))


def as_numbers(values: pd.Series) -> np.ndarray:
    """float64 (N,): each value as a number, NaN for what is none or not finite.

    A comma may be that of decimals (:func:`~cflengine.text.reading.columns.are_comma_decimals`).
    """
    words = not pd.api.types.is_numeric_dtype(values.dtype)
    if words and are_comma_decimals(values.dropna().astype(str).str.strip()):
        values = values.astype(str).str.replace(",", ".", regex=False).where(values.notna())
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)


def read_sensitive(metadata: pd.DataFrame, column: str) -> np.ndarray:
    """float64 (N,), of a column of numbers, or of two values, which become 0 and 1; NaN where there is none.

    Raises ValueError for a column that is neither.
    """
    values = _column(metadata, column, "values of a constraint")
    kinds = sorted(values.dropna().astype(str).unique()) if not pd.api.types.is_numeric_dtype(values.dtype) else []
    if len(kinds) == 2:
        return values.astype(str).map({kinds[0]: 0.0, kinds[1]: 1.0}).where(values.notna()).to_numpy(dtype=np.float64)
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64)
    found = as_numbers(values)
    if not np.array_equal(np.isfinite(found), values.notna().to_numpy()):
        counts = _some(values.astype(str).value_counts())
        raise InputError(f"column {column!r} must hold numbers or two values; it has {counts}.")
    return found


def _column(metadata: pd.DataFrame, column: str, what: str = "labels") -> pd.Series:
    if column not in metadata.columns:
        there = ", ".join(map(str, metadata.columns)) or "none"
        raise InputError(
            f"there is no column {column!r} to take {what} from; beside the text the columns are: {there}."
        )
    return metadata[column]


def _some(counts: pd.Series) -> str:
    """The first values of a column, with their counts."""
    if not len(counts):
        return "no value at all"
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts.head(6).items())
    return shown + (f" and {len(counts) - 6:,} more" if len(counts) > 6 else "")


@dataclass(frozen=True)
class Split:
    """Documents by what they are for; together all that have a class.

    Parameters
    ----------
    train : ndarray
        int64, ascending, to learn from.
    dev : ndarray
        int64, ascending, to choose parameters by.
    test : ndarray
        int64, ascending, to judge by.
    """

    train: np.ndarray
    dev: np.ndarray
    test: np.ndarray


def split_documents(
    labels: Labels,
    metadata: pd.DataFrame,
    *,
    dev: str | float | None = 0.2,
    test: str | float | None = None,
    random_state: int = 0,
) -> Split:
    """Documents for training, for choosing a model, for judging it.

    Parameters
    ----------
    labels : Labels
        Classes of the documents; those without one are in no part.
    metadata : pandas.DataFrame
        Columns of the documents.
    dev : str, float or None
        For choosing: a share between 0 and 1 of each class, drawn at random from what the test leaves; or COLUMN=VALUE,
        the documents with that value.
    test : str, float or None
        For judging, likewise.
    random_state : int
        Of the shares that are drawn.

    Returns
    -------
    Split
        Numbers of documents, in three parts.

    Raises
    ------
    InputError
        If a part that was asked for would be empty, or if a class would have no training document.
    """
    rng = np.random.default_rng(random_state)
    rest = labels.y >= 0
    parts = {}
    for name, spec in (("test", test), ("dev", dev)):
        chosen = np.zeros(len(rest), dtype=bool) if spec is None else _part(spec, labels, metadata, rest, rng, name)
        parts[name] = np.flatnonzero(chosen)
        rest = rest & ~chosen
    train = np.flatnonzero(rest)
    for k, name in enumerate(labels.classes):
        if not np.any(labels.y[train] == k):
            of = f" for class {name!r}" if name else ""
            raise InputError(f"no training document is left{of}: make the other parts smaller.")
    return Split(train, parts["dev"], parts["test"])


def _part(
    spec: str | float, labels: Labels, metadata: pd.DataFrame, rest: np.ndarray, rng: np.random.Generator, name: str
) -> np.ndarray:
    """bool (N,): the documents of ``rest`` that a spec names."""
    what = {"dev": "development", "test": "test"}[name]
    if isinstance(spec, str) and "=" in spec:
        column, value = _column_and_value(spec, metadata, what)
        names = names_of(metadata[column])
        counts = names.value_counts()
        there = (names == as_read(value, metadata[column], counts)).to_numpy()
        if (rest & there).any():
            return rest & there
        if (there & (labels.y >= 0)).any():
            raise InputError(f"the {what} set is empty: the documents with {column} = {value} are the test's already.")
        raise InputError(
            f"the {what} set is empty: no labelled document has {column} = {value} (there is {_some(counts)})."
        )
    try:
        share = float(spec)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InputError(f"a {what} split is a share between 0 and 1, or COLUMN=VALUE, not {spec!r}.")
    chosen = np.zeros(len(rest), dtype=bool)
    for k in range(len(labels.classes)):
        own = rng.permutation(np.flatnonzero(rest & (labels.y == k)))
        chosen[own[: round(share * len(own))]] = True
    if not chosen.any():
        raise InputError(f"the {what} set is empty: {share:g} of so few documents is none.")
    return chosen


def _column_and_value(spec: str, metadata: pd.DataFrame, what: str) -> tuple[str, str]:
    """The two sides of COLUMN=VALUE, either of which may hold further "="."""
    cuts = [k for k, char in enumerate(spec) if char == "="]
    known = next((k for k in cuts if spec[:k] in metadata.columns), None)
    if known is None:
        raise InputError(f"there is no column {spec[: cuts[0]]!r} for the {what} split.")
    return spec[:known], spec[known + 1 :]


def row_classes(classes: tuple[str, ...], n_rows: int) -> tuple[str, ...]:
    """The class that each row of coefficients is for: of two classes the second; "" where the target is a number."""
    return classes[1:] if n_rows == 1 and len(classes) > 1 else classes
