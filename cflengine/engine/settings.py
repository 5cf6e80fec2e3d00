"""What the settings of every solver have, under one name each."""

from __future__ import annotations

from dataclasses import dataclass

from cflengine.engine.checks import check_positive


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
        or_zero = () if self.tol == 0 and not isinstance(self.tol, bool) else ("tol",)
        check_positive(self, ("time_limit", *or_zero), optional=("tol", "time_limit"))
