"""wMMD² as it is printed: sums over pairs of documents and of positions, with no shortcut."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np


def gaussian(width: float) -> Callable[[np.ndarray, np.ndarray], float]:
    return lambda a, b: math.exp(-float(((a - b) ** 2).sum()) / (2.0 * width**2))


def laplace(width: float) -> Callable[[np.ndarray, np.ndarray], float]:
    return lambda a, b: math.exp(-math.sqrt(float(((a - b) ** 2).sum())) / width)


def linear(a: np.ndarray, b: np.ndarray) -> float:
    return float((a * b).sum())


def between(first: Sequence[int], second: Sequence[int], M: np.ndarray, k: Callable) -> float:
    """The mean of k over positions of two documents."""
    total = 0.0
    for v in first:
        for w in second:
            total += k(M[v], M[w])
    return total / (len(first) * len(second))


def wmmd2(documents: Sequence[Sequence[int]], y: Sequence[int], M: np.ndarray, k: Callable) -> float:
    """Of classes 0 and 1; documents: the words at their positions."""
    groups = [[doc for doc, c in zip(documents, y, strict=True) if c == label] for label in (0, 1)]
    total = 0.0
    for group in groups:
        n = len(group)
        for i, first in enumerate(group):
            for j, second in enumerate(group):
                if i != j:
                    total += between(first, second, M, k) / (n * (n - 1))
    for first in groups[0]:
        for second in groups[1]:
            total -= 2.0 * between(first, second, M, k) / (len(groups[0]) * len(groups[1]))
    return total


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The smallest value up to which there is more than half of the weight."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.argmax(share > 0.5 * share[-1])])
