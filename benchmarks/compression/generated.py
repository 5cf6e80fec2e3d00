"""Corpora of any size, generated from a seed: Zipf words and planted phrases, as tokens.

A text is a run of phrases and single words. Phrases come from a pool that grows with the corpus, as what people write
about does, and are drawn by Zipf's law, so that frequent ones come back thousands of times and most a few times; they
may begin with each other's beginnings. Rates were set so that 4·10⁷ tokens have about as many distinct K-grams a token
at K = 3 as weblogs have, 0.48.
"""

from __future__ import annotations

import numpy as np

PHRASE_SHARE = 0.75  # of the units of a text
WORDS, POOL = 40_000, 0.006  # words of the first million tokens; phrases a token
EXPONENT, PHRASE_EXPONENT = 1.05, 0.75
MEAN_DOCUMENT = 250  # tokens
_BATCH = 4_000_000


def zipf_draws(random: np.random.Generator, size: int, n: int, exponent: float) -> np.ndarray:
    """int64: draws from 0 .. n-1 with probabilities that fall like (rank + 1)^−exponent, by inversion."""
    u = random.random(size)
    if abs(exponent - 1.0) < 1e-9:
        return np.minimum((n + 1.0) ** u - 1.0, n - 1).astype(np.int64)
    power = 1.0 - exponent
    ranks = (1.0 + u * ((n + 1.0) ** power - 1.0)) ** (1.0 / power) - 1.0
    return np.minimum(ranks, n - 1).astype(np.int64)


def generate(n_tokens: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(tokens int32 (n,), doc_ptr int64 (N+1,)) of exactly ``n_tokens``."""
    random = np.random.default_rng(seed)
    n_words = int(WORDS * max(n_tokens / 1e6, 0.05) ** 0.5)
    n_phrases = max(20, int(POOL * n_tokens))
    lengths = random.integers(2, 9, n_phrases)
    ends = np.cumsum(lengths)
    phrases = zipf_draws(random, int(ends[-1]), n_words, EXPONENT).astype(np.int32)
    parts, left = [], n_tokens
    while left > 0:
        units = min(_BATCH, left)
        is_phrase = random.random(units) < PHRASE_SHARE
        which = zipf_draws(random, units, n_phrases, PHRASE_EXPONENT)
        size = np.where(is_phrase, lengths[which], 1)
        first = np.cumsum(size) - size
        batch = zipf_draws(random, int(size.sum()), n_words, EXPONENT).astype(np.int32)
        # every token of a phrase: its place in the pool
        own = np.repeat(np.where(is_phrase, ends[which] - lengths[which], -1), size)
        within = np.arange(len(batch)) - np.repeat(first, size)
        np.copyto(batch, phrases[np.where(own >= 0, own + within, 0)], where=own >= 0)
        parts.append(batch[:left])
        left -= len(parts[-1])
    documents = random.lognormal(np.log(MEAN_DOCUMENT) - 0.5, 1.0, max(1, int(2 * n_tokens / MEAN_DOCUMENT) + 10))
    borders = np.cumsum(np.maximum(documents, 1).astype(np.int64))
    doc_ptr = np.concatenate([[0], borders[borders < n_tokens], [n_tokens]])
    return np.concatenate(parts), doc_ptr
