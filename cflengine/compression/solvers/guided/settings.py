"""Every parameter of the guided solver (guided/solver.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cflengine.compression.search.refine import LEAST_GAIN, PATIENCE
from cflengine.engine.checks import InputError, check_positive, check_whole
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class GuidedSettings(Limits):
    """The defaults prove about a thousandth.

    tol, time_limit: see :class:`~cflengine.engine.settings.Limits`. relaxation_gap: solve the relaxation to this
    relative gap, None for a quarter of ``tol``. relaxation_iterations: at most so many steps of it.
    relaxation_only: round and certify then; the relaxation's gap is then proved, too. rho: None for
    0.5·√(pointer cost · dictionary cost)/(1 + .. + K), usual ones of both. over: over-relaxation, 1 to below 2.
    early: search also before annealing, from the last solution or as soon as the relaxation is nearly solved: a good
    solution in a fifth of the time. annealings: how often to anneal at most; the search ends before if it brings
    nothing. epsilon: ε of the first. anneal_rounds, anneal_steps: of the first, reweightings at most, and steps
    between them; later ones take half of both. patience: recombinations in a row that bring less than ``least_gain``
    of the objective each, after which it is time for another annealing. tighten: after each annealing, take up the
    relaxation again for a better bound. random_state: seed of whatever is drawn. bound_every: steps between bounds.
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
