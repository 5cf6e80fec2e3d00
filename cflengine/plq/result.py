"""What a solve of (P) leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.results import Result
from cflengine.plq.certificate import FEASIBLE


@dataclass(frozen=True, kw_only=True)
class PLQResult(Result):
    """A solution of (P) and what is proved about it.

    Parameters
    ----------
    objective : float
        At the solution, recomputed from the data.
    lower_bound : float
        On the best objective, recomputed from the data and rounded outward.
    gap : float
        objective / lower_bound − 1, rounded outward.
    reason : TerminationReason
        Why the solver ended.
    n_iterations : int
        Of the solver.
    n_passes : float
        Over the data.
    seconds : float
        Of solver time.
    solver : str
        Its name.
    settings : Mapping[str, Any]
        Every parameter.
    events : tuple[IterationStats, ...] or DataFrame
        Those of the solve, or the table that they were saved as.
    w : ndarray
        float64 (d,), β.
    bias : float
        β₀.
    lam : ndarray
        float64 (n, L), with ``gam`` and ``xi`` the duals behind ``lower_bound``.
    gam : ndarray
        float64 (n, H).
    xi : ndarray
        float64 (K,).
    violation : float
        The largest of the constraints, relative; where it is above 1e-9, objective and gap are estimates.
    support : int
        Weights that are not 0.
    n_screened : int
        Observations that were proved to be done.
    """

    w: np.ndarray = field(repr=False)
    bias: float
    lam: np.ndarray = field(repr=False)
    gam: np.ndarray = field(repr=False)
    xi: np.ndarray = field(repr=False)
    violation: float
    support: int
    n_screened: int

    @property
    def is_proved(self) -> bool:
        """Whether objective and gap are those of weights that the constraints allow."""
        return self.violation <= FEASIBLE
