"""What the pieces of a long document hand on to each other (see blocks.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from cflengine.compression.kernels import halo as kernels_halo
from cflengine.compression.kernels import shortest as kernels_shortest
from cflengine.compression.passes.blocks import Blocks
from cflengine.text.kgrams import cover_type

_NONE = np.empty(0, dtype=np.float32)
_TOLERANCE = 1e-12  # of what a piece costs: rounding of its sums


class Borders(NamedTuple):
    """The halos as they were before a pass: of the border that block b begins with, if it is within a document.

    w: float32 (B+1, K, 2(K−1)), of the tokens token[b]−(K−1) .. token[b]+K−2; y, z: float32 (B+1, K−1), from token[b].
    """

    w: np.ndarray
    y: np.ndarray
    z: np.ndarray


class Carry(NamedTuple):
    """What the encoding programme notes of P pieces; R as in kernels/shortest.py.

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


def has_pieces(blocks: Blocks) -> bool:
    """Whether any document is cut."""
    return bool((blocks.piece >= 0).any())


def borders_of(blocks: Blocks, max_gram: int) -> Borders:
    """Space for the halos of all borders."""
    n, halo = len(blocks.token) if has_pieces(blocks) else 0, max_gram - 1
    rows = np.zeros((n, max_gram, 2 * halo), dtype=np.float32)
    return Borders(rows, np.zeros((n, halo), dtype=np.float32), np.zeros((n, halo), dtype=np.float32))


def save_borders(
    borders: Borders, blocks: Blocks, data: np.ndarray, slot: np.ndarray, y: np.ndarray = _NONE, z: np.ndarray = _NONE
) -> None:
    """Copy the halos of w, which is in data (float32 (m,), layout.py), and of y and z where they are given."""
    if len(borders.w):
        kernels_halo.save_borders(data, slot, y, z, blocks, borders, (0, len(blocks.piece)))


def carry_of(blocks: Blocks, max_gram: int, *, choice: bool = True) -> Carry:
    """Space for what the encoding programme notes; ``choice``: whether covers are wanted."""
    n = int(blocks.piece.max(initial=-1)) + 1
    return Carry(
        np.zeros((n, max_gram)),
        np.zeros((n, max_gram)),
        np.zeros(n),
        np.zeros(n, dtype=np.uint8),
        np.zeros(int(blocks.doc_ptr[-1]) + 1 if n and choice else 0, dtype=cover_type(max_gram)),
    )


def encode_all(
    blocks: Blocks,
    carry: Carry,
    chunks: Iterable[tuple[int, int]],
    encode: Callable[[tuple[int, int]], object],
    cover: np.ndarray | None = None,
    poll: Callable[[], bool] = lambda: True,
) -> bool:
    """The encoding programme on all blocks, chunk by chunk, pieces included (:func:`settle`); False if stopped.

    encode: does a range of blocks. cover: uint8 (n,), given the covers of the documents that are cut.
    """
    for chunk in chunks:
        encode(chunk)
        if not poll():
            return False
    return settle(blocks, carry, encode, cover, poll)


def settle(
    blocks: Blocks,
    carry: Carry,
    again: Callable[[tuple[int, int]], object],
    cover: np.ndarray | None = None,
    poll: Callable[[], bool] = lambda: True,
) -> bool:
    """After a pass of the encoding programme: make the pieces agree, and write their covers; False if stopped.

    again: does a range of blocks once more; cover: uint8 (n,), given the covers of the documents that are cut. A
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
        again((int(where[p]), int(where[p]) + 1))
        if not poll():
            return False
        p += 1
        if p < len(where) and follows[p]:
            doubtful[p] = _differs(carry, np.array([p]))[0]
    if cover is not None:
        documents, first = np.unique(doc, return_index=True)
        covered = np.isfinite(np.add.reduceat(carry.gain, first)).astype(np.uint8)
        kernels_shortest.trace_documents(blocks, documents, covered, carry, cover, (0, len(documents)))
    return True


def _differs(carry: Carry, pieces: np.ndarray) -> np.ndarray:
    """bool: whether these pieces began with other values than their predecessors ended with."""
    before, now = carry.exit[pieces - 1], carry.entry[pieces]
    gain = carry.gain[pieces - 1]
    tolerance = _TOLERANCE * np.where(np.isfinite(gain), gain, 0.0)[:, None]
    with np.errstate(invalid="ignore"):
        near = np.abs(before - now) <= tolerance
    return ~np.all((before == now) | near, axis=1)
