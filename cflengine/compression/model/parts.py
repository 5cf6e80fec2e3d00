"""The certificate of a corpus that is kept in parts, each with an index of its own; imports no kernel and no solver.

What ties parts together is the dictionary: a K-gram that several parts have is stored once, and its budget c(s) in (*)
of certificate.py is one for all of them. So the parts are gone through one after the other, and only sums over K-grams
that are shared are kept. The answer is that of :func:`~cflengine.compression.model.certificate.certify` on the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cflengine.compression.model.certificate import (
    Certificate,
    binary_solution,
    exact_step,
    excesses_of,
    least_shrink,
    shrunk,
)
from cflengine.compression.model.lifting import Lifted, left_of
from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.gaps import EPSILON, add_exactly, relative_gap, sum_above, upper_sum


@dataclass(frozen=True)
class PartFacts:
    """What a part's data say. value, n_pointers, n_entries: of its solution, of the K-grams that no other part has;
    covered, total (Σ α), shrink: as in certificate.py; lifted: the bounds of branching trees. Of its shared K-grams,
    (H,): used bool, excess, ratio, cost and spent (by trees) float64."""

    value: float
    covered: bool
    n_pointers: int
    n_entries: int
    total: float
    lifted: float
    shrink: float
    used: np.ndarray = field(repr=False)
    excess: np.ndarray = field(repr=False)
    ratio: np.ndarray = field(repr=False)
    cost: np.ndarray = field(repr=False)
    spent: np.ndarray = field(repr=False)
    step: float


def part_facts(
    cover: np.ndarray,
    alpha: np.ndarray,
    gram_of: np.ndarray,
    costs: StorageCosts,
    shared: np.ndarray,
    lifted: Lifted | None = None,
) -> PartFacts:
    """From a part's solution and its dual prices (shapes as in certificate.py); shared: int (H,), those of its K-grams
    that other parts have too, by its own numbers; lifted: where it has branching trees."""
    rest = costs.dictionary.copy()
    rest[shared] = 0.0
    value, covered, n_pointers, used = binary_solution(cover, gram_of, replace(costs, dictionary=rest))
    found = excesses_of(alpha, gram_of, costs) if lifted is None else lifted.excesses(gram_of, costs)
    spent = np.zeros(len(costs.dictionary)) if lifted is None else lifted.spent
    excess = found.by_gram[shared]
    found.by_gram[shared] = 0.0
    return PartFacts(
        value,
        covered,
        n_pointers,
        int(used.sum() - used[shared].sum()),
        found.total,
        0.0 if lifted is None else lifted.bound,
        least_shrink(found.by_gram, found.ratio, left_of(costs.dictionary, spent)),
        used[shared],
        excess,
        found.ratio[shared],
        costs.dictionary[shared],
        spent[shared],
        exact_step(costs),
    )


class PartsCertificate:
    """Takes parts one by one (:meth:`add`), then says what is proved (:meth:`certificate`).

    shared_cost: float64 (S,), c(s) of the K-grams that several parts have.
    """

    def __init__(self, shared_cost: np.ndarray) -> None:
        self.shared_cost = shared_cost
        self._excess, self._terms = np.zeros(len(shared_cost)), np.zeros(len(shared_cost), dtype=np.int32)
        self._spent, self._lifted = np.zeros(len(shared_cost)), 0.0
        self._ratio = np.ones(len(shared_cost))
        self._used = np.zeros(len(shared_cost), dtype=bool)
        self._value = self._total = 0.0
        self._shrink = self._step = 1.0
        self._covered = True
        self._n_pointers = self._dictionary_size = 0

    def add(self, part: PartFacts, among: np.ndarray) -> None:
        """Another part; among: int (H,), the numbers of its shared K-grams, none twice."""
        if not np.array_equal(part.cost, self.shared_cost[among]):
            raise ValueError("a shared K-gram costs something else in this part.")
        self._value = sum_above(self._value, part.value)
        self._covered = self._covered and part.covered
        self._n_pointers += part.n_pointers
        self._used[among] |= part.used
        self._dictionary_size += part.n_entries
        self._total = -sum_above(-self._total, -part.total)
        self._lifted = -sum_above(-self._lifted, -part.lifted)
        self._spent[among] += part.spent
        self._excess[among] += part.excess
        self._terms[among] += 1
        self._ratio[among] = np.minimum(self._ratio[among], part.ratio)
        self._shrink = min(self._shrink, part.shrink)
        self._step = min(self._step, part.step)

    def certificate(self) -> Certificate:
        """What is proved of all parts together."""
        excess = self._excess
        if not add_exactly(excess):
            excess = excess * (1.0 + EPSILON * self._terms)
        left = left_of(self.shared_cost, self._spent * (1.0 + EPSILON * self._terms))
        bound, shrink = shrunk(self._total, min(self._shrink, least_shrink(excess, self._ratio, left)))
        bound = -sum_above(-bound, -self._lifted)
        value = sum_above(self._value, upper_sum(self.shared_cost[self._used]))
        size = self._dictionary_size + int(self._used.sum())
        gap = relative_gap(value, bound)
        return Certificate(value, bound, gap, self._covered, shrink, self._n_pointers, size, self._step)
