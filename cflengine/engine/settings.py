"""What the settings of every solver have, under one name each."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cflengine.engine.checks import InputError, check_positive, is_number


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a solver ends: what all solvers share.

    tol: proved relative gap, objective/bound − 1, at which it ends; None: no gap ends it. time_limit: seconds of solver
    time (listeners excluded), None for no limit.

    Raises ValueError for a value out of range, as all settings do.
    """

    tol: float | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.tol is not None and not (is_number(self.tol) and 0 <= self.tol < math.inf):
            raise InputError(f"tol must be a number from 0 on, or None, not {self.tol!r}.")
        check_positive(self, ("time_limit",), optional=("time_limit",))
