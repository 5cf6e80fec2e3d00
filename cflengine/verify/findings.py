"""What a check found: the numbers that were recomputed, or the first thing that is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cflengine.engine.checks import InputError

_SAME = 1e-9  # relative: sums of the same numbers in another order differ by less


class FalseResult(Exception):
    """The files of a run say something that is not so; the message says what."""


@dataclass(frozen=True)
class Finding:
    """One result that was recomputed: its objective (rounded up), proved bound (rounded down), gap, and what else was
    checked, a line each. notes: what could not be checked, a line each."""

    name: str
    objective: float
    lower_bound: float
    gap: float
    checked: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())


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
    if math.isnan(first) or math.isnan(second) or math.isinf(first) or math.isinf(second):
        return first == second
    return abs(first - second) <= _SAME * max(abs(first), abs(second))


def require_gap(report: dict[str, Any], objective: float, bound: float) -> None:
    """FalseResult unless the report's gap follows from what was recomputed, and from the report's own numbers."""
    said = report.get("gap")
    found = objective / bound - 1.0 if bound > 0 else math.inf
    if said is None:
        require(not math.isfinite(found), f"the report has no gap, but one of {found!r} is proved.")
        return
    good = isinstance(said, int | float) and abs(float(said) - found) <= 1e-8 * (1.0 + found)
    own = report["objective"] / report["lower_bound"] - 1.0 if report["lower_bound"] else math.inf
    good = good and abs(float(said) - own) <= 1e-12 * (1.0 + own)
    require(good, f"the report says a gap of {said!r}, but it is {found!r}.")


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
