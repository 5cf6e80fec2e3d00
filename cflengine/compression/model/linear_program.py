"""Problem (1) as an integer linear programme.

    minimise   wᵀd + Σ_s c(s) v_s   subject to   Xw ≥ 1,  w_i ≤ v_s ∀i ∈ J(s),  w ≥ 0,  v_s ∈ {0, 1}

is problem (1) of Paskov, Mitchell, Hastie (AISTATS 2014) with one variable v_s = ‖w_J(s)‖∞ for each K-gram. Two
things make it smaller than it looks:

- only v is integral. A column of X is a run of consecutive ones, so X is totally unimodular, and stays so with the
  bounds w_i ≤ v_s: once v is binary, the linear programme in w has a binary optimum;
- a K-gram that occurs once, or that costs nothing to store, needs no v: its pointers cost d + c(s).

Shapes: m pointers, in order of length, then start; n tokens; G K-grams, of which those ``shared`` have a v.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from cflengine.compression.model.local_problem import LocalProblem
from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex


class IntegerProgram:
    """minimise cost·(w, v) subject to rows·(w, v) ≥ lower, (w, v) ≥ 0, v binary.

    lengths (from 0), starts, grams: int (m,), the pointers; shared: bool (G,); step: a number that the objective of
    every binary solution is a multiple of, 0 if none is known.
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, wanted: np.ndarray | None = None) -> None:
        """wanted: bool (n,), the tokens that have to be covered; None for all."""
        self.index, self.costs = index, costs
        self.wanted = np.ones(index.n_tokens, dtype=bool) if wanted is None else wanted
        self.lengths, self.starts = np.nonzero(index.gram_of >= 0)
        self.grams = index.gram_of[self.lengths, self.starts]
        self.d = costs.pointer_by_length[self.lengths]
        if costs.pointer_extra.size:
            self.d = self.d + costs.pointer_extra[self.lengths, self.starts]
        self.shared = (index.counts() > 1) & (costs.dictionary > 0)
        own = np.where(self.shared[self.grams], 0.0, costs.dictionary[self.grams])
        self.cost = np.concatenate([self.d + own, costs.dictionary[self.shared]])
        self.step = common_step(np.concatenate([self.d, costs.dictionary]))

    @property
    def n_pointers(self) -> int:
        return len(self.grams)

    @cached_property
    def rows(self) -> sparse.csc_matrix:
        """(n + links, m + shared): first X, then v_s − w_i for the pointers of shared K-grams."""
        n, m, sizes = self.index.n_tokens, self.n_pointers, self.lengths + 1
        pointer = np.repeat(np.arange(m), sizes)
        within = np.arange(len(pointer)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        linked = np.flatnonzero(self.shared[self.grams])
        link = n + np.arange(len(linked))
        v = m + np.cumsum(self.shared)[self.grams[linked]] - 1
        where = (
            np.concatenate([np.repeat(self.starts, sizes) + within, link, link]),
            np.concatenate([pointer, linked, v]),
        )
        values = np.repeat([1.0, -1.0, 1.0], [len(pointer), len(linked), len(linked)])
        return sparse.csc_matrix((values, where), shape=(n + len(linked), len(self.cost)))

    @property
    def lower(self) -> np.ndarray:
        """float64 (n + links,): the right-hand sides."""
        return np.concatenate([self.wanted, np.zeros(self.rows.shape[0] - self.index.n_tokens)])

    def chosen(self, cover: np.ndarray) -> np.ndarray:
        """uint8 (m,): w of a binary solution, whose cover is uint8 (n,)."""
        return cover[self.starts] >> self.lengths.astype(np.uint8) & 1

    def uses(self, w: np.ndarray) -> np.ndarray:
        """float64 (G,): Σ of w over J(s)."""
        return np.bincount(self.grams, w, minlength=self.index.n_grams)

    def point(self, cover: np.ndarray) -> np.ndarray:
        """float64 (m + shared,): (w, v) of a binary solution."""
        w = self.chosen(cover)
        return np.concatenate([w, self.uses(w)[self.shared] > 0]).astype(np.float64)

    def relaxed_value(self, w: np.ndarray) -> float:
        """The relaxed objective at w (float (m,)) scaled up until it covers every token: a proved upper bound on the
        relaxation; inf where a token is not covered at all."""
        w = np.maximum(w, 0.0)
        least = (self.rows[: self.index.n_tokens, : self.n_pointers] @ w).min(initial=1.0)
        if least <= 0:
            return np.inf
        top = np.zeros(self.index.n_grams)
        np.maximum.at(top, self.grams, w)
        # a little more, for the rounding of these very sums
        return float(self.d @ w + self.costs.dictionary @ top) / least * (1 + 1e-12)


def index_of(local: LocalProblem) -> KGramIndex:
    """A part's index, its words left out; K-grams that stand nowhere in it count as long as those before them."""
    K, n = local.gram_of.shape
    length, counts = np.zeros(len(local.grams), dtype=np.int64), np.zeros(len(local.grams), dtype=np.int64)
    for k, row in enumerate(local.gram_of):
        length[row[row >= 0]] = k + 1
        np.add.at(counts, row[row >= 0], 1)
    grp_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    len_ptr = np.searchsorted(np.maximum.accumulate(length), np.arange(1, K + 2)).astype(np.int32)
    return KGramIndex(np.zeros(n, dtype=np.int32), np.array([0, n]), local.gram_of, grp_ptr, len_ptr)


def common_step(values: np.ndarray) -> float:
    """The largest of 1, 0.5, 0.2, 0.1 .. 0.001 that all ``values`` are multiples of; 0 if none is."""
    for parts in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        scaled = values * parts
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-12 * np.maximum(np.abs(scaled), 1.0)):
            return 1.0 / parts
    return 0.0
