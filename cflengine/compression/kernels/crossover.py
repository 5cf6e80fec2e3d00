"""numba kernels that tell where two covers of a corpus differ (see crossover.py)."""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.shortest import pointer_price
from cflengine.engine.jit import kernel


@kernel
def note_pointers(gram_of, d, cover, i, only_one, segment, pairs, count):
    """The pointers of one cover at token i: (their furthest end, cost, number of pairs).

    For K-grams that only one of the dictionaries has, a pair (segment, K-gram) is written, from pairs[count] on.
    """
    end = i
    cost = 0.0
    for k in range(gram_of.shape[0]):
        if cover[i] >> k & 1:
            end = i + k + 1
            cost += pointer_price(d, k + 1, i)
            g = gram_of[k, i]
            if only_one[g]:
                pairs.segment[count] = segment
                pairs.gram[count] = g
                count += 1
    return end, cost, count


@kernel
def list_segments(gram_of, d, i, cover_a, cover_b, only_one, segments, pairs):
    """The segments in which two covers differ, from token i on, as long as the arrays have space.

    cover_a, cover_b: uint8 (n,); only_one: uint8 (G,), K-grams that one dictionary has and the other has not. Written
    are segments and pairs (arrays.py). Returns (next token, segments, pairs); a segment that does not fit is left for
    the next call. No pointer crosses a document's end, so no segment does.
    """
    count = n_pairs = 0
    n, most = cover_a.shape[0], 2 * gram_of.shape[0]
    while i < n and count < segments.first.shape[0]:
        begin = end = i
        before = n_pairs
        difference = 0.0
        differ = False
        while i == begin or i < end:
            if n_pairs + most > pairs.gram.shape[0]:
                return begin, count, before
            differ = differ or cover_a[i] != cover_b[i]
            end_a, cost_a, n_pairs = note_pointers(gram_of, d, cover_a, i, only_one, count, pairs, n_pairs)
            end_b, cost_b, n_pairs = note_pointers(gram_of, d, cover_b, i, only_one, count, pairs, n_pairs)
            end = max(end, end_a, end_b)
            difference += cost_b - cost_a
            i += 1
        if differ:
            segments.first[count], segments.last[count], segments.delta[count] = begin, i, difference
            count += 1
    return i, count, n_pairs


@kernel
def copy_segments(first, last, source, target):
    """target[first[s] .. last[s]-1] = source there, for every segment s."""
    for s in range(first.shape[0]):
        for i in range(first[s], last[s]):
            target[i] = source[i]
    return np.int64(first.shape[0])
