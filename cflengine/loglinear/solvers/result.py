"""What a solve of f leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.results import Result
from cflengine.loglinear.solvers.clustered import Clusters


@dataclass(frozen=True, kw_only=True)
class LoglinearResult(Result):
    """A solution of f and what is proved about it.

    w: float64 (weights,). alpha: float64 (n,), the dual point behind the bound, of solvers that have one, else None.
    proof_w: float64 (weights,), whose predictions prove the bound, where those of w prove less; else None.
    trajectories: float64 (events, watched), the watched weights at every row of ``trace``. clusters: of every coarse
    phase, with its first row of the trace; they are not saved. why: what "auto" did, "" of any other solver.
    """

    w: np.ndarray = field(repr=False)
    why: str
    alpha: np.ndarray | None = field(repr=False, default=None)
    proof_w: np.ndarray | None = field(repr=False, default=None)
    trajectories: np.ndarray = field(repr=False)
    clusters: tuple[tuple[int, Clusters], ...] = field(repr=False, default=())
