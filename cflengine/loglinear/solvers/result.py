"""What a solve of f leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.results import Result
from cflengine.loglinear.solvers.clustered import Clusters


@dataclass(frozen=True, kw_only=True)
class LoglinearResult(Result):
    """A solution of f and what is proved about it.

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
        float64 (weights,).
    why : str
        What "auto" did; "" of any other solver.
    alpha : ndarray or None, default: None
        float64 (n,), the dual point behind the bound; None of solvers without one.
    proof_w : ndarray or None, default: None
        float64 (weights,), whose predictions prove the bound, where those of w prove less; else None.
    trajectories : ndarray
        float64 (events, watched), the watched weights at every row of ``trace``.
    clusters : tuple[tuple[int, Clusters], ...], default: ()
        Of every coarse phase, with its first row of the trace; they are not saved.
    """

    w: np.ndarray = field(repr=False)
    why: str
    alpha: np.ndarray | None = field(repr=False, default=None)
    proof_w: np.ndarray | None = field(repr=False, default=None)
    trajectories: np.ndarray = field(repr=False)
    clusters: tuple[tuple[int, Clusters], ...] = field(repr=False, default=())
