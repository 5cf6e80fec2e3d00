"""Where the solver keeps w: in bins of neighbouring K-grams, so that both of its orders are cheap.

The w-update works on the pointers of one K-gram together, coverage on the pointers at one position together.
With w in position order the first is a gather of single floats from all over memory (9 ns a pointer and core
on 20 Newsgroups, three times the rest of the step); with w in group order the second is. Here K-grams of one
length, from the most frequent to the rarest, are cut into bins of at most 65,536 pointers (256 KB of
float32, a quarter of a usual L2 cache), and a bin holds its pointers by ascending position:

- a pass over positions reads and writes each bin front to back, a few hundred streams at once;
- the w-update permutes a bin into group order inside the cache.

A K-gram with more pointers than that has a bin to itself, and so, nearly, have the K-grams that occur once: in
both cases position order is group order, and nothing is permuted.

Shapes: slot int32 (K, n), place of pointer (k, i) in ``data`` (float32 (m,)), -1 where the K-gram would cross
a document's end; rank uint16 (m,), group order to place within the bin; bins int64 (B+1,), bin b is K-grams
bins[b] .. bins[b+1]-1, of length bin_length[b] (uint8 (B,)); bin_ptr int64 (B+1,), its places in ``data``; order
int64 (B,), the bins shuffled, so that each thread gets frequent and rare K-grams alike. Beside the index: 4K + 2K bytes
a token, and 4K for each float32 vector over pointers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cflengine.compression.kernels import layout as kernels
from cflengine.compression.passes.blocks import Blocks, cut_documents, cut_evenly
from cflengine.text.kgrams import KGramIndex

BIN_POINTERS = 1 << 16
MIN_BINS = 128
CHUNK_POINTERS = 1 << 24  # between two questions whether to stop: well under a second's work


@dataclass(frozen=True)
class PointerLayout:
    """Places of m pointers in B bins, and the blocks that parallel passes are cut into (blocks.py).

    Parameters
    ----------
    slot : ndarray
        int32 (K, n), place of pointer (k, i); -1 where the K-gram would cross a document's end.
    rank : ndarray
        uint16 (m,), from group order to the place within the bin.
    bins : ndarray
        int64 (B+1,), bin b is K-grams bins[b] .. bins[b+1]-1.
    bin_length : ndarray
        uint8 (B,), their length.
    bin_ptr : ndarray
        int64 (B+1,), the places of each bin.
    order : ndarray
        int64 (B,), the bins shuffled.
    blocks : Blocks
        Of documents.
    """

    slot: np.ndarray
    rank: np.ndarray
    bins: np.ndarray
    bin_length: np.ndarray
    bin_ptr: np.ndarray
    order: np.ndarray
    blocks: Blocks

    @classmethod
    def of(cls, index: KGramIndex) -> PointerLayout:
        """Lay out the pointers of ``index``; Θ(Kn)."""
        slot = np.empty_like(index.gram_of)
        rank = np.empty(index.n_pointers, dtype=np.uint16)
        bins, bin_length = [np.zeros(1, dtype=np.int64)], []
        # a small corpus in smaller bins, so that threads have something to share
        size = int(np.clip(index.n_pointers // MIN_BINS, 1 << 12, BIN_POINTERS))
        for k in range(index.max_gram):
            g0, g1 = int(index.len_ptr[k]), int(index.len_ptr[k + 1])
            cuts = cut_evenly(index.grp_ptr, g0, g1, size)
            starts = index.grp_ptr[cuts[:-1]]
            bin_of = np.repeat(np.arange(len(cuts) - 1, dtype=np.int32), np.diff(cuts))
            kernels.assign_slots(index.gram_of[k], g0, bin_of, starts.copy(), slot[k])
            kernels.assign_ranks(index.gram_of[k], g0, bin_of, starts, slot[k], index.grp_ptr[g0:g1].copy(), rank)
            bins.append(cuts[1:])
            bin_length.append(np.full(len(cuts) - 1, k + 1, dtype=np.uint8))
        cuts = np.concatenate(bins)
        blocks = cut_documents(index.doc_ptr)
        order = np.random.default_rng(0).permutation(len(cuts) - 1)
        bin_ptr = index.grp_ptr[cuts].astype(np.int64)
        return cls(slot, rank, cuts, np.concatenate(bin_length), bin_ptr, order, blocks)

    @property
    def n_bins(self) -> int:
        return len(self.bins) - 1

    @property
    def n_blocks(self) -> int:
        return len(self.blocks.piece)

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.slot, self.rank, self.bins, self.bin_length, self.bin_ptr, self.order))
