"""What a solve of f leaves behind: one frozen result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.progress import TerminationReason
from cflengine.loglinear.clustered import Clusters


@dataclass(frozen=True)
class LoglinearResult:
    """A solution of f and what is proved about it.

    w: float64 (weights,). objective: f(w); lower_bound: proved; gap = objective/bound − 1: recomputed from the data by
    certificate.py. alpha: float64 (n,), the dual point behind the bound, of solvers that have one, else None. n_passes:
    over the data. trajectories: float64 (events, watched), the watched weights at every row of ``trace``. clusters: of
    every coarse phase, with its first row of the trace. why: what "auto" did, "" of any other solver.
    """

    w: np.ndarray = field(repr=False)
    objective: float
    lower_bound: float
    gap: float
    reason: TerminationReason
    n_iterations: int
    n_passes: float
    seconds: float
    solver: str
    why: str
    settings: Mapping[str, Any]
    trace: pd.DataFrame = field(repr=False)
    alpha: np.ndarray | None = field(repr=False)
    trajectories: np.ndarray = field(repr=False)
    clusters: tuple[tuple[int, Clusters], ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays and the trace, as plain numbers and strings."""
        names = ("objective", "lower_bound", "gap", "n_iterations", "n_passes", "seconds", "solver", "why")
        facts = {name: getattr(self, name) for name in names}
        return facts | {"reason": str(self.reason), "settings": dict(self.settings)}
