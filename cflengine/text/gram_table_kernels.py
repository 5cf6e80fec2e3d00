"""numba kernels of the tables of K-grams: fill, grow, look up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel
from cflengine.text.hash_kernels import mixed, pair_key


class Level(NamedTuple):
    """K-grams of one length. offset: what is added to their numbers; parent: int32 (n,), number of the K-gram one
    shorter that starts at each position (-1: none); gram_of: int32 (n,), theirs, -1 where one would cross the
    document's end."""

    length: int
    offset: int
    parent: np.ndarray
    gram_of: np.ndarray


@kernel
def extend_grams(tokens, doc_ptr, d0, level, table, keys, n_grams):
    """Number the K-grams of one length in documents d0, d0+1, ... in order of first occurrence.

    A K-gram of this length is a pair (K-gram one shorter, next token). table: int32 open addressing, 0 = empty, else
    number + 1; keys: uint64, the pair behind each number; both have space for the next document as long as fewer than
    half of the slots are taken. Returns (next document, number of K-grams): it stops early where the table must grow.
    """
    length, offset, parent, gram_of = level
    mask = np.uint64(table.shape[0] - 1)
    d = d0
    while d < doc_ptr.shape[0] - 1:
        a, b = doc_ptr[d], doc_ptr[d + 1]
        if 2 * (n_grams + b - a) > table.shape[0]:
            break
        for i in range(a, b):
            if i + length > b:
                gram_of[i] = -1
                continue
            key = pair_key(parent, tokens, i, length)
            slot = mixed(key) & mask
            while True:
                found = table[slot] - 1
                if found < 0:
                    found = n_grams
                    table[slot] = n_grams + 1
                    keys[n_grams] = key
                    n_grams += 1
                    break
                if keys[found] == key:
                    break
                slot = (slot + np.uint64(1)) & mask
            gram_of[i] = found + offset
        d += 1
    return d, n_grams


@kernel
def rehash_grams(table, keys, n_grams):
    """Fill an empty (all zero) table with the numbers 0 .. n_grams-1."""
    mask = np.uint64(table.shape[0] - 1)
    for g in range(n_grams):
        slot = mixed(keys[g]) & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = g + 1


@kernel
def find_grams(tokens, doc_ptr, length, parent, table, keys, found_at):
    """Look K-grams up in a finished table: fills found_at (int32 (n,)) with numbers, -1 where absent.

    parent as in :func:`extend_grams`; a K-gram is absent where its parent is, where its last token is
    unknown (negative) or where it would cross the document's end.
    """
    mask = np.uint64(table.shape[0] - 1)
    for d in range(doc_ptr.shape[0] - 1):
        a, b = doc_ptr[d], doc_ptr[d + 1]
        for i in range(a, b):
            found_at[i] = -1
            if i + length > b or parent[i] < 0 or tokens[i + length - 1] < 0:
                continue
            key = pair_key(parent, tokens, i, length)
            slot = mixed(key) & mask
            while table[slot] != 0:
                candidate = table[slot] - 1
                if keys[candidate] == key:
                    found_at[i] = candidate
                    break
                slot = (slot + np.uint64(1)) & mask
