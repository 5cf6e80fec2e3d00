"""Every parameter of the guided solver (guided/solver.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cflengine.compression.search.refine import LEAST_GAIN, PATIENCE
from cflengine.engine.checks import InputError, check_positive, check_whole
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class GuidedSettings(Limits):
    """The defaults prove about a thousandth.

    Parameters
    ----------
    tol : float, default: 0.001
        The relative gap at which it ends, proved.
    time_limit : float or None, default: None
        Seconds, or None for none.
    relaxation_gap : float or None, default: None
        Solve the relaxation to this relative gap, None for a quarter of ``tol``.
    relaxation_iterations : int, default: 2000
        Steps of the relaxation at most.
    relaxation_only : bool, default: False
        Round and certify then; the relaxation's gap is then proved, too.
    rho : float or None, default: None
        None for 0.5·√(pointer cost · dictionary cost)/(1 + .. + K), usual ones of both.
    over : float, default: 1.8
        over-relaxation, 1 to below 2.
    early : bool, default: True
        Search also before annealing, from the last solution or as soon as the relaxation is nearly solved: half a per
        cent is proved sooner, two thousandths later (``python -m benchmarks ablations``).
    annealings : int, default: 6
        How often to anneal at most; the search ends before if it brings nothing.
    epsilon : float, default: 2.0
        ε of the first annealing.
    anneal_rounds : int, default: 6
        Reweightings of the first annealing at most; of later ones half.
    anneal_steps : int, default: 40
        Steps between them in the first annealing; in later ones half.
    patience : int, default: 2
        Recombinations in a row that bring less than ``least_gain`` of the objective each, after which it is time for
        another annealing.
    least_gain : float, default: 1e-05
        Share of the objective that a recombination has to bring.
    tighten : bool, default: True
        After each annealing, continue the relaxation for a better bound.
    branching : bool, default: True
        In the end, where the gap is not reached, solve small parts exactly, all else fixed, and lift the bound by
        branching trees, for the documents, or windows of long ones, that have most of it; only of a single solve.
    random_state : int, default: 0
        Seed of whatever is drawn.
    bound_every : int, default: 25
        Steps between bounds.
    """

    tol: float = 1e-3
    relaxation_gap: float | None = None
    relaxation_iterations: int = 2000
    relaxation_only: bool = False
    rho: float | None = None
    over: float = 1.8
    early: bool = True
    annealings: int = 6
    epsilon: float = 2.0
    anneal_rounds: int = 6
    anneal_steps: int = 40
    patience: int = PATIENCE
    least_gain: float = LEAST_GAIN
    tighten: bool = True
    branching: bool = True
    random_state: int = 0
    bound_every: int = 25

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        if self.tol is None:
            raise InputError("tol must be a number of at least 0: the guided solver ends by its proved gap.")
        or_zero = ("least_gain",) if self.least_gain != 0 else ()
        check_positive(self, ("relaxation_gap", "rho", "over", "epsilon", *or_zero), optional=("relaxation_gap", "rho"))
        least = {"anneal_rounds": 1, "anneal_steps": 1, "bound_every": 1}
        check_whole(self, least | dict.fromkeys(("relaxation_iterations", "annealings", "patience", "random_state"), 0))
        if not 1 <= self.over < 2:
            raise InputError(f"over must be at least 1 and less than 2, not {self.over!r}.")

    @property
    def wanted_relaxation_gap(self) -> float:
        """The proved gap at which the relaxation ends."""
        return self.relaxation_gap if self.relaxation_gap is not None else max(self.tol / 4, 1e-6)

    def search_only(self, patience: int = 0) -> GuidedSettings:
        """The same without relaxation and annealing: only the search from solutions that are known, in an instant."""
        return replace(self, relaxation_iterations=0, annealings=0, patience=patience)
