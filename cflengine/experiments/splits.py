"""Which documents are learnt from, chosen by and judged by: one plan for all methods and all targets."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.experiments.targets import Target
from cflengine.linear.labels import Labels, Split, split_documents
from cflengine.text.check import DEV_NAMES, TEST_NAMES, own_part
from cflengine.text.reading.dates import is_no_date, read_dates

TEST_SHARE, DEV_SHARE = 0.25, 0.2  # of all, and of what is left
FEW_DOCUMENTS, FOLDS = 1000, 5  # below so many, every document is judged once, by so many models
_MOST_FOLDS = 20
_DRAWS = 20  # of groups, at most, until their documents are near the shares that were asked for
_NEAR = 2.0  # by this factor
_MONTH_YEAR = re.compile(r"^(\d{1,2})[./-]((?:1[5-9]|20)\d\d)$")
_YEAR_BEHIND = re.compile(r"\d{3,4}(1[5-9]|20)\d\d")


@dataclass(frozen=True)
class Plan:
    """Splits, one or a fold each, whose test parts do not overlap.

    how: in words; groups: int64 (N,), documents that are only drawn together, -1 for none; None: each stands alone.
    """

    splits: tuple[Split, ...]
    how: str
    groups: np.ndarray | None = field(repr=False, default=None)

    @property
    def test(self) -> np.ndarray:
        """int64: all documents that are judged by, in the order of the splits."""
        return np.concatenate([split.test for split in self.splits])


def restricted(split: Split, known: np.ndarray) -> Split:
    """The documents of a split that have a target; known: bool (N,)."""
    return Split(*(part[known[part]] for part in (split.train, split.dev, split.test)))


def make_plan(
    metadata: pd.DataFrame,
    targets: Sequence[Target],
    *,
    test: str | float | None = None,
    dev: str | float | None = None,
    folds: int | None = None,
    group: str | None = None,
    time: str | None = None,
    random_state: int = 0,
) -> Plan:
    """The plan for some targets: documents with any of them, stratified by the first class there is.

    Parameters
    ----------
    metadata : pandas.DataFrame
        Columns of the documents.
    targets : sequence of Target
        What is to be predicted.
    test : str, float or None
        As :func:`~cflengine.linear.labels.split_documents` has it; None: the corpus's own split, where there is one,
        else a share.
    dev : str, float or None
        Likewise.
    folds : int, optional
        By default FOLDS where there are fewer than FEW_DOCUMENTS and nothing else was asked for.
    group : str, optional
        A column; documents of one value stay together.
    time : str, optional
        A column; the test is on the latest documents.
    random_state : int
        Of what is drawn.

    Returns
    -------
    Plan
        One split, or a split a fold.

    Raises
    ------
    InputError
        For columns that do not fit, for parts that are empty, and for more folds than documents.
    """
    if group is not None and time is not None:
        raise InputError("documents are split by a group or by time, not by both.")
    if folds is not None and (time is not None or test is not None):
        raise InputError("folds take the place of a test split, and of one by time.")
    if (group is not None or time is not None) and (test is not None or dev is not None):
        raise InputError("a split by a group or by time draws its own parts: leave the test and dev splits out.")
    known = np.logical_or.reduce([target.known for target in targets])
    if group is not None:
        return _grouped(metadata, group, known, folds, random_state)
    if time is not None:
        return _by_time(metadata, time, known)
    labels = _strata(next((target.labels for target in targets if target.task == "class"), None), known)
    if test is None and folds is None:
        there, beside = metadata[known], [target.column for target in targets]
        own = own_part(there, TEST_NAMES, beside=beside)
        if own is not None:
            test, dev = own, dev or own_part(there, DEV_NAMES, beside=beside)
    dev = DEV_SHARE if dev is None else dev
    few = int(known.sum()) < FEW_DOCUMENTS and test is None
    if folds is not None or few:
        return _folds(labels, known, FOLDS if folds is None else folds, dev, metadata, random_state)
    by_column = isinstance(test, str) and "=" in test
    if by_column:  # their own split need not hold every class
        labels = Labels("", ("",), np.where(known, 0, -1))
    test = TEST_SHARE if test is None else test
    split = split_documents(labels, metadata, dev=dev, test=test, random_state=random_state)
    return Plan((split,), f"judged on {f'the documents with {test}' if by_column else _share(test)}")


def _share(test: float | str) -> str:
    return f"a random {100 * float(test):g} % of the documents"


def _strata(strata: Labels | None, known: np.ndarray) -> Labels:
    """Classes to stratify by; those without one, but with another target, are a class of their own."""
    if strata is None:
        return Labels("", ("",), np.where(known, 0, -1))
    rest = known & (strata.y < 0)
    if not rest.any():
        return strata
    return Labels(strata.column, (*strata.classes, ""), np.where(rest, len(strata.classes), strata.y))


def _folds(
    labels: Labels, known: np.ndarray, folds: int, dev: str | float, metadata: pd.DataFrame, random_state: int
) -> Plan:
    from sklearn.model_selection import KFold, StratifiedKFold

    documents = np.flatnonzero(known)
    _check_folds(folds, len(documents), "documents")
    y = labels.y[documents]
    counts = np.bincount(y)
    stratified = len(labels.classes) > 1 and counts[counts > 0].min() >= folds
    kind = StratifiedKFold if stratified else KFold
    splits = []
    for rest, test in kind(folds, shuffle=True, random_state=random_state).split(documents, y):
        inside = np.full(len(known), -1, dtype=np.int64)
        classes = labels.classes if stratified and _every_class_may_be_in(dev, y[rest]) else ("",)
        inside[documents[rest]] = y[rest] if len(classes) > 1 else 0
        parts = split_documents(Labels("", classes, inside), metadata, dev=dev, random_state=random_state)
        splits.append(Split(parts.train, parts.dev, documents[test]))
    return Plan(tuple(splits), f"every document judged once, in {folds} folds")


def _every_class_may_be_in(dev: str | float, y: np.ndarray) -> bool:
    """Whether a share of each class is at least a document, and leaves one: then it may be drawn class by class."""
    counts = np.unique(y, return_counts=True)[1]
    try:
        drawn = np.round(float(dev) * counts)
    except ValueError:
        return False  # documents that a column names
    return bool(((drawn >= 1) & (drawn < counts)).all() and drawn.sum() <= 1.1 * float(dev) * counts.sum())


def _check_folds(folds: int, n: int, what: str) -> None:
    if not 2 <= folds <= _MOST_FOLDS:
        raise InputError(f"there must be 2 to {_MOST_FOLDS} folds, not {folds}.")
    least = folds if what == "groups" else 2 * folds  # a group may be a fold; the others are learnt from
    if n < least:
        raise InputError(f"{n:,} {what} are too few for {folds} folds: at least {least} are needed.")


def _grouped(metadata: pd.DataFrame, column: str, known: np.ndarray, folds: int | None, random_state: int) -> Plan:
    from sklearn.model_selection import GroupKFold, GroupShuffleSplit

    if column not in metadata.columns:
        raise InputError(f"there is no column {column!r} to group documents by.")
    codes, _names = pd.factorize(metadata[column].astype(str).where(metadata[column].notna()))
    documents = np.flatnonzero(known & (codes >= 0))
    groups = codes[documents]
    n_groups = len(np.unique(groups))
    if n_groups < 3:
        raise InputError(
            f"column {column!r} makes {n_groups} group{'' if n_groups == 1 else 's'} of the documents with a target: "
            "to learn, to choose and to judge takes at least three."
        )
    if n_groups == len(documents):
        raise InputError(
            f"column {column!r} has another value for every document: groups of one document change nothing, leave it "
            "out."
        )
    if folds is not None:
        _check_folds(folds, n_groups, "groups")
        parts = GroupKFold(folds, shuffle=True, random_state=random_state).split(documents, groups=groups)
        tests = [test for _, test in parts]
    else:
        shuffle = GroupShuffleSplit(_DRAWS, test_size=TEST_SHARE, random_state=random_state)
        tests = [_nearest_share(TEST_SHARE, (test for _, test in shuffle.split(documents, groups=groups)), len(groups))]
    splits = []
    for test in tests:
        rest = np.setdiff1d(np.arange(len(documents)), test)
        if len(np.unique(groups[rest])) < 2:
            raise InputError(f"column {column!r} leaves one group to learn from and to choose by: take another.")
        inner = GroupShuffleSplit(_DRAWS, test_size=DEV_SHARE, random_state=random_state)
        dev = _nearest_share(DEV_SHARE, (dev for _, dev in inner.split(rest, groups=groups[rest])), len(rest))
        train = np.setdiff1d(np.arange(len(rest)), dev)
        splits.append(Split(documents[rest[train]], documents[rest[dev]], documents[test]))
    share = round(100 * len(tests[0]) / len(documents))
    fold = f"in {folds} folds" if folds is not None else f"judged on some of them, {share} % of the documents"
    how = f"whole groups of {column} ({n_groups:,}), {fold}{_without(column, known, documents)}"
    return Plan(tuple(splits), how, codes.astype(np.int64))


def _without(column: str, known: np.ndarray, documents: np.ndarray) -> str:
    """How many documents are not used, since they have no value to split by."""
    left_out = int(known.sum()) - len(documents)
    return f"; {left_out:,} documents without a value of {column} are left out" if left_out else ""


def _nearest_share(share: float, draws: Iterable[np.ndarray], n: int) -> np.ndarray:
    """The first of some draws of groups that has about this share of n documents, else the one that comes nearest."""
    seen: list[tuple[float, np.ndarray]] = []
    for draw in draws:
        seen.append((abs(math.log(len(draw) / (share * n))), draw))
        if seen[-1][0] <= math.log(_NEAR):
            return draw
    return min(seen, key=lambda one: one[0])[1]


def _by_time(metadata: pd.DataFrame, column: str, known: np.ndarray) -> Plan:
    if column not in metadata.columns:
        raise InputError(f"there is no column {column!r} to order documents by.")
    at = _ranks_in_time(metadata[column], column)
    documents = np.flatnonzero(known & (at >= 0))
    if len(np.unique(at[documents])) < 3:
        words = metadata[column].dropna()
        unread = len(words) and (at < 0).all()
        hint = f"; {str(words.iloc[0])!r} is not understood as a date, write 2024-01-31" if unread else ""
        raise InputError(
            f"column {column!r} does not order the documents with a target: fewer than three different times{hint}."
        )
    order = documents[np.argsort(at[documents], kind="stable")]
    last = _border(at[order], 1.0 - TEST_SHARE, 2)
    before = _border(at[order[:last]], 1.0 - DEV_SHARE, 1)
    parts = (order[:before], order[before:last], order[last:])
    split = Split(*(np.sort(part) for part in parts))
    share = round(100 * len(split.test) / len(documents))
    how = f"judged on the latest documents by {column}, {share} % of them{_without(column, known, documents)}"
    return Plan((split,), how)


def _border(moments: np.ndarray, share: float, least: int) -> int:
    """Where to cut ascending moments, none torn apart: near a share of them, with at least so many moments before."""
    starts = np.flatnonzero(np.diff(moments)) + 1  # of every moment but the first
    return int(starts[least - 1 :][np.argmin(np.abs(starts[least - 1 :] - share * len(moments)))])


def _ranks_in_time(values: pd.Series, column: str) -> np.ndarray:
    """int64 (N,): the rank in time of each value, numbers or dates; -1 for none. Raises InputError for a column without
    dates, and for one of which nothing tells where in a date the day is."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        when = values
    else:
        words = values.dropna().astype(str)
        words = words[~words.map(is_no_date)].str.strip().reindex(values.index)
        when = _months(words)
        if when is None:
            when = pd.to_numeric(words, errors="coerce")
            if when.notna().equals(words.notna()):
                _refuse_days_first(words.dropna(), column)
            else:  # some are no numbers: then none is one
                when = _moments(words, column)
    return np.where(when.notna(), pd.factorize(when, sort=True)[0], -1)


def _months(words: pd.Series) -> pd.Series | None:
    """Months since the year 0, of a column of months alone: 03.2019, 3/2019; None for another."""
    parts = words.dropna().str.extract(_MONTH_YEAR.pattern)
    if not len(parts) or parts.isna().to_numpy().any():
        return None
    month, year = parts[0].astype(int), parts[1].astype(int)
    return (12 * year + month - 1).astype(float).reindex(words.index) if month.between(1, 12).all() else None


def _refuse_days_first(words: pd.Series, column: str) -> None:
    """InputError for dates without marks and the year behind, 25062019, which are no numbers in their order."""
    behind = len(words) > 0 and words.str.fullmatch(_YEAR_BEHIND.pattern).all()
    if behind and not words.str.fullmatch(r"(1[5-9]|20)\d{6}").all():
        raise InputError(
            f"column {column!r} does not order documents by time: in {words.iloc[0]!r} the year stands behind. Write "
            "2024-01-31."
        )


def _moments(words: pd.Series, column: str) -> pd.Series:
    """Dates as files have them, by the whole column; else in any form in which the order of its parts is plain."""
    found = read_dates([None if pd.isna(word) else word for word in words])
    if found.series is not None:
        return found.series.set_axis(words.index)
    if found.two_readings or found.short_year:
        why = f"nothing tells which number of {found.two_readings!r} is the day"
        why = f"the year of {found.short_year!r} has two digits" if found.short_year else why
        raise InputError(f"column {column!r} does not order documents by time: {why}. Write 2024-01-31.")
    plain = words.str.contains(r"^\d{4}|[A-Za-z]{3}", regex=True, na=False)
    return pd.to_datetime(words.where(plain), errors="coerce", format="mixed", utc=True)


def share_of(train: np.ndarray, share: float, random_state: int, target: Target) -> np.ndarray:
    """The first documents of a seeded order, with at least one of every class."""
    if share >= 1.0:
        return train
    order = np.random.default_rng(random_state).permutation(train)
    size = max(round(share * len(train)), 2)
    if target.values is not None:
        return np.sort(order[:size])
    _, first = np.unique(target.labels.y[order], return_index=True)
    rest = np.setdiff1d(np.arange(len(order)), first, assume_unique=True)
    return np.sort(order[np.concatenate([first, rest])[: max(size, len(first))]])
