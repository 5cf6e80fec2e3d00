"""Every parameter of the guided solver (guided.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from cflengine.compression.refine import LEAST_GAIN, PATIENCE


@dataclass(frozen=True)
class GuidedSettings:
    """The defaults prove about a thousandth.

    gap: stop when objective / bound − 1 is proved to be at most this. time_limit: seconds. relaxation_gap: solve the
    relaxation to this relative gap, None for a quarter of ``gap``. relaxation_iterations: at most so many steps of it.
    relaxation_only: round and certify then; the relaxation's gap is then proved, too. rho: None for
    0.1·√(pointer cost · dictionary cost), usual ones of both. over: over-relaxation, 1 to below 2. annealings: how
    often to anneal, from different ε. epsilon: ε of the first. anneal_rounds, anneal_steps: reweightings at most, and
    steps between them. patience: recombinations in a row that bring less than ``least_gain`` of the objective each,
    after which the search is over. tighten: take up the relaxation again for a better bound if ``gap`` is still open
    then. seed: of the perturbations. bound_every: steps between bounds.
    """

    gap: float = 1e-3
    time_limit: float | None = None
    relaxation_gap: float | None = None
    relaxation_iterations: int = 2000
    relaxation_only: bool = False
    rho: float | None = None
    over: float = 1.8
    annealings: int = 2
    epsilon: float = 2.0
    anneal_rounds: int = 6
    anneal_steps: int = 40
    patience: int = PATIENCE
    least_gain: float = LEAST_GAIN
    tighten: bool = True
    seed: int = 0
    bound_every: int = 25

    def __post_init__(self) -> None:
        for name in ("gap", "time_limit", "relaxation_gap", "rho", "over", "epsilon", "least_gain"):
            value = getattr(self, name)
            optional = name in ("time_limit", "relaxation_gap", "rho")
            zero = name in ("gap", "least_gain") and value == 0
            if not (value is None and optional) and not zero and not (_is_number(value) and 0 < value < math.inf):
                raise ValueError(f"{name} must be a positive number, not {value!r}.")
        for name, least in (
            ("relaxation_iterations", 0), ("annealings", 0), ("anneal_rounds", 1), ("anneal_steps", 1),
            ("patience", 0), ("seed", 0), ("bound_every", 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
        if not 1 <= self.over < 2:
            raise ValueError(f"over must be at least 1 and less than 2, not {self.over!r}.")

    @property
    def wanted_relaxation_gap(self) -> float:
        """The proved gap at which the relaxation ends."""
        return self.relaxation_gap if self.relaxation_gap is not None else max(self.gap / 4, 1e-6)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
