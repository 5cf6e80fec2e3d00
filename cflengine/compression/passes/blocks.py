"""How a corpus is cut for parallel passes, and what the pieces of a long document hand on to each other.

A *block* is a run of tokens of about BLOCK_TOKENS, so that what is worked on stays in the cache: whole documents, or a
*piece* of one document that is longer than twice that. What ends within a document (a pointer, a sum over the tokens
that it covers, the encoding programme) needs the K − 1 tokens on either side of a piece, its *halo*:

- passes that read see it in memory;
- passes that write in place would meet what the neighbour has written already: they take the halo from a copy that is
  made before;
- the encoding programme carries the K last values of its recursion from piece to piece; how pieces are nevertheless
  encoded side by side stands in kernels/shortest.py. Both: pieces.py.

So memory is bounded, and the time between two questions whether to stop, and all cores are busy, whatever the
documents' lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BLOCK_TOKENS = 1 << 12
EARLY = 128


class Blocks(NamedTuple):
    """Block b is the tokens token[b] .. token[b+1]-1.

    doc_ptr: int64 (N+1,), the documents' borders; token: int64 (B+1,), the blocks'; doc: int64 (B+1,), the document
    that a block begins in or with, so that whole documents are doc[b] .. doc[b+1]-1; piece: int64 (B,), the number of
    a piece of a document, -1 for a block of whole ones; early: how many tokens before a piece its encoding begins.
    """

    doc_ptr: np.ndarray
    token: np.ndarray
    doc: np.ndarray
    piece: np.ndarray
    early: int


def cut_evenly(ptr: np.ndarray, lo: int, hi: int, size: int) -> np.ndarray:
    """int64 borders lo = b_0 < b_1 < ... = hi, as few as greedily possible, such that items b_j .. b_{j+1}-1 have
    at most ``size`` elements by the running sums ``ptr``, or are one item that has more."""
    borders, total = [lo], int(ptr[hi])
    while borders[-1] < hi:
        # in the type of ptr, all of which numpy would convert otherwise, for each border anew
        most = ptr.dtype.type(min(int(ptr[borders[-1]]) + size, total))
        last = int(np.searchsorted(ptr[: hi + 1], most, side="right")) - 1
        borders.append(min(hi, max(last, borders[-1] + 1)))
    return np.array(borders, dtype=np.int64)


def cut_documents(doc_ptr: np.ndarray) -> Blocks:
    """The blocks of a corpus."""
    doc_ptr = np.ascontiguousarray(doc_ptr, dtype=np.int64)
    size = BLOCK_TOKENS
    runs = cut_evenly(doc_ptr, 0, len(doc_ptr) - 1, size)
    lengths = doc_ptr[runs[1:]] - doc_ptr[runs[:-1]]
    # of the runs, only single documents can be so long
    parts = np.maximum(lengths // size, 1)
    parts[lengths <= 2 * size] = 1
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    run = np.repeat(np.arange(len(parts)), parts)
    token = doc_ptr[runs[:-1]][run] + lengths[run] * within // parts[run]
    cut = parts[run] > 1
    return Blocks(
        doc_ptr,
        np.append(token, doc_ptr[-1]),
        np.append(runs[:-1][run], len(doc_ptr) - 1),
        np.where(cut, np.cumsum(cut) - 1, -1),
        EARLY,
    )
