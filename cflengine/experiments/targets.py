"""Targets: what is to be predicted of each document: a class, a number, or who wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError, check_choice
from cflengine.linear.labels import Labels, as_numbers, holds_numbers, read_labels, read_numbers

TASKS = ("auto", "class", "number", "author")
FEWEST_OF_A_CLASS = 3  # one to learn from, one to choose by, one to be judged by
_MANY_CLASSES = 50  # from here on the values of a column may be authors
_FEWEST_NUMBERS = 5  # different values, below which numbers are names of classes
_AUTHOR_DOCUMENTS = 10
_FEWEST_AUTHORS = 8
_WRITERS = re.compile(
    r"(author|autor|auteur|writer|user|reviewer|profile|speaker|poster|person|customer|member)(s|id|ids|name)?|.*作者.*"
)
_NAMED_BY = frozenset(("id", "ids", "name", "names", "key", "hash", "number", "no", "nr", "code"))  # reviewer_id
_MOSTLY = 0.8  # of a column's values: what they are, it is
_WITH_UNIT = r"[+-]?\d+(?:[.,]\d+)?\s*(?P<unit>[^\d\s.,+-][^\d]{0,9})"
_FEW_OF_A_CLASS = 3.5  # documents of each of many classes, on average
_LARGEST, _SMALLEST = 1e100, 1e-100


@dataclass(frozen=True)
class Target:
    """A column as a target. task: "class", "number" or "author".

    labels: the classes and each document's, of a class or an author; values: float64 (N,), NaN where there is none, of
    a number. n_missing: documents without a value; n_unread: values that were no numbers; n_rare: documents whose class
    has fewer than FEWEST_OF_A_CLASS; n_short: of authors, documents of too few words. A document without a target still
    counts for the dictionary.
    """

    column: str
    task: str
    labels: Labels
    values: np.ndarray | None = field(repr=False, default=None)
    n_missing: int = 0
    n_unread: int = 0
    n_rare: int = 0
    n_short: int = 0

    @property
    def known(self) -> np.ndarray:
        """bool (N,): the documents that have a target."""
        return self.labels.y >= 0

    @property
    def n_classes(self) -> int:
        return len(self.labels.classes) if self.values is None else 0

    @property
    def truth(self) -> np.ndarray:
        """(N,): classes by number, or values."""
        return self.labels.y if self.values is None else self.values

    def summary(self) -> dict[str, object]:
        """For a report."""
        facts = {"column": self.column, "task": self.task, "n_documents": int(self.known.sum())}
        facts |= {"n_missing": self.n_missing, "n_unread": self.n_unread, "n_rare": self.n_rare}
        facts |= {"n_short": self.n_short} if self.task == "author" else {}
        return facts | ({"n_classes": self.n_classes} if self.values is None else {})


def read_target(metadata: pd.DataFrame, column: str, task: str = "auto") -> Target:
    """A column as a target.

    Parameters
    ----------
    metadata : pandas.DataFrame
        Columns of the documents.
    column : str
        The target's.
    task : {"auto", "class", "number", "author"}
        "auto" takes numbers of many values for numbers, and many names, most of them of ten or more documents, in a
        column that is called so, for authors. A column is one of numbers where four fifths of its values are; the
        others are unread.

    Returns
    -------
    Target
        Values of the documents, and which documents have none.

    Raises
    ------
    InputError
        For a column that is not there, without a value, with one value only, with another value in nearly every
        document, and one that does not hold what ``task`` says, or numbers with a unit.
    """
    check_choice(task, "task", TASKS)
    if column in metadata.columns and not metadata[column].notna().any():
        raise InputError(f"column {column!r} has no value at all: there is nothing to predict.")
    if task == "auto":
        task = _task_of(metadata, column)
    return _number(metadata, column) if task == "number" else _named(metadata, column, task)


def read_targets(metadata: pd.DataFrame, columns: Sequence[str], task: str = "auto") -> list[Target]:
    """Several columns, each once. Raises ValueError for none at all."""
    if not columns:
        raise InputError("there is no target: name a column to predict.")
    return [read_target(metadata, column, task) for column in dict.fromkeys(columns)]


def _task_of(metadata: pd.DataFrame, column: str) -> str:
    if column not in metadata.columns:
        return "class"  # whose reader says what there is
    values = metadata[column]
    other = not holds_numbers(values)
    numbers = np.full(len(values), np.nan) if other else as_numbers(values)
    writers = _names_writers(str(column))
    known = numbers[~np.isnan(numbers)]
    are_numbers = len(known) >= _MOSTLY * int(values.notna().sum()) and np.unique(known).size >= _FEWEST_NUMBERS
    numbered = writers and bool((known == np.round(known)).all())  # names that are numbers
    if are_numbers and not numbered:
        return "number"
    counts = values.astype(str).where(values.notna()).value_counts()
    if not (are_numbers or other):
        _refuse_units(column, counts)
    prolific = counts[counts >= _AUTHOR_DOCUMENTS]
    many = len(counts) > _MANY_CLASSES and len(prolific) >= _FEWEST_AUTHORS and prolific.sum() > counts.sum() / 2
    return "author" if writers and many else "class"


def _names_writers(column: str) -> bool:
    """Whether a column's name says who wrote: author, user_id, review/profileName; not user_score or customer_age."""
    parts = [one.lower() for one in re.findall(r"[A-Z]?[^\W_A-Z]+|[A-Z]+(?![a-z])", column)]
    while len(parts) > 1 and parts[-1] in _NAMED_BY:
        parts.pop()
    return bool(parts) and _WRITERS.fullmatch(parts[-1]) is not None


def _refuse_units(column: str, counts: pd.Series) -> None:
    """InputError for numbers with a unit: as classes they would say nothing of their order."""
    if len(counts) < _FEWEST_NUMBERS:
        return
    units = counts.index.to_series().str.strip().str.extract(f"^{_WITH_UNIT}$")["unit"].str.strip()
    by_unit = counts.groupby(units.to_numpy()).sum()
    if len(by_unit) and by_unit.max() >= _MOSTLY * counts.sum():
        raise InputError(
            f"column {column!r} holds numbers with {by_unit.idxmax()!r} behind them: take that away, or learn the "
            "column as classes."
        )


def _number(metadata: pd.DataFrame, column: str) -> Target:
    found = read_numbers(metadata, column)
    if np.unique(found.y[~np.isnan(found.y)]).size < 2:
        raise InputError(f"column {column!r} has the same number everywhere: there is nothing to predict.")
    largest = float(np.nanmax(np.abs(found.y)))
    if largest > _LARGEST:
        raise InputError(
            f"column {column!r} holds numbers as large as {largest:.3g}, whose squares are none: scale them."
        )
    if largest < _SMALLEST:
        raise InputError(
            f"column {column!r} holds numbers so small, {largest:.3g} at most, that their squares are 0: scale them."
        )
    missing = int(np.isnan(found.y).sum()) - found.n_unread
    return Target(column, "number", found.stratum, found.y, n_missing=missing, n_unread=found.n_unread)


def _named(metadata: pd.DataFrame, column: str, task: str) -> Target:
    labels = read_labels(metadata, column, most=None)
    counts = np.bincount(labels.y[labels.y >= 0], minlength=len(labels.classes))
    usual = np.flatnonzero(counts >= FEWEST_OF_A_CLASS)
    if len(usual) < 2:
        raise InputError(
            f"column {column!r} has {len(counts):,} different values in {int(counts.sum()):,} documents, and "
            f"{('none', 'only one')[len(usual)]} of them in {FEWEST_OF_A_CLASS} or more: there is nothing to learn."
        )
    rare, mean = int(counts.sum() - counts[usual].sum()), float(counts[usual].mean())
    if task == "class" and (rare > counts.sum() / 2 or (len(usual) > _MANY_CLASSES and mean < _FEW_OF_A_CLASS)):
        raise InputError(
            f"column {column!r} has {len(counts):,} different values in {int(counts.sum()):,} documents; the "
            f"{len(usual):,} that stand in {FEWEST_OF_A_CLASS} or more make up {int(counts[usual].sum()):,} of them: "
            "too few of each to learn what tells them apart."
        )
    return Target(column, task, labels.only(usual), n_missing=labels.n_unlabelled, n_rare=rare)
