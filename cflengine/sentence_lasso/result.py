"""What a solve of (P) leaves behind: one frozen result, saved as JSON and npz, never as a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cflengine.engine.progress import TerminationReason
from cflengine.engine.results import settings_dict
from cflengine.sentence_lasso.problem import SentenceGroups, SentenceProblem


@dataclass(frozen=True)
class SentenceResult:
    """A solution of (P) and what is proved about it.

    w: float64 (V,); bias; copies: float64 (E,), v of ADMM, else None. alpha: float64 (D,), multipliers: float64 (E,):
    the dual point that proves the bound (certificate.dual_bound).
    objective: of (P) at (w, bias); lower_bound: proved; gap = (objective − bound)/bound. reason: "converged" by the gap
    asked for, or by ADMM's own rule, which proves nothing. early_stopped: whether it ended before its gap did, so that
    the model depends on ρ or on when it was stopped. settings: λ and the solver's.
    """

    w: np.ndarray = field(repr=False)
    bias: float
    alpha: np.ndarray = field(repr=False)
    multipliers: np.ndarray = field(repr=False)
    copies: np.ndarray | None = field(repr=False)
    objective: float
    lower_bound: float
    gap: float
    reason: TerminationReason
    early_stopped: bool
    n_iterations: int
    seconds: float
    solver: str
    settings: Mapping[str, Any]
    trace: pd.DataFrame = field(repr=False)

    @property
    def support(self) -> int:
        """Number of features whose weight is not 0."""
        return int(np.count_nonzero(self.w))

    def sentence_strength(self, groups: SentenceGroups) -> np.ndarray:
        """float64 (S,): ‖v_{d,s}‖ of every training sentence where there are copies v, else ‖w_{d,s}‖."""
        copies = groups.copies(self.w) if self.copies is None else self.copies
        norms = np.append(groups.norms(copies), 0.0)  # -1: a sentence without any feature
        return norms[groups.of_sentence]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays and the trace, as plain numbers and strings."""
        names = (
            "objective",
            "lower_bound",
            "gap",
            "bias",
            "n_iterations",
            "seconds",
            "solver",
            "support",
        )
        facts = {name: getattr(self, name) for name in (*names, "early_stopped")}
        return facts | {"reason": str(self.reason), "settings": dict(self.settings)}


def settings_of(problem: SentenceProblem, settings: Any) -> dict[str, Any]:
    """λ and the solver's settings, as plain values."""
    return {"lam_sen": problem.lam_sen, "lam_las": problem.lam_las} | settings_dict(settings)
