"""The guided solver: problem (1) to about a thousandth, proved, in a hundredth of the homotopy's time.

    relaxation      linearised ADMM on the linear relaxation until it is solved to a proved gap, not to residuals;
    annealing       the same steps with the dictionary cost made concave: c(s)·log(1 + t/ε)/log(1 + 1/ε) of
                    t = ‖w_J(s)‖∞, reweighted every few steps, c(s)/((t + ε) log(1 + 1/ε)), so that nearly every t
                    becomes 0 or 1;
    rounding        the corpus is encoded at pointer prices d + c(s)/u_s, u_s how often s was used last time, at first
                    the sum of w over J(s);
    local search    additions and removals of K-grams that stand apart (moves.py);
    recombination   a perturbed dictionary is searched again and the best of both solutions combined by a minimum
                    cut (crossover.py), until the gap is reached, time is up or rounds bring nothing any more.

The bound comes from the relaxation's multipliers (kernels_bound.py); every event carries a valid (objective, bound,
gap). A second solve with the same solver object starts from the last relaxation and the last dictionary
(:class:`GuidedSolver`): that is what the λ-path and a dragged slider use.

What was measured (20 Newsgroups, K = 3, λ = 1) and lost: steps 1/σ alike for all lengths need 1.6 times as many to the
same bound as 1/(k Σk), the diagonal preconditioner of Pock and Chambolle (2011), which lets σ differ by length; the
same without over-relaxation (1.8) a third more; the paper's growing ρ twice as many. Averages of the multipliers prove
half as much again at the end, but less at first. Rounding straight from the relaxation ends, searched, at 1.0039
of the LP value, from the annealed one at 1.0022; ε = 4 or 8 at 1.0024 or more; annealing from three values of ε and
ρ and combining at 1.0019. Taking neutral moves in a recombination changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cflengine.compression import kernels_prox
from cflengine.compression.admm import LinearisedAdmm, RhoRule
from cflengine.compression.bounds import MultiplierAverage
from cflengine.compression.certificate import relative_gap
from cflengine.compression.guided_settings import GuidedSettings
from cflengine.compression.problem import StorageCosts, mean_pointer_cost
from cflengine.compression.refine import Refinement
from cflengine.compression.result import CompressionResult
from cflengine.compression.run import Run
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.text.kgrams import KGramIndex

RELAXATION, ANNEALING = "relaxation", "annealing"
_FIRST_LOOK = 25  # steps after which the first solution is rounded
_UNDECIDED = (0.02, 0.98)
_LEAST_SHARE = 0.01  # of what is open: a cycle of the search, or some steps for the bound, that close less are the last


def solve_guided(
    index: KGramIndex,
    costs: StorageCosts,
    settings: GuidedSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """Compress the indexed corpus. ``lam`` only labels the events. Deterministic for any number of threads."""
    return GuidedSolver(index, n_threads=n_threads, once=True).solve(costs, settings, listeners=listeners, lam=lam)


@dataclass
class _WarmState:
    """What a solve leaves for the next: the relaxation's iterate and multipliers, the best solution."""

    data: np.ndarray
    y: np.ndarray
    z: np.ndarray
    marks: np.ndarray | None = None


class GuidedSolver:
    """Solves problem (1) on one corpus again and again, for other costs, each time from where the last ended.

    ``once``: there will be one solve only, so memory can go to its certificate.
    """

    def __init__(self, index: KGramIndex, *, n_threads: int | None = None, once: bool = False) -> None:
        self.index, self.n_threads, self.once = index, n_threads, once
        self.admm: LinearisedAdmm | None = None
        self.warm: _WarmState | None = None

    def solve(
        self,
        costs: StorageCosts,
        settings: GuidedSettings | None = None,
        *,
        listeners: Iterable[Listener] = (),
        lam: float = NAN,
        known: Iterable[tuple[np.ndarray, np.ndarray | None]] = (),
    ) -> CompressionResult:
        """Solve for ``costs``; warm from the second call on.

        known: solutions of this problem or one much like it, as (marks uint8 (n,), dual prices (n,) or None): for this
        very problem the result is at least as good; the search starts from the last one's dictionary.
        """
        settings = settings or GuidedSettings()
        with threads(self.n_threads):
            if self.admm is None:
                K = self.index.max_gram
                lengths = np.arange(1, K + 1)
                # Σ_k k²/σ_k ≤ 1 is enough for convergence, as ‖X W‖ for weights W by length is at most that
                sigma = lengths * lengths.sum()
                self.admm = LinearisedAdmm(self.index, costs, RhoRule(1.0, 1.0, 1, math.inf), sigma=sigma)
            solve = _Guided(self, costs, settings, listeners, lam)
            for marks, alpha in known:
                solve.take_up(marks, alpha)
            return solve.run()


class _Guided(Run):
    """The outer loop of one solve."""

    solver = "guided"

    def __init__(
        self,
        solver: GuidedSolver,
        costs: StorageCosts,
        settings: GuidedSettings,
        listeners: Iterable[Listener],
        lam: float,
    ) -> None:
        assert solver.admm is not None
        self.owner, self.admm = solver, solver.admm
        index = self.admm.index
        self.rho = settings.rho if settings.rho is not None else _usual_rho(costs, index)
        self.admm.retarget(costs, self.rho, settings.over)
        super().__init__(index, costs, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.refinement = Refinement(
            self, self.admm.groups, self.admm.data,
            gap=settings.gap, patience=settings.patience, least_gain=settings.least_gain, seed=settings.seed,
        )  # fmt: skip
        self.stepped = False
        self.average = MultiplierAverage(index.n_tokens)
        self.random = np.random.default_rng(settings.seed)
        self.start: np.ndarray | None = None  # the marks whose dictionary the search begins with
        if solver.warm is not None:
            self._restart(solver.warm)
        else:
            self.admm.reset()
        words = costs.dictionary[: index.len_ptr[1]]
        if words.max(initial=0.0) > 0.1 * self.best_objective:  # single words may be what must not be
            marks = self.coder.encode(costs.dictionary)
            self.keep(self.coder.evaluate(marks)[0], marks)

    @property
    def lower_bound(self) -> float:
        return self.admm.bound.value

    def run(self) -> CompressionResult:
        """All stages, then the certificate."""
        settings = self.settings
        going = self._report(RELAXATION) and self._relax(settings.wanted_relaxation_gap, settings.relaxation_iterations)
        self.admm.bound.update(self.admm.y)  # also where it was stopped before the first
        self._save()
        if going and settings.relaxation_only:
            self.refinement.round(self._uses(self.admm.take_w()))
        elif going and not self.refinement.done:
            self._search()
        used = self.re_encode()
        if self.owner.once:
            self.owner.warm = None
            self.admm.release()
        elif self.owner.warm is not None:
            self.owner.warm.marks = self.best_marks
        alpha = self.admm.bound.alpha()
        if self.owner.once:
            self.admm.release(everything=True)
        return self.result(used, alpha)

    def take_up(self, marks: np.ndarray, alpha: np.ndarray | None) -> None:
        """Begin the search with this solution's dictionary, and try its prices as a bound, which any prices are."""
        self.keep(self.coder.evaluate(marks)[0], marks)
        self.start = marks
        if alpha is None:
            return
        self.admm.bound.update(-alpha.astype(np.float32))
        if self.owner.warm is None:
            self.admm.y[:] = -alpha

    def _restart(self, warm: _WarmState) -> None:
        """Begin where the last solve ended: its relaxation, and its dictionary at the new costs."""
        admm = self.admm
        admm.data[:], admm.y[:], admm.z[:] = warm.data, warm.y, warm.z
        admm.bound.update(admm.y)
        if warm.marks is not None:
            _, _, used = self.coder.evaluate(warm.marks)
            self.start = self.coder.encode_with(used)
            self.keep(self.coder.evaluate(self.start)[0], self.start)

    def _save(self) -> None:
        admm = self.admm
        warm = self.owner.warm
        if self.progress.reason is TerminationReason.NUMERICAL_ERROR:
            return  # nothing to go on from
        if warm is None:
            self.owner.warm = _WarmState(admm.data.copy(), admm.y.copy(), admm.z.copy())
        else:
            warm.data[:], warm.y[:], warm.z[:] = admm.data, admm.y, admm.z

    def _step(self, stage: str) -> bool:
        """One step and its event; False when stopped or when numbers overflow."""
        if not self.admm.step(0.0, self.progress):
            return False
        self.iteration += 1
        self.work += 1.0
        if not math.isfinite(self.admm.relaxation):
            self.progress.reason = TerminationReason.NUMERICAL_ERROR
            return False
        return self._report(stage)

    def _relax(self, wanted: float, limit: int) -> bool:
        """Steps on the relaxation until it is solved to the gap ``wanted``; False if stopped."""
        admm = self.admm
        look = _FIRST_LOOK
        for steps in range(1, limit + 1):
            if not self._step(RELAXATION):
                return False
            self.stepped = True
            self.average.add(admm.y)
            if steps == look and not self.settings.relaxation_only:
                look *= 2
                self.refinement.round(self._uses(admm.current_w()), rounds=2)
            if steps % self.settings.bound_every == 0:
                self.average.offer(admm.bound, admm.y)
                if self._relaxation_solved(wanted):
                    break
        else:
            self.limited = self.settings.relaxation_only
        self.relaxation = admm.relaxation
        return self.progress.reason is None

    def _relaxation_solved(self, wanted: float) -> bool:
        """Whether the relaxation's gap is small enough: proved, if that is all that is asked for.

        Else the value at w, which covers only nearly, is good enough to decide when to move on: what is proved in
        the end is the gap of the binary solution.
        """
        admm = self.admm
        if abs(relative_gap(admm.relaxation, admm.bound.value)) > wanted:
            return False
        if not self.settings.relaxation_only:
            return True
        self.relaxation_upper = admm.feasible_value(admm.current_w())
        return relative_gap(self.relaxation_upper, admm.bound.value) <= wanted

    def _search(self) -> None:
        """Anneal, round, search and recombine; in the end, if the gap is still open, better the bound."""
        refinement, settings = self.refinement, self.settings
        # after a warm start the last dictionary is as good as a rounded relaxation, until that is annealed
        rounded = self.stepped and not (self.start is not None and settings.annealings)
        # now, since the search takes the place of w
        dictionary = refinement.round(self._uses(self.admm.current_w())) if rounded else None
        if self.start is not None and not refinement.descend(self.coder.evaluate(self.start)[2]):
            return
        if dictionary is not None and not refinement.descend(dictionary):
            return
        for i in range(max(settings.annealings, 1)):
            before = self._open()
            if refinement.done or (settings.annealings and not self._anneal(i)):
                return
            refinement.recombine()
            if refinement.done or not self._tighten():
                return
            if i and before - self._open() < _LEAST_SHARE * before:
                return

    def _open(self) -> float:
        """What lies between the best solution and the bound."""
        return self.best_objective - self.lower_bound

    def _uses(self, w: np.ndarray) -> np.ndarray:
        """float32 (G,): the sum of w over each J(s)."""
        uses = np.zeros(self.index.n_grams, dtype=np.float32)
        self.admm.groups.apply(kernels_prox.SUM, w, self.costs.dictionary, levels=uses)
        return uses

    def _anneal(self, i: int) -> bool:
        """Steps from the relaxation with the concave dictionary cost, then rounding and local search; False if stopped.

        The first time as the settings say; later half as long, with half of the K-grams, drawn anew, priced by whether
        the best solution has them: near enough to it to be worth combining, and far enough to bring something new.
        """
        admm, settings = self.admm, self.settings
        self._return_to_relaxation()
        top = np.zeros(self.index.n_grams, dtype=np.float32)
        admm.levels = top  # ‖w_J(s)‖∞ of every step from here on
        going = self._step(RELAXATION)
        epsilon = settings.epsilon / 2 ** (max(i - 1, 0) % 3)
        shorter = 2 if i else 1
        held = self.random.random(len(top)) < 0.5 if i else np.zeros(0, dtype=bool)
        held_level = self.coder.evaluate(self.best_marks)[2][held] if i else None
        cost = np.empty(len(top))
        for _ in range(-(-settings.anneal_rounds // shorter)):
            np.minimum(top, 1.0, out=top)
            if held_level is not None:
                top[held] = held_level
            np.divide(self.costs.dictionary, (top + epsilon) * math.log1p(1.0 / epsilon), out=cost)
            admm.group_cost = cost
            going = going and all(self._step(ANNEALING) for _ in range(-(-settings.anneal_steps // shorter)))
            undecided = np.count_nonzero((top > _UNDECIDED[0]) & (top < _UNDECIDED[1]))
            if not going or undecided <= 0.002 * np.count_nonzero(top > _UNDECIDED[0]):
                break
        admm.levels = np.empty(0, dtype=np.float32)
        if not going:
            admm.group_cost = self.costs.dictionary
            return False
        uses = self._uses(admm.take_w())
        admm.group_cost = self.costs.dictionary
        del cost, top
        dictionary = self.refinement.round(uses)
        return self.refinement.descend(dictionary)

    def _tighten(self) -> bool:
        """More steps on the relaxation, as long as they better the bound by what is worth having; False if stopped."""
        admm, settings = self.admm, self.settings
        if not settings.tighten or not self.stepped:
            return True
        self._return_to_relaxation()
        before = math.inf
        while before - self._open() > _LEAST_SHARE * self._open() and not self.refinement.done:
            before = self._open()
            for steps in range(1, 2 * settings.bound_every + 1):
                if not self._step(RELAXATION):
                    return False
                self.average.add(admm.y)
                if steps % settings.bound_every == 0:
                    self.average.offer(admm.bound, admm.y)
        self._save()
        return True

    def _return_to_relaxation(self) -> None:
        admm, warm = self.admm, self.owner.warm
        assert warm is not None
        admm.data[:], admm.y[:], admm.z[:] = warm.data, warm.y, warm.z

    def _report(self, stage: str) -> bool:
        admm = self.admm
        annealing = stage == ANNEALING
        return self.report(
            stage,
            relaxation=NAN if annealing else admm.relaxation,
            zeta=NAN if annealing else 0.0,
            rho=admm.rho,
            support=admm.support,
            extra={"r": admm.r, "u": admm.u},
        )


def _usual_rho(costs: StorageCosts, index: KGramIndex) -> float:
    """0.1·√(d·c), of usual costs; measured best from λ = 0.1 to 3, within a factor of two either way."""
    pointer = float(mean_pointer_cost(costs, index.gram_of).mean())
    entry = float(np.median(costs.dictionary[costs.dictionary > 0])) if np.any(costs.dictionary > 0) else 1.0
    return 0.1 * math.sqrt(max(pointer, 0.01 * entry, 1e-6) * entry)
