"""numba kernels that tell where two covers of a corpus differ (see crossover.py)."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def note_pointers(marks, i, gram_of, only_one, d_len, d_extra, segment, pair_segment, pair_gram, pairs):
    """The pointers of one cover at token i: (their furthest end, cost, number of pairs).

    For K-grams that only one of the dictionaries has, a pair (segment, K-gram) is written.
    """
    end = i
    cost = 0.0
    for k in range(gram_of.shape[0]):
        if marks[i] >> k & 1:
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
    gram_of, doc_ptr, d, marks_a, marks_b, only_one, d_len, d_extra, first, last, delta, pair_segment, pair_gram
):  # fmt: skip
    """The segments in which two covers differ, from document d on, as long as the arrays have room.

    marks_a, marks_b: uint8 (n,); only_one: uint8 (G,), K-grams that one dictionary has and the other has not. Written
    per segment: first, last (tokens first .. last-1), delta (pointer cost of b minus a's); and pairs (segment, K-gram
    of only_one used in it). Returns (next document, segments, pairs). The segments' arrays must hold a document's
    tokens, the pairs' 2K times as many; a document that may not fit is left for the next call.
    """
    count = pairs = 0
    while d < doc_ptr.shape[0] - 1 and count + doc_ptr[d + 1] - doc_ptr[d] <= first.shape[0]:
        i = doc_ptr[d]
        if pairs + 2 * gram_of.shape[0] * (doc_ptr[d + 1] - i) > pair_gram.shape[0]:
            break
        while i < doc_ptr[d + 1]:
            begin = end = i
            difference = 0.0
            differ = False
            while i == begin or i < end:
                differ = differ or marks_a[i] != marks_b[i]
                end_a, cost_a, pairs = note_pointers(
                    marks_a, i, gram_of, only_one, d_len, d_extra, count, pair_segment, pair_gram, pairs
                )
                end_b, cost_b, pairs = note_pointers(
                    marks_b, i, gram_of, only_one, d_len, d_extra, count, pair_segment, pair_gram, pairs
                )
                end = max(end, end_a, end_b)
                difference += cost_b - cost_a
                i += 1
            if differ:
                first[count], last[count], delta[count] = begin, i, difference
                count += 1
        d += 1
    return d, count, pairs


@kernel
def copy_segments(first, last, source, target):
    """target[first[s] .. last[s]-1] = source there, for every segment s."""
    for s in range(first.shape[0]):
        for i in range(first[s], last[s]):
            target[i] = source[i]
    return np.int64(first.shape[0])
