"""Does fewer tokens mean a better model? Bits a character of held-out text under an n-gram model of its tokens.

Interpolated Kneser-Ney smoothing (Chen & Goodman 1999, section 3) with a discount an order, D = n1 / (n1 + 2 n2) of the
n-grams seen once and twice; below the highest order an n-gram counts by how many different tokens precede it. A text is
a sequence by itself, its end is predicted, too. All models read the same texts with the same order, so a tokenizer with
longer tokens sees further back, and has fewer examples to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

ORDER = 5


@dataclass(frozen=True)
class _Stream:
    """Sequences in a row, each after ORDER − 1 ends and before one.

    tokens: int64 (n,), the end being 0; predicted: bool (n,), where a token is predicted; trained: bool (n,).
    """

    tokens: np.ndarray
    predicted: np.ndarray
    trained: np.ndarray

    @classmethod
    def of(cls, train: Iterable[list[int]], test: Iterable[list[int]], order: int) -> _Stream:
        tokens, predicted, n_train = [], [], 0
        for trained, sequences in ((True, train), (False, test)):
            for ids in sequences:
                tokens.append(np.concatenate([np.zeros(order - 1), np.asarray(ids) + 1, [0]]).astype(np.int64))
                predicted.append(np.arange(len(tokens[-1])) >= order - 1)
                n_train += trained * len(tokens[-1])
        joined = np.concatenate(tokens)
        return cls(joined, np.concatenate(predicted), np.arange(len(joined)) < n_train)


def _ranks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """int64: equal where both are, from 0 on."""
    ranks: np.ndarray = np.unique(first * (second.max() + 1) + second, return_inverse=True)[1].ravel()
    return ranks


def _grams(stream: _Stream, order: int) -> list[np.ndarray]:
    """Of every length up to `order`: the number of the n-gram that ends at each place; of length 0, zeros."""
    grams = [np.zeros_like(stream.tokens), stream.tokens]
    for _ in range(order - 1):
        grams.append(_ranks(np.concatenate([[0], grams[-1][:-1]]), stream.tokens))
    return grams


def log2_probabilities(
    train: Iterable[list[int]], test: Iterable[list[int]], n_tokens: int, order: int = ORDER
) -> np.ndarray:
    """float64: of every token of the test sequences, and of their ends, in a row.

    The tokens are numbers below n_tokens; of those never seen, each is as likely as another.
    """
    stream = _Stream.of(train, test, order)
    grams = _grams(stream, order)
    asked = stream.predicted & ~stream.trained
    learnt = stream.predicted & stream.trained
    likely = np.full(int(asked.sum()), 1.0 / (n_tokens + 1))
    for length in range(1, order + 1):
        gram, context = grams[length], np.concatenate([[0], grams[length - 1][:-1]])
        counts = np.bincount(gram[learnt], minlength=int(gram.max()) + 1)
        if length < order:  # by the tokens that precede it
            _, first = np.unique(grams[length + 1][learnt], return_index=True)
            counts = np.bincount(gram[learnt][first], minlength=len(counts))
        _, first = np.unique(gram[learnt], return_index=True)
        of, seen = context[learnt][first], counts[gram[learnt][first]]
        size = int(context.max()) + 1
        totals = np.bincount(of, weights=seen, minlength=size)[context[asked]]
        kinds = np.bincount(of, minlength=size)[context[asked]]
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        discount = once / (once + 2 * twice) if once else 0.5
        known = totals > 0
        own = np.maximum(counts[gram[asked]] - discount, 0.0) + discount * kinds * likely
        likely = np.where(known, own / np.maximum(totals, 1), likely)
    return np.log2(likely)


def bits_a_character(
    ids: Callable[[str], list[int]], n_tokens: int, train: list[str], held: list[str], order: int = ORDER
) -> float:
    """Of the held-out texts, as a tokenizer cuts them, under a model of the others."""
    logs = log2_probabilities(map(ids, train), map(ids, held), n_tokens, order)
    return float(-logs.sum() / sum(map(len, held)))
