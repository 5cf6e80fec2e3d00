"""One corpus, compressed again and again: at another λ, or with a wish; each solve starts where the last one ended.

A wish changes problem (1) for some K-grams: one that is *forced* is stored in any case, so its c(s) is paid before the
solver begins; one that is *forbidden* costs more than any corpus. Both problems are certified, so the price of a wish
is known within proved limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from cflengine.compression.certificate import Certificate, relative_gap
from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.guided import GuidedSolver
from cflengine.compression.guided_settings import GuidedSettings
from cflengine.compression.problem import StorageCosts
from cflengine.compression.result import CompressionResult
from cflengine.engine.progress import Listener
from cflengine.text.tokens import TokenTable

FORBIDDEN = 1e9


@dataclass(frozen=True)
class WishPrice:
    """What a wish costs: ``estimate``, the difference of the objectives found; ``least`` and ``most``, proved limits of
    the difference of the optima."""

    estimate: float
    least: float
    most: float

    @classmethod
    def of(cls, wished: CompressionResult, free: CompressionResult) -> WishPrice:
        """From the result with the wish and the one without."""
        return cls(
            wished.objective - free.objective,
            max(0.0, wished.lower_bound - free.objective),
            wished.objective - free.lower_bound,
        )


class CompressionSession:
    """Solves one corpus for many λ and wishes.

    estimator: an unfitted guided :class:`~cflengine.CompressiveFeatures`, whose settings hold for every solve; table:
    the corpus in tokens. Raises what its ``fit`` raises. Not for several threads at once.
    """

    def __init__(self, estimator: CompressiveFeatures, table: TokenTable) -> None:
        self.estimator = clone(estimator)
        self.estimator.prepare(table)
        self.solver = GuidedSolver(self.estimator.index_, n_threads=estimator.n_threads)

    def solve(
        self,
        lam: float,
        *,
        force: Sequence[int] = (),
        forbid: Sequence[int] = (),
        settings: GuidedSettings | None = None,
        listeners: Iterable[Listener] = (),
        known: CompressionResult | None = None,
    ) -> CompressiveFeatures:
        """The fitted estimator at ``lam``. force, forbid: numbers of K-grams in ``index_``.

        known: an earlier result for the same λ and no wishes, which this one then is at least as good as; with wishes
        it is where the search starts. Raises ValueError for a K-gram that is both forced and forbidden, or forbidden
        although the text cannot be covered without it.
        """
        if set(force) & set(forbid):
            raise ValueError("a K-gram cannot be forced and forbidden at once.")
        plain = self.estimator.costs_at(lam)
        costs, paid = _with_wishes(plain, force, forbid)
        if known is not None and self.solver.warm is not None:
            self.solver.warm.marks = known.marks
        same = ((known.marks, known.alpha),) if known is not None and not (force or forbid) else ()
        result = self.solver.solve(costs, settings, listeners=tuple(listeners), lam=lam, known=same)
        if np.isin(result.dictionary, np.asarray(forbid, dtype=np.int64)).any():
            raise ValueError("the text cannot be covered without that K-gram, so it cannot be forbidden.")
        model = clone(self.estimator).set_params(lam=lam)
        return model.adopt(self.estimator, plain, _with_paid(result, paid))


def _with_wishes(costs: StorageCosts, force: Sequence[int], forbid: Sequence[int]) -> tuple[StorageCosts, float]:
    """The costs under the wishes, and what forcing costs before the solver begins."""
    dictionary = costs.dictionary.copy()
    paid = float(dictionary[list(force)].sum())
    dictionary[list(force)] = 0.0
    dictionary[list(forbid)] = FORBIDDEN
    return replace(costs, dictionary=dictionary), paid


def _with_paid(result: CompressionResult, paid: float) -> CompressionResult:
    """The result with a constant added to objective and bound."""
    if not paid:
        return result
    before = result.certificate
    objective, bound = before.objective + paid, before.lower_bound + paid
    certificate: Certificate = replace(
        before, objective=objective, lower_bound=bound, gap=relative_gap(objective, bound)
    )
    return replace(result, certificate=certificate)
