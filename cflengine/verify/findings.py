"""What a check found: the numbers that were recomputed, or the first thing that is wrong."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from zipfile import is_zipfile

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.files import NPZ_DAMAGE
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import TerminationReason
from cflengine.plq.certificate import FEASIBLE
from cflengine.text.reading.budget import watch_at_hand
from cflengine.text.reading.delimited import long_fields

PROOF, MODEL = "proof.npz", "model.cflm"
_SAME = 1e-9  # relative: sums of the same numbers in another order differ by less


Item = TypeVar("Item")


def with_progress(items: Collection[Item], stage: str, unit: str) -> Iterator[Item]:
    """The items, each told of when it is done; stage: what is done with them, unit: what they are called."""
    watch = watch_at_hand()
    watch.begin(stage, unit, len(items))
    for done, item in enumerate(items, 1):
        yield item
        watch.at(done)


class FalseResult(Exception):
    """The files of a run say something that is not so; the message says what."""


class CannotVerifyError(InputError):
    """A run of a kind or of a version that lacks what a proof needs; nothing in it need be wrong."""


@dataclass(frozen=True)
class Finding:
    """One result that was recomputed: its objective (rounded up), proved bound (rounded down), gap, and what else was
    checked, a line each. notes: what could not be checked, a line each. summary: told instead of the three numbers,
    where the result is no optimum.
    """

    name: str
    objective: float
    lower_bound: float
    gap: float
    checked: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    summary: str = ""


def require(condition: bool, message: str) -> None:
    """FalseResult unless it is so."""
    if not condition:
        raise FalseResult(message)


def require_same(said: Any, found: float, what: str) -> None:
    """FalseResult unless a number of the report is the recomputed one."""
    good = isinstance(said, int | float) and not isinstance(said, bool) and close(float(said), found)
    require(good, f"the report says {what} {said!r}, but it is {found!r}.")


def close(first: float, second: float) -> bool:
    """Whether two numbers are the same up to the order of summation."""
    return math.isclose(first, second, rel_tol=_SAME)


def require_bound(report: dict[str, Any], bound: float) -> None:
    """FalseResult unless the report's bound is the one that is proved."""
    said = report.get("lower_bound")
    good = isinstance(said, int | float) and close(float(said), bound)
    require(good, f"the report says a bound of {said!r}, but {bound!r} is what is proved.")


def require_gap(report: dict[str, Any], objective: float, bound: float, price: float = 0.0) -> None:
    """FalseResult unless the report's gap follows from what was recomputed, and from the report's own numbers; price:
    of constraints that are failed by, which is added to the objective."""
    said = report.get("gap")
    require_gap_of(said, relative_gap(objective + price, bound))
    if said is None:
        return
    own = relative_gap(report["objective"] + price, report["lower_bound"])
    require(abs(float(said) - own) <= 1e-12 * (1.0 + own), f"the report says a gap of {said!r}, but it is {own!r}.")


def require_gap_of(said: Any, found: float, who: str = "the report says") -> None:
    """FalseResult unless a gap that ``who`` says is the recomputed one: of two numbers that are all but the same; none
    (None) where none is proved."""
    if said is None or not math.isfinite(found):
        require(said is None, f"{who} a gap of {said!r}, but none is proved.")
        require(not math.isfinite(found), f"{who} no gap, but one of {found!r} is proved.")
        return
    number = isinstance(said, int | float) and not isinstance(said, bool)
    good = number and abs(float(said) - found) <= 1e-8 * (1.0 + found)
    require(good, f"{who} a gap of {said!r}, but it is {found!r}.")


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises FalseResult where it cannot be read."""
    return list(each_row(path))


def each_row(path: Path) -> Iterator[dict[str, str]]:
    """The same one by one, for files of a row a document."""
    try:
        with path.open(encoding="utf-8", newline="") as file, long_fields():
            yield from csv.DictReader(file)
    except (OSError, ValueError, csv.Error) as error:
        raise FalseResult(f"'{path}' cannot be read: {error}.") from error


def check_table(path: Path, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Columns of numbers of a CSV file are those of the report's rows, where None stands for what is no number."""
    table = [{name: row[name] for name in columns} for row in rows_of(path)]
    require(len(table) == len(rows), f"{path.name} has {len(table)} rows, the report {len(rows)}.")
    for own, said in zip(table, rows, strict=True):
        for name, cell in own.items():
            value, number = float(cell or "nan"), math.nan if said[name] is None else float(said[name])
            same = close(value, number) if math.isfinite(value) else not math.isfinite(number)
            require(same, f"{path.name} says a {name} of {cell!r}, the report {said[name]!r}.")


def check_reasons(said: Any, where: str) -> None:
    """FalseResult for a solve that ended for a reason there is none of; said: values that JSON has."""
    if isinstance(said, dict) and isinstance(said.get("reason"), str):
        unknown = set(said["reason"].split(", ")) - set(map(str, TerminationReason))
        require(not unknown, f"{where} says that a solve ended by {said['reason']!r}.")
    for inside in said.values() if isinstance(said, dict) else said if isinstance(said, list) else ():
        check_reasons(inside, where)


def check_trace(path: Path, found: list[tuple[float, float]]) -> None:
    """No row of a trace says what the results make impossible: a bound above an objective that was reached, or the
    other way round; and its gap follows from its numbers. found: objective and bound of each fit, as recomputed."""
    for row in rows_of(path) if path.exists() else ():  # that it is gone is said
        if float(row.get("violation") or 0.0) > FEASIBLE:
            continue  # the objective of a point that is not allowed may be anything, and there may be no best one yet
        objective, bound = found[int(row.get("fit") or 0)]
        best, proved, gap = (float(row[name] or "nan") for name in ("best_objective", "lower_bound", "gap"))
        slack = _SAME * max(abs(objective), abs(bound))
        at = f"{path.name} says in iteration {row['iteration']}"
        require(not proved > objective + slack, f"{at} a bound of {proved!r}, but {objective!r} was reached.")
        require(not best < bound - slack, f"{at} an objective of {best!r}, but no less than {bound!r} is possible.")
        own = relative_gap(best, proved)
        if math.isfinite(gap) and not (gap > own and float(row.get("violation") or 0.0) > 0.0):
            require_gap_of(gap, own, at)  # constraints that are failed by, however little, add to a gap


def sound(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """A sparse matrix of a file, whose numbers of columns and borders of rows are such. Raises FalseResult."""
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise FalseResult(f"a matrix of the files is damaged: {error}.") from error
    return matrix


def read_proof(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of a run's proof.npz. CannotVerifyError where the run wrote none, FalseResult where it is damaged."""
    if not (folder / PROOF).exists():
        raise CannotVerifyError(f"the run wrote no {PROOF}, so nothing can be proved.")
    try:
        if not is_zipfile(folder / PROOF):
            raise OSError("it is no npz file")
        with np.load(folder / PROOF, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, *NPZ_DAMAGE) as error:
        raise FalseResult(f"{PROOF} cannot be read, so nothing can be proved: {error}.") from error


def proof_array(proof: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """One of the arrays of proof.npz. FalseResult where it is not there, and for what is no number."""
    require(name in proof, f"{PROOF} has no {name}, so nothing can be proved.")
    require(bool(np.isfinite(proof[name]).all()), f"{name} of {PROOF} holds what is no number.")
    return proof[name]


def read_report(folder: Path) -> dict[str, Any]:
    """report.json of a run. InputError where there is none, or none that can be read."""
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"'{folder}' has no report.json: it is no output folder, or its run did not end.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"report.json of '{folder}' cannot be read: {error}.") from error
    if not isinstance(report, dict):
        raise InputError(f"report.json of '{folder}' is not a report.")
    return report
