"""The regularisers of the paper's tables as cases of (P), on one set of training data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError, check_choice, is_number
from cflengine.sentence_lasso.model.margin_loss import LOSSES
from cflengine.sentence_lasso.model.problem import SentenceGroups, SentenceProblem, merge_sentences, no_sentences

if TYPE_CHECKING:
    from cflengine.sentence_lasso.solvers.iterate import Columns, Iterate

#: kind -> the penalties it has. lam_rid is λ_rid of λ_rid‖w‖² (ridge, elastic), or ρ of ρ/2 Σ N_i w_i² (frequency).
PENALTIES = {
    "sentence": ("lam_sen", "lam_las"),
    "frequency": ("lam_rid", "lam_las"),
    "elastic": ("lam_rid", "lam_las"),
    "ridge": ("lam_rid",),
    "lasso": ("lam_las",),
}

#: what λ_sen is multiplied by for a group: 1, or the square root of its number of tokens
GROUP_WEIGHTS = ("equal", "length")


def checked_lam(value: Any, name: str, *, or_zero: bool = False) -> float:
    """A regularisation parameter. Raises InputError unless it is a number above 0, or 0 where that is allowed."""
    if not (is_number(value) and (0 < value < np.inf or (or_zero and value == 0))):
        raise InputError(f"{name} must be a number {'not below' if or_zero else 'above'} 0, not {value!r}.")
    return float(value)


@dataclass(frozen=True)
class Penalty:
    """A regulariser and its parameters, 0 for those that the kind has not.

    Parameters
    ----------
    kind : str, default: 'sentence'
        A key of :data:`PENALTIES`.
    lam_sen : float, default: 0.0
        λ_sen, of the groups.
    lam_las : float, default: 0.0
        λ_las, of the lasso; 0 beside λ_sen for the groups alone.
    lam_rid : float, default: 0.0
        λ_rid, of ridge.

    Raises
    ------
    ValueError for an unknown kind or a parameter that is not a positive finite number.
    """

    kind: str = "sentence"
    lam_sen: float = 0.0
    lam_las: float = 0.0
    lam_rid: float = 0.0

    def __post_init__(self) -> None:
        check_choice(self.kind, "penalty", PENALTIES)
        for name in ("lam_sen", "lam_las", "lam_rid"):
            value = getattr(self, name)
            if name in PENALTIES[self.kind]:
                # without a lasso sentences stand alone, section 5.3
                checked_lam(value, name, or_zero=(self.kind, name) == ("sentence", "lam_las"))
            elif value != 0:
                raise InputError(f"the {self.kind} penalty has no {name}.")

    @property
    def parameters(self) -> dict[str, float]:
        """Those that the kind has."""
        return {name: float(getattr(self, name)) for name in PENALTIES[self.kind]}

    @property
    def of_estimator(self) -> dict[str, Any]:
        """The same as parameters of the estimator that has this penalty."""
        if self.kind == "sentence":
            return {"lam_sen": self.lam_sen, "l1": self.lam_las}
        half = 2.0 if self.kind in ("ridge", "elastic") else 1.0
        return {"penalty": self.kind, "l1": self.lam_las or 1.0, "l2": half * self.lam_rid or 1.0}


@dataclass(frozen=True)
class TrainingData:
    """What a regulariser is fitted to: D documents, S sentences, V features.

    Parameters
    ----------
    X : csr_matrix
        float64 (D, V), counts by document.
    counts : csr_matrix
        float64 (S, V), by sentence.
    weight : ndarray or None, default: None
        float64 (D,), of the documents, above 0; None for 1.
    by_length : bool, default: False
        Whether λ_sen goes by the sentences' lengths.
    loss : str, default: 'log'
        A key of :data:`~cflengine.sentence_lasso.model.margin_loss.LOSSES`.
    """

    X: sparse.csr_matrix
    counts: sparse.csr_matrix
    weight: np.ndarray | None = None
    by_length: bool = False
    loss: str = "log"

    @cached_property
    def columns(self) -> Columns:
        """X in the kernels' layout."""
        from cflengine.sentence_lasso.solvers.iterate import columns_of  # compiled code, which a check does without

        return columns_of(self.X)

    @cached_property
    def groups(self) -> SentenceGroups:
        """The sentences, equal ones merged."""
        return merge_sentences(self.counts, self.by_length)

    @cached_property
    def occurrences(self) -> np.ndarray:
        """float64 (V,): N_j, how often each feature occurs."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()

    def problem(self, y: np.ndarray, penalty: Penalty) -> SentenceProblem:
        """(P) for labels y (D,), −1 or 1."""
        n_features = self.X.shape[1]
        kappa = np.zeros(n_features)
        if penalty.kind == "frequency":
            kappa = penalty.lam_rid * self.occurrences
        elif penalty.kind in ("ridge", "elastic"):
            kappa = np.full(n_features, 2.0 * penalty.lam_rid)
        groups = self.groups if penalty.kind == "sentence" else no_sentences()
        if penalty.kind == "sentence" and penalty.lam_las == 0 and not groups.occurrences(n_features).all():
            raise InputError("a feature is in no sentence, and nothing else holds its weight: lam_las must be above 0.")
        lams = float(penalty.lam_las), float(penalty.lam_sen)
        return SentenceProblem(self.X, y, groups, *lams, kappa, self.weight, LOSSES[self.loss])

    def start(self, y: np.ndarray, penalty: Penalty, w: np.ndarray | None = None, bias: float = 0.0) -> Iterate:
        """Where a solver begins: at 0, or at ``w``, the solution of a similar problem."""
        from cflengine.sentence_lasso.solvers.iterate import Iterate

        return Iterate(self.problem(y, penalty), self.columns, w, bias)
