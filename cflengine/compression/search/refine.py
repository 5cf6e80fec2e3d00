"""From any binary solution or fractional w to a better binary solution: rounding, local search, recombination.

Shared by the guided solver and, as ``polish=True``, by the homotopy and by reweighting, so that the three can be
compared. Everything found is given to the :class:`~cflengine.compression.solvers.run.CompressionRun`, whose best
solution never gets worse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import islice

import numpy as np

from cflengine.compression.passes.groups import Groups
from cflengine.compression.search.crossover import combine
from cflengine.compression.search.moves import DictionarySearch
from cflengine.compression.solvers.run import CompressionRun
from cflengine.engine.progress import NAN
from cflengine.engine.run import Run

SEARCH, RECOMBINATION = "local search", "recombination"

PATIENCE, LEAST_GAIN = 2, 1e-5  # recombinations in a row that may bring less than this share of the objective

PRICE_ROUNDS = 4
DESCENT_ROUNDS = 16
# a perturbation adds K-grams that would save at least this share of their cost, drops those that save less than one
# and this share of it, and of either so many, at random
NEARLY, SHARE = 0.5, 0.3


def open_to_change(present: np.ndarray, worth: np.ndarray, cost: np.ndarray, *, adding: bool) -> np.ndarray:
    """Bool: the K-grams that a perturbation may add to a dictionary, or drop; all of one length. present: uint8, flags
    of the dictionary; worth, cost: float, what a K-gram saves in pointers and takes in the dictionary."""
    if adding:
        return (present == 0) & (worth > NEARLY * cost)
    return (present > 0) & (worth < (1 + NEARLY) * cost)


class Recombination(ABC):
    """The loop around a perturbation and what is made of it."""

    run: Run
    tol: float
    patience: int
    least_gain: float

    @property
    def done(self) -> bool:
        """Whether a listener said stop or the gap is reached."""
        return self.run.progress.reason is not None or self.run.gap <= self.tol

    @abstractmethod
    def perturb(self, *, adding: bool) -> bool:
        """Leave the best solution's dictionary by many small steps at once, then descend; False if stopped."""

    @abstractmethod
    def combine_with_best(self, stage: str) -> bool:
        """Combine the search's solution with the best one before it, keep what is cheaper, and report."""

    def recombine(self) -> None:
        """Perturb, search, combine with the best, until ``done`` or ``patience`` rounds bring too little."""
        quiet = i = 0
        while not self.done and quiet < self.patience:
            before = self.run.best_objective
            if not self.perturb(adding=i % 2 == 0) or not self.combine_with_best(RECOMBINATION):
                return
            enough = before - self.run.best_objective > self.least_gain * before
            quiet = 0 if enough else quiet + 1
            i += 1


class Refinement(Recombination):
    """Works on a run's best solution; ``data`` is work space, float32 (m,), that is not needed elsewhere meanwhile."""

    run: CompressionRun

    def __init__(
        self,
        run: CompressionRun,
        groups: Groups,
        data: np.ndarray,
        *,
        tol: float,
        patience: int,
        least_gain: float,
        seed: int,
    ) -> None:
        self.run, self.groups = run, groups
        self.tol, self.patience, self.least_gain = tol, patience, least_gain
        self.search = DictionarySearch(run.coder, groups, run.costs, data)
        self.random = np.random.default_rng(seed)
        self.parent = run.best_cover  # the best solution when the search began

    def round(self, uses: np.ndarray, rounds: int = PRICE_ROUNDS) -> np.ndarray:
        """uint8 (G,), the dictionary of the best of ``rounds`` encodings at pointer prices d + c(s)/u_s.

        uses: float (G,), u at first: how often each K-gram is used, in a w the sum over J(s).
        """
        run = self.run
        best, dictionary = np.inf, np.zeros(0, dtype=np.uint8)
        for cover, objective, used in islice(run.coder.price_by_use(uses), rounds):
            run.update_incumbent(objective, cover)
            if objective >= best:
                break
            best, dictionary = objective, used
            if not run.progress.poll():
                break
        return dictionary

    def descend(self, dictionary: np.ndarray) -> bool:
        """Local search from a dictionary (uint8 (G,)); its result is combined with the best. False if stopped."""
        search, progress = self.search, self.run.progress
        self.parent = self.run.best_cover
        search.forget()
        going = search.evaluate(dictionary, progress) and search.descend(
            DESCENT_ROUNDS, progress, each=lambda: self.run.update_incumbent(search.objective, search.cover)
        )
        return self.combine_with_best(SEARCH) and going

    def perturb(self, *, adding: bool) -> bool:
        """Leave the best solution's dictionary by many small steps at once, then descend; False if stopped."""
        search, progress = self.search, self.run.progress
        self.parent = self.run.best_cover
        _, _, present = self.run.coder.evaluate(self.parent)
        if not search.evaluate(present, progress):
            return False
        grams = np.flatnonzero(open_to_change(present, search.worth, self.run.costs.dictionary, adding=adding))
        grams = grams[self.random.random(len(grams)) < SHARE]
        present[grams] = adding
        if not search.evaluate(present, progress):
            return False
        # what was changed stays so until the rest has adapted to it
        kinds = (False, False) if adding else (True,)
        going = all(search.improve(adding=kind, progress=progress, protect=grams) >= 0 for kind in kinds)
        return going and all(search.improve(adding=kind, progress=progress) >= 0 for kind in (False, True) * 2)

    def combine_with_best(self, stage: str) -> bool:
        """Combine the search's solution with the best one before it, keep what is cheaper, and report."""
        run, search = self.run, self.search
        if np.isfinite(search.objective) and run.progress.reason is None:
            run.update_incumbent(search.objective, search.cover)
            _, _, used = run.coder.evaluate(self.parent)
            cover = combine(run.index, run.costs, (self.parent, used), (search.cover, search.used), run.progress.poll)
            cover, objective, _ = run.coder.re_encode(cover)
            run.update_incumbent(objective, cover)
        run.iteration += 1
        run.work += 8
        return run.tell(stage, search.objective if np.isfinite(search.objective) else NAN)


def polish(run: CompressionRun, groups: Groups, data: np.ndarray) -> None:
    """Improve the best solution of a finished run by local search and recombination; ``data`` as for Refinement."""
    if run.progress.reason is None:
        refinement = Refinement(run, groups, data, tol=0.0, patience=PATIENCE, least_gain=LEAST_GAIN, seed=0)
        _, _, used = run.coder.evaluate(run.best_cover)
        if refinement.descend(used):
            refinement.recombine()
