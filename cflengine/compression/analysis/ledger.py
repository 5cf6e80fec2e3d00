"""What each K-gram of a dictionary is worth, and to whom it loses where it is not used.

For a solution of problem (1) (Paskov, Mitchell, Hastie, AISTATS 2014) with dictionary D, K-gram s saves

    saves(s) = [least cost of encoding the documents without s, with the rest of D] − [their cost now] − c(s):

by how much the objective would rise were s forbidden and everything else kept. It is negative where the solution
would be better off without s. Tokens that nothing in D but s covers are then pointed at by their word, which
re-enters D at its cost; a single word that is forbidden is spelled out, at d + c(s) each time. Documents that do not
use s stay as they are. Where pointers of all lengths cost the same this is the least that any encoding with D without
s and those words can cost; otherwise, it is an upper bound on it.

:func:`ledger` finds saves(s) for all of D at once (kernels/ledger.py, Θ(K²n)); :func:`explain` re-encodes for one
K-gram and also refunds others that fall out of use.

Shapes: cover uint8 (n,), bit k-1 of cover[i] says that the pointer of length k at token i is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cflengine.compression.codebook import list_pointers
from cflengine.compression.kernels import ledger as kernels
from cflengine.compression.kernels.arrays import Encoded, Entries, Losses
from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.binary import Coder, count_uses
from cflengine.compression.passes.blocks import BLOCK_TOKENS, cut_documents, cut_evenly
from cflengine.compression.passes.pieces import carry_of, encode_all
from cflengine.engine.checks import InputError
from cflengine.text.kgrams import KGramIndex

_CHUNK_OCCURRENCES = 1 << 18  # between two questions whether to stop


@dataclass(frozen=True)
class GramLedger:
    """One entry for each K-gram of the dictionary, ascending.

    gram: int32; dictionary_cost: float64, c(s); pointers: int64, its uses; occurrences: int64, used or not;
    pointer_cost: float64, Σ d of its uses; saves: float64, see the module's docstring.
    """

    gram: np.ndarray
    dictionary_cost: np.ndarray
    pointers: np.ndarray
    occurrences: np.ndarray
    pointer_cost: np.ndarray
    saves: np.ndarray

    def __len__(self) -> int:
        return len(self.gram)


@dataclass(frozen=True)
class GramExplanation:
    """One K-gram of the index, in the dictionary or not, with P occurrences.

    Parameters
    ----------
    gram : int
        Its number.
    present : bool
        Whether it is in the dictionary.
    saves : float
        What the objective would rise by without it or, where it is not in the dictionary, fall by with it (below zero
        where it would rise).
    pointers : int
        Its uses; those it would have, where it is not in the dictionary.
    entering : ndarray
        int32, words that come into the dictionary when it goes.
    leaving : ndarray
        int32, K-grams that fall out of use when it goes (or comes).
    positions : ndarray
        int64 (P,), where it occurs.
    used : ndarray
        bool (P,), whether a pointer goes there.
    winner_ptr : ndarray
        int64 (P+1,), what covers occurrence p, without the K-gram where it is used and as things stand where it is not:
        entries winner_ptr[p] .. winner_ptr[p+1]-1 of the next two; an occurrence that is spelled out is covered by
        itself.
    winner_gram : ndarray
        int32, K-grams.
    winner_start : ndarray
        int64, the tokens that they begin at.
    runner_up : tuple[tuple[tuple[int, ...], int], ...]
        For the used occurrences, a tuple of K-grams and how often; the most frequent first.
    lost_to : tuple[tuple[tuple[int, ...], int], ...]
        The same for the others.
    """

    gram: int
    present: bool
    saves: float
    pointers: int
    entering: np.ndarray = field(repr=False)
    leaving: np.ndarray = field(repr=False)
    positions: np.ndarray = field(repr=False)
    used: np.ndarray = field(repr=False)
    winner_ptr: np.ndarray = field(repr=False)
    winner_gram: np.ndarray = field(repr=False)
    winner_start: np.ndarray = field(repr=False)
    runner_up: tuple[tuple[tuple[int, ...], int], ...] = field(repr=False)
    lost_to: tuple[tuple[tuple[int, ...], int], ...] = field(repr=False)

    def winners(self, occurrence: int) -> tuple[tuple[int, int], ...]:
        """(K-gram, start) of what covers an occurrence in its stead."""
        span = slice(int(self.winner_ptr[occurrence]), int(self.winner_ptr[occurrence + 1]))
        return tuple(zip(self.winner_gram[span].tolist(), self.winner_start[span].tolist(), strict=True))


def ledger(index: KGramIndex, costs: StorageCosts, cover: np.ndarray) -> GramLedger:
    """What every K-gram of a dictionary costs and saves. Θ(K²n) time; about 9 bytes a token and 4 for each occurrence
    of a K-gram of the dictionary.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    cover : unsigned ndarray (n,)
        A solution that is the cheapest encoding with its own dictionary, as every result's is.

    Returns
    -------
    GramLedger
        A row a K-gram of the dictionary.

    Raises
    ------
    InputError
        For a cover that leaves a token uncovered or is not the cheapest.
    """
    objective, covered, _, used = binary_solution(cover, index.gram_of, costs)
    gram = np.flatnonzero(used).astype(np.int32)
    number = np.full(index.n_grams, -1, dtype=np.int32)
    number[gram] = np.arange(len(gram), dtype=np.int32)
    encoded = _encoded(index, costs, cover, number)
    stored = costs.dictionary[gram]
    cheapest = float(encoded.reach[index.doc_ptr[1:] + np.arange(index.n_documents)].sum() + stored.sum())
    if not covered or objective > cheapest + 1e-9 * (1.0 + cheapest):
        raise InputError("the cover must be the cheapest encoding with its own dictionary; Coder.encode_with finds it.")
    ptr, positions = _occurrences(index, gram, number)
    entries = Entries(gram, index.lengths()[gram], ptr, positions)
    losses = Losses(np.zeros(len(gram)), np.zeros(len(gram), dtype=np.int64), np.zeros(len(gram)))
    blocks = cut_evenly(ptr, 0, len(gram), BLOCK_TOKENS)
    for chunk in _ranges(ptr[blocks]):
        kernels.loss_blocks(encoded, costs.pointer, entries, blocks, chunk, losses)
    return GramLedger(gram, stored, losses.uses, np.diff(ptr), losses.paid, losses.loss - stored)


def _encoded(index: KGramIndex, costs: StorageCosts, cover: np.ndarray, number: np.ndarray) -> Encoded:
    """The whole corpus with the dictionary of ``number`` (int32 (G,), -1 for a K-gram that is not in it)."""
    allowed, reach = index.no_cover(), np.zeros(index.n_tokens + index.n_documents)
    encoded = Encoded(index.gram_of, index.doc_ptr, allowed, cover, reach, costs.dictionary)
    blocks = cut_documents(index.doc_ptr)
    carry = carry_of(blocks, index.max_gram, choice=False)

    def fill(chunk: tuple[int, int]) -> None:
        kernels.reach_blocks(encoded, costs.pointer, blocks, chunk, number, carry)

    encode_all(blocks, carry, [(0, len(blocks.piece))], fill)
    document = blocks.doc[:-1][blocks.piece >= 0]
    base = np.cumsum(carry.gain) - carry.gain
    first = np.append(True, document[1:] != document[:-1])[: len(document)]
    raised = base - np.maximum.accumulate(np.where(first, base, 0.0))
    kernels.raise_pieces(blocks, raised, reach, (0, len(blocks.piece)))
    return encoded


def _occurrences(index: KGramIndex, gram: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ptr int64 (D+1,), positions int32: where the K-grams of the dictionary start, one after the other."""
    ptr = np.concatenate([[0], np.cumsum(index.counts()[gram], dtype=np.int64)])
    cursor, positions = ptr[:-1].copy(), np.empty(ptr[-1], dtype=np.int32)
    for row in index.gram_of:
        kernels.place_occurrences(row, number, cursor, positions)
    return ptr, positions


def _ranges(work: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of blocks with about _CHUNK_OCCURRENCES each; work: running sums over blocks."""
    cuts = cut_evenly(work, 0, len(work) - 1, _CHUNK_OCCURRENCES)
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def explain(index: KGramIndex, costs: StorageCosts, cover: np.ndarray, gram: int) -> GramExplanation:
    """Everything about one K-gram in a solution, by re-encoding the documents that it concerns: Θ(Kn), without any
    search.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    cover : unsigned ndarray (n,)
        The solution, as for :func:`ledger`.
    gram : int
        The K-gram's number.

    Returns
    -------
    GramExplanation
        What it saves, and what takes its place.

    Raises
    ------
    InputError
        For a number that is no K-gram's.
    """
    if not 0 <= gram < index.n_grams:
        raise InputError(f"gram must be the number of a K-gram, 0 to {index.n_grams - 1}, not {gram!r}.")
    return _Otherwise(index, costs, cover, int(gram)).explanation()


@dataclass(frozen=True)
class _Cover:
    """Pointers in order of start, then length: int32 start, int8 length, int32 gram."""

    start: np.ndarray
    length: np.ndarray
    gram: np.ndarray

    @classmethod
    def of(cls, index: KGramIndex, cover: np.ndarray) -> _Cover:
        return cls(*list_pointers(cover, index.gram_of))

    def uses(self, n_grams: int) -> np.ndarray:
        return np.bincount(self.gram, minlength=n_grams)

    def cost(self, costs: StorageCosts) -> float:
        total = costs.pointer_by_length[self.length - 1].sum()
        if costs.pointer_extra.size:
            total += costs.pointer_extra[self.length - 1, self.start].sum(dtype=np.float64)
        return float(total)

    def pointers_over(self, tokens: np.ndarray, width: int, longest: int) -> tuple[np.ndarray, np.ndarray]:
        """(which, pointer): every pointer that covers one of the ``width`` tokens from tokens[which] on; in order."""
        lo = np.searchsorted(self.start, tokens - longest + 1)
        sizes = np.searchsorted(self.start, tokens + width) - lo
        which = np.repeat(np.arange(len(tokens)), sizes)
        pointer = np.arange(len(which)) + np.repeat(lo - np.cumsum(sizes) + sizes, sizes)
        there = self.start[pointer] + self.length[pointer] > tokens[which]
        return which[there], pointer[there]


class _Otherwise:
    """The documents in which a K-gram occurs: as they are encoded, and as they would be without it (or with it)."""

    def __init__(self, index: KGramIndex, costs: StorageCosts, cover: np.ndarray, gram: int) -> None:
        self.index, self.gram, self.length = index, gram, index.length(gram)
        self.uses = count_uses(index, cover)
        self.present = bool(self.uses[gram])
        self.positions = index.occurrences(gram)
        documents = np.unique(np.searchsorted(index.doc_ptr, self.positions, side="right") - 1)
        sizes = np.diff(index.doc_ptr)[documents]
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        self.tokens = np.arange(ptr[-1]) + np.repeat(index.doc_ptr[documents] - ptr[:-1], sizes)
        extra = costs.pointer_extra[:, self.tokens] if costs.pointer_extra.size else costs.pointer_extra
        self.costs = replace(costs, pointer_extra=extra)
        self.part = replace(index, tokens=index.tokens[self.tokens], doc_ptr=ptr, gram_of=index.gram_of[:, self.tokens])
        self.cover = cover[self.tokens]
        self.uncovered = np.zeros(len(self.tokens), dtype=bool)

    def encode(self) -> np.ndarray:
        """uint8 (n,): the cover of these documents as they would be; documents that it changes nothing for stay."""
        gram_of = self.part.gram_of
        its_own, price = gram_of == self.gram, np.zeros(self.index.n_grams)
        allowed = (gram_of >= 0) & (self.uses[gram_of] > 0)
        if not self.present:
            allowed |= its_own
        elif self.length == 1:
            price[self.gram] = self.costs.dictionary[self.gram]
        else:
            allowed &= ~its_own
            self.uncovered = ~_covered(allowed)
            allowed[0] |= self.uncovered
        coder = Coder(replace(self.part, gram_of=np.where(allowed, gram_of, -1)), self.costs)
        cover = coder.encode(price)
        user = self.cover if self.present else cover
        used = np.flatnonzero((user >> (self.length - 1) & 1 == 1) & its_own[self.length - 1])
        sizes = np.diff(self.part.doc_ptr)
        changed = np.zeros(len(sizes), dtype=bool)
        changed[np.searchsorted(self.part.doc_ptr, used, side="right") - 1] = True
        return np.where(np.repeat(changed, sizes), cover, self.cover)

    def explanation(self) -> GramExplanation:
        n_grams, stored, gram = self.index.n_grams, self.costs.dictionary, self.gram
        now, then = _Cover.of(self.part, self.cover), _Cover.of(self.part, self.encode())
        uses = then.uses(n_grams)
        left = self.uses - now.uses(n_grams) + uses
        leaving = np.flatnonzero((self.uses > 0) & (left == 0) & (np.arange(n_grams) != gram))
        entering = np.unique(self.part.gram_of[0][self.uncovered])
        change = then.cost(self.costs) - now.cost(self.costs) + stored[entering].sum() - stored[leaving].sum()
        # uses that are left of a K-gram that goes are spelled out
        saves = change + stored[gram] * (uses[gram] - 1.0) if self.present else -change - stored[gram]
        local = np.searchsorted(self.tokens, self.positions)
        used = self.cover[local] >> (self.length - 1) & 1 == 1
        ptr, winner_gram, winner_start = self._winners(now, then, local, used)
        return GramExplanation(
            gram=gram,
            present=self.present,
            saves=float(saves),
            pointers=int(self.uses[gram] if self.present else uses[gram]),
            entering=entering,
            leaving=leaving.astype(np.int32),
            positions=self.positions,
            used=used,
            winner_ptr=ptr,
            winner_gram=winner_gram,
            winner_start=winner_start,
            runner_up=_tally(ptr, winner_gram, used),
            lost_to=_tally(ptr, winner_gram, ~used),
        )

    def _winners(
        self, now: _Cover, then: _Cover, local: np.ndarray, used: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(ptr, gram, start) of what covers each occurrence in place of the K-gram."""
        which, grams, starts = [], [], []
        for side, chosen in ((then, used), (now, ~used)):
            owner, pointer = side.pointers_over(local[chosen], self.length, self.index.max_gram)
            which.append(np.flatnonzero(chosen)[owner])
            grams.append(side.gram[pointer])
            starts.append(self.tokens[side.start[pointer]])
        owner = np.concatenate(which)
        order = np.argsort(owner, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(used)))])
        return ptr, np.concatenate(grams)[order], np.concatenate(starts)[order]


def _covered(allowed: np.ndarray) -> np.ndarray:
    """bool (n,): which tokens the pointers flagged in ``allowed`` (bool (K, n)) cover."""
    K, n = allowed.shape
    steps = np.zeros(n + K, dtype=np.int64)
    for k in range(K):
        steps[:n] += allowed[k]
        steps[k + 1 : n + k + 1] -= allowed[k]
    return np.cumsum(steps)[:n] > 0


def _tally(ptr: np.ndarray, grams: np.ndarray, chosen: np.ndarray) -> tuple[tuple[tuple[int, ...], int], ...]:
    """How often each sequence of K-grams stands at the chosen occurrences, the most frequent first."""
    sizes = np.diff(ptr)
    rows = np.full((len(sizes), sizes.max(initial=0)), -1, dtype=np.int64)
    rows[np.repeat(np.arange(len(sizes)), sizes), np.arange(len(grams)) - np.repeat(ptr[:-1], sizes)] = grams
    kinds, counts = np.unique(rows[chosen], axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")  # equally frequent ones by their K-grams' numbers
    sequences = [tuple(g for g in row if g >= 0) for row in kinds[order].tolist()]
    return tuple(zip(sequences, counts[order].tolist(), strict=True))
