"""Settings of iterative reweighting; reweighting.py explains the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class ReweightingSettings(Limits):
    """Every parameter of the solver; where they come from is said in the docstring of reweighting.py.

    Parameters
    ----------
    tol : float or None, default: None
        End when the best solution's gap is proved to be at most this, None to go on by ``binary``, ``patience`` and
        ``rounds``.
    time_limit : float or None, default: None
        Seconds, or None.
    rho : float or None, default: None
        First ρ, None for 1.
    rho_factor : float, default: 2.0
        By which ρ grows or shrinks.
    rho_ratio : float, default: 10.0
        Of the relative residuals, from which on it does.
    rho_window : int, default: 10
        Steps between two changes of ρ, at least.
    rho_steps : int, default: 100
        Steps of a round after which ρ stays as it is (otherwise ADMM need not converge).
    residual_tol : float, default: 0.001
        A round ends when ‖w − z‖ ≤ √m absolute + residual_tol max(‖w‖, ‖z‖) and ρ‖z − z̄‖ ≤ √m absolute + residual_tol
        ‖y‖, after ``least_iterations`` steps or more, or after ``round_iterations``.
    absolute : float, default: 1e-05
        See residual_tol.
    least_iterations : int, default: 10
        Steps of a round, at least.
    round_iterations : int, default: 500
        Steps of a round, at most.
    rounds : int, default: 20
        Of reweighting, at most.
    epsilon : float, default: 0.4
        ε of the weights.
    nonzero : float, default: 0.01
        Indicators above it are rounded to 1.
    binary : float, default: 0.999
        The run ends when this share of the indicators above ``nonzero`` is at least 1 − margin, after ``patience``
        rounds without a better solution, or after ``rounds``.
    margin : float, default: 0.01
        See binary.
    patience : int, default: 3
        See binary.
    projection_tol : float, default: 1e-06
        The z-update ends when every token is covered by 1 − projection_tol.
    projection_iterations : int, default: 60
        Factorisations of a z-update, at most.
    bound_every : int, default: 20
        Steps between bounds in the first round.
    polish : bool, default: False
        Improve the solution by the guided solver's local search at the end.
    """

    rho: float | None = None
    rho_factor: float = 2.0
    rho_ratio: float = 10.0
    rho_window: int = 10
    rho_steps: int = 100
    residual_tol: float = 1e-3
    absolute: float = 1e-5
    least_iterations: int = 10
    round_iterations: int = 500
    rounds: int = 20
    epsilon: float = 0.4
    nonzero: float = 0.01
    binary: float = 0.999
    margin: float = 0.01
    patience: int = 3
    projection_tol: float = 1e-6
    projection_iterations: int = 60
    bound_every: int = 20
    polish: bool = False

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        numbers = ("rho", "rho_factor", "rho_ratio", "residual_tol", "absolute", "epsilon", "projection_tol")
        check_positive(self, numbers, optional=("rho",))
        whole = ("rho_window", "rho_steps", "least_iterations", "round_iterations", "rounds", "patience",
                 "projection_iterations", "bound_every")  # fmt: skip
        check_whole(self, dict.fromkeys(whole, 1))
        for name in ("rho_factor", "rho_ratio"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)!r}.")
        for name, most in (("nonzero", 1 / 36), ("margin", 0.5), ("binary", 1.0)):
            value = getattr(self, name)
            if not is_number(value) or not 0 < value <= most:
                raise InputError(f"{name} must be above 0 and at most {most:.3g}, not {value!r}.")
