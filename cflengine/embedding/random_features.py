"""Random Fourier features (Rahimi, Recht, 2007): wMMD² of large vocabularies in O(V r D), with its error.

k(a, b) = E cos(wᵀ(a − b)) over frequencies w: normal, of variance 1/width², for a Gaussian kernel; for exp(−‖a − b‖ /
width) a multivariate Cauchy law, a normal vector over an independent normal number. Each of D frequencies gives an
unbiased estimate by itself; their spread gives the standard error of the mean, which is what the statistic is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cflengine.embedding.laws import WordLaws
from cflengine.embedding.pairs import PairSums
from cflengine.embedding.problem import frequencies, pair_coefficients
from cflengine.embedding.settings import Kernel
from cflengine.engine.checks import InputError
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Poll, go_on

_AT_ONCE = 64  # frequencies


@dataclass(frozen=True)
class FeatureSums:
    """sums: the pass over pairs, by features; estimates: float64 (D,), wMMD² by each frequency alone, summed over pairs
    of classes, whose mean is the statistic; features: float64 (N, 2D), of documents."""

    sums: PairSums
    estimates: np.ndarray = field(repr=False)
    features: np.ndarray = field(repr=False)

    @property
    def standard_error(self) -> float:
        """Of the approximation, not of the sample of documents."""
        return float(self.estimates.std(ddof=1) / np.sqrt(len(self.estimates)))


def feature_sums(
    laws: WordLaws, M: np.ndarray, kernel: Kernel, n_features: int, *, seed: int = 0, poll: Poll = lambda: True
) -> FeatureSums:
    """wMMD² by ``n_features`` frequencies (two or more). Raises ValueError for a linear kernel, which needs none, and
    Stopped once ``poll`` says False."""
    if kernel.family == "linear":
        raise InputError("a linear kernel is exact without random features.")
    rng, M = np.random.default_rng(seed), np.asarray(M, dtype=np.float64)
    n, V, C = laws.n_documents, len(M), laws.n_classes
    require_bytes(16 * n_features * n + 8 * V * (2 * _AT_ONCE + C), "random features", "take fewer of them.")
    w = frequencies(kernel.family, kernel.widths, M.shape[1], n_features, rng)
    coefficients = pair_coefficients(laws.sizes)
    estimates, features = np.empty(n_features), np.empty((n, 2 * n_features))
    KP = np.zeros((V, C))
    for first in range(0, n_features, _AT_ONCE):
        go_on(poll)
        angles = M @ w[:, first : first + _AT_ONCE]
        waves = np.hstack([np.cos(angles), np.sin(angles)])  # (V, 2 · frequencies)
        means = laws.laws @ waves
        sums = np.stack([means[laws.y == c].sum(axis=0) for c in range(C)])
        each = np.einsum("ck,cd,dk->k", sums, coefficients, sums) - coefficients.diagonal()[laws.y] @ means**2
        half = angles.shape[1]
        estimates[first : first + half] = each[:half] + each[half:]
        KP += waves @ sums.T / n_features
        features[:, 2 * first : 2 * (first + half)] = means / np.sqrt(n_features)
    found = PairSums(laws, KP, (features**2).sum(axis=1), laws.sums.T @ KP)
    return FeatureSums(found, estimates, features)
