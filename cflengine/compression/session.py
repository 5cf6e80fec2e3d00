"""One corpus, compressed again and again: at another λ, or with a constraint; each solve starts where the last one
ended.

A constraint changes problem (1) for some K-grams: one that is *forced* is stored in any case, so its c(s) is paid
before the solver begins; one that is *forbidden* costs more than a solution without it that is known, so that no
optimal one has it. Both problems are certified, so the price of a constraint is known within proved limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.model.problem import MAX_COST, StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.passes.binary import Coder
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import GuidedSolver
from cflengine.engine.checks import InputError
from cflengine.engine.gaps import relative_gap, sum_above
from cflengine.engine.progress import Listener
from cflengine.text.tokens import TokenTable

QUICK = GuidedSettings(tol=0.0).search_only(patience=1)


@dataclass(frozen=True)
class ConstraintPrice:
    """What a constraint costs: ``estimate``, the difference of the objectives found; ``least`` and ``most``, proved
    limits of the difference of the optima.

    Parameters
    ----------
    estimate : float
        Difference of the objectives found.
    least : float
        Proved lower limit of the difference of the optima.
    most : float
        Proved upper limit of it.
    """

    estimate: float
    least: float
    most: float

    @classmethod
    def of(cls, constrained: CompressionResult, free: CompressionResult) -> ConstraintPrice:
        """From the result with the constraint and the one without."""
        return cls(
            constrained.objective - free.objective,
            max(0.0, -sum_above(free.objective, -constrained.lower_bound)),
            sum_above(constrained.objective, -free.lower_bound),
        )


class CompressionSession:
    """Solves one corpus for many λ and constraints.

    Raises what ``fit`` raises. Not for several threads at once.

    Parameters
    ----------
    estimator : CompressiveFeatures
        A :class:`~cflengine.CompressiveFeatures`, whose settings hold for every solve if it is a guided one.
    table : TokenTable or None, default: None
        The corpus in tokens, or None for the corpus that the estimator is fitted to.
    """

    def __init__(self, estimator: CompressiveFeatures, table: TokenTable | None = None) -> None:
        settings = estimator.settings if isinstance(estimator.settings, GuidedSettings) else None
        self.estimator = clone(estimator).set_params(solver="guided", settings=settings, polish=False)
        own = getattr(estimator, "_tokenizer", None)  # of a fitted one: what cut the table, it may be
        self.corpus = estimator.corpus_ if table is None else self.estimator.prepare(table, cutter=own)
        self.estimator.corpus_ = self.corpus
        self.solver = GuidedSolver(self.corpus.index, n_threads=estimator.n_threads)

    def solve(
        self,
        lam: float | None = None,
        *,
        force: Sequence[int] = (),
        forbid: Sequence[int] = (),
        settings: GuidedSettings | None = None,
        listeners: Iterable[Listener] = (),
        known: CompressionResult | None = None,
    ) -> CompressiveFeatures:
        """The fitted estimator at another λ, or with K-grams that must or must not be in the dictionary.

        Parameters
        ----------
        lam : float or None, default: None
            λ; None for the estimator's own, as it must be where every pointer has a cost of its own.
        force : Sequence[int], default: ()
            Numbers of K-grams in ``index_`` that the dictionary must have.
        forbid : Sequence[int], default: ()
            Those that it must not have.
        settings : GuidedSettings or None, default: None
            With ``QUICK`` the bound is what the prices of the last solve prove, and the answer is there at once.
        listeners : Iterable[Listener], default: ()
            Called with every event.
        known : CompressionResult or None, default: None
            An earlier result, where the search starts; for the same λ and constraints this one is at least as good.

        Returns
        -------
        CompressiveFeatures
            Fitted, with the certificate of its own solution.

        Raises
        ------
        ValueError for a K-gram that is both forced and forbidden, or forbidden although the text cannot be covered
        without it, and for a λ that would mean nothing.
        """
        if lam is None:
            lam = float(self.estimator.lam)
        elif self.corpus.pointer_cost is not None:
            raise InputError(
                "pointers have costs of their own here (pointer_cost), so λ would mean nothing: leave it out."
            )
        if set(force) & set(forbid):
            raise InputError("a K-gram cannot be forced and forbidden at once.")
        plain = self.corpus.costs(lam)
        force, forbid = sorted(set(force)), sorted(set(forbid))
        costs, paid = replace(plain, dictionary=plain.dictionary.copy()), float(plain.dictionary[force].sum())
        costs.dictionary[force] = 0.0
        start: list[tuple[np.ndarray, np.ndarray | None]] = [] if known is None else [(known.cover, known.alpha)]
        if forbid:
            cover, objective = self._without(costs, forbid, known)
            costs.dictionary[forbid] = min(3.0 * objective if objective > 0 else 1.0, MAX_COST)
            start.append((cover, None))
        settings = settings or self.estimator._solver_settings()
        result = self.solver.solve(costs, settings, listeners=tuple(listeners), lam=lam, known=start)
        model = clone(self.estimator).set_params(lam=lam)
        return model.adopt(self.corpus, _with_paid(result, paid))

    def _without(
        self, costs: StorageCosts, forbid: Sequence[int], known: CompressionResult | None
    ) -> tuple[np.ndarray, float]:
        """A solution without the K-grams ``forbid``, from the known one's dictionary: cover uint8 (n,), objective."""
        index = self.corpus.index
        coder = Coder(index, costs)
        price = costs.dictionary.copy()
        if known is not None:
            price[known.dictionary] = 0.0
        price[list(forbid)] = np.inf
        cover = coder.encode(price)
        if not binary_solution(cover, index.gram_of, costs)[1]:
            raise InputError("the text cannot be covered without that K-gram, so it cannot be forbidden.")
        return cover, coder.evaluate(cover)[0]


def _with_paid(result: CompressionResult, paid: float) -> CompressionResult:
    """The result with a constant added to objective and bound."""
    if not paid:
        return result
    before = result.certificate
    objective, bound = sum_above(before.objective, paid), -sum_above(-before.lower_bound, -paid)
    facts: dict[str, Any] = {"objective": objective, "lower_bound": bound, "gap": relative_gap(objective, bound)}
    return replace(result, certificate=replace(before, **facts), **facts)
