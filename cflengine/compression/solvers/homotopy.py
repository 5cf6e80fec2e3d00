"""The homotopy of Paskov, Mitchell, Hastie (AISTATS 2014, §4): from the relaxation to a binary solution.

    ζ = 0:                linearised ADMM on the relaxation until r and u fall below ρ·tol;
    ζ = 0.1, 0.2 .. 1:    the same with the non-convex constraint ‖w_T(j)‖∞ ≥ ζ, warm, until r and u do or
                          150 steps have gone by; every step encodes the corpus, which gives a binary solution;
    at the end of each ζ  the last of these is re-encoded with its own dictionary, and the best of all kept; with
                          ``polish``, which is not the paper's, the guided solver's local search (refine.py) improves
                          it in the end.

"Best" begins with the solution that has single words only, so that a run has one from the start.

For small ζ the constraint changes nothing: a token is covered by at most K(K+1)/2 pointers, so Xw ≥ 1 alone makes one
of them at least 2/(K(K+1)), up to which the feasible set is that of the relaxation, and convex. (The paper says 1/(2K),
which is right for K ≤ 3.) The relaxation's own w* stays optimal as far as the least ‖w*_T(j)‖∞ of all tokens, which a
stage has as ``stays_optimal``.

Beyond the paper: a certified lower bound is computed every few steps (kernels/bound.py) and once more from the
data at the end (certificate.py), so a run can be stopped at any moment with a proved gap; ζ = 0 can be ended by a
proved gap of the relaxation instead of residuals (``relaxation_gap``).

Examples
--------
"a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_homotopy(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.cover.tolist(), result.gap < 1e-5
(4.0, [2], [2, 0, 2, 0], True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult, StageSnapshot
from cflengine.compression.search.refine import polish
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.gaps import relative_gap
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import KGramIndex

RELAXATION, HOMOTOPY = "relaxation", "homotopy"


@dataclass(frozen=True, kw_only=True)
class HomotopySettings(Limits):
    """Every parameter of the solver; the defaults are the paper's (§4.2.4, §5.1).

    Parameters
    ----------
    tol : float or None, default: None
        End when the best solution's gap is proved to be at most this (None: run to the last ζ).
    time_limit : float or None, default: None
        Seconds.
    rho : float or None, default: None
        First ρ, None for 1/K.
    rho_factor : float, default: 1.5
        By which ρ grows when the mean of r/u over ``rho_window`` steps exceeds ``rho_ratio``.
    rho_window : int, default: 15
        Steps over which r/u is averaged.
    rho_ratio : float, default: 5.0
        Of r and u, beyond which ρ grows.
    sigma : float or None, default: None
        None for Theorem 1's σ.
    residual_tol : float, default: 0.001
        A stage ends when r and u are below ρ times it.
    zeta_step : float, default: 0.1
        Increment of ζ.
    stage_iterations : int, default: 150
        Steps at each ζ > 0 at most.
    relaxation_iterations : int or None, default: None
        Steps at ζ = 0 at most (None: to tolerance, as in the paper).
    relaxation_gap : float or None, default: None
        End ζ = 0 already when the relaxation is solved to this proved relative gap, if residuals do not end it first
        (None: by residuals alone).
    last_zeta : float, default: 1.0
        Stop after this ζ (0 solves only the relaxation).
    bound_every : int, default: 20
        Steps between bounds at ζ = 0.
    keep_stages : bool, default: False
        Keep a snapshot at each ζ (n bytes each), with w where 11 copies of it stay under weights_bytes.
    weights_bytes : int, default: 268435456
        Most bytes for the w of all snapshots.
    polish : bool, default: False
        Improve the solution by local search at the end.
    """

    rho: float | None = None
    rho_factor: float = 1.5
    rho_window: int = 15
    rho_ratio: float = 5.0
    sigma: float | None = None
    residual_tol: float = 1e-3
    zeta_step: float = 0.1
    stage_iterations: int = 150
    relaxation_iterations: int | None = None
    relaxation_gap: float | None = None
    last_zeta: float = 1.0
    bound_every: int = 20
    keep_stages: bool = False
    weights_bytes: int = 1 << 28
    polish: bool = False

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        optional = ("rho", "sigma", "relaxation_gap", "relaxation_iterations")
        numbers = ("rho", "rho_factor", "rho_ratio", "sigma", "residual_tol", "zeta_step", "relaxation_gap")
        check_positive(self, numbers, optional=optional)
        whole = ("rho_window", "stage_iterations", "bound_every", "relaxation_iterations")
        check_whole(self, dict.fromkeys(whole, 1) | {"weights_bytes": 0}, optional=optional)
        if self.zeta_step < 1e-6:
            raise InputError(f"zeta_step must be at least 1e-06, not {self.zeta_step!r}.")
        if self.rho_factor < 1:
            raise InputError(f"rho_factor must be at least 1, not {self.rho_factor!r}.")
        if not is_number(self.last_zeta) or not 0 <= self.last_zeta <= 1:
            raise InputError(f"last_zeta must be between 0 and 1, not {self.last_zeta!r}.")

    def zetas(self) -> list[float]:
        """The values of ζ in order: 0, step, 2·step .. , each at most ``last_zeta``; the last one is that."""
        steps = math.ceil(round(self.last_zeta / self.zeta_step, 9))
        return [0.0] + [round(min(i * self.zeta_step, self.last_zeta), 9) for i in range(1, steps + 1)]


def solve_homotopy(
    index: KGramIndex,
    costs: StorageCosts,
    settings: HomotopySettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """Compress the indexed corpus by the homotopy of §3. Deterministic for any number of threads.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    settings : HomotopySettings, optional
        By default the usual ones.
    listeners : iterable of callables
        Told of every event; one that says False stops.
    n_threads : int, optional
        By default all cores.
    lam : float
        Only labels the events.

    Returns
    -------
    CompressionResult
        Certified.
    """
    settings = settings or HomotopySettings()
    with threads(n_threads, index.gram_of.size):
        return _Homotopy(Problem(index, costs), settings, listeners, lam).run()


class _Homotopy(CompressionRun):
    """The outer loop: when to bound, when to raise ζ, what to keep."""

    solver = "homotopy"

    def __init__(
        self,
        problem: Problem,
        settings: HomotopySettings,
        listeners: Iterable[Listener],
        lam: float,
    ) -> None:
        index = problem.index
        rho = settings.rho if settings.rho is not None else 1.0 / index.max_gram
        rule = RhoRule(rho, settings.rho_factor, settings.rho_window, settings.rho_ratio)
        self.admm = LinearisedAdmm(index, problem.costs, rule, sigma=settings.sigma)
        super().__init__(problem, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.whole = False  # whether the last step ran to its end
        self.settled = False  # whether the last stage ended since its problem was solved

    @property
    def lower_bound(self) -> float:
        return self.admm.bound.value

    def run(self) -> CompressionResult:
        """All stages, then the certificate."""
        going = self._report(0.0, RELAXATION, NAN)
        for zeta in self.settings.zetas():
            if not going:
                break
            self._stage(zeta)
            self._finish_stage(zeta)
            going = self.progress.reason is None and not self.proved
        return self._finish()

    def _stage(self, zeta: float) -> None:
        """Steps at one ζ until the residuals are small, the stage is over or it is told to stop."""
        settings, admm = self.settings, self.admm
        limit = settings.stage_iterations if zeta > 0 else settings.relaxation_iterations or math.inf
        steps = 0
        self.whole = self.settled = False
        while steps < limit:
            self.whole = admm.step(zeta, self.progress)
            if not self.whole:
                return
            steps += 1
            self.iteration += 1
            self.work += 2.0 if zeta > 0 else 1.0
            if not math.isfinite(admm.relaxation):
                self.progress.reason = TerminationReason.NUMERICAL_ERROR
                return
            small = max(admm.r, admm.u) < admm.rho * settings.residual_tol
            if zeta > 0:
                self.update_incumbent(admm.objective, admm.cover)
            elif steps % settings.bound_every == 0:
                admm.bound.update(admm.y)
                small = small or self._relaxation_solved()
            self.settled = small
            if not self._report(zeta, HOMOTOPY if zeta > 0 else RELAXATION, admm.objective) or small:
                return
        self.limited = self.limited or zeta == 0

    def _relaxation_solved(self) -> bool:
        """Whether the relaxation is solved to the proved gap that was asked for."""
        wanted = self.settings.relaxation_gap
        if wanted is None:
            return False
        upper = self.admm.feasible_value(self.admm.current_w())
        return relative_gap(upper, self.lower_bound) <= wanted

    def _finish_stage(self, zeta: float) -> None:
        """Bound, re-encoding, snapshot and, at ζ = 0, the relaxation's value and its first rounding."""
        admm = self.admm
        admm.bound.update(admm.y)
        if zeta > 0 and self.whole and not self.settings.keep_stages:
            self._keep_re_encoded(admm.cover)
            return
        w = admm.current_w()
        cover = admm.cover if zeta > 0 and self.whole else admm.round(w)
        objective, n_pointers, used = self.coder.evaluate(cover)
        self.update_incumbent(objective, cover)
        repaired = self._keep_re_encoded(cover) if self.settings.keep_stages and zeta > 0 else math.nan
        stays = self._stays_optimal(w) if self.settings.keep_stages and zeta == 0 and self.settled else math.nan
        if self.settings.keep_stages:
            self.stages.append(
                StageSnapshot(
                    zeta,
                    self.iteration,
                    self.unit * objective,
                    self.unit * admm.relaxation,
                    n_pointers,
                    int(used.sum()),
                    admm.binary_share(w),
                    self.unit * repaired,
                    stays,
                    cover.copy(),
                    self._weights(w),
                )
            )
        if zeta == 0:  # after all else, since it overwrites w
            self.relaxation, self.relaxation_upper = admm.relaxation, admm.feasible_value(w)
        del w  # what follows needs its memory
        if zeta == 0 or not self.settings.keep_stages:
            repaired = self._keep_re_encoded(cover)
        if zeta == 0 and self.stages:
            self.stages[-1] = replace(self.stages[-1], repaired=self.unit * repaired)

    def _keep_re_encoded(self, cover: np.ndarray) -> float:
        """The last solution of a ζ may need less than it uses, and then beat one that was cheaper before; its cost."""
        cover, objective, _ = self.coder.re_encode(cover)
        self.update_incumbent(objective, cover)
        return objective

    def _stays_optimal(self, w: np.ndarray) -> float:
        """min_j ‖w_T(j)‖∞: (3) asks for at least ζ of it."""
        top = np.zeros(self.index.n_tokens, dtype=np.float32)
        for k, slot in enumerate(self.admm.layout.slot):
            values = np.where(slot >= 0, w[np.maximum(slot, 0)], np.float32(0.0))
            for j in range(min(k + 1, len(top))):
                np.maximum(top[j:], values[: len(top) - j], out=top[j:])
        return min(float(top.min(initial=1.0)), 1.0)

    def _weights(self, w: np.ndarray) -> np.ndarray | None:
        """w by position in steps of 1/255, if all stages' copies are small enough to keep."""
        slot = self.admm.layout.slot
        if slot.size * len(self.settings.zetas()) > self.settings.weights_bytes:
            return None
        values = np.zeros(slot.shape, dtype=np.uint8)
        pointer = slot >= 0
        values[pointer] = np.clip(np.rint(w[slot[pointer]] * 255), 0, 255)
        return values

    def picture(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The best solution, and w as it is."""
        return self.best_cover.copy(), self._weights(self.admm.current_w())

    def proved_solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies: the best solution, unsigned (n,), and the prices that prove the best bound, float64 (n,), in the
        user's unit."""
        return self.best_cover.copy(), self.unit * self.admm.bound.alpha_aside()

    def _report(self, zeta: float, stage: str, objective: float) -> bool:
        admm = self.admm
        return self.tell(
            stage,
            objective,
            relaxation=admm.relaxation,
            zeta=zeta,
            rho=admm.rho,
            support=admm.support,
            extra={"r": admm.r, "u": admm.u},
        )

    def _finish(self) -> CompressionResult:
        """Re-encode the best solution, let go of the solver's memory, which the certificate needs, and certify."""
        if self.settings.polish:
            polish(self, self.admm.groups, self.admm.workspace)
        self.admm.release()
        used = self.re_encode()
        alpha = self.admm.bound.alpha()
        self.admm.release(everything=True)
        return self.result(used, alpha)
