"""numba kernels of pieces in a trie: find the pieces that begin at a unit, and the fewest that make up a word.

A node's child by a unit is found in an open-addressing table whose keys are (node, unit), node 0 being the root and 0
an empty slot, since the root is no node's child. Shapes: keys uint64, child int32, of a power of two of slots, at most
half of them taken; piece int32 (nodes,), the piece that ends at a node, −1 for none; units int32 (n,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel
from cflengine.text.hash_kernels import mixed


class Trie(NamedTuple):
    """See the module's docstring."""

    keys: np.ndarray
    child: np.ndarray
    piece: np.ndarray


@kernel
def _slot(trie, node, unit):
    """The slot of a child, or the empty one where it would stand."""
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(unit)
    mask = np.uint64(trie.keys.shape[0] - 1)
    slot = mixed(key) & mask
    while trie.child[slot] != 0 and trie.keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot, key


@kernel
def add_pieces(trie, units, ptr, nodes):
    """Add the pieces units[ptr[i] : ptr[i+1]], numbered i, to a trie of ``nodes`` nodes; how many it has then. A piece
    that is there already keeps its number."""
    for i in range(ptr.shape[0] - 1):
        node = 0
        for j in range(ptr[i], ptr[i + 1]):
            slot, key = _slot(trie, node, units[j])
            if trie.child[slot] == 0:
                trie.keys[slot] = key
                trie.child[slot] = nodes
                nodes += 1
            node = trie.child[slot]
        if trie.piece[node] < 0:
            trie.piece[node] = i
    return nodes


@kernel
def fewest_pieces(trie, units, best, came, last):
    """The fewest pieces that make up a word, of the pieces that begin anywhere: best int32 (n+1,), came int32 (n+1,),
    where the last piece of the first i units begins, last int32 (n+1,), which it is, −1 for a unit that no piece is.

    Of as few, the last piece is the longest, and so on to the front: what Hugging Face's Unigram model does with equal
    scores.
    """
    n = units.shape[0]
    best[1 : n + 1] = n + 1
    best[0] = 0
    for i in range(n):
        node = 0
        for j in range(i, n):
            slot, _ = _slot(trie, node, units[j])
            node = trie.child[slot]
            if node == 0:
                break
            if trie.piece[node] >= 0 and best[i] + 1 < best[j + 1]:
                best[j + 1], came[j + 1], last[j + 1] = best[i] + 1, i, trie.piece[node]
        if best[i + 1] > n:  # no piece ends here: the unit by itself
            best[i + 1], came[i + 1], last[i + 1] = best[i] + 1, i, -1
    return best[n]


@kernel
def trace_pieces(came, last, n, pieces, begins):
    """Write the pieces of :func:`fewest_pieces` and where they begin, first to last; how many there are."""
    count, i = 0, n
    while i > 0:
        count += 1
        i = came[i]
    i, at = n, count
    while i > 0:
        at -= 1
        pieces[at], begins[at] = last[i], came[i]
        i = came[i]
    return count
