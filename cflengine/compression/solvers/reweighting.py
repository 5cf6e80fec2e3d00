"""Iterative reweighting (Paskov, West, Mitchell, Hastie, "Compressive Feature Learning", NIPS 2013).

A sequence of weighted linear relaxations, each warm from the one before:

    minimise   d̃ᵀw + Σ_s c(s) ‖D_J(s) w_J(s)‖∞   subject to   Xw ≥ 1,  w ≥ 0                       (supplement, 1)

with a diagonal D of weights, d̃ = Dd: all 1 in the first round, which is the relaxation itself, then large where the
last round's solution was small, so that w is driven to be binary.

    each step:   w by the weighted prox (kernels/reweighting.py), z = w projected on Xz ≥ 1, y (kernels/projection.py);
                 z is rounded, every non-zero indicator to 1; the z that costs least so is the round's best projection
    each round:  ADMM until its residuals are small; then D from the best projection
    at the end   the best of all these solutions is re-encoded with its own dictionary.

Where this comes from. The supplement prints the program, both updates and the structure of H. "An Efficient Algorithm
..." (AISTATS 2014, §4.3, §5.2) adds: weights start each round from the projection that costs least when all non-zero
entries are set to 1, not from the minimiser; rounds go on until the solution is binary, 8 of them with 1,729 steps on
BeerAdvocate; redundant pointers stay, so binary solutions are poor until late. Of the paper itself we could read
the abstract, the references and single sentences: reweighting after Candès, Wakin and Boyd (2008), Θ(K²n) a step, and
that the weighted program "recovers the correct binary solution if ε is sufficiently small and we use as weights a
nearly binary solution". Our reading, therefore:

- D_ii = max(1, 1/(z_i + ε)), z the best projection of the round, negative entries taken as 0. ε is 0.4: on 300
  documents of 20 Newsgroups the result is 1.0039 times the bound at ε = 0.01, 1.0031 at 0.1, 1.0021 at 0.3, 1.0018 at
  0.4 and 1.0015 at 0.5, from where on the price of a w of ½ no longer rises and rounds go on for long; at 0.7 they
  stall;
- "non-zero" is z > 0.01. ADMM's zeros are small numbers; all from 0.001 to 0.027 gave 1.0018 or 1.0019. A token is
  covered by at most K(K+1)/2 ≤ 36 pointers, so below 1/36 rounding leaves none uncovered;
- ρ, its adaption (residual balancing) and the stopping rule are those of Boyd et al. (2011, §3.3.1, §3.4.1), which
  the paper cites;
- "binary" is: 999 in 1,000 of the non-zero indicators of the best projection within 0.01 of 1. Exact ties between
  K-grams can stay fractional for ever, so the rounds also end when some of them in a row find nothing better.

Beyond the paper: α of the first round, the prices of the tokens, is certified as a lower bound every few steps (see
best_bound.py; the α of later rounds never proved more), and the result is certified from the data.

Memory: see ``state_bytes`` in memory.py.

Worked example: "a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_reweighting(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.cover.tolist(), result.gap < 1e-5
(4.0, [2], [2, 0, 2, 0], True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cflengine.compression.kernels import projection as kernels_projection
from cflengine.compression.kernels import projection_pass as kernels
from cflengine.compression.kernels import reweighting as kernels_reweighting
from cflengine.compression.kernels.arrays import GroupSums, Projection, ProjectionSums, Weighted
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.passes import layout
from cflengine.compression.passes.best_bound import DualBound, repaired_value
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.layout import PointerLayout
from cflengine.compression.passes.pieces import borders_of, has_pieces, save_borders
from cflengine.compression.search.refine import polish
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, Listener, Progress, TerminationReason
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import KGramIndex

REWEIGHTING = "reweighting"


@dataclass(frozen=True, kw_only=True)
class ReweightingSettings(Limits):
    """Every parameter of the solver; where they come from is said in the module's docstring.

    Parameters
    ----------
    tol : float or None, default: None
        End when the best solution's gap is proved to be at most this, None to go on by the rules above.
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
        Steps of a round after which ρ rests (ADMM need not converge if it never does).
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
        Better the solution by the guided solver's local search at the end.
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


def solve_reweighting(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ReweightingSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """Compress the indexed corpus. ``lam`` only labels the events. Deterministic for any number of threads."""
    settings = settings or ReweightingSettings()
    with threads(n_threads):
        return _Reweighting(Problem(index, costs), settings, listeners, lam).run()


class WeightedAdmm:
    """ADMM on one weighted relaxation after the other: vectors and steps; the outer loop is below.

    data: float32 (m,), by the layout, v before the prox and w after it; weight: float32 (m,), D; z, best: float32
    (K, n), the projection and the round's best one; beta: float64 (n,), α/ρ. After a step: ``r`` = ‖w − z‖ and
    ``u`` = ρ‖z − z̄‖, both over √m, ``value`` = d̃ᵀw + Σ c(s)‖D w_J(s)‖∞ where D = 1, ``support`` the K-grams with
    w ≠ 0, and ``cover``, the rounding of z, of cost ``objective`` (inf where it leaves a token uncovered).
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, settings: ReweightingSettings) -> None:
        self.index, self.costs, self.settings = index, costs, settings
        self.layout = PointerLayout.of(index)
        self.coder = Coder(index, costs, self.layout.blocks)
        self.groups = Groups(index, self.layout)
        self.bound = DualBound(self.coder, self.groups, costs)
        n, m = index.n_tokens, index.n_pointers
        self.rho = 1.0 if settings.rho is None else settings.rho
        self._rho_next, self._since, self._steps = self.rho, 0, 0
        self.data, self.weight = np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32)
        self.z = np.zeros(index.gram_of.shape, dtype=np.float32)
        self.best = np.zeros(index.gram_of.shape, dtype=np.float32)
        self.best_objective = np.inf
        self.beta = np.zeros(n)
        self.cover = np.zeros(n, dtype=np.uint8)
        self._d = costs.pointer_single
        self._table = kernels_projection.overlaps(index.max_gram)
        self._borders = borders_of(self.layout.blocks, index.max_gram)
        blocks, bins = self.layout.n_blocks, self.layout.n_bins
        self._sums = ProjectionSums(np.zeros((blocks, 5)), np.zeros(blocks), np.zeros(blocks, dtype=np.int64))
        self._groups = GroupSums(np.empty(0, np.float32), np.zeros(bins), np.zeros(bins, dtype=np.int64))
        self.r = self.u = np.inf
        self.small = False
        self.support = 0
        self.value = self.objective = NAN
        self.reweight(1.0)  # from w = z = y = 0: all weights 1

    def prove(self) -> None:
        """Certify a lower bound from α, in the first round the prices of the relaxation's coverage constraints."""
        self.bound.update((self.beta * -self.rho).astype(np.float32))

    def step(self, progress: Progress) -> bool:
        """One step; False when ``progress`` stopped it half-way (no further step may follow)."""
        lay = self.layout
        per_chunk = max(1, int(layout.CHUNK_POINTERS * lay.n_bins / max(1, len(self.data))))
        for i in range(0, lay.n_bins, per_chunk):
            kernels_reweighting.prox_of_groups(
                self.data, self.weight, self.groups.bins, lay.order[i : i + per_chunk], self.costs.dictionary,
                1.0 / self.rho, self._groups,
            )  # fmt: skip
            if not progress.poll():
                return False
        if not self._project(progress):
            return False
        self.support = int(self._groups.support.sum())
        self.value = float(self._sums.pointer_costs.sum() + self._groups.totals.sum())
        self._measure()
        self.objective = np.inf if self._sums.uncovered.any() else self.coder.evaluate(self.cover)[0]
        if self.objective <= self.best_objective:
            self.best_objective = self.objective
            np.copyto(self.best, self.z)
        return True

    def _project(self, progress: Progress) -> bool:
        """β, z, its rounding and the next prox's v; False if stopped."""
        blocks, settings, chunks = self.layout.blocks, self.settings, self.coder.chunks()
        iterate, d = self._iterate(), self._d
        rule = Projection(
            self._table, settings.projection_tol, settings.projection_iterations, settings.nonzero, self.rho,
            self._rho_next,
        )  # fmt: skip
        for chunk in chunks:
            kernels.projection_pass(iterate, d, blocks, chunk, rule, self._sums)
            if not progress.poll():
                return False
        if not has_pieces(blocks):
            return True
        slack, before = np.empty(len(self.beta)), np.empty(len(self.beta))
        save_borders(self._borders, blocks, self.data, self.layout.slot)
        costs = self._sums.pointer_costs
        for chunk in chunks:
            kernels.load_pieces(iterate, d, blocks, self._borders, chunk, slack, before, costs)
        if not self._project_pieces(rule, slack, progress):
            return False
        for chunk in chunks:
            kernels.move_pieces(iterate, before, d, blocks, chunk, rule, self._sums)
        scale = rule.rho / rule.rho_next
        everything = (0, self.layout.n_blocks)
        kernels.finish_pieces(iterate, blocks, everything, self.index.max_gram, scale, self._sums.uncovered)
        return progress.poll()

    def _iterate(self) -> Weighted:
        return Weighted(self.layout.slot, self.data, self.weight, self.z, self.beta, self.cover)

    def _project_pieces(self, rule: Projection, slack: np.ndarray, progress: Progress) -> bool:
        """β of the documents that are cut, given their slack (float64 (n,)); False if stopped."""
        blocks, chunks = self.layout.blocks, self.coder.chunks()
        worst = np.zeros(len(blocks.piece))
        for _ in range(rule.limit):
            for chunk in chunks:
                for parity in (0, 1):
                    kernels.project_pieces(blocks, chunk, parity, rule, slack, self.beta)
                if not progress.poll():
                    return False
            for chunk in chunks:
                kernels.project_borders(blocks, chunk, rule, slack, self.beta)
            kernels.measure_pieces(blocks, slack, self.beta, worst)
            if worst.max() <= rule.tol:
                break
        return progress.poll()

    def _measure(self) -> None:
        """Residuals, whether they are small (Boyd et al., §3.3.1), and the next ρ (§3.4.1)."""
        settings, rho = self.settings, self.rho
        primal, moved, w, z, y = np.sqrt(self._sums.sums.sum(axis=0) / max(1, self.index.n_pointers)).tolist()
        largest, y = max(w, z), rho * y
        self.r, self.u = primal, rho * moved
        self.small = (
            self.r <= settings.absolute + settings.residual_tol * largest
            and self.u <= settings.absolute + settings.residual_tol * y
        )
        self.rho = self._rho_next
        self._since += 1
        self._steps += 1
        if settings.rho_window <= self._since and self._steps <= settings.rho_steps:
            ahead, behind = self.r * y, self.u * largest
            if ahead > settings.rho_ratio * behind:
                self._rho_next, self._since = self.rho * settings.rho_factor, 0
            elif behind > settings.rho_ratio * ahead:
                self._rho_next, self._since = self.rho / settings.rho_factor, 0

    def reweight(self, epsilon: float) -> None:
        """Take the weights of the next round from the best projection, and forget how good it was."""
        iterate, blocks = self._iterate(), self.layout.blocks
        for chunk in self.coder.chunks():
            kernels.reweight_blocks(self.best, iterate, self._d, blocks, chunk, self.rho, epsilon)
        self.best_objective, self._steps = np.inf, 0

    def binary_share(self) -> float:
        """Of the non-zero indicators of the best projection, the share that is at least 1 − margin."""
        positive = np.count_nonzero(self.best > self.settings.nonzero)
        return np.count_nonzero(self.best >= 1.0 - self.settings.margin) / positive if positive else 1.0

    def feasible_value(self) -> float:
        """The relaxed objective at max(z, 0), mended where it covers a token not quite: a proved upper bound."""
        point = np.empty_like(self.data)
        for places, row in zip(self.layout.slot, self.z, strict=True):
            there = places >= 0
            point[places[there]] = np.maximum(row[there], 0.0)
        return repaired_value(self.coder, self.groups, self._borders, point)

    def release(self) -> None:
        """Drop all vectors: the certificate needs memory of its own."""
        del self.data, self.weight, self.z, self.best, self.beta, self.bound.best_y
        del self.layout, self.groups, self.bound.groups


class _Reweighting(CompressionRun):
    """The outer loop: when a round is over, when to bound, when to end."""

    solver = "reweighting"

    def __init__(
        self,
        problem: Problem,
        settings: ReweightingSettings,
        listeners: Iterable[Listener],
        lam: float,
    ) -> None:
        self.admm = WeightedAdmm(problem.index, problem.costs, settings)
        super().__init__(problem, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.round = 1

    @property
    def lower_bound(self) -> float:
        return self.admm.bound.value

    def run(self) -> CompressionResult:
        """All rounds, then the certificate."""
        going = self._report()
        least, idle = math.inf, 0  # rounds in a row that brought nothing better
        while going:
            self._steps()
            if self.round == 1:
                self._finish_relaxation()
            idle = 0 if self.admm.best_objective < least else idle + 1
            least = min(least, self.admm.best_objective)
            binary = self.admm.binary_share() >= self.settings.binary
            if self.progress.reason or self.proved or binary or idle == self.settings.patience:
                break
            if self.round == self.settings.rounds:
                self.limited = True
                break
            self.round += 1
            self.admm.reweight(self.settings.epsilon)
        return self._finish()

    def _steps(self) -> None:
        """The steps of one round."""
        admm, settings = self.admm, self.settings
        for steps in range(1, settings.round_iterations + 1):
            if not admm.step(self.progress):
                return
            self.iteration += 1
            self.work += 1.0
            if not math.isfinite(admm.value + admm.r + admm.u):
                self.progress.reason = TerminationReason.NUMERICAL_ERROR
                return
            self.update_incumbent(admm.objective, admm.cover)
            if self.round == 1 and steps % settings.bound_every == 0:
                admm.prove()
            if not self._report() or (admm.small and steps >= settings.least_iterations):
                return
        self.limited = self.limited or self.round == 1  # the relaxation is not solved to tolerance

    def _finish_relaxation(self) -> None:
        self.admm.prove()
        if self.iteration:
            self.relaxation, self.relaxation_upper = self.admm.value, self.admm.feasible_value()

    def _report(self) -> bool:
        admm = self.admm
        return self.tell(
            REWEIGHTING,
            admm.objective if math.isfinite(admm.objective) else NAN,
            relaxation=admm.value if self.round == 1 else NAN,
            rho=admm.rho,
            support=admm.support,
            extra={"round": self.round, "r": admm.r, "u": admm.u},
        )

    def _finish(self) -> CompressionResult:
        """Re-encode the best solution, let go of the solver's memory, which the certificate needs, and certify."""
        if self.settings.polish:
            polish(self, self.admm.groups, self.admm.data)
        used = self.re_encode()
        alpha = self.admm.bound.alpha()
        self.admm.release()
        return self.result(used, alpha)
