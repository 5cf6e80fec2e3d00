"""The pieces that a vocabulary may be made of, as the K-grams of a corpus whose documents are words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cflengine.engine.memory import require_bytes
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.tokenizer.problem import most_saved
from cflengine.tokenizer.words import WordTable

LONGEST = 32  # units of a piece: a cover has a bit for each
_BYTES_PER_PLACE, _BYTES_PER_PIECE = 52, 150  # places: a unit and a length; from 0.2 to 1 of this is taken


@dataclass(frozen=True)
class Candidates:
    """All G sequences of 1 to K units within words, or those that are left of them.

    Parameters
    ----------
    table : WordTable
        The words.
    index : KGramIndex
        The places of the sequences; its ``tokens`` are units numbered anew.
    alphabet : ndarray
        int32, what these units are.
    weight : ndarray
        float64 (G,), how often each occurs in the running words.
    required : ndarray
        bool (G,), pieces that any vocabulary has.
    origin : ndarray
        int64 (G,), their numbers among all.
    """

    table: WordTable
    index: KGramIndex
    alphabet: np.ndarray
    weight: np.ndarray
    required: np.ndarray
    origin: np.ndarray

    @classmethod
    def of(cls, table: WordTable, longest: int) -> Candidates:
        """Of all words, pieces of up to ``longest`` units. Raises MemoryLimitError where a solve would not fit."""
        alphabet, units = np.unique(table.units, return_inverse=True)
        most = max(min(longest, int(np.diff(table.ptr).max(initial=1))), 1)
        places = most * len(units)
        require_bytes(_BYTES_PER_PLACE * places, *_words_for(table))
        index = index_kgrams(units.astype(np.int32), table.ptr, most)
        require_bytes(_BYTES_PER_PLACE * places + _BYTES_PER_PIECE * index.n_grams, *_words_for(table))
        none = np.zeros(index.n_grams, dtype=bool)
        return cls(table, index, alphabet, _weights(index, table), none, np.arange(index.n_grams))

    @cached_property
    def many(self) -> np.ndarray:
        """bool (G,): whether a piece is of two units or more, and so one that is chosen."""
        return self.index.lengths() > 1

    @cached_property
    def most_saved(self) -> np.ndarray:
        """float64 (G,): how many tokens each can save at most."""
        return most_saved(self.index.lengths(), self.weight)

    @cached_property
    def unit_counts(self) -> np.ndarray:
        """int64 (n,): n_w at every unit of a word."""
        return np.repeat(self.table.counts, np.diff(self.table.ptr))

    def numbers(self, pieces: list[np.ndarray]) -> np.ndarray:
        """int64: which these are, units each; −1 for those that do not occur, or are too long."""
        wanted: dict[bytes, list[int]] = {}
        for i, piece in enumerate(pieces):
            wanted.setdefault(piece.tobytes(), []).append(i)
        found = np.full(len(pieces), -1, dtype=np.int64)
        for k in {len(piece) for piece in pieces} & set(range(1, self.index.max_gram + 1)):
            a, e = self.index.len_ptr[k - 1 : k + 1]
            for g, first in zip(range(a, e), self.index.first_positions(np.arange(a, e)).tolist(), strict=True):
                found[wanted.get(self.table.units[first : first + k].tobytes(), [])] = g
        return found

    def find(self, pieces: list[np.ndarray]) -> np.ndarray:
        """bool (G,): which these are; those that do not occur, or are too long, are passed over."""
        return self.flags(self.numbers(pieces))

    def flags(self, numbers: np.ndarray) -> np.ndarray:
        """bool (G,): those of these numbers, of which −1 is none."""
        found = np.zeros(self.index.n_grams, dtype=bool)
        found[numbers[numbers >= 0]] = True
        return found

    def requiring(self, required: np.ndarray) -> Candidates:
        """The same, with pieces that any vocabulary has: bool (G,)."""
        return replace(self, required=required & self.many)

    def only(self, kept: np.ndarray) -> Candidates:
        """Those flagged in bool (G,), units, and those required."""
        kept = kept | ~self.many | self.required
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        grp_ptr = np.append(0, np.cumsum(self.index.counts()[kept])).astype(np.int32)
        len_ptr = np.searchsorted(self.index.lengths()[kept], np.arange(1, self.index.max_gram + 2)).astype(np.int32)
        index = replace(self.index, gram_of=number[self.index.gram_of], grp_ptr=grp_ptr, len_ptr=len_ptr)
        left = {"weight": self.weight[kept], "required": self.required[kept], "origin": self.origin[kept]}
        return replace(self, index=index, **left)

    def group_cost(self, mu: float) -> np.ndarray:
        """float64 (G,), c(s) at a price."""
        return np.where(self.many & ~self.required, mu, 0.0)

    def pieces(self, grams: np.ndarray) -> list[np.ndarray]:
        """The units of pieces by number."""
        first, lengths = self.index.first_positions(grams), self.index.lengths()[grams].astype(np.int64)
        return [self.table.units[a : a + k] for a, k in zip(first.tolist(), lengths.tolist(), strict=True)]


def _words_for(table: WordTable) -> tuple[str, str]:
    """What needs memory, and what to do about it."""
    advice = "take shorter pieces, fewer texts, or a pattern that cuts them into words."
    return f"Choosing among the pieces of {len(table.units):,} units", advice


def _weights(index: KGramIndex, table: WordTable) -> np.ndarray:
    each = np.repeat(table.counts, np.diff(table.ptr)).astype(np.float64)
    return index.sums(each)
