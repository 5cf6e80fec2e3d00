"""The order of a guided solve, whatever a step, a bound and a solution are made of: of one index (run.py) or of shards
(shards/run.py).

Phase one: steps on the linear relaxation until it is solved to a proved gap; on the way, rounding, and once the search.
Then annealing, search and recombination, and more steps for a better bound, again and again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import Progress, TerminationReason

RELAXATION, ANNEALING = "relaxation", "annealing"
LEAST_SHARE = 0.01  # of what is open: a cycle of the search, or some steps for the bound, that close less are the last
_EARLY = 2e-3  # the relaxation's gap, by its own account, at which the first search begins
# the relaxation rests for now where it is solved to this share of what is open: that lies in the solution, and the
# relaxation is taken up again after each annealing
_OPEN_SHARE = 0.1
_REST = 1e-6  # a first bound this near to the value at w is the last


class Refining(Protocol):
    """Local search and recombination of a run's best solution."""

    @property
    def done(self) -> bool:
        """Whether a listener said stop or the gap is reached."""
        ...

    def recombine(self) -> None:
        """Perturb, search, combine, as long as it helps."""
        ...


class GuidedPhases(ABC):
    """A run's phases; its subclasses also are a :class:`~cflengine.engine.run.Run` and say what the parts are.

    guided: the settings; refinement: of the best solution; steps_done: on the relaxation, whose multipliers are
    averaged; searched: whether the early search was; first_look: steps after which the first solution is rounded.
    """

    guided: GuidedSettings
    steps_done = 0
    searched = False
    limited: bool
    first_look: int
    best_objective: float
    progress: Progress

    @property
    @abstractmethod
    def refinement(self) -> Refining:
        """See :class:`Refining`."""

    @property
    @abstractmethod
    def lower_bound(self) -> float:
        """The best proved bound."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The relaxed objective at w, an estimate."""

    @abstractmethod
    def advance(self, most: int) -> int:
        """One or a few steps on the relaxation, at most so many; how many, 0 where it was stopped."""

    @abstractmethod
    def prove(self) -> None:
        """Try the averaged multipliers as a bound."""

    @abstractmethod
    def look(self) -> None:
        """Round the relaxation as it stands."""

    @abstractmethod
    def search_relaxed(self) -> bool:
        """Round and search, and leave the relaxation as it was saved; False if stopped."""

    @abstractmethod
    def anneal(self, i: int) -> bool:
        """The i-th annealing, then rounding and local search; False if stopped."""

    @abstractmethod
    def save_relaxation(self) -> None:
        """Keep the iterate."""

    @abstractmethod
    def return_to_relaxation(self) -> None:
        """The iterate that was saved last."""

    def known(self) -> bool:
        """Whether the search has a solution to begin with."""
        return False

    def relaxation_proved(self, before: float) -> bool:
        """Whether the relaxation is solved, where nothing else is asked for; before: the bound before the last."""
        return self._bound_rests(before)

    @property
    def open(self) -> float:
        """What lies between the best solution and the bound."""
        return self.best_objective - self.lower_bound

    def solve_relaxation(self) -> bool:
        """Steps until the relaxation is solved to the gap wanted; on the way, rounding, and once the search. False if
        stopped."""
        settings, look, since = self.guided, self.first_look, 0
        while self.steps_done < settings.relaxation_iterations:
            n = self.advance(settings.relaxation_iterations - self.steps_done)
            if not n:
                return False
            since += n
            if self.steps_done >= look and not settings.relaxation_only:
                look *= 2
                self.look()
            if since < settings.bound_every:
                continue
            since, before = 0, self.lower_bound
            self.prove()
            if self._solved(before) or (self.searched and self.refinement.done):
                return True
            if self._time_to_search():
                # there are better solutions later, but most of what there is to gain is there so much sooner
                self.searched = True
                self.save_relaxation()
                if not self.search_relaxed():
                    return False
                if self.refinement.done:
                    return True
        self.limited = settings.relaxation_only
        return True

    def look_at_last(self) -> None:
        """Of a run that is stopped: without a look all it has are single words, and the relaxation knows more."""
        looked = self.steps_done >= self.first_look and not self.guided.relaxation_only
        if not (looked or self.known() or self.progress.reason is TerminationReason.NUMERICAL_ERROR):
            self.look()

    def cycles(self) -> None:
        """Anneal, recombine, tighten the bound, until the gap is reached or a cycle closes hardly anything of it."""
        refinement, annealings = self.refinement, self.guided.annealings
        for i in range(max(annealings, 1)):
            before = self.open
            if refinement.done or (annealings and not self.anneal(i)):
                return
            refinement.recombine()
            if refinement.done or not self.tighten():
                return
            if i and before - self.open < LEAST_SHARE * before:
                return

    def tighten(self) -> bool:
        """More steps on the relaxation, as long as they improve the bound by what is worth having; False if stopped."""
        every = self.guided.bound_every
        if not self.guided.tighten or not self.steps_done:
            return True
        self.return_to_relaxation()
        before = math.inf
        while before - self.open > LEAST_SHARE * self.open and not self.refinement.done:
            before = self.open
            for _ in range(2):
                since = 0
                while since < every:
                    n = self.advance(every - since)
                    if not n:
                        return False
                    since += n
                self.prove()
        self.save_relaxation()
        return True

    def _time_to_search(self) -> bool:
        """Once, when the relaxation is known well enough for a first good solution."""
        wanted = self.guided.early and not self.guided.relaxation_only and not self.known()
        return wanted and not self.searched and self._gap() <= _EARLY

    def _solved(self, before: float) -> bool:
        """Whether the relaxation's gap is small enough: proved, if that is all that is asked for; before: the bound
        before.

        Else the value at w, which covers only nearly, is good enough to decide when to move on: what is proved in the
        end is the gap of the binary solution.
        """
        if self._gap() > self._enough:
            return False
        return self.relaxation_proved(before) if self.guided.relaxation_only else self._bound_rests(before)

    @property
    def _enough(self) -> float:
        """The relaxation's gap with which it is time for something else."""
        wanted, guided = self.guided.wanted_relaxation_gap, self.guided
        if guided.relaxation_only or not guided.annealings or not guided.tighten or not self.lower_bound > 0:
            return wanted
        return max(wanted, _OPEN_SHARE * self.open / self.lower_bound)

    def _bound_rests(self, before: float) -> bool:
        """Whether the last steps improved the bound by less than the gap wanted of it; before: the bound before them.

        A value at w that happens to pass the bound on its way up says nothing: with a coarse ``tol`` the relaxation
        would end a per cent too low, and annealing go on for minutes before its bound is looked at again. A first bound
        has nothing to be compared with, and rests where the value at w is all but equal to it.
        """
        wanted = self._enough
        if math.isnan(before) or before <= 0:
            return self._gap() <= min(wanted, _REST)
        return self.lower_bound <= before * (1.0 + wanted)

    def _gap(self) -> float:
        """Between the value at w and the bound, on either side: w that does not cover yet is too cheap."""
        return abs(relative_gap(self.value, self.lower_bound))
