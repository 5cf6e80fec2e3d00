"""What a solve of (P) leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cflengine.engine.results import Result, settings_dict
from cflengine.sentence_lasso.model.problem import SentenceGroups, SentenceProblem


@dataclass(frozen=True, kw_only=True)
class SentenceResult(Result):
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
        "converged" by the gap asked for, or by ADMM's own rule, which proves nothing; or what else ended it.
    n_iterations : int
        Of the solver.
    n_passes : float
        Over the data.
    seconds : float
        Of solver time.
    solver : str
        Its name.
    settings : Mapping[str, Any]
        λ and the solver's.
    events : tuple[IterationStats, ...] or DataFrame
        Those of the solve, or the table that they were saved as.
    w : ndarray
        float64 (V,).
    bias : float
        β₀.
    alpha : ndarray
        float64 (D,), with ``multipliers`` the dual point that proves the bound (certificate.dual_bound).
    multipliers : ndarray
        float64 (E,).
    copies : ndarray or None, default: None
        float64 (E,), v of ADMM that belong to w; None of other solvers.
    early_stopped : bool
        Whether it ended before its gap did, so that the model depends on ρ or on when it was stopped.
    """

    w: np.ndarray = field(repr=False)
    bias: float
    alpha: np.ndarray = field(repr=False)
    multipliers: np.ndarray = field(repr=False)
    copies: np.ndarray | None = field(repr=False, default=None)
    early_stopped: bool

    @property
    def support(self) -> int:
        """Number of features whose weight is not 0."""
        return int(np.count_nonzero(self.w))

    def sentence_norms(self, groups: SentenceGroups, *, by: str = "copies") -> np.ndarray:
        """float64 (S,) for every training sentence: by "copies" ‖v_{d,s}‖, the paper's choice (§5.4), where there are
        any; by "weights", and else, ‖w_{d,s}‖."""
        own = self.copies if by == "copies" and self.copies is not None else groups.copies(self.w)
        norms = np.append(groups.norms(own), 0.0)  # -1: a sentence without any feature
        return norms[groups.of_sentence]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays and the trace, as plain numbers and strings."""
        return super().to_dict() | {"support": self.support}


def settings_of(problem: SentenceProblem, settings: Any) -> dict[str, Any]:
    """λ and the solver's settings, as plain values."""
    return {"lam_sen": problem.lam_sen, "lam_las": problem.lam_las} | settings_dict(settings)
