"""How a corpus is cut for parallel passes, and what the pieces of a long document hand on to each other.

A *block* is a run of tokens of about BLOCK_TOKENS, so that what is worked on stays in the cache: whole documents, or a
*piece* of one document that is longer than twice that. What ends within a document (a pointer, a sum over the tokens
that it covers, the encoding programme) needs the K − 1 tokens on either side of a piece, its *halo*:

- passes that read see it in memory;
- passes that write in place would meet what the neighbour has written already: they take the halo from
  :class:`Borders`, a copy that is made before;
- the encoding programme carries the K last values of its recursion from piece to piece, in :class:`Carry`; how pieces
  are nevertheless encoded side by side stands in kernels_shortest.py.

So memory and the time between two chances to stop are bounded, and all cores are busy, whatever the documents' lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cflengine.compression import kernels_shortest as kernels

BLOCK_TOKENS = 1 << 12
EARLY = 128
_TOLERANCE = 1e-12  # of what a piece costs: rounding of its sums


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


class Borders(NamedTuple):
    """The halos as they were before a pass: of the border that block b begins with, if it is within a document.

    w: float32 (B+1, K, 2(K−1)), of the tokens token[b]−(K−1) .. token[b]+K−2; y, z: float32 (B+1, K−1), from token[b].
    """

    w: np.ndarray
    y: np.ndarray
    z: np.ndarray


class Carry(NamedTuple):
    """What the encoding programme notes of P pieces; R as in kernels_encode.py.

    entry, exit: float64 (P, K), the last K values of R before the piece's first token, and up to its last, less the
    least of them; gain: float64 (P,), what that least grew by (in a document's last piece: R at its end less that at
    the piece's entry); given: uint8 (P,), 1 where ``entry`` is to be begun from; choice: uint8 (n+1,), of
    ``shortest_cover``, at the token after the one that a pointer ends with; or (0,) where no cover is wanted.
    """

    entry: np.ndarray
    exit: np.ndarray
    gain: np.ndarray
    given: np.ndarray
    choice: np.ndarray


def cut_evenly(ptr: np.ndarray, lo: int, hi: int, size: int) -> np.ndarray:
    """int64 borders lo = b_0 < b_1 < ... = hi, as few as greedily possible, such that items b_j .. b_{j+1}-1 have
    at most ``size`` elements by the running sums ``ptr``, or are one item that has more."""
    borders = [lo]
    while borders[-1] < hi:
        last = int(np.searchsorted(ptr[: hi + 1], int(ptr[borders[-1]]) + size, side="right")) - 1
        borders.append(min(hi, max(last, borders[-1] + 1)))
    return np.array(borders, dtype=np.int64)


def cut_documents(doc_ptr: np.ndarray, *, whole: bool = False) -> Blocks:
    """The blocks of a corpus; with ``whole``, no document is cut, however long it is."""
    doc_ptr = np.ascontiguousarray(doc_ptr, dtype=np.int64)
    size = BLOCK_TOKENS
    runs = cut_evenly(doc_ptr, 0, len(doc_ptr) - 1, size)
    lengths = doc_ptr[runs[1:]] - doc_ptr[runs[:-1]]
    # of the runs, only single documents can be so long
    parts = np.ones(len(lengths), dtype=np.int64) if whole else np.maximum(lengths // size, 1)
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


def borders_of(blocks: Blocks, max_gram: int) -> Borders:
    """Room for the halos of all borders."""
    n, halo = len(blocks.token) if has_pieces(blocks) else 0, max_gram - 1
    rows = np.zeros((n, max_gram, 2 * halo), dtype=np.float32)
    return Borders(rows, np.zeros((n, halo), dtype=np.float32), np.zeros((n, halo), dtype=np.float32))


def has_pieces(blocks: Blocks) -> bool:
    """Whether any document is cut."""
    return bool((blocks.piece >= 0).any())


def carry_of(blocks: Blocks, max_gram: int, *, choice: bool = True) -> Carry:
    """Room for what the encoding programme notes; ``choice``: whether covers are wanted."""
    n = int(blocks.piece.max(initial=-1)) + 1
    return Carry(
        np.zeros((n, max_gram)),
        np.zeros((n, max_gram)),
        np.zeros(n),
        np.zeros(n, dtype=np.uint8),
        np.zeros(int(blocks.doc_ptr[-1]) + 1 if n and choice else 0, dtype=np.uint8),
    )


def settle(
    blocks: Blocks,
    carry: Carry,
    again: Callable[[int, int], object],
    marks: np.ndarray | None = None,
    poll: Callable[[], bool] = lambda: True,
) -> bool:
    """After a pass of the encoding programme: make the pieces agree, and write their covers; False if stopped.

    again: does a range of blocks once more; marks: uint8 (n,), given the covers of the documents that are cut. A
    piece that did not begin with what its predecessor ended with is done again from that, one after the other.
    """
    where = np.flatnonzero(blocks.piece >= 0)
    if len(where) == 0:
        return True
    doc = blocks.doc[where]
    follows = np.append(False, doc[1:] == doc[:-1])
    doubtful = follows.copy()
    doubtful[follows] = _differs(carry, np.flatnonzero(follows))
    p = 0
    while doubtful[p:].any():
        p += int(np.argmax(doubtful[p:]))
        carry.entry[p], carry.given[p] = carry.exit[p - 1], 1
        again(int(where[p]), int(where[p]) + 1)
        if not poll():
            return False
        p += 1
        if p < len(where) and follows[p]:
            doubtful[p] = _differs(carry, np.array([p]))[0]
    if marks is not None:
        documents, first = np.unique(doc, return_index=True)
        covered = np.isfinite(np.add.reduceat(carry.gain, first)).astype(np.uint8)
        kernels.trace_documents(blocks, documents, covered, carry, marks)
    return True


def _differs(carry: Carry, pieces: np.ndarray) -> np.ndarray:
    """bool: whether these pieces began with other values than their predecessors ended with."""
    before, now = carry.exit[pieces - 1], carry.entry[pieces]
    gain = carry.gain[pieces - 1]
    tolerance = _TOLERANCE * np.where(np.isfinite(gain), gain, 0.0)[:, None]
    with np.errstate(invalid="ignore"):
        near = np.abs(before - now) <= tolerance
    return ~np.all((before == now) | near, axis=1)
