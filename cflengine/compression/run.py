"""What every solver of problem (1) shares: the best solution so far, the events, the certified result.

A solver subclasses :class:`Run`, calls ``keep`` with every binary solution it meets, ``report`` after every step, and
``result`` once at the end, which re-encodes the best solution with its own dictionary and certifies what is left.
The best solution begins with single words, so that a run can be stopped from its first moment on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cflengine.compression.certificate import certify, relative_gap
from cflengine.compression.coder import Coder
from cflengine.compression.problem import StorageCosts
from cflengine.compression.result import CompressionResult, StageSnapshot
from cflengine.engine.progress import NAN, IterationStats, Listener, Progress, TerminationReason
from cflengine.engine.results import settings_dict
from cflengine.text.kgrams import KGramIndex

FINISHED = "re-encoded"


class Run:
    """One solve. Subclasses set ``solver`` and, once they have one, ``lower_bound`` (proved)."""

    solver = ""

    def __init__(
        self,
        index: KGramIndex,
        costs: StorageCosts,
        settings: Any,
        *,
        blocks: np.ndarray | None = None,
        listeners: Iterable[Listener] = (),
        lam: float = NAN,
    ) -> None:
        self.index, self.costs, self.settings, self.lam = index, costs, settings, lam
        self.progress = Progress(listeners, time_limit=settings.time_limit)
        self.coder = Coder(index, costs, blocks)
        self.iteration = 0
        self.work = 0.0
        self.best_marks = self.coder.single_words()
        self.best_objective, _, _ = self.coder.evaluate(self.best_marks)
        self.relaxation = self.relaxation_upper = NAN
        self.stages: list[StageSnapshot] = []
        self.limited = False  # by a number of iterations

    @property
    def lower_bound(self) -> float:
        """The best proved bound, 0 before there is one."""
        raise NotImplementedError

    @property
    def gap(self) -> float:
        """best / bound − 1, proved; NaN before there is a bound."""
        return relative_gap(self.best_objective, self.lower_bound if self.lower_bound > 0 else NAN)

    def keep(self, objective: float, marks: np.ndarray) -> bool:
        """Note a binary solution if it is the best so far."""
        if not objective < self.best_objective:
            return False
        self.best_objective = objective
        self.best_marks = marks.copy()
        return True

    def report(
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
        """Tell the listeners; False means stop."""
        bound = self.lower_bound if self.lower_bound > 0 else NAN
        stats = IterationStats(
            iteration=self.iteration,
            stage=stage,
            elapsed_s=self.progress.elapsed_s,
            work=self.work,
            objective=objective,
            best_objective=self.best_objective,
            relaxation=relaxation,
            lower_bound=bound,
            gap=relative_gap(self.best_objective, bound),
            zeta=zeta,
            rho=rho,
            lam=self.lam,
            support=support,
            extra=extra or {},
        )
        return self.progress.report(stats)

    def re_encode(self) -> np.ndarray:
        """Re-encode the best solution with its own dictionary; uint8 (G,), the K-grams that are left."""
        # kept also when it costs the same: it has no pointer too many
        self.best_marks, self.best_objective, used = self.coder.re_encode(self.best_marks)
        return used

    def result(self, used: np.ndarray, alpha: np.ndarray) -> CompressionResult:
        """Certify the best solution, whose K-grams are flagged in ``used``, with the dual prices ``alpha`` (kept)."""
        index, costs = self.index, self.costs
        certificate = certify(self.best_marks, alpha, index.doc_ptr, index.gram_of, costs)
        alpha *= certificate.shrink
        reason = self.progress.reason or (
            TerminationReason.ITERATION_LIMIT if self.limited else TerminationReason.CONVERGED
        )
        zeta = self.progress.records[-1].zeta if self.progress.records else NAN
        self.report(FINISHED, certificate.objective, zeta=zeta)
        return CompressionResult(
            marks=self.best_marks,
            dictionary=np.flatnonzero(used).astype(np.int32),
            alpha=alpha,
            certificate=certificate,
            reason=reason,
            relaxation=self.relaxation,
            relaxation_upper=self.relaxation_upper,
            n_iterations=self.iteration,
            seconds=self.progress.elapsed_s,
            solver=self.solver,
            settings=settings_dict(self.settings),
            digest=corpus_digest(index),
            trace=self.progress.trace(),
            stages=tuple(self.stages),
        )


def corpus_digest(index: KGramIndex) -> str:
    """First 16 hexadecimal digits of a SHA-256 over tokens, document borders and K."""
    digest = hashlib.sha256(f"{index.max_gram}".encode())
    digest.update(np.ascontiguousarray(index.tokens).data)
    digest.update(np.ascontiguousarray(index.doc_ptr).data)
    return digest.hexdigest()[:16]
