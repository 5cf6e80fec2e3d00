"""numba kernels that add pieces to a vocabulary and drop them one by one; only words that have the piece are cut anew.

present: uint8 (G,); worth: int64 (G,), as exchange_kernels.py has it, kept up to date; work: int32 (2, n), n more than
the longest word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel
from cflengine.tokenizer.exchange_kernels import worth_in_word


class Words(NamedTuple):
    """gram_of: int32 (K, n); ptr: int64 (W+1,); counts: int64 (W,); required: bool (G,); have: int32, the words that
    have each piece of two units or more, piece by piece from have_ptr int64 (G+1,); effort: int64 (G,), their units."""

    gram_of: np.ndarray
    ptr: np.ndarray
    counts: np.ndarray
    required: np.ndarray
    have_ptr: np.ndarray
    have: np.ndarray
    effort: np.ndarray


@kernel
def words_with(gram_of, ptr, have_ptr, have, fill):
    """Count, or fill in, the words that have each piece: with fill, have_ptr[g] moves on to the next piece's."""
    last = np.full(have_ptr.shape[0] - 1, -1, np.int32)
    for w in range(ptr.shape[0] - 1):
        for i in range(ptr[w], ptr[w + 1]):
            for k in range(1, min(gram_of.shape[0], ptr[w + 1] - i)):
                g = gram_of[k, i]
                if g >= 0 and last[g] != w:
                    last[g] = w
                    if fill:
                        have[have_ptr[g]] = w
                    have_ptr[g] += 1


@kernel
def toggle(words, present, worth, g, work):
    """Add or drop a piece; by how many tokens there are more."""
    more = np.int64(0)
    for sign in (-1, 1):
        for j in range(words.have_ptr[g], words.have_ptr[g + 1]):
            w = words.have[j]
            a, count = words.ptr[w], sign * words.counts[w]
            more += count * worth_in_word(words.gram_of, present, a, words.ptr[w + 1] - a, count, work, worth)
        if sign < 0:
            present[g] = 1 - present[g]
    return more


@kernel
def most_of(value, sign, some, allowed, state):
    """The first of ``some`` with the most sign · value among those whose ``allowed`` is ``state``; −1 for none."""
    best = -1
    for i in range(some.shape[0]):
        g = some[i]
        if allowed[g] == state and (best < 0 or sign * value[g] > sign * value[some[best]]):
            best = i
    return some[best] if best >= 0 else -1


@kernel
def resize(words, present, worth, some, moves, effort, work):
    """Add the best of ``some``, absent pieces in falling order, or drop the worst, present ones in rising order, one
    by one, as long as it is no worse than the last of them was. moves: at most; effort: units to cut anew, but one
    piece is always moved. Returns by how many tokens there are more, and the moves."""
    state = present[some[0]]
    sign = 1 - 2 * np.int64(state)
    limit = sign * worth[some[-1]]
    more, moved = np.int64(0), 0
    while moved < moves and (effort > 0 or not moved):
        g = most_of(worth, sign, some, present, state)
        if g < 0 or (moved and sign * worth[g] < limit):
            break
        effort -= words.effort[g]
        more += toggle(words, present, worth, g, work)
        moved += 1
    return more, moved


@kernel
def worst_near(words, present, worth, g, least):
    """The piece of the words that have g, but g, that is easiest to do without, if it is worth less than ``least``;
    −1 for none."""
    worst = -1
    for j in range(words.have_ptr[g], words.have_ptr[g + 1]):
        w = words.have[j]
        for i in range(words.ptr[w], words.ptr[w + 1]):
            for k in range(1, min(words.gram_of.shape[0], words.ptr[w + 1] - i)):
                other = words.gram_of[k, i]
                theirs = other >= 0 and other != g and present[other] and not words.required[other]
                if theirs and worth[other] < least:
                    least, worst = worth[other], other
    return worst


@kernel
def exchange(words, present, worth, coming, going, effort, work):
    """Add each of ``coming`` in turn and drop for it the worst piece of ``going`` or of its own words; what leaves no
    fewer tokens is undone. Returns by how many tokens there are more, and how many of ``coming`` were tried."""
    more, tried = np.int64(0), 0
    while tried < coming.shape[0] and (effort > 0 or not tried):
        g = coming[tried]
        tried += 1
        if present[g]:
            continue
        change = toggle(words, present, worth, g, work)
        worst = most_of(worth, -1, going, present, 1)
        near = worst_near(words, present, worth, g, worth[worst] if worst >= 0 else -change)
        worst = near if near >= 0 else worst
        effort -= 2 * words.effort[g]
        if worst >= 0 and change + worth[worst] < 0:
            effort -= words.effort[worst]
            change += toggle(words, present, worth, worst, work)
            if change < 0:
                more += change
                continue
            toggle(words, present, worth, worst, work)
        toggle(words, present, worth, g, work)
    return more, tried
