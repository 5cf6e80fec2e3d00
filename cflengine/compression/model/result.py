"""What a solve of problem (1) leaves behind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cflengine.compression.model.branching import PREFIX, Branching, from_arrays, to_arrays
from cflengine.compression.model.certificate import Certificate
from cflengine.engine.results import Result


@dataclass(frozen=True)
class StageSnapshot:
    """The homotopy as it stood at the end of one value of ζ.

    Parameters
    ----------
    zeta : float
        ζ.
    iteration : int
        Steps so far.
    objective : float
        Of the binary solution ψ as the step left it.
    relaxation : float
        The relaxed objective, an estimate.
    n_pointers : int
        Of ψ.
    dictionary_size : int
        Of ψ.
    binary_share : float
        Of the pointers with w > 0.01, the share with w ≥ 0.99.
    repaired : float
        Objective of ψ re-encoded with its own dictionary.
    stays_optimal : float
        At ζ = 0 the least, over tokens, of the largest w of a pointer that covers it: up to this ζ the relaxation's w
        is feasible, so optimal, in problem (3). An estimate, as w is; NaN at other ζ, and where ζ = 0 was cut short.
    cover : ndarray
        uint8 (n,), ψ: bit k-1 of cover[i] is the pointer of length k at token i.
    weights : ndarray or None, default: None
        uint8 (K, n), w in steps of 1/255; None for a corpus too large to keep it.
    """

    zeta: float
    iteration: int
    objective: float
    relaxation: float
    n_pointers: int
    dictionary_size: int
    binary_share: float
    repaired: float
    stays_optimal: float
    cover: np.ndarray = field(repr=False)
    weights: np.ndarray | None = field(repr=False, default=None)

    def summary(self) -> dict[str, float | int]:
        """The scalars."""
        arrays = ("cover", "weights")
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in arrays}


@dataclass(frozen=True, kw_only=True)
class CompressionResult(Result):
    """A compressed corpus and what is proved about it.

    Parameters
    ----------
    objective : float
        At the solution, recomputed from the data (see ``certificate``).
    lower_bound : float
        On dictionaries of K-grams of up to K words at these costs, recomputed from the data and rounded outward.
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
    cover : ndarray
        uint8 (n,), the pointers.
    dictionary : ndarray
        int32, the K-grams used, ascending.
    alpha : ndarray
        float64 (n,), the dual price of every token.
    certificate : Certificate
        What was recomputed.
    relaxation : float
        Value of the continuous iterate at the end of ζ = 0, an estimate.
    relaxation_upper : float
        The relaxed objective at a feasible point near it, proved.
    unverified_bound : float, default: nan
        Of the exact solver: what HiGHS's branch and bound says is proved, to its tolerances. Not recomputed, no part of
        the gap; NaN of other solvers.
    digest : str, default: ''
        Of the corpus, words included; empty where an index was solved without its words.
    branchings : tuple[Branching, ...], default: ()
        Trees that bound some parts better than their prices do (model/branching.py); where there are none, Σ alpha is
        ``lower_bound`` up to rounding.
    stages : tuple[StageSnapshot, ...], default: ()
        Of the homotopy, if asked for; they are not saved.
    """

    cover: np.ndarray = field(repr=False)
    dictionary: np.ndarray = field(repr=False)
    alpha: np.ndarray = field(repr=False)
    certificate: Certificate
    relaxation: float
    relaxation_upper: float
    unverified_bound: float = math.nan
    digest: str = ""
    branchings: tuple[Branching, ...] = field(repr=False, default=())
    stages: tuple[StageSnapshot, ...] = field(repr=False, default=())

    @property
    def n_pointers(self) -> int:
        return self.certificate.n_pointers

    @property
    def dictionary_size(self) -> int:
        return self.certificate.dictionary_size

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no dictionary of K-grams of up to K words is cheaper (model/certificate.py)."""
        return self.certificate.optimal

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, the trace and the stages, as plain numbers and strings."""
        own = {"n_pointers": self.n_pointers, "dictionary_size": self.dictionary_size, "optimal": self.optimal}
        return super().to_dict() | own | {"certificate": self.certificate.to_dict()}

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that are arrays, and those of the branchings."""
        return super().arrays() | to_arrays(self.branchings)

    def proof_arrays(self) -> dict[str, np.ndarray]:
        """What proves the bound, for ``proof.npz``: dual prices and branching trees."""
        return {"alpha": self.alpha} | to_arrays(self.branchings)

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        own = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
        return own | {"branchings": from_arrays(arrays)}

    @classmethod
    def _from_facts(cls, facts: dict[str, Any]) -> dict[str, Any]:
        return super()._from_facts(facts) | {"certificate": Certificate(**facts["certificate"])}
