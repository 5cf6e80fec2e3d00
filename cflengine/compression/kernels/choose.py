"""numba kernels that choose moves of the local search which do not touch the same text.

A move adds or removes one K-gram; its *places* are the pointers where that saves or costs something. What places near
each other are worth together is not the sum of what each is worth, so moves are taken from the best down, and text
within ``margin`` tokens of a taken move's places is locked: an addition counts only its places in unlocked text, a
removal must have no place in locked text.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.shortest import worth_window
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def _is_place(worth, marked, adding):
    return worth > np.float32(0.0) and not marked if adding else marked


@kernel
def _is_candidate(g, candidate):
    return g >= 0 and candidate[g] >= 0


@parallel_kernel()
def count_places(pointers, blocks, candidate, where, counts, chunk):
    """counts (int64 (B,)): places of candidates in each block; candidate: int32 (G,), number or -1.

    where: cover, data (each pointer's worth) and whether K-grams are added.
    """
    (gram_of, slot), (cover, data, adding) = (pointers.gram_of, pointers.slot), where
    for b in range(chunk[0], chunk[1]):
        count = 0
        for k in range(gram_of.shape[0]):
            for i in range(blocks.token[b], blocks.token[b + 1]):
                g = gram_of[k, i]
                if _is_candidate(g, candidate) and _is_place(data[slot[k, i]], (cover[i] >> k & 1) > 0, adding):
                    count += 1
        counts[b] = count


@parallel_kernel()
def list_places(pointers, blocks, candidate, where, cursor, places, chunk):
    """Write every place of a candidate into ``places`` (arrays.py), those of block b from cursor[b] on."""
    (gram_of, slot), (cover, data, adding) = (pointers.gram_of, pointers.slot), where
    number, position, worth = places.number, places.position, places.worth
    for b in range(chunk[0], chunk[1]):
        at = cursor[b]
        for k in range(gram_of.shape[0]):
            for i in range(blocks.token[b], blocks.token[b + 1]):
                g = gram_of[k, i]
                if _is_candidate(g, candidate) and _is_place(data[slot[k, i]], (cover[i] >> k & 1) > 0, adding):
                    number[at] = candidate[g]
                    position[at] = i
                    worth[at] = data[slot[k, i]]
                    at += 1


@kernel
def _locked(lock, first, last):
    return np.any(lock[first:last])


@kernel
def choose_apart(order, moves, adding, margin, lock, chosen, free):
    """Take the moves in ``order`` that stand in unlocked text, and lock theirs.

    order: int64, candidates from the best down; moves: arrays.py; lock: uint8 (n,), zeros at first; chosen: uint8, by
    candidate, set to 1; free: float64, by candidate, given what its places in unlocked text are worth.
    """
    n = lock.shape[0]
    ptr, place, length = moves.ptr, moves.position, moves.length
    for c in order:
        blocked = 0
        free[c] = 0.0
        for p in range(ptr[c], ptr[c + 1]):
            if _locked(lock, max(0, place[p] - margin), min(n, place[p] + length[c] + margin)):
                blocked += 1
            else:
                free[c] += moves.worth[p]
        if (free[c] > moves.cost[c]) if adding else (blocked == 0):
            chosen[c] = 1
            for p in range(ptr[c], ptr[c + 1]):
                lock[max(0, place[p] - margin) : min(n, place[p] + length[c] + margin)] = 1


@parallel_kernel()
def touched_blocks(gram_of, blocks, changed, touched, chunk):
    """touched[b] = 1 for blocks in whose window a K-gram flagged in ``changed`` (uint8 (G,)) occurs, else 0."""
    for b in range(chunk[0], chunk[1]):
        touched[b] = 0
        lo, hi = worth_window(blocks, b, gram_of.shape[0])
        for k in range(gram_of.shape[0]):
            for i in range(lo, hi):
                g = gram_of[k, i]
                if g >= 0 and changed[g]:
                    touched[b] = 1
                    break
            if touched[b]:
                break
