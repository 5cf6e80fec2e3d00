"""Steps of linearised ADMM by document, where pointers cost much more in some than in others.

A step's ρ is right for multipliers of one size. Where a document counts a thousand times, as a word does that occurs so
often, its multipliers are a thousand times as large, and one ρ for all is wrong for most. So each document gets its
own, ρ·√(d̄/D̄) by the mean cost d̄ of its pointers, D̄ of all; and its own σ, ν times the one for all: that
Σ_{i ∋ j} k_i/σ_{k_i} ≤ 1 for every token j is enough for convergence (length_steps), and documents that are short, or
have few pointers, meet it with less. Multipliers stay what they are; the proximal map weighs its squares by ρ and σ.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.arrays import Metric
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.layout import PointerLayout
from cflengine.text.kgrams import KGramIndex

_LEAST, _MOST = 1e-3, 1e3  # of a penalty over the usual one
_UNEVEN = 4.0  # mean costs of documents' pointers that differ by more than this factor


def same_metric(max_gram: int) -> Metric:
    """The same step everywhere."""
    none = np.empty(0, dtype=np.float32)
    return Metric(none, none, np.empty((max_gram, 0), dtype=np.float32))


def is_uneven(index: KGramIndex, costs: StorageCosts) -> bool:
    """Whether a step that is the same everywhere is wrong for many documents."""
    if not costs.pointer_extra.size or not index.n_tokens:
        return False
    _, cost, number = _by_document(index, costs)
    mean = cost[number > 0] / number[number > 0]
    return bool(mean.max() > _UNEVEN * max(float(mean.min()), 1e-300))


def _by_document(index: KGramIndex, costs: StorageCosts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of documents that are not empty: first token int64; what their pointers cost and their number, float64."""
    number, cost = np.zeros(index.n_tokens), np.zeros(index.n_tokens)
    for k, row in enumerate(index.gram_of):
        price = costs.pointer_by_length[k] + (costs.pointer_extra[k] if costs.pointer_extra.size else 0.0)
        number += row >= 0
        cost += np.where(row >= 0, price, 0.0)
    first = index.doc_ptr[:-1][np.diff(index.doc_ptr) > 0]
    return first, np.add.reduceat(cost, first), np.add.reduceat(number, first)


def metric_of(index: KGramIndex, costs: StorageCosts, layout: PointerLayout) -> tuple[Metric, np.ndarray]:
    """A metric for these costs, and float32 (m,), by place, the weights of its prox."""
    K, n = index.max_gram, index.n_tokens
    first, cost, number = _by_document(index, costs)
    mean, usual = cost / np.maximum(number, 1.0), float(cost.sum() / number.sum())
    penalty = np.sqrt(mean / usual).clip(_LEAST, _MOST) if usual > 0 else np.ones(len(first))
    overlap = np.zeros(n + 1)
    for k, row in enumerate(index.gram_of):
        overlap[:n] += row >= 0
        overlap[k + 1 :] -= row[: n - k] >= 0
    share = np.maximum.reduceat(np.cumsum(overlap)[:n], first) / (K * (K + 1) / 2)
    sizes = np.diff(np.append(first, n))
    rho, sigma = np.repeat(penalty, sizes).astype(np.float32), np.repeat(share, sizes).astype(np.float32)
    price = np.repeat(costs.pointer_by_length[:, None], n, axis=1).astype(np.float32)
    if costs.pointer_extra.size:
        price += costs.pointer_extra
    both = rho * sigma
    price /= both
    weight = np.empty(index.n_pointers, dtype=np.float32)
    for slots in layout.slot:
        there = slots >= 0
        weight[slots[there]] = both[there]
    return Metric(rho, np.float32(1.0) / sigma, price), weight
