"""GreedTok: greedy partition cover (arXiv 2501.06246, NeurIPS 2025), on words as letters.

GreedTok covers words, given with their counts, by tokens, and counts in bytes. Its words are here the stretches of text
between places that no repeated K-gram crosses, which loses nothing: a K-gram that occurs once saves no storage by
itself. A word of the corpus is a few bytes, the first of one kind and the rest of another, so that it is found at
its own places only. All words are its first tokens; from then on a token of k words saves k − 1 a use, and one that
cuts a word in two saves nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from pcatt.pco_tokenizer import build

from benchmarks.compression.peers.alphabet import as_arrays
from cflengine.text import KGramIndex, index_kgrams

_FIRST, _REST = 64, 192  # how many of the 256 bytes begin a word, how many follow


def partition_cover(
    corpus: dict[str, np.ndarray], sizes: list[float], limit: float, n_threads: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A dictionary for each of ``sizes``, a multiple of the number of word types: prefixes of one run.

    It has no limit of its own.
    """
    n_types, max_gram = int(corpus["n_types"]), int(corpus["max_gram"])
    index = index_kgrams(corpus["tokens"], corpus["doc_ptr"], max_gram)
    spelling = _spellings(n_types)
    width = spelling.shape[1]
    text = spelling[index.tokens].tobytes()
    stretches = Counter(text[width * a : width * b] for a, b in pairwise(_cuts(index)))
    words = [row.tobytes() for row in spelling]
    # asked for more tokens than there are, it crashes
    n_phrases = min(round(max(sizes) * n_types) - n_types, int((index.counts()[n_types:] > 1).sum()))
    began = time.perf_counter()
    solver = build(word_counts=stretches, verbose=False)
    solver.initialize_graph(width * max_gram + 1, 1)
    # rank 0 stands for "not covered" in its state: a token that occurs nowhere takes it
    solver.custom_steps([words[0] * (max_gram + 1) + bytes(_FIRST), *words])
    ranks, scores = solver.solve_to_step(1 + n_types + n_phrases)
    seconds = time.perf_counter() - began
    number = {word: token for token, word in enumerate(words)}
    pieces = [
        [number[rank[i : i + width]] for i in range(0, len(rank), width)]
        for rank, score in zip(ranks[1:], scores[1:], strict=True)
        if score > 0
    ]
    arrays: dict[str, np.ndarray] = {}
    for i, size in enumerate(sizes):
        prefix = pieces[: round(size * n_types)]
        arrays |= as_arrays(i, (token for piece in prefix for token in piece), [len(piece) for piece in prefix])
    return {"settings": [{"setting": f"{size:g} x words", "seconds": seconds} for size in sizes]}, arrays


def _spellings(n_types: int) -> np.ndarray:
    """uint8 (n_types, width): the bytes of each word."""
    width = 2
    while _FIRST * _REST ** (width - 1) < n_types:
        width += 1
    rest, spelling = np.arange(n_types), np.empty((n_types, width), dtype=np.uint8)
    for i in range(width - 1, 0, -1):
        rest, digit = np.divmod(rest, _REST)
        spelling[:, i] = _FIRST + digit
    spelling[:, 0] = rest
    return spelling


def _cuts(index: KGramIndex) -> list[int]:
    """Token positions, the ends of documents among them, that no repeated K-gram of two words or more crosses."""
    crossed = np.zeros(index.n_tokens + 1, dtype=np.int64)
    counts = np.append(index.counts(), 0)  # gram_of is -1 where there is no K-gram
    for k in range(1, index.max_gram):
        starts = np.flatnonzero(counts[index.gram_of[k]] > 1)
        np.add.at(crossed, starts + 1, 1)
        np.add.at(crossed, starts + k + 1, -1)
    return np.flatnonzero(np.cumsum(crossed) == 0).tolist()
