"""What a result is worth, recomputed from the data in float64 numpy; imports no kernel and no solver.

Weak duality of the relaxation of (1): α ≥ 0 over tokens is dual feasible iff for every K-gram s

    Σ_{i ∈ J(s)} ((Xᵀα)_i − d_i)₊ ≤ c(s),                                                        (*)

and then Σ α is a lower bound on the relaxation and on (1): for feasible w, with W_s = ‖w_J(s)‖∞ ≤ 1,
Σα ≤ αᵀXw = Σ_i w_i (Xᵀα)_i ≤ Σ_i w_i d_i + Σ_i w_i ((Xᵀα)_i − d_i)₊ ≤ wᵀd + Σ_s W_s c(s).
A vector that misses (*) by rounding is shrunk: for τ ≤ 1 and d ≥ 0, (τx − d)₊ ≤ τ (x − d)₊.

Everything is rounded outward (engine/gaps.py): excesses and the objective up, Σ α down. So the bound holds for the
costs as float64 numbers, whatever the order of summation. Its scope: dictionaries of K-grams of up to K words.

Where all costs are multiples of one number, so is the objective of every binary solution: one that is less than that
above the bound is optimal.

Shapes as in problem.py; cover: uint8 (n,), bit k-1 of cover[i] says that pointer (k, i) is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.gaps import (
    EPSILON,
    add_exactly,
    lower_sum,
    relative_gap,
    round_down,
    round_up,
    sum_above,
    sum_terms,
)

_CHUNK_TOKENS = 1 << 17
_MOST_PARTS = 2.0**20


@dataclass(frozen=True)
class Certificate:
    """Proved facts on a binary solution: objective of (1), a lower bound on its optimum, gap = objective/bound − 1.

    covered: every token is covered by a pointer (the solution is feasible); shrink: the τ that was needed
    to make the dual vector feasible, 1 when none was; step: all costs are multiples of it, 0 if none is known.
    """

    objective: float
    lower_bound: float
    gap: float
    covered: bool
    shrink: float
    n_pointers: int
    dictionary_size: int
    step: float = 0.0

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no solution is cheaper, though the bound may be lower."""
        return self.covered and self.objective - self.lower_bound < self.step

    def to_dict(self) -> dict[str, float | int | bool]:
        """A plain dict, for JSON."""
        return asdict(self)


def _chunks(n_tokens: int) -> Iterator[tuple[int, int]]:
    """Ranges of about a hundred thousand tokens, so that temporaries stay small."""
    for first in range(0, n_tokens, _CHUNK_TOKENS):
        yield first, min(first + _CHUNK_TOKENS, n_tokens)


def _windows(prices: np.ndarray, size: int, K: int) -> Iterator[np.ndarray]:
    """(Xᵀα) of the pointers of lengths 1 .. K at the first ``size`` tokens; prices: theirs and the K − 1 after them.

    A window that runs out of the corpus counts what it has. Summed window by window, not as differences of running
    sums, which would leave errors of the size of the whole corpus in every pointer.
    """
    window = np.zeros(size)
    for k in range(K):
        more = prices[k : k + size]
        window[: len(more)] += more
        yield window


@dataclass(frozen=True)
class Excesses:
    """What dual prices come to, before (*) is looked at. total: Σ α, rounded down; by_gram: float64 (G,), the left side
    of (*), rounded up; ratio: float64 (G,), the least d/x of the pointers of each K-gram that stand in it: shrinking by
    it leaves no excess at all."""

    total: float
    by_gram: np.ndarray
    ratio: np.ndarray


def dual_bound(alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts) -> tuple[float, float]:
    """The lower bound that a dual vector proves; Θ(Kn).

    Parameters
    ----------
    alpha : float ndarray (n,)
        Prices of tokens; negative entries are taken as 0.
    gram_of : int32 ndarray (K, n)
        The K-gram of each pointer, −1 for none.
    costs : StorageCosts
        d and c.

    Returns
    -------
    tuple of float and float
        The bound, and the τ that the prices had to be shrunk by.
    """
    found = excesses_of(alpha, gram_of, costs)
    return shrunk(found.total, least_shrink(found.by_gram, found.ratio, costs.dictionary))


def least_shrink(by_gram: np.ndarray, ratio: np.ndarray, cost: np.ndarray) -> float:
    """The largest τ ≤ 1 that these excesses are known to need so as to fit ``cost`` (float64, c(s))."""
    broken = by_gram > cost
    if not broken.any():
        return 1.0
    return float(np.maximum(cost[broken] / by_gram[broken], ratio[broken]).min())


def shrunk(total: float, shrink: float) -> tuple[float, float]:
    """The bound Σ α and τ, after prices are shrunk by ``shrink``, rounded down."""
    if shrink >= 1.0:
        return total, 1.0
    shrink = max(round_down(shrink, 8), 0.0)
    return max(round_down(total * shrink, 4), 0.0), shrink


def excesses_of(alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts) -> Excesses:
    """Both sides of the bound, from the data; Θ(Kn)."""
    excess = np.zeros(len(costs.dictionary))
    ratio = np.ones(len(costs.dictionary))
    counts = np.zeros(len(costs.dictionary), dtype=np.int32)  # positive excesses: as many roundings has their sum
    total, K = 0.0, gram_of.shape[0]
    exact = not costs.pointer_extra.size and add_exactly(costs.pointer_by_length)
    exact = exact and all(add_exactly(alpha[a:e].astype(np.float64)) for a, e in _chunks(len(alpha)))
    slack = 0.0 if exact else EPSILON * (K + 2)  # x is a sum of up to K prices, and a difference loses what it was off
    for a, e in _chunks(len(alpha)):
        price = np.maximum(alpha[a : e + K - 1].astype(np.float64), 0.0)
        total = -sum_above(-total, -lower_sum(price[: e - a]))
        for k, x in enumerate(_windows(price, e - a, K)):
            d = costs.pointer_by_length[k]
            if costs.pointer_extra.size:
                d = d + costs.pointer_extra[k, a:e].astype(np.float64)
            # x may be rounded down to d, or below
            where = (x * (1.0 + slack) > d) & (gram_of[k, a:e] >= 0)
            grams, x, d = gram_of[k, a:e][where], x[where], np.broadcast_to(d, x.shape)[where]
            np.add.at(excess, grams, x - d + slack * x)
            np.add.at(counts, grams, 1)
            np.minimum.at(ratio, grams, d / (x * (1.0 + slack)))
    if not exact:
        excess *= 1.0 + EPSILON * (int(counts.max(initial=0)) + 2)
    return Excesses(total, excess, ratio)


def binary_solution(cover: np.ndarray, gram_of: np.ndarray, costs: StorageCosts) -> tuple[float, bool, int, np.ndarray]:
    """Objective of (1), whether every token is covered, the number of pointers, and the K-grams used (bool (G,))."""
    K, n = gram_of.shape
    used = np.zeros(len(costs.dictionary), dtype=bool)
    steps = np.zeros(n + 1, dtype=np.int64)  # +1 where a pointer starts, -1 behind its end
    n_pointers = 0
    pointer_cost = 0.0
    terms = 4.0 * K  # roundings of what follows
    for k in range(K):
        starts = np.flatnonzero(cover >> k & 1)
        grams = gram_of[k, starts]
        if np.any(grams < 0):
            raise ValueError("a pointer crosses a document's end.")
        used[grams] = True
        n_pointers += len(starts)
        pointer_cost += costs.pointer_by_length[k] * len(starts)
        if costs.pointer_extra.size:
            extra = costs.pointer_extra[k, starts].astype(np.float64)
            pointer_cost += float(extra.sum())
            terms += sum_terms(len(extra))
        np.add.at(steps, starts, 1)
        np.add.at(steps, starts + k + 1, -1)
    covered = bool(np.all(np.cumsum(steps[:-1]) > 0))
    stored = costs.dictionary[used]
    value = float(pointer_cost + stored.sum())
    exact = not costs.pointer_extra.size and add_exactly(stored, n_pointers * costs.pointer_by_length)
    return (value if exact else round_up(value, terms + sum_terms(len(stored)))), covered, n_pointers, used


def certify(cover: np.ndarray, alpha: np.ndarray, gram_of: np.ndarray, costs: StorageCosts) -> Certificate:
    """The certificate of a binary solution and a dual vector, from the data alone."""
    value, covered, n_pointers, used = binary_solution(cover, gram_of, costs)
    bound, shrink = dual_bound(alpha, gram_of, costs)
    step = exact_step(costs)
    return Certificate(value, bound, relative_gap(value, bound), covered, shrink, n_pointers, int(used.sum()), step)


def exact_step(costs: StorageCosts) -> float:
    """The largest power of two from 1 to 2⁻²⁰ that all costs are multiples of, as float64 numbers; 0 where none is, or
    where pointers have costs of their own."""
    if costs.pointer_extra.size:
        return 0.0
    parts = 1.0
    for values in (costs.pointer_by_length, costs.dictionary):
        for first in range(0, len(values), _CHUNK_TOKENS):
            piece = values[first : first + _CHUNK_TOKENS]
            if np.any(np.remainder(piece * _MOST_PARTS, 1.0)):  # times a power of two: exact
                return 0.0
            while np.any(np.remainder(piece * parts, 1.0)):
                parts *= 2.0
    return 1.0 / parts
