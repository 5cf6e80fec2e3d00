"""The outer loop of one guided solve: relaxation, annealing, rounding, search (guided/solver.py says what and why)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.model.problem import StorageCosts, mean_pointer_cost
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.passes.best_bound import MultiplierAverage
from cflengine.compression.search.refine import Refinement
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.text.kgrams import KGramIndex

if TYPE_CHECKING:
    from cflengine.compression.solvers.guided.solver import GuidedSolver

RELAXATION, ANNEALING = "relaxation", "annealing"
_FIRST_LOOK = 25  # steps after which the first solution is rounded
_EARLY = 2e-3  # the relaxation's gap, by its own account, at which the first search begins
_REST = 1e-6  # a first bound this near to the value at w is the last
_UNDECIDED = (0.02, 0.98)
_LEAST_SHARE = 0.01  # of what is open: a cycle of the search, or some steps for the bound, that close less are the last


@dataclass
class WarmState:
    """What a solve leaves for the next: the relaxation's iterate and multipliers, their unit, the best solution."""

    data: np.ndarray
    y: np.ndarray
    z: np.ndarray
    unit: float
    cover: np.ndarray | None = None


class GuidedRun(CompressionRun):
    """The outer loop of one solve."""

    solver = "guided"

    def __init__(
        self,
        solver: GuidedSolver,
        problem: Problem,
        settings: GuidedSettings,
        listeners: Iterable[Listener],
        lam: float,
    ) -> None:
        assert solver.admm is not None
        self.owner, self.admm = solver, solver.admm
        index, costs = problem.index, problem.costs
        rho = settings.rho if settings.rho is not None else _usual_rho(costs, index)
        self.admm.retarget(costs, rho, settings.over)
        super().__init__(problem, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.refinement = Refinement(
            self, self.admm.groups, self.admm.data,
            tol=settings.tol, patience=settings.patience, least_gain=settings.least_gain, seed=settings.random_state,
        )  # fmt: skip
        self.stepped = self.searched = False
        self.average = MultiplierAverage(index.n_tokens)
        self.random = np.random.default_rng(settings.random_state)
        self.start: np.ndarray | None = None  # the cover whose dictionary the search begins with
        if solver.warm is not None:
            self._restart(solver.warm)
        else:
            self.admm.reset()
        words = costs.dictionary[: index.len_ptr[1]]
        if words.max(initial=0.0) > 0.1 * self.best_objective:  # single words may be what must not be
            cover = self.coder.encode(costs.dictionary)
            self.update_incumbent(self.coder.evaluate(cover)[0], cover)

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
            self.owner.warm.cover = self.best_cover
        alpha = self.admm.bound.alpha()
        if self.owner.once:
            self.admm.release(everything=True)
        return self.result(used, alpha)

    def warm_start(self, cover: np.ndarray, alpha: np.ndarray | None) -> None:
        """Begin the search with this solution's dictionary, and try its prices as a bound, which any prices are."""
        self.update_incumbent(self.coder.evaluate(cover)[0], cover)
        self.start = cover
        if alpha is None:
            return
        self.admm.bound.update(-alpha.astype(np.float32))
        if self.owner.warm is None:
            self.admm.y[:] = -alpha

    def _restart(self, warm: WarmState) -> None:
        """Begin where the last solve ended: its relaxation, and its dictionary at the new costs."""
        if warm.unit != self.unit:
            warm.y *= warm.unit / self.unit
            warm.unit = self.unit
        self._return_to_relaxation()
        self.admm.bound.update(self.admm.y)
        if warm.cover is not None:
            self.start, objective, _ = self.coder.re_encode(warm.cover)
            self.update_incumbent(objective, self.start)

    def _save(self) -> None:
        admm = self.admm
        warm = self.owner.warm
        if self.progress.reason is TerminationReason.NUMERICAL_ERROR:
            return  # nothing to go on from
        if warm is None:
            self.owner.warm = WarmState(admm.data.copy(), admm.y.copy(), admm.z.copy(), self.unit)
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
                before = self.lower_bound
                self.average.update_bound(admm.bound, admm.y)
                if self._relaxation_solved(wanted, before) or (self.searched and self.refinement.done):
                    break
                if self._time_to_search():
                    if not self._search_early():
                        return False
                    if self.refinement.done:
                        break
        else:
            self.limited = self.settings.relaxation_only
        self.relaxation = admm.relaxation
        return self.progress.reason is None

    def _time_to_search(self) -> bool:
        """Once, when the relaxation is known well enough for a first good solution."""
        wanted = self.settings.early and not self.settings.relaxation_only and self.start is None
        return wanted and not self.searched and self._relaxation_gap() <= _EARLY

    def _search_early(self) -> bool:
        """Round and search, and leave the relaxation as it was; False if stopped.

        There are better solutions later, but most of what there is to gain is there so much sooner.
        """
        self.searched = True
        self._save()
        going = self.refinement.descend(self.refinement.round(self._uses(self.admm.take_w())))
        self._return_to_relaxation()
        return going

    def _relaxation_solved(self, wanted: float, before: float) -> bool:
        """Whether the relaxation's gap is small enough: proved, if that is all that is asked for.

        Else the value at w, which covers only nearly, is good enough to decide when to move on: what is proved in
        the end is the gap of the binary solution.
        """
        admm = self.admm
        if self._relaxation_gap() > wanted:
            return False
        if not self.settings.relaxation_only:
            return self._bound_rests(wanted, before)
        self.relaxation_upper = admm.feasible_value(admm.current_w())
        return relative_gap(self.relaxation_upper, admm.bound.value) <= wanted

    def _bound_rests(self, wanted: float, before: float) -> bool:
        """Whether the last steps improved the bound by less than ``wanted`` of it; before: the bound before them.

        A value at w that happens to pass the bound on its way up says nothing: with a coarse ``tol`` the relaxation
        would end a per cent too low, and annealing go on for minutes before its bound is looked at again. A first bound
        has nothing to be compared with, and rests where the value at w is all but equal to it.
        """
        bound = self.lower_bound
        if math.isnan(before) or before <= 0:
            return self._relaxation_gap() <= min(wanted, _REST)
        return bound <= before * (1.0 + wanted)

    def _relaxation_gap(self) -> float:
        """Between the value at w and the bound, on either side: w that does not cover yet is too cheap."""
        return abs(relative_gap(self.admm.relaxation, self.admm.bound.value))

    def _search(self) -> None:
        """Anneal, round, search and recombine; in the end, if the gap is still open, better the bound."""
        refinement, settings = self.refinement, self.settings
        # what is annealed is better than a rounded relaxation, which has its turn only where nothing else was searched
        rounded = self.stepped and not (settings.annealings and (self.searched or self.start is not None))
        # now, since the search takes the place of w
        dictionary = refinement.round(self._uses(self.admm.current_w())) if rounded else None
        if settings.early or not settings.annealings:
            started = self.start is None or refinement.descend(self.coder.evaluate(self.start)[2])
            if not started:
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
        held_level = self.coder.evaluate(self.best_cover)[2][held] if i else None
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
                    self.average.update_bound(admm.bound, admm.y)
        self._save()
        return True

    def _return_to_relaxation(self) -> None:
        admm, warm = self.admm, self.owner.warm
        assert warm is not None
        admm.data[:], admm.y[:], admm.z[:] = warm.data, warm.y, warm.z

    def _report(self, stage: str) -> bool:
        admm = self.admm
        annealing = stage == ANNEALING
        return self.tell(
            stage,
            relaxation=NAN if annealing else admm.relaxation,
            zeta=NAN if annealing else 0.0,
            rho=admm.rho,
            support=admm.support,
            extra={"r": admm.r, "u": admm.u},
        )


def _usual_rho(costs: StorageCosts, index: KGramIndex) -> float:
    """0.5·√(d·c)/Σk, of usual costs; measured best for K = 3 and 5 and λ = 0.1 to 3, within a factor of two."""
    pointer = float(mean_pointer_cost(costs, index.gram_of).mean())
    entry = float(np.median(costs.dictionary[costs.dictionary > 0])) if np.any(costs.dictionary > 0) else 1.0
    lengths = index.max_gram * (index.max_gram + 1) / 2
    return 0.5 * math.sqrt(max(pointer, 0.01 * entry) * entry) / lengths
