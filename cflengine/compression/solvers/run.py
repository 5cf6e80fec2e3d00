"""What every solver of problem (1) shares: the best solution so far and, at the end, its certificate.

A solver subclasses :class:`CompressionRun`, calls ``update_incumbent`` with every binary solution it meets, ``tell``
after every step, and ``result`` once at the end, which re-encodes the best solution with its own dictionary and
certifies what is left. The best solution begins with single words, so that a run can be stopped from its first moment
on.

Solvers are dimensionless: ``costs`` are the user's divided by a unit
(:func:`~cflengine.compression.model.problem.unit_of`), and so are all numbers of a solver; events and the result are in
the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cflengine.compression.model.branching import Branching
from cflengine.compression.model.certificate import Certificate, certify
from cflengine.compression.model.lifting import lift
from cflengine.compression.model.problem import StorageCosts, unit_of
from cflengine.compression.model.result import CompressionResult, StageSnapshot
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.blocks import Blocks
from cflengine.compression.solvers.lifting import BRANCHING, SEARCH, branch_where_open
from cflengine.engine.progress import NAN, Listener, Progress
from cflengine.engine.run import Run
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import KGramIndex

FINISHED = "re-encoded"


class Problem:
    """A corpus and its costs as solvers take them: ``costs`` in ``unit``, ``given`` as the user has them."""

    def __init__(self, index: KGramIndex, given: StorageCosts) -> None:
        self.index, self.given = index, given
        self.unit = unit_of(given, index.lengths())
        self.costs = given.in_unit(self.unit)


class CompressionRun(Run):
    """One solve; subclasses set ``solver`` and raise the bound as they prove more. exact_search: whether parts are
    solved exactly in the end, where the gap lies."""

    exact_search = True

    def __init__(
        self,
        problem: Problem,
        settings: Limits,
        *,
        blocks: Blocks | None = None,
        listeners: Iterable[Listener] = (),
        lam: float = NAN,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(settings, listeners, lam=lam, unit=problem.unit, progress=progress)
        self.problem, self.index, self.costs = problem, problem.index, problem.costs
        self.coder = Coder(self.index, self.costs, blocks)
        self.best_cover = self.coder.single_words()
        self.best_objective, _, _ = self.coder.evaluate(self.best_cover)
        self.relaxation = self.relaxation_upper = NAN
        self.stages: list[StageSnapshot] = []

    def update_incumbent(self, objective: float, cover: np.ndarray) -> bool:
        """Note a binary solution if it is the best so far."""
        if not objective < self.best_objective:
            return False
        self.best_objective = objective
        self.best_cover = cover.copy()
        return True

    def tell(
        self,
        stage: str,
        objective: float = NAN,
        *,
        relaxation: float = NAN,
        zeta: float = NAN,
        rho: float = NAN,
        support: int = -1,
        extra: Mapping[str, float] | None = None,
    ) -> bool:
        """Report; ζ, ρ and the value of the continuous iterate (an estimate) go into the event's ``extra``."""
        own = {"zeta": zeta, "rho": rho, "relaxation": self.unit * relaxation}
        going = self.report(stage, objective, support=support, extra=own | dict(extra or {}))
        if not stage.endswith((FINISHED, SEARCH, BRANCHING)):  # then the solver's arrays are gone
            self.progress.show(self)
        return going

    def picture(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Copies, to be looked at while the run goes on: uint8 (n,), the pointers of the best solution; uint8 (K, n),
        the continuous iterate w in steps of 1/255, where the solver has one that is small enough."""
        return self.best_cover.copy(), None

    def re_encode(self) -> np.ndarray:
        """Re-encode the best solution with its own dictionary; uint8 (G,), the K-grams that are left."""
        # kept also when it costs the same: it has no pointer too many
        self.best_cover, self.best_objective, used = self.coder.re_encode(self.best_cover)
        return used

    def _certify(self, alpha: np.ndarray) -> Certificate:
        """The best solution's, by these prices. Raises RuntimeError for one that is none, whatever it seems to cost."""
        certificate = certify(self.best_cover, alpha, self.index.gram_of, self.problem.given)
        if not certificate.covered:
            raise RuntimeError("the solver's solution leaves tokens uncovered.")
        return certificate

    def result(
        self, used: np.ndarray, alpha: np.ndarray, *, branching: bool = False, **fields: Any
    ) -> CompressionResult:
        """Certify the best solution, whose K-grams are flagged in ``used``, with the dual prices ``alpha`` (kept).

        alpha: float64 (n,), in the solver's unit. branching: lift the bound by trees, where it is not tight. fields:
        what a subclass of the result has besides.
        """
        index, given = self.index, self.problem.given
        alpha *= self.unit
        certificate = self._certify(alpha)
        alpha *= certificate.shrink
        branchings: tuple[Branching, ...] = ()
        if branching and self.progress.reason is None and not self.reached(certificate.gap):
            before = self.best_objective
            branchings = branch_where_open(self, alpha, certificate)
            if self.best_objective < before:  # a tree ended in a better solution
                used = self.re_encode()
                certificate = self._certify(alpha)
            plain, certificate = certificate, lift(certificate, alpha, index.gram_of, given, branchings)
            branchings = branchings if certificate.lower_bound > plain.lower_bound else ()
        zeta = self.progress.records[-1].get("zeta") if self.progress.records else NAN
        self.tell(FINISHED, certificate.objective / self.unit, zeta=zeta)
        return CompressionResult(
            **self.facts(certificate.objective, certificate.lower_bound),
            cover=self.best_cover,
            dictionary=np.flatnonzero(used).astype(np.int32),
            alpha=alpha,
            branchings=branchings,
            certificate=certificate,
            relaxation=self.unit * self.relaxation,
            relaxation_upper=self.unit * self.relaxation_upper,
            stages=tuple(self.stages),
            **fields,
        )
