"""The outer loop of one guided solve, over the state that its phases share (solver.py says what and why)."""

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
from cflengine.compression.solvers.guided.annealing import anneal
from cflengine.compression.solvers.guided.phases import ANNEALING, RELAXATION, GuidedPhases
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.gaps import relative_gap
from cflengine.engine.mapped import SetAside
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.text.kgrams import KGramIndex

if TYPE_CHECKING:
    from cflengine.compression.solvers.guided.solver import GuidedSolver


@dataclass
class WarmState:
    """What a solve leaves for the next: the relaxation's q, y and z, the unit of y, the best solution."""

    iterate: SetAside
    unit: float
    cover: np.ndarray | None = None


class GuidedRun(GuidedPhases, CompressionRun):
    """One solve: the state that its phases work on.

    Phases: phases.py, annealing.py; rounding, local search and recombination in search/. State: the best solution
    and bound, ``admm`` with its vectors, the relaxation saved in ``owner.warm``, ``start``, the cover whose dictionary
    the search begins with, and whether anything was ``stepped`` or ``searched``.
    """

    solver = "guided"
    first_look = 25

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
        rho = settings.rho if settings.rho is not None else usual_rho(costs, index)
        self.admm.retarget(costs, rho, settings.over)
        super().__init__(problem, settings, blocks=self.admm.layout.blocks, listeners=listeners, lam=lam)
        self.guided = settings
        self._refinement = Refinement(
            self, self.admm.groups, self.admm.workspace,
            tol=settings.tol, patience=settings.patience, least_gain=settings.least_gain, seed=settings.random_state,
        )  # fmt: skip
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
    def refinement(self) -> Refinement:
        return self._refinement

    @property
    def lower_bound(self) -> float:
        return self.admm.bound.value if math.isnan(self._bound) else self._bound  # the latter: trees'

    @property
    def value(self) -> float:
        return self.admm.relaxation

    def run(self) -> CompressionResult:
        """All phases, then the certificate."""
        going = self._report(RELAXATION) and self.solve_relaxation()
        if going:
            self.relaxation = self.admm.relaxation
        else:
            self.look_at_last()
        self.admm.bound.update(self.admm.y)  # also where it was stopped before the first
        self.save_relaxation()
        if going and self.settings.relaxation_only:
            self.refinement.round(self.uses(self.admm.take_w()))
        elif going and not self.refinement.done and self._first_search():
            self.cycles()
        used = self.re_encode()
        branching = self.settings.branching and self.owner.once and not self.settings.relaxation_only
        return self.result(used, self._hand_over(), branching=branching)

    def _hand_over(self) -> np.ndarray:
        """float64 (n,), the dual prices of the best bound; what the next solve needs is kept, all else let go."""
        if self.owner.once:
            self.owner.warm = None
            del self._refinement, self.average  # they have q, and memory of their own
            self.admm.release()
        elif self.owner.warm is not None:
            self.owner.warm.cover = self.best_cover
        alpha = self.admm.bound.alpha()
        if self.owner.once:
            self.admm.release(everything=True)
        return alpha

    def warm_start(self, cover: np.ndarray, alpha: np.ndarray | None) -> None:
        """Begin the search with this solution's dictionary, and try its prices as a bound, which any prices are."""
        self.update_incumbent(self.coder.evaluate(cover)[0], cover)
        self.start = cover
        if alpha is None:
            return
        self.admm.bound.update(-alpha.astype(np.float32))
        if self.owner.warm is None:
            self.admm.y[:] = -alpha

    def incumbent(self) -> tuple[np.ndarray, np.ndarray]:
        """The best solution, uint8 (n,), and the prices behind the best bound, float32 (n,), in the user's unit."""
        return self.best_cover, np.maximum(-self.unit * self.admm.bound.best_y, np.float32(0.0))

    def proved_solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies: the best solution, unsigned (n,), and the prices that prove the best bound, float64 (n,), in the
        user's unit."""
        return self.best_cover.copy(), self.unit * self.admm.bound.alpha_aside()

    def _restart(self, warm: WarmState) -> None:
        """Begin where the last solve ended: its relaxation, and its dictionary at the new costs."""
        self.return_to_relaxation()
        self.admm.bound.update(self.admm.y)
        if warm.cover is not None:
            self.start, objective, _ = self.coder.re_encode(warm.cover)
            self.update_incumbent(objective, self.start)

    def save_relaxation(self) -> None:
        """Keep the iterate, for what comes after the search and for the next solve."""
        admm = self.admm
        warm = self.owner.warm
        if self.progress.reason is TerminationReason.NUMERICAL_ERROR:
            return  # nothing to go on from
        if warm is None:
            warm = self.owner.warm = WarmState(SetAside(), self.unit)
        warm.iterate.put(admm.q, admm.y, admm.z)
        warm.unit = self.unit

    def step(self, stage: str) -> bool:
        """One step and its event; False when stopped or when numbers overflow."""
        if not self.admm.step(0.0, self.progress):
            return False
        self.iteration += 1
        self.work += 1.0
        if not math.isfinite(self.admm.relaxation):
            self.progress.reason = TerminationReason.NUMERICAL_ERROR
            return False
        return self._report(stage)

    def advance(self, most: int) -> int:
        """One step."""
        if not self.step(RELAXATION):
            return 0
        self.average.add(self.admm.y)
        self.steps_done += 1
        return 1

    def prove(self) -> None:
        """The mean of the multipliers as a bound."""
        self.average.update_bound(self.admm.bound, self.admm.y)

    def look(self) -> None:
        """Round the relaxation as it stands."""
        self.refinement.round(self._current_uses(), rounds=2)

    def search_relaxed(self) -> bool:
        """Round and search, and leave the relaxation as it was saved; False if stopped."""
        going = self.refinement.descend(self.refinement.round(self.uses(self.admm.take_w())))
        self.return_to_relaxation()
        return going

    def anneal(self, i: int) -> bool:
        """See annealing.py."""
        return anneal(self, i)

    def known(self) -> bool:
        """Whether there was a warm start."""
        return self.start is not None

    def relaxation_proved(self, before: float) -> bool:
        """Whether a feasible point is near enough to the bound."""
        with self.admm.lent_w() as w:
            self.relaxation_upper = self.admm.feasible_value(w)
        return relative_gap(self.relaxation_upper, self.lower_bound) <= self.guided.wanted_relaxation_gap

    def _first_search(self) -> bool:
        """From the cover that is known, or from the rounded relaxation; False if stopped."""
        refinement, settings = self.refinement, self.settings
        # what is annealed is better, and takes several times as long; a solution that is known is better than both
        rounded = bool(self.steps_done) and not (settings.annealings and self.start is not None)
        # now, since the search takes the place of w
        dictionary = refinement.round(self._current_uses()) if rounded else None
        if settings.early or not settings.annealings:
            started = self.start is None or refinement.descend(self.coder.evaluate(self.start)[2])
            if not started:
                return False
        return dictionary is None or refinement.descend(dictionary)

    def uses(self, w: np.ndarray) -> np.ndarray:
        """float32 (G,): the sum of w over each J(s)."""
        uses = np.zeros(self.index.n_grams, dtype=np.float32)
        self.admm.groups.apply(kernels_prox.SUM, w, self.costs.dictionary, levels=uses)
        return uses

    def _current_uses(self) -> np.ndarray:
        with self.admm.lent_w() as w:
            return self.uses(w)

    def return_to_relaxation(self) -> None:
        """The iterate that was saved last."""
        admm, warm = self.admm, self.owner.warm
        assert warm is not None
        warm.iterate.get(admm.q, admm.y, admm.z)
        if warm.unit != self.unit:
            admm.y *= warm.unit / self.unit

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


def usual_rho(costs: StorageCosts, index: KGramIndex) -> float:
    """0.5·√(d·c)/Σk, of usual costs; measured best for K = 3 and 5 and λ = 0.1 to 3, within a factor of two."""
    pointer = float(mean_pointer_cost(costs, index.gram_of).mean())
    entry = float(np.median(costs.dictionary[costs.dictionary > 0])) if np.any(costs.dictionary > 0) else 1.0
    lengths = index.max_gram * (index.max_gram + 1) / 2
    return 0.5 * math.sqrt(max(pointer, 0.01 * entry) * entry) / lengths
