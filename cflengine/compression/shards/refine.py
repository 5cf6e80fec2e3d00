"""Rounding, local search and recombination over shards: what concerns shared K-grams (search/refine.py, the same on one
index; solutions.py, what a shard does)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.search.crossover import Differences, choose_segments
from cflengine.compression.search.moves import TOLERANCE, alternate
from cflengine.compression.search.refine import (
    DESCENT_ROUNDS,
    PRICE_ROUNDS,
    SEARCH,
    SHARE,
    Recombination,
    open_to_change,
)
from cflengine.compression.shards.solutions import (
    BEST,
    PARENT,
    ROUNDED,
    SEARCHED,
    Compared,
    Encoded,
    Proposed,
    Searched,
)

if TYPE_CHECKING:
    from cflengine.compression.shards.run import ShardedRun

_NONE = np.zeros(0, dtype=np.int32)


class ShardedRefinement(Recombination):
    """Works on the run's best solution. ``value``, ``used``, ``worth``: of the dictionary that was searched last, used
    uint8 and worth float64 (S,); ``present``: uint8 (S,), that dictionary."""

    run: ShardedRun

    def __init__(self, run: ShardedRun) -> None:
        self.run = run
        self.tol, self.patience, self.least_gain = run.guided.tol, run.guided.patience, run.guided.least_gain
        self.value = np.inf
        self.used = self.present = np.zeros(len(run.cost), dtype=np.uint8)
        self.worth = np.zeros(len(run.cost))
        self.random = np.random.default_rng(run.settings.random_state)

    def start(self) -> None:
        """The solution that a run begins with: single words, where no other is known."""
        run = self.run
        run.best_objective = run.total(run.each("solutions.evaluate", run.same(BEST)))

    def update_incumbent(self, objective: float, name: str) -> bool:
        """Note a solution, the cover called ``name``, if it is the best so far."""
        if not objective < self.run.best_objective:
            return False
        self.run.best_objective = objective
        self.run.each("solutions.keep", self.run.same(name))
        return True

    def uses(self, *, taking: bool) -> np.ndarray:
        """float64 (S,): the sums of w over the pointers of shared K-grams; the shards keep those of their own. taking:
        no step follows."""
        run = self.run
        return run.budgets.sum(np.concatenate(run.each("uses", run.same(taking))))

    def round(self, uses: np.ndarray, rounds: int = PRICE_ROUNDS) -> None:
        """The best of ``rounds`` encodings at pointer prices d + c(s)/u_s; its dictionary is what is searched next."""
        run, budgets = self.run, self.run.budgets
        best = np.inf
        for _ in range(rounds):
            used = run.each("solutions.price", budgets.spread(uses.astype(np.float32)))
            objective, uses = self._encode(np.concatenate(used))
            self.update_incumbent(objective, ROUNDED)
            if objective >= best:
                break
            best = objective
            run.each("solutions.note")
            if not run.progress.poll():
                break

    def _encode(self, used: np.ndarray) -> tuple[float, np.ndarray]:
        """Encode with the dictionary of all shards' covers; used: uint8 (E,). Objective and uses (float64 (S,))."""
        run, budgets = self.run, self.run.budgets
        encoded: list[Encoded] = run.each("solutions.encode", budgets.spread(budgets.any(used)))
        return run.total(encoded), budgets.sum(np.concatenate([one.uses for one in encoded]))

    def re_encode_best(self) -> None:
        """The best solution, encoded with its own dictionary."""
        run = self.run
        objective, _ = self._encode(np.concatenate(run.each("solutions.begin_search", run.same(False))))
        if objective <= run.best_objective:  # also where it costs the same: it has no pointer too many
            run.best_objective = objective
            run.each("solutions.keep", run.same(ROUNDED))

    def descend(self, *, noted: bool = True) -> bool:
        """Local search from the dictionary that was rounded last, or from that of the best solution; combined with the
        best so far. False if stopped."""
        self._begin(noted=noted)
        going = self._evaluate() and alternate(DESCENT_ROUNDS, self._improve_and_note, self.value)
        return self.combine_with_best(SEARCH) and going

    def _begin(self, *, noted: bool) -> None:
        run = self.run
        self.present = run.budgets.any(np.concatenate(run.each("solutions.begin_search", run.same(noted))))

    def _improve_and_note(self, adding: bool) -> tuple[int, float]:
        moved = self._improve(adding=adding)
        if moved >= 0:
            self.update_incumbent(self.value, SEARCHED)
        return moved, self.value

    def _evaluate(self) -> bool:
        """Take ``present`` as the dictionary and work out the rest; False if stopped."""
        run, budgets = self.run, self.run.budgets
        answers: list[Searched | None] = run.each("solutions.searched", budgets.spread(self.present))
        self.value = np.inf
        found = [one for one in answers if one is not None]
        if len(found) < len(answers):
            return False
        self.used = budgets.any(np.concatenate([one.used for one in found]))
        self.worth = budgets.sum(np.concatenate([one.worth for one in found]))
        self.value = sum(one.value for one in found) + float(run.cost[self.used > 0].sum())
        return True

    def _improve(self, *, adding: bool, drawn: np.ndarray | None = None) -> int:
        """Moves of one kind that pay and stand apart; how many (−1: stopped). drawn: bool (S,), protected ones."""
        run, budgets = self.run, self.run.budgets
        used, worth = budgets.spread(self.used), budgets.spread(self.worth.astype(np.float32))
        proposed: list[Proposed] = run.each(
            "solutions.propose", run.same(adding), used, worth, run.same(drawn is not None)
        )
        pays = (self.worth > run.cost) & (self.present == 0) if adding else (self.worth < run.cost) & (self.present > 0)
        if drawn is not None:
            pays &= ~drawn
        votes = np.concatenate([one.votes for one in proposed])
        if adding:
            moved = pays & (budgets.sum(votes) > run.cost * (1.0 + TOLERANCE))
        else:
            moved = pays & (budgets.sum(1.0 - votes) == 0)
        present = self.used.copy()
        if drawn is not None:
            present |= self.present & drawn
        present[moved] = adding
        self.present = present
        n_moved = sum(one.moved for one in proposed) + int(moved.sum())
        return n_moved if self._evaluate() else -1

    def perturb(self, *, adding: bool) -> bool:
        """Leave the best solution's dictionary by many small steps at once, then descend; False if stopped."""
        run, budgets = self.run, self.run.budgets
        self._begin(noted=False)
        if not self._evaluate():
            return False
        drawn = open_to_change(self.present, self.worth, run.cost, adding=adding)
        drawn &= self.random.random(len(drawn)) < SHARE
        run.each("solutions.perturb", run.same(adding), budgets.spread(drawn))
        present = self.present.copy()
        present[drawn] = adding
        self.present = present
        if not self._evaluate():
            return False
        kinds = (False, False) if adding else (True,)
        going = all(self._improve(adding=kind, drawn=drawn) >= 0 for kind in kinds)
        return going and all(self._improve(adding=kind) >= 0 for kind in (False, True) * 2)

    def combine_with_best(self, stage: str) -> bool:
        """Combine the searched solution with the one before, keep what is cheaper, and report."""
        run = self.run
        if np.isfinite(self.value) and run.progress.reason is None:
            self.update_incumbent(self.value, SEARCHED)
            take = self._choose()
            if take is not None:
                objective, _ = self._encode(np.concatenate(run.each("solutions.combine", take)))
                self.update_incumbent(objective, ROUNDED)
        run.iteration += 1
        run.work += 8
        run.progress.show(run)
        return run.report(stage, self.value)

    def _choose(self) -> list[np.ndarray] | None:
        """By shard, bool: the segments that take the searched cover; None where they are the same."""
        run, budgets = self.run, self.run.budgets
        parent: list[Encoded] = run.each("solutions.evaluate", run.same(PARENT))
        used = budgets.any(np.concatenate([one.used for one in parent]))
        compared: list[Compared] = run.each("solutions.compare", budgets.spread(used), budgets.spread(self.used))
        sizes = [len(one.delta) for one in compared]
        if not sum(sizes):
            return None
        numbers, pairs = _numbered(compared, len(run.cost))
        first = np.cumsum([0, *sizes])
        segment = np.concatenate([one.segment + offset for one, offset in zip(compared, first[:-1], strict=True)])
        every = np.concatenate(numbers)
        grams, where = np.unique(every, return_index=True)
        cost = np.concatenate([one.cost for one in compared])[where]
        in_first = np.concatenate([one.in_first for one in compared])[where]
        delta = np.concatenate([one.delta for one in compared])
        together = Differences(_NONE, _NONE, delta, segment, np.concatenate(pairs))
        take = choose_segments(together, grams, cost, in_first, run.progress.poll)
        return np.split(take, first[1:-1])


def _numbered(compared: list[Compared], n_shared: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Numbers of ``grams`` and of ``gram`` that no two K-grams have: the shared ones', then those of each shard's."""
    numbers, pairs, offset = [], [], n_shared
    for one in compared:
        numbers.append(np.where(one.grams >= 0, one.grams, offset - 1 - one.grams))
        pairs.append(np.where(one.gram >= 0, one.gram, offset - 1 - one.gram))
        offset += max(int(-one.grams.min(initial=0)), 0)
    return numbers, pairs
