"""numba kernels of the tokeniser: cut code points into spans, give every distinct span an identity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cflengine.engine.jit import kernel

SEPARATOR, WORD, MARK = 0, 1, 2  # classes of code points: between tokens, part of a word, a token by itself


class Spans(NamedTuple):
    """Tokens of a batch of documents. count_of: int64 (D,), how many each has; start, end: int32, within their own."""

    count_of: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Types(NamedTuple):
    """Distinct spans. table: int32, a power of two of slots, 0 = empty, else id + 1, at most half full; ptr: int64,
    chars: uint32, the characters of type t at ptr[t] .. ptr[t+1]-1."""

    table: np.ndarray
    ptr: np.ndarray
    chars: np.ndarray


@kernel
def scan_spans(chars, doc_ptr, classes, start, end, n_tokens_of):
    """Cut each document into runs of WORD characters and single MARK characters.

    chars: uint32 (C,) code points of a batch of documents; doc_ptr: int64 (D+1,) document borders in it;
    classes: uint8 (0x110000,). Fills start, end (int32, space for C) with offsets *within the document* and
    n_tokens_of (int64, (D,)); returns the number of tokens. Same spans as ``re.finditer(r"\\w+|[^\\w\\s]")``.
    """
    count = 0
    for d in range(doc_ptr.shape[0] - 1):
        before = count
        base = doc_ptr[d]
        i = base
        stop = doc_ptr[d + 1]
        while i < stop:
            kind = classes[chars[i]]
            if kind == SEPARATOR:
                i += 1
                continue
            first = i
            i += 1
            if kind == WORD:
                while i < stop and classes[chars[i]] == WORD:
                    i += 1
            start[count] = first - base
            end[count] = i - base
            count += 1
        n_tokens_of[d] = count - before
    return count


@kernel
def _hash_chars(chars, a, b):
    value = np.uint64(14695981039346656037)
    for i in range(a, b):
        value = (value ^ np.uint64(chars[i])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(29))


@kernel
def intern_spans(chars, doc_ptr, spans, types, n_types, ids):
    """Number the distinct spans in order of first occurrence (open addressing, FNV-1a, exact comparison).

    types must have space for this batch. Fills ids (int32, one per token) and returns the new number of types.
    """
    n_tokens_of, start, end = spans
    table, type_ptr, type_chars = types
    mask = np.uint64(table.shape[0] - 1)
    token = 0
    for d in range(doc_ptr.shape[0] - 1):
        base = doc_ptr[d]
        for _ in range(n_tokens_of[d]):
            a, b = base + start[token], base + end[token]
            slot = _hash_chars(chars, a, b) & mask
            while True:
                found = table[slot] - 1
                if found < 0:
                    found = n_types
                    table[slot] = n_types + 1
                    p = type_ptr[n_types]
                    type_chars[p : p + b - a] = chars[a:b]
                    type_ptr[n_types + 1] = p + b - a
                    n_types += 1
                    break
                p = type_ptr[found]
                if type_ptr[found + 1] - p == b - a:
                    j = 0
                    while j < b - a and type_chars[p + j] == chars[a + j]:
                        j += 1
                    if j == b - a:
                        break
                slot = (slot + np.uint64(1)) & mask
            ids[token] = found
            token += 1
    return n_types


@kernel
def rebuild_table(types, n_types):
    """Fill an empty (all zero) table with types 0 .. n_types-1."""
    table, type_ptr, type_chars = types
    mask = np.uint64(table.shape[0] - 1)
    for t in range(n_types):
        slot = _hash_chars(type_chars, type_ptr[t], type_ptr[t + 1]) & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = t + 1
