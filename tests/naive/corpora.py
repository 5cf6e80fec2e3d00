"""Small corpora of different kinds; tokens are words of ``\\w+|[^\\w\\s]`` unless a test says otherwise."""

from __future__ import annotations

import numpy as np

from cflengine.compression.model.problem import StorageCosts, external_macro_costs, storage_costs
from cflengine.compression.passes.layout import BIN_POINTERS
from cflengine.text.kgrams import KGramIndex, index_kgrams
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer

PHRASES = ("the quick brown fox", "jumps over", "a lazy dog", "again and again", "in the end")


def random_words(seed: int, documents: int, length: int, words: int) -> list[str]:
    """Documents of exactly ``length`` words, drawn with probabilities that fall like 1/rank."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, words + 1)
    drawn = rng.choice(words, size=(documents, length), p=weights / weights.sum())
    return [" ".join(f"w{word}" for word in row) for row in drawn]


def repeated_phrases(seed: int, documents: int, phrases: int) -> list[str]:
    """Phrases with a rare word between now and then."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(documents):
        pieces = [PHRASES[i] for i in rng.integers(0, len(PHRASES), phrases)]
        pieces.insert(int(rng.integers(0, phrases)), f"rare{rng.integers(0, 40)}")
        texts.append(" ".join(pieces))
    return texts


SMALL = {
    "random words": random_words(1, 12, 12, 15),
    "repeated phrases": repeated_phrases(2, 12, 4),
    "one long document": [" ".join(repeated_phrases(3, 8, 5))],
    "many short documents": random_words(4, 50, 2, 8) + random_words(5, 20, 1, 8),
    "all words distinct": [" ".join(f"d{i}" for i in range(a, a + 9)) for a in range(0, 54, 9)],
    "one word again and again": ["la " * 40, "la " * 7, "la"],
    "documents between empty ones": ["", *random_words(6, 4, 9, 6), " ", "", *random_words(6, 2, 9, 6), "\n"],
}

CHARACTERS = ["thatthat", "that hat", "the hat that", "hatthe"]


def index_of(texts: list[str], max_gram: int = 3, pattern: str = DEFAULT_TOKEN_PATTERN) -> KGramIndex:
    table = Tokenizer(pattern)(texts)
    return index_kgrams(table.tokens, table.doc_ptr, max_gram)


def zipf_index(n: int = 20_000, max_gram: int = 2) -> KGramIndex:
    tokens = np.minimum(np.random.default_rng(1).zipf(1.4, n), 3_000).astype(np.int32)
    return index_kgrams(tokens, np.arange(0, n + 1, 50), max_gram)


def giant_index() -> KGramIndex:
    """One K-gram with more pointers than a bin holds, among small ones."""
    n = BIN_POINTERS + 1_000
    tokens = np.concatenate([np.zeros(n, np.int32), np.arange(300, dtype=np.int32) % 90 + 1])
    return index_kgrams(tokens, np.array([0, n + 300]), 1)


#: Indices whose groups of pointers come in every size.
INDICES = {
    "zipf": zipf_index,
    "giant group": giant_index,
    "singletons": lambda: index_of(SMALL["all words distinct"]),
    "one word": lambda: index_of(SMALL["one word again and again"], 8),
    "phrases": lambda: index_of(SMALL["repeated phrases"]),
}


def costs_of(index: KGramIndex, lam: float = 1.0, **changed: np.ndarray) -> StorageCosts:
    return storage_costs(index.gram_of, index.lengths(), lam, **changed)


def uneven_costs(index: KGramIndex, seed: int = 0) -> StorageCosts:
    """A different price for every pointer and every K-gram: no two solutions cost the same."""
    rng = np.random.default_rng(seed)
    return costs_of(
        index,
        pointer_cost=rng.uniform(0.2, 2.0, index.gram_of.shape),
        dictionary_cost=rng.uniform(0.2, 4.0, index.n_grams),
    )


def costs_by_kind(index: KGramIndex) -> dict[str, StorageCosts]:
    """Every way to state costs."""
    falling = np.linspace(1.5, 0.5, index.max_gram)
    return {
        "pointers free": costs_of(index, 0.0),
        "pointers cheap": costs_of(index, 0.3),
        "pointers as a word": costs_of(index, 1.0),
        "pointers expensive": costs_of(index, 6.0),
        "by length": costs_of(index, pointer_cost=falling),
        "by pointer": uneven_costs(index),
        "dictionary free": costs_of(index, 1.0, dictionary_cost=np.zeros(index.n_grams)),
        "external macro": external_macro_costs(index.gram_of, index.lengths(), 1.0, 0.8),
    }
