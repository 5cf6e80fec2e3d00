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

    w: float64 (V,); bias; copies: float64 (E,), v of ADMM that belong to w, else None. alpha: float64 (D,),
    multipliers: float64 (E,): the dual point that proves the bound (certificate.dual_bound). reason: "converged" by the
    gap asked for, or by ADMM's own rule, which proves nothing. early_stopped: whether it ended before its gap did, so
    that the model depends on ρ or on when it was stopped. settings: λ and the solver's.
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
