"""The best subword vocabulary of a size, and what no vocabulary of that size can undercut.

A corpus has distinct words w, each n_w times, over an alphabet of units (bytes or characters). A vocabulary D of B
pieces of two units or more, beside the alphabet, makes a word into the fewest pieces that it consists of:

    minimise over D, |D| ≤ B   Σ_w n_w · t_w(D),   t_w(D) the fewest pieces of D and single units that make up w.   (1)

With a price µ for every piece this is problem (1) of Paskov, Mitchell, Hastie (AISTATS 2014), words being documents: a
pointer in word w costs n_w, a K-gram of two units or more µ, a unit nothing. Its relaxation lets pieces overlap, which
can only be cheaper, so for any µ ≥ 0 and any lower bound L(µ) on it

    L(µ) − µ·B  ≤  Σ_w n_w · t_w(D)   for every D with |D| ≤ B,                                                     (2)

and as tokens are whole numbers the left side may be rounded up. A piece of k units that occurs N times, counted with
n_w, saves at most (k − 1) N tokens: where that is no more than µ, it can be left out.

Worked example: "aab" ten times and "ab" five times, B = 1: of 40 tokens "ab" leaves 20 + 5, "aab" 10 + 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cflengine.compression import StorageCosts
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.tokenizer.words import WordTable


@dataclass(frozen=True)
class PieceIndex:
    """The candidates for pieces: all sequences of 1 to K units within words.

    index: their places; ``tokens`` are units numbered anew, ``alphabet`` (int32) what they are; weight: float64 (G,),
    how often each occurs in the running words.
    """

    table: WordTable
    index: KGramIndex
    alphabet: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, table: WordTable, longest: int) -> PieceIndex:
        """Of all words, pieces of up to ``longest`` units."""
        alphabet, units = np.unique(table.units, return_inverse=True)
        most = max(min(longest, int(np.diff(table.ptr).max(initial=1))), 1)
        index = index_kgrams(units.astype(np.int32), table.ptr, most)
        return cls(table, index, alphabet, _weights(index, table))

    def worth_at_most(self) -> np.ndarray:
        """float64 (G,): how many tokens each piece can save."""
        return (self.index.lengths() - 1.0) * self.weight

    def pruned(self, mu: float, least: int = 1, forbidden: np.ndarray | None = None) -> PieceIndex:
        """Without the pieces that cannot pay at prices of ``mu`` or more, that occur less often than ``least`` times,
        or are flagged in ``forbidden`` (bool (G,)); units stay."""
        kept = (self.worth_at_most() > mu) & (self.weight >= least)
        if forbidden is not None:
            kept &= ~forbidden
        kept |= self.index.lengths() == 1
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        grp_ptr = np.append(0, np.cumsum(self.index.counts()[kept])).astype(np.int32)
        len_ptr = np.searchsorted(self.index.lengths()[kept], np.arange(1, self.index.max_gram + 2)).astype(np.int32)
        index = replace(self.index, gram_of=number[self.index.gram_of], grp_ptr=grp_ptr, len_ptr=len_ptr)
        return replace(self, index=index, weight=self.weight[kept])

    @cached_property
    def pointer_cost(self) -> np.ndarray:
        """float32 (K, n): n_w. Numbers from 2²⁴ on are rounded down, so that bounds hold."""
        each = np.repeat(self.table.counts, np.diff(self.table.ptr)).astype(np.float64)
        single = each.astype(np.float32)
        single = np.where(single > each, np.nextafter(single, np.float32(0.0)), single)
        return np.ascontiguousarray(np.broadcast_to(single, (self.index.max_gram, len(single))))

    def costs(self, mu: float) -> StorageCosts:
        """Of problem (1) at a price."""
        stored = np.where(self.index.lengths() > 1, mu, 0.0)
        return StorageCosts(np.zeros(self.index.max_gram), self.pointer_cost, stored)

    def pieces(self, grams: np.ndarray) -> list[np.ndarray]:
        """The units of pieces by number."""
        first, lengths = self.index.first_positions(grams), self.index.lengths()[grams].astype(np.int64)
        return [self.table.units[a : a + k] for a, k in zip(first.tolist(), lengths.tolist(), strict=True)]


def _weights(index: KGramIndex, table: WordTable) -> np.ndarray:
    each = np.repeat(table.counts, np.diff(table.ptr)).astype(np.float64)
    weight = np.zeros(index.n_grams)
    for row in index.gram_of:
        inside = row >= 0
        weight += np.bincount(row[inside], each[inside], minlength=index.n_grams)
    return weight


def tokens_at_least(lower_bound: float, mu: float, size: int) -> int:
    """(2): how many tokens any vocabulary of ``size`` pieces takes; lower_bound: of problem (1) at price ``mu``."""
    below = lower_bound - mu * size
    return max(math.ceil(below - 1e-12 * (abs(lower_bound) + mu * size)), 0)
