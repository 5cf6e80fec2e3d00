"""Words as letters: how tools that merge characters or bytes are made to merge words.

Every word type becomes one code point beyond the basic plane, a document a string of them. A piece of k characters
is then a K-gram of k words, and in UTF-8, where all of these take four bytes, no string of whole characters is
found at any place but a whole character's.

The corpus comes as ``tokens`` int32 (n,), ``doc_ptr`` int64 (N+1,), ``n_types`` and ``max_gram`` int64 (); a dictionary
goes out as token ids end to end with running lengths, ``tokens_<i>`` and ``ptr_<i>`` for setting i.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np

_FIRST, _LAST = 0x20000, 0x10FFFF


def _code_points(n_types: int) -> np.ndarray:
    """uint32 (n_types,): a code point for each word; the two non-characters that end each plane are left out."""
    points = np.arange(_FIRST, _LAST + 1, dtype=np.uint32)
    points = points[points & 0xFFFE != 0xFFFE]
    if n_types > len(points):
        raise ValueError(f"{n_types:,} word types, but only {len(points):,} code points.")
    return points[:n_types]


def spell(tokens: np.ndarray, n_types: int) -> str:
    """Token ids as one string."""
    return _code_points(n_types)[tokens].astype("<u4").tobytes().decode("utf-32-le")


def documents(corpus: Mapping[str, np.ndarray]) -> list[str]:
    """Every document as a string, empty ones left out."""
    text = spell(corpus["tokens"], int(corpus["n_types"]))
    return [text[a:b] for a, b in pairwise(corpus["doc_ptr"].tolist()) if b > a]


def dictionaries(settings: Sequence[Iterable[str]], n_types: int) -> dict[str, np.ndarray]:
    """The pieces of each setting as arrays; pieces with any other character (a tool's own symbols) are dropped."""
    points = _code_points(n_types)
    arrays = {}
    for i, pieces in enumerate(settings):
        own = [piece for piece in pieces if piece and all(points[0] <= ord(letter) <= points[-1] for letter in piece)]
        letters = np.frombuffer("".join(own).encode("utf-32-le"), dtype="<u4")
        arrays |= as_arrays(i, np.searchsorted(points, letters), [len(piece) for piece in own])
    return arrays


def as_arrays(setting: int, tokens: np.ndarray | Iterable[int], lengths: Sequence[int]) -> dict[str, np.ndarray]:
    """The two arrays of one setting."""
    ptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return {f"tokens_{setting}": np.fromiter(tokens, np.int32, int(ptr[-1])), f"ptr_{setting}": ptr}


def from_ids(setting: int, grams: Iterable[Sequence[int]]) -> dict[str, np.ndarray]:
    """The same from token ids."""
    listed = list(grams)
    return as_arrays(setting, chain.from_iterable(listed), [len(gram) for gram in listed])
