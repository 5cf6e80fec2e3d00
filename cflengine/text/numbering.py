"""Numbers for the K-grams of one length: from the most frequent to the rarest, then by first occurrence.

A hash table of all K-grams of a large corpus is larger than a processor's caches, and then every token waits for
memory. So pointers are dealt out to buckets by a hash first, each small enough for a cache, and every pass beside reads
and writes in order: a token costs the same in a corpus of any size. State: 14 bytes a token while it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cflengine.engine.progress import Watch, go_on
from cflengine.text import numbering_kernels as kernels

BUCKET_TOKENS = 1 << 15  # of a bucket, where there are fewer than the most
MOST_BUCKETS = 1 << 9  # more are more places to read and write at once than a first-level cache has lines
CHUNK_TOKENS = 1 << 16
MOST_CHUNKS = 256
_AT_ONCE = 1 << 22  # tokens between two questions whether to go on
PASSES = 6


class Numbering:
    """Work space for the K-grams of a corpus, one length after the other.

    tokens: int32 (n,); doc_ptr: int64 (N+1,); watch: asked whether to go on, and told of every
    pass, PASSES a length.
    """

    def __init__(self, tokens: np.ndarray, doc_ptr: np.ndarray, watch: Watch) -> None:
        n = len(tokens)
        self.tokens, self.doc_ptr, self.watch = tokens, doc_ptr, watch
        n_buckets = 1 << min(max(n // BUCKET_TOKENS, 1), MOST_BUCKETS).bit_length() - 1
        n_chunks = min(max(n // CHUNK_TOKENS, 1), MOST_CHUNKS)
        self.dealt = kernels.Dealt(
            chunk_ptr=np.linspace(0, n, n_chunks + 1).astype(np.int64),
            bucket=np.empty(n, dtype=np.uint16),
            start=np.zeros((n_chunks + 1, n_buckets), dtype=np.int64),
            keys=np.empty(n, dtype=np.uint64),
            local=np.empty(n, dtype=np.int32),
            distinct=np.zeros(n_buckets, dtype=np.int64),
        )
        self._done = 0

    def number(self, length: int, parent: np.ndarray, offset: int, gram_of: np.ndarray) -> np.ndarray:
        """Fill ``gram_of`` (int32 (n,)) with offset + number for one length, -1 where a K-gram would cross its
        document's end; return how often each occurs, int32 (n_grams,).

        parent: int32 (n,), the same for one word less; ``tokens`` at length 1. Raises Stopped.
        """
        dealt = self.dealt
        for chunk in self._chunks():
            kernels.choose_buckets(parent, self.tokens, self.doc_ptr, length, dealt, chunk)
        self._place()
        for chunk in self._chunks():
            kernels.deal(parent, self.tokens, length, dealt, chunk)
        for chunk in self._buckets():
            kernels.number_buckets(dealt, chunk)
        counts = self._by_count(offset)
        for chunk in self._buckets():
            kernels.renumber_buckets(dealt, chunk)
        for chunk in self._chunks():
            kernels.collect(dealt, gram_of, chunk)
        return counts

    def _place(self) -> None:
        """Counts by chunk and bucket, into where they begin: bucket by bucket, chunk by chunk within."""
        counts = self.dealt.start[:-1].T
        ends = np.cumsum(counts).reshape(counts.shape)
        self.dealt.start[:-1], self.dealt.start[-1] = (ends - counts).T, ends[:, -1]

    def _by_count(self, offset: int) -> np.ndarray:
        """Number the K-grams of all buckets, counted; return their counts in the order of their numbers."""
        dealt = self.dealt
        tally = np.zeros(kernels.most_frequent(dealt) + 1, dtype=np.int64)
        kernels.tally_counts(dealt, tally)
        number = offset + np.cumsum(tally[::-1])[::-1] - tally
        at, fresh = dealt.start[0].copy(), np.zeros(len(dealt.distinct), dtype=np.int32)
        n = len(self.tokens)
        for first in self._steps(range(0, n, _AT_ONCE)):
            kernels.number_by_count(dealt, first, min(first + _AT_ONCE, n), at, fresh, number)
        return np.repeat(np.arange(len(tally), dtype=np.int32)[::-1], tally[::-1])

    def _chunks(self) -> Iterator[tuple[int, int]]:
        return self._ranges(len(self.dealt.chunk_ptr) - 1)

    def _buckets(self) -> Iterator[tuple[int, int]]:
        return self._ranges(len(self.dealt.distinct))

    def _ranges(self, n: int) -> Iterator[tuple[int, int]]:
        """Ranges of n equal parts of the corpus, a question between them."""
        size = max(_AT_ONCE * n // max(len(self.tokens), 1), 1)
        for first in self._steps(range(0, n, size)):
            yield first, min(first + size, n)

    def _steps(self, starts: range) -> Iterator[int]:
        for first in starts:
            go_on(self.watch.poll)
            yield first
        self._done += 1
        self.watch.at(self._done)
