"""The linear relaxation of (1) at a price µ, by linearised ADMM; words are cut without overlap.

    minimise over w ≥ 0   Σ_i n_i w_i + µ Σ_s max_{i of s} w_i   subject to   Σ_{i ∋ j} w_i = 1 for each unit j      (4)

over pointers i, a piece at a place in a word that occurs n_i times. Three things make it fast where words differ in
their counts by orders of magnitude, and few of the pointers that there could be are left:

- multipliers are per occurrence of a word, so that all are of order 1: counts are weights of the proximal map alone;
- a unit's step is divided by the number d_j of pointers that have it, a pointer's by its length |i|, which is all that
  convergence asks for, as Σ_j (Σ_{i ∋ j} v_i)² / d_j ≤ Σ_j Σ_{i ∋ j} v_i² = Σ_i |i| v_i²;
- multipliers may have either sign. Of −y the prices of (3) are made by the cheapest way through each word where a
  pointer costs n_i and a share of µ, so shared out that pointers which would be worth more get more.

In steps of one ρ, over-relaxed; µ follows the number of pieces.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.compression import Groups, MultiplierAverage, PointerLayout
from cflengine.tokenizer import relaxation_kernels as kernels
from cflengine.tokenizer.candidates import Candidates
from cflengine.tokenizer.problem import tokens_at_least

_RUN_UNITS = 1 << 12  # of words that are worked on together
_RHO, _OVER = np.float32(1.0), np.float32(1.8)  # half and double ρ are worse on news, reviews and Chinese, by little
_FIRST, _EVERY = 25, 5  # steps before the price is first changed, and from then on
_GAIN, _MOST = 0.1, 0.2  # the price's change by share of pieces that there are too many, a fifth at most


class Relaxation:
    """Iterates of (4), whose price µ moves until there are as many pieces as wanted.

    levels: float32 (G,), how much of each piece there is; mu: the price; steps: taken so far.
    """

    def __init__(self, pieces: Candidates, free: int, mu: float, least: float, alpha: np.ndarray) -> None:
        """free: how many pieces are chosen; least: below which the price does not go; alpha: float64 (n,), prices to
        begin with."""
        index, table = pieces.index, pieces.table
        self.pieces, self.free, self.mu, self.least, self.steps = pieces, free, mu, least, 0
        self._priced = pieces.many & ~pieces.required
        self._lengths = index.lengths().astype(np.float64)
        layout = PointerLayout.of(index)
        self._slot, self._groups = layout.slot, Groups(index, layout)
        cuts = np.searchsorted(table.ptr, np.arange(0, index.n_tokens, _RUN_UNITS))
        self._words = np.append(np.unique(np.minimum(cuts, table.n_words - 1)), table.n_words)
        self._begin = table.ptr[self._words]
        self._counts = pieces.unit_counts.astype(np.float32)
        self._w = np.empty(index.n_pointers, dtype=np.float32)
        self._weight = np.empty_like(self._w)
        kernels.counts_by_place(self._slot, self._counts, self._w, (0, index.n_tokens))
        self._runs, self._bins = (0, len(self._begin) - 1), (0, len(self._groups.bins.ptr) - 1)
        kernels.weights_by_group(self._w, self._groups.bins, self._weight, self._bins)
        self._per_unit = np.empty(index.n_tokens, dtype=np.float32)
        kernels.pointers_of_units(self._slot, self._begin, self._per_unit, self._runs)
        self._w[:] = 0.0
        self._y = (-alpha / pieces.unit_counts).astype(np.float32)
        self._average = MultiplierAverage(index.n_tokens)
        self.levels = np.zeros(index.n_grams, dtype=np.float32)

    def step(self) -> None:
        """One step, and the price after some."""
        scaled = self.pieces.group_cost(self.mu / float(_RHO)) / self._lengths
        kernels.update_groups(self._w, self._weight, self._groups.bins, scaled, self.levels, self._bins)
        kernels.pass_over_words(self._w, self._slot, self._y, self._per_unit, self._begin, (_RHO, _OVER), self._runs)
        self._average.add(self._y)
        self.steps += 1
        if self.steps >= _FIRST and self.steps % _EVERY == 0:
            more = float(self.levels[self._priced].sum()) / self.free - 1.0
            self.mu = max(self.mu * (1.0 + _GAIN * min(max(more, -_MOST), _MOST)), self.least)

    def bounds(self) -> Iterator[tuple[int, np.ndarray]]:
        """How many tokens any vocabulary takes, by the last multipliers and by their mean, and the prices, float64
        (n,), that prove it."""
        yield self._bound(self._y)
        with self._average.proposal(self._y) as mean:
            if mean is not self._y:
                yield self._bound(mean)
        self._average.tried()

    def _bound(self, y: np.ndarray) -> tuple[int, np.ndarray]:
        shares, alpha = np.empty_like(self._w), np.empty(len(y))
        kernels.excesses(y, self._counts, self._slot, self._begin, shares, self._runs)
        self._groups.share(shares, self.pieces.group_cost(self.mu))
        totals = np.zeros(len(self._words) - 1)
        counts, ptr = self.pieces.unit_counts, self.pieces.table.ptr
        kernels.bound_words(shares, counts, self._slot, ptr, self._words, alpha, totals, self._runs)
        return tokens_at_least(float(totals.sum()), self.mu, self.free), alpha

    def support(self) -> np.ndarray:
        """bool (G,): the pieces of which there is some."""
        return self._priced & (self.levels > 0)

    def rounded(self) -> np.ndarray:
        """bool (G,): the pieces of which there is most, as many as wanted, and those required."""
        chosen = self.pieces.required.copy()
        order = np.argsort(-self.levels[self._priced], kind="stable")
        chosen[np.flatnonzero(self._priced)[order[: self.free]]] = True
        return chosen
