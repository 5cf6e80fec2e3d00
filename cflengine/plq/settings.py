"""Every parameter of the solver."""

from __future__ import annotations

from dataclasses import dataclass

from cflengine.engine.checks import check_positive, check_whole
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class DescentSettings(Limits):
    """Settings of the primal-dual coordinate descent.

    Parameters
    ----------
    tol : float or None, default: 0.0001
        Relative gap at which it ends, proved.
    time_limit : float or None, default: None
        Seconds of solver time, listeners excluded; None for no limit.
    max_iter : int, default: 10000
        Passes at most.
    shrinking : bool, default: True
        Observations that are done are set aside until the rest is solved.
    screening : bool, default: True
        Observations that a proved gap shows to be done are never visited again.
    check_every : int, default: 20
        Passes between two proofs of the gap, up to ten times as many later on, if the solver's own estimate does not
        ask for one earlier.
    newton : bool, default: True
        Newton's method takes over where features are few and it would be sooner.
    extrapolation : bool, default: True
        Where few observations are left, five passes tell where the next ones lead (Anderson's method).
    random_state : int, default: 0
        Of the order in which observations are visited.
    """

    tol: float | None = 1e-4
    max_iter: int = 10_000
    shrinking: bool = True
    screening: bool = True
    check_every: int = 20
    newton: bool = True
    extrapolation: bool = True
    random_state: int = 0

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        check_positive(self, ())
        check_whole(self, {"max_iter": 1, "check_every": 1, "random_state": 0})
