"""Clusters of weights: the paper's chunks, k-means in one dimension, and k-means of trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cflengine.loglinear.kernels import clusters as kernels

_LLOYD_ROUNDS = 100

#: How weights are clustered: from the last weights, each float64 (d,), the newest last; how many to a cluster, on
#: average; and a generator, to int64 (d,), numbers from 0 up, or None for no clusters and no coarse steps this time.
Clustering = Callable[[Sequence[np.ndarray], float, np.random.Generator], np.ndarray | None]


def _number_of_clusters(n: int, cluster_factor: float) -> int:
    """So many that none of nearly equal ones has more than ``cluster_factor`` members, as the paper caps them."""
    return max(1, math.ceil(n / cluster_factor - 1e-9))


def chunks(w: np.ndarray, cluster_factor: float) -> np.ndarray:
    """Clusters of (nearly) equal size, contiguous in the order of the weights.

    Parameters
    ----------
    w : float64 ndarray (d,)
        Weights.
    cluster_factor : float
        Weights a cluster.

    Returns
    -------
    int64 ndarray (d,)
        The cluster of each weight.
    """
    n_clusters = _number_of_clusters(len(w), cluster_factor)
    cluster_of = np.empty(len(w), dtype=np.int64)
    cluster_of[np.argsort(w, kind="stable")] = np.arange(len(w)) * n_clusters // max(1, len(w))
    return cluster_of


def lloyd_clusters(w: np.ndarray, cluster_factor: float) -> np.ndarray:
    """int64 (d,): k-means of the weights in one dimension by Lloyd's iterations from :func:`chunks`."""
    n_clusters = _number_of_clusters(len(w), cluster_factor)
    order = np.argsort(w, kind="stable")
    begin = np.arange(n_clusters + 1, dtype=np.int64) * len(w) // n_clusters
    kernels.lloyd(w[order], _prefix(w[order]), begin, _LLOYD_ROUNDS)
    return _numbered(order, begin)


def trajectory_clusters(
    recent: Sequence[np.ndarray], cluster_factor: float, generator: np.random.Generator
) -> np.ndarray:
    """int64 (d,): k-means of the features' last weights, a dimension for each of ``recent``."""
    from sklearn.cluster import MiniBatchKMeans

    points = np.column_stack(recent)
    n_clusters = _number_of_clusters(len(points), cluster_factor)
    seed = int(generator.integers(2**31))
    found = MiniBatchKMeans(n_clusters, n_init=1, random_state=seed, max_iter=20).fit_predict(points)
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


METHODS: dict[str, Clustering] = {
    "chunks": lambda recent, factor, generator: chunks(recent[-1], factor),
    "kmeans": lambda recent, factor, generator: lloyd_clusters(recent[-1], factor),
    "trajectories": trajectory_clusters,
}


def optimal_clusters(w: np.ndarray, numbers: Sequence[int]) -> dict[int, np.ndarray]:
    """The k-means optimum of the weights in one dimension, for several k.

    Dynamic programming over the sorted weights, n log n for each k up to the largest; clusters are numbered from the
    smallest weights up.

    Parameters
    ----------
    w : float64 ndarray (d,)
        Weights.
    numbers : sequence of int
        The k wanted; one above the number of different weights gives as many clusters as there are.

    Returns
    -------
    dict of int to int64 ndarray (d,)
        For every k, the cluster of each weight.
    """
    values, of_value, times = np.unique(w, return_inverse=True, return_counts=True)
    n = len(values)
    most = min(max(numbers), n)
    centred = values - np.average(values, weights=times)
    weight, total, square = _prefix(times), _prefix(centred * times), _prefix(centred * centred * times)
    begins = np.zeros((most, n + 1), dtype=np.int32)
    with np.errstate(invalid="ignore"):
        cost = np.maximum(0.0, square - np.where(weight > 0, total * total / np.maximum(weight, 1), 0.0))
    stack = np.empty((128, 4), dtype=np.int64)
    for k in range(1, most):
        least, cost = cost, np.full(n + 1, np.inf)
        kernels.next_layer(weight, total, square, least, k, cost, begins[k], stack)
    found = {}
    for k in numbers:
        wanted = min(k, n)
        begin = np.empty(wanted + 1, dtype=np.int64)
        begin[wanted] = n
        for layer in range(wanted - 1, -1, -1):
            begin[layer] = begins[layer, begin[layer + 1]]
        found[k] = _numbered(np.arange(n), begin)[of_value]
    return found


def explained_variance(w: np.ndarray, cluster_of: np.ndarray) -> float:
    """The share of the weights' variance that lies between clusters.

    Parameters
    ----------
    w : float64 ndarray (d,)
        Weights.
    cluster_of : int ndarray (d,)
        The cluster of each weight.

    Returns
    -------
    float
        1 where there is no variance.
    """
    size = np.maximum(np.bincount(cluster_of), 1)
    mean = np.bincount(cluster_of, weights=w) / size
    total = float(((w - w.mean()) ** 2).sum())
    return 1.0 if total == 0 else 1.0 - float(((w - mean[cluster_of]) ** 2).sum()) / total


def _prefix(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _numbered(order: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """The cluster of each point, from the sorted order and where clusters begin in it."""
    cluster_of = np.empty(len(order), dtype=np.int64)
    cluster_of[order] = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    return cluster_of
