"""numba kernels that decide where each pointer's w lives in memory (see layout.py)."""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def assign_slots(gram_of, gram0, bin_of, cursor, slot):
    """slot[i] = next free place of the bin of pointer i's K-gram, positions ascending; -1 where there is none.

    gram_of: int32 (n,), one length; bin_of: int32, bin of K-gram gram0 + g; cursor: int32 (bins,), first free
    place of each bin, advanced.
    """
    for i in range(gram_of.shape[0]):
        if gram_of[i] < 0:
            slot[i] = -1
        else:
            b = bin_of[gram_of[i] - gram0]
            slot[i] = cursor[b]
            cursor[b] += 1


@kernel
def assign_ranks(gram_of, gram0, bin_of, bin_start, slot, cursor, rank):
    """rank[j] = place within its bin of the j-th pointer in group order (uint16; bins of one group: unused).

    cursor: int32, first pointer of each K-gram in group order, advanced.
    """
    for i in range(gram_of.shape[0]):
        if gram_of[i] >= 0:
            g = gram_of[i] - gram0
            rank[cursor[g]] = slot[i] - bin_start[bin_of[g]]
            cursor[g] += 1
