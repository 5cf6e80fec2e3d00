"""numba kernels of the K-gram index: one length is dealt out to buckets that fit a processor's cache, numbered there,
and put back in the order of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel
from cflengine.text.hash_kernels import mixed, pair_key

NONE = 0xFFFF  # the bucket of a place where no K-gram starts
_FEWEST_SLOTS, _MOST_SLOTS = 1 << 8, 1 << 16  # of a table, before it grows


class Dealt(NamedTuple):
    """The K-grams of one length over n tokens, dealt out to P buckets by hash; C chunks of the text.

    chunk_ptr: int64 (C+1,), tokens; bucket: uint16 (n,), NONE where a K-gram would cross its document's end; start:
    int64 (C+1, P), where in keys the pointers of a chunk stand that are of a bucket; start[C], where the bucket ends.
    keys: uint64 (n,), by bucket, in the order of the text: at first the K-gram; then, one for each that is distinct,
    how often it occurs; then its number. local: int32 (n,), alike: which of its bucket's distinct K-grams it is, by
    first occurrence; then its number. distinct: int64 (P,).
    """

    chunk_ptr: np.ndarray
    bucket: np.ndarray
    start: np.ndarray
    keys: np.ndarray
    local: np.ndarray
    distinct: np.ndarray


@parallel_kernel()
def choose_buckets(parent, tokens, doc_ptr, length, dealt, chunk):
    """Fill ``bucket``, and ``start`` with counts, for the text's chunks chunk[0] .. chunk[1]-1.

    parent: int32 (n,), the number of the K-gram one shorter at each token; the tokens themselves at length 1.
    """
    chunk_ptr = dealt.chunk_ptr
    bucket = dealt.bucket
    start = dealt.start
    last_bucket = np.uint64(start.shape[1] - 1)
    for c in range(chunk[0], chunk[1]):
        counts = start[c]
        counts[:] = 0
        d = np.searchsorted(doc_ptr, chunk_ptr[c], side="right") - 1
        for i in range(chunk_ptr[c], chunk_ptr[c + 1]):
            while i >= doc_ptr[d + 1]:
                d += 1
            if i + length > doc_ptr[d + 1]:
                bucket[i] = NONE
                continue
            b = (mixed(pair_key(parent, tokens, i, length)) >> np.uint64(48)) & last_bucket
            bucket[i] = b
            counts[b] += 1


@parallel_kernel()
def deal(parent, tokens, length, dealt, chunk):
    """Fill ``keys`` for the text's chunks chunk[0] .. chunk[1]-1, ``start`` being known."""
    chunk_ptr = dealt.chunk_ptr
    bucket = dealt.bucket
    start = dealt.start
    keys = dealt.keys
    for c in range(chunk[0], chunk[1]):
        at = start[c].copy()
        for i in range(chunk_ptr[c], chunk_ptr[c + 1]):
            b = bucket[i]
            if b != NONE:
                keys[at[b]] = pair_key(parent, tokens, i, length)
                at[b] += 1


@kernel
def _doubled(table, keys):
    """A table of twice the size that holds the same K-grams; keys: of all that are distinct so far."""
    larger = np.zeros(2 * table.shape[0], dtype=np.int32)
    mask = np.uint64(larger.shape[0] - 1)
    for g in range(keys.shape[0]):
        slot = mixed(keys[g]) & mask
        while larger[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        larger[slot] = g + 1
    return larger


@kernel
def _number_bucket(keys, local):
    """Number the K-grams of one bucket by first occurrence, in ``local``; the first of ``keys`` say how often each
    occurs.

    keys, local: the bucket's part of Dealt's. Open addressing, 0 = empty, else number + 1; distinct keys take the place
    of keys that have been read. Returns how many there are.
    """
    slots = _FEWEST_SLOTS
    while slots < min(keys.shape[0], _MOST_SLOTS):
        slots *= 2
    table = np.zeros(slots, dtype=np.int32)
    mask, found = np.uint64(table.shape[0] - 1), 0
    for j in range(keys.shape[0]):
        key = keys[j]
        slot = mixed(key) & mask
        while True:
            g = table[slot] - 1
            if g < 0:
                g = found
                table[slot] = found + 1
                keys[found] = key
                found += 1
                break
            if keys[g] == key:
                break
            slot = (slot + np.uint64(1)) & mask
        local[j] = g
        if 2 * found > table.shape[0]:
            table = _doubled(table, keys[:found])
            mask = np.uint64(table.shape[0] - 1)
    keys[:found] = 0
    for j in range(keys.shape[0]):
        keys[local[j]] += np.uint64(1)
    return found


@parallel_kernel()
def number_buckets(dealt, chunk):
    """Fill ``local`` and ``distinct``, and ``keys`` with counts, for buckets chunk[0] .. chunk[1]-1."""
    start = dealt.start
    keys = dealt.keys
    local = dealt.local
    distinct = dealt.distinct
    for b in range(chunk[0], chunk[1]):
        a, e = start[0, b], start[-1, b]
        distinct[b] = _number_bucket(keys[a:e], local[a:e])


@kernel
def most_frequent(dealt):
    """The largest count of all K-grams; 0 where there is none."""
    most = np.uint64(0)
    for b in range(dealt.distinct.shape[0]):
        a = dealt.start[0, b]
        for j in range(a, a + dealt.distinct[b]):
            most = max(most, dealt.keys[j])
    return np.int64(most)


@kernel
def tally_counts(dealt, tally):
    """tally[c] += the number of K-grams that occur c times; int64 (most + 1,)."""
    for b in range(dealt.distinct.shape[0]):
        a = dealt.start[0, b]
        for j in range(a, a + dealt.distinct[b]):
            tally[dealt.keys[j]] += 1


@kernel
def number_by_count(dealt, first, last, at, fresh, number):
    """Put numbers in the place of counts, going through tokens first .. last-1 in the order of the text.

    at: int64 (P,), the next pointer of each bucket; fresh: int32 (P,), how many of its K-grams have been met; number:
    int64 (most + 1,), the next number of a K-gram that occurs so often. All are carried on.
    """
    for i in range(first, last):
        b = dealt.bucket[i]
        if b == NONE:
            continue
        if dealt.local[at[b]] == fresh[b]:  # its first occurrence
            where = dealt.start[0, b] + fresh[b]
            count = dealt.keys[where]
            dealt.keys[where] = np.uint64(number[count])
            number[count] += 1
            fresh[b] += 1
        at[b] += 1


@parallel_kernel()
def renumber_buckets(dealt, chunk):
    """Numbers in the place of ``local``, for buckets chunk[0] .. chunk[1]-1."""
    start = dealt.start
    keys = dealt.keys
    local = dealt.local
    for b in range(chunk[0], chunk[1]):
        a = start[0, b]
        for j in range(a, start[-1, b]):
            local[j] = np.int32(keys[a + local[j]])


@parallel_kernel()
def collect(dealt, gram_of, chunk):
    """gram_of (int32 (n,)) of the text's chunks chunk[0] .. chunk[1]-1, from ``local``."""
    chunk_ptr = dealt.chunk_ptr
    bucket = dealt.bucket
    start = dealt.start
    local = dealt.local
    for c in range(chunk[0], chunk[1]):
        at = start[c].copy()
        for i in range(chunk_ptr[c], chunk_ptr[c + 1]):
            b = bucket[i]
            if b == NONE:
                gram_of[i] = -1
                continue
            gram_of[i] = local[at[b]]
            at[b] += 1
