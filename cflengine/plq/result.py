"""What a solve of (P) leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.results import Result
from cflengine.plq.certificate import FEASIBLE


@dataclass(frozen=True, kw_only=True)
class PLQResult(Result):
    """A solution of (P) and what is proved about it.

    w: float64 (d,), β; bias: β₀. lam (n, L), gam (n, H), xi (K,): float64, the duals behind ``lower_bound``. violation:
    the largest of the constraints, relative; where it is above 1e-9, objective and gap are estimates. support: weights
    that are not 0. n_screened: observations that were proved to be done.
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
