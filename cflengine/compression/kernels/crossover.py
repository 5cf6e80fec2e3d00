"""numba kernels that tell where two covers of a corpus differ (see crossover.py)."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def note_pointers(cover, i, gram_of, only_one, d_len, d_extra, segment, pair_segment, pair_gram, pairs):
    """The pointers of one cover at token i: (their furthest end, cost, number of pairs).

    For K-grams that only one of the dictionaries has, a pair (segment, K-gram) is written.
    """
    end = i
    cost = 0.0
    for k in range(gram_of.shape[0]):
        if cover[i] >> k & 1:
            end = i + k + 1
            cost += d_len[k]
            if d_extra.shape[1] > 0:
                cost += d_extra[k, i]
            g = gram_of[k, i]
            if only_one[g]:
                pair_segment[pairs] = segment
                pair_gram[pairs] = g
                pairs += 1
    return end, cost, pairs


@kernel
def list_segments(
    gram_of, i, cover_a, cover_b, only_one, d_len, d_extra, first, last, delta, pair_segment, pair_gram
):  # fmt: skip
    """The segments in which two covers differ, from token i on, as long as the arrays have room.

    cover_a, cover_b: uint8 (n,); only_one: uint8 (G,), K-grams that one dictionary has and the other has not. Written
    per segment: first, last (tokens first .. last-1), delta (pointer cost of b minus a's); and pairs (segment, K-gram
    of only_one used in it). Returns (next token, segments, pairs); a segment that does not fit is left for the next
    call. No pointer crosses a document's end, so no segment does.
    """
    count = pairs = 0
    n, most = cover_a.shape[0], 2 * gram_of.shape[0]
    while i < n and count < first.shape[0]:
        begin = end = i
        before = pairs
        difference = 0.0
        differ = False
        while i == begin or i < end:
            if pairs + most > pair_gram.shape[0]:
                return begin, count, before
            differ = differ or cover_a[i] != cover_b[i]
            end_a, cost_a, pairs = note_pointers(
                cover_a, i, gram_of, only_one, d_len, d_extra, count, pair_segment, pair_gram, pairs
            )
            end_b, cost_b, pairs = note_pointers(
                cover_b, i, gram_of, only_one, d_len, d_extra, count, pair_segment, pair_gram, pairs
            )
            end = max(end, end_a, end_b)
            difference += cost_b - cost_a
            i += 1
        if differ:
            first[count], last[count], delta[count] = begin, i, difference
            count += 1
    return i, count, pairs


@kernel
def copy_segments(first, last, source, target):
    """target[first[s] .. last[s]-1] = source there, for every segment s."""
    for s in range(first.shape[0]):
        for i in range(first[s], last[s]):
            target[i] = source[i]
    return np.int64(first.shape[0])
