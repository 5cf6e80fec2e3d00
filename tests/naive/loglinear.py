"""Log-linear models the slow way: chains by enumeration of all label sequences, one-dimensional k-means by trying all
cuts; and small random problems."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import numpy as np
from scipy import sparse

from cflengine.linear.design import Design
from cflengine.loglinear.model.losses import BinaryModel, MultinomialModel
from cflengine.loglinear.model.problem import ChainData


def enumerate_chain(emission: np.ndarray, transition: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, list[int]]:
    """log Z, marginals (n, L), expected label pairs (L, L), the first of the likeliest sequences."""
    n, n_labels = emission.shape
    scores = {}
    for labels in product(range(n_labels), repeat=n):
        score = sum(emission[p, c] for p, c in enumerate(labels))
        score += sum(transition[a, b] for a, b in pairwise(labels))
        scores[labels] = score
    top = max(scores.values())
    log_z = top + math.log(sum(math.exp(score - top) for score in scores.values()))
    marginals, pairs = np.zeros((n, n_labels)), np.zeros((n_labels, n_labels))
    for labels, score in scores.items():
        probability = math.exp(score - log_z)
        for p, c in enumerate(labels):
            marginals[p, c] += probability
        for a, b in pairwise(labels):
            pairs[a, b] += probability
    best = max(scores, key=lambda labels: scores[labels])
    return log_z, marginals, pairs, list(best)


def kmeans_by_cuts(values: np.ndarray, k: int) -> float:
    """The least sum of squares of k clusters of numbers, by every way of cutting them when sorted."""
    x = np.sort(values)
    best = math.inf
    for cuts in combinations(range(1, len(x)), k - 1):
        parts = np.split(x, cuts)
        best = min(best, sum(float(((part - part.mean()) ** 2).sum()) for part in parts))
    return best


def spread(values: np.ndarray, cluster_of: np.ndarray) -> float:
    """Sum of squares within clusters."""
    return sum(float(((values[cluster_of == c] - values[cluster_of == c].mean()) ** 2).sum()) for c in set(cluster_of))


def documents(seed: int, n: int = 80, d: int = 40, *, ones: bool = False) -> sparse.csr_matrix:
    """A sparse matrix of counts, with a bias in its last column."""
    X = sparse.random(n, d, 0.15, "csr", rng=seed, data_rvs=lambda k: np.arange(k) % 3 + 1.0)
    X = sparse.csr_matrix(sparse.hstack([X[:, : d - 1], np.ones((n, 1))]))
    if ones:
        X.data[:] = 1.0
    return X


def binary(seed: int, **sizes) -> BinaryModel:
    X = documents(seed, **sizes)
    generator = np.random.default_rng(seed)
    y = np.where(X @ generator.normal(size=X.shape[1]) + generator.normal(size=X.shape[0]) > 0, 1.0, -1.0)
    return BinaryModel(Design(X), y)


def multinomial(seed: int, n_classes: int = 4) -> MultinomialModel:
    X = documents(seed)
    label = np.random.default_rng(seed).integers(0, n_classes, X.shape[0]).astype(np.int32)
    return MultinomialModel(Design(X), label, n_classes)


def chain_data(seed: int, *, n_sentences: int = 100, n_labels: int = 4, n_attributes: int = 30) -> ChainData:
    """Random sentences of 1 to 7 tokens, more of them than make a block of the kernels."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 8, n_sentences)
    n = int(lengths.sum())
    X = sparse.random(n, n_attributes, 0.15, "csr", rng=seed)
    label = generator.integers(0, n_labels, n).astype(np.int32)
    return ChainData(sparse.csr_matrix(X), np.concatenate([[0], np.cumsum(lengths)]), label)
