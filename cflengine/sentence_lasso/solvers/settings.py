"""Settings of the solvers of (P)."""

from __future__ import annotations

from dataclasses import dataclass

from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class MajoriseSettings(Limits):
    """The majorising solver's (majorise.py).

    Raises ValueError for a value out of range.

    Parameters
    ----------
    tol : float, default: 0.0001
        Relative duality gap at which it ends.
    time_limit : float or None, default: None
        Seconds or None.
    max_iter : int, default: 1000
        Rounds and Newton steps together.
    epsilon : float, default: 0.1
        ε of the first round.
    decay : float, default: 0.7
        The factor of ε from round to round.
    rounds : int, default: 40
        That come before Newton's method.
    passes : int, default: 5
        Of coordinate descent in a round.
    newton_steps : int, default: 20
        Newton steps between two certificates, at first: where that is too few they double.
    newton_products : int, default: 100
        Products with the Hessian in each, at first: where that is too few they double.
    """

    tol: float = 1e-4
    max_iter: int = 1000
    epsilon: float = 0.1
    decay: float = 0.7
    rounds: int = 40
    passes: int = 5
    newton_steps: int = 20
    newton_products: int = 100

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        check_positive(self, ("tol", "epsilon", "decay"))
        check_whole(self, {"max_iter": 1, "rounds": 0, "passes": 1, "newton_steps": 1, "newton_products": 1})
        if self.decay >= 1:
            raise InputError(f"decay must be below 1, not {self.decay!r}.")


@dataclass(frozen=True, kw_only=True)
class ADMMSettings(Limits):
    """Algorithm 1's (admm.py). At a fixed ρ and few iterations it is an early-stopped method: its result depends on ρ.

    Parameters
    ----------
    tol : float or None, default: None
        Relative duality gap at which it ends, or None for the paper's rule.
    time_limit : float or None, default: None
        Seconds, or None.
    rho : float, default: 1.0
        ρ of the augmented Lagrangian.
    max_iter : int, default: 100
        The paper's 100.
    w_tol : float, default: 1e-05
        Relative change of w in the ℓ2 norm: the precision to which every w is minimised, and the paper's rule, at which
        it ends without tol.
    relaxation : float, default: 1.0
        Of over-relaxation, 1 for none.
    """

    rho: float = 1.0
    max_iter: int = 100
    w_tol: float = 1e-5
    relaxation: float = 1.0

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        check_positive(self, ("rho", "tol"), optional=("tol",))
        check_whole(self, {"max_iter": 1})
        if not (is_number(self.w_tol) and self.w_tol >= 0):
            raise InputError(f"w_tol must be a number of at least 0, not {self.w_tol!r}.")
        if not (is_number(self.relaxation) and 1 <= self.relaxation < 2):
            raise InputError(f"relaxation must be at least 1 and below 2, not {self.relaxation!r}.")


Settings = MajoriseSettings | ADMMSettings
