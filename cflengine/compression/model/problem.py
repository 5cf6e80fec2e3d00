"""Compressive feature learning as mathematics, in clear numpy.

    minimise   wᵀd + Σ_s c(s) ‖w_J(s)‖∞   subject to   Xw ≥ 1,  w ∈ {0, 1}^m                        (1)

over the m pointers of a corpus: w_i = 1 says that pointer i (a K-gram s at a position) is used; d is the cost of
a pointer, c(s) that of storing s in the dictionary; (Xw)_j counts the pointers that cover token j. The relaxation
lets w ≥ 0. For ζ in [0, 1] the homotopy solves

    minimise   wᵀd + Σ_s c(s) ‖w_J(s)‖∞   subject to   ‖w_T(j)‖∞ ≥ ζ ∀j,  Xw ≥ 1,  w ≥ 0,                (3)

T(j) the pointers that cover token j: the relaxation at ζ = 0, problem (1) at ζ = 1.

Source: Paskov, Mitchell, Hastie, "An Efficient Algorithm for Large Scale Compressive Feature Learning",
AISTATS 2014, equations (1) to (3). Shapes: a vector over pointers is an array (K, n), entry [k-1, i] for the
pointer of length k that starts at token i; gram_of int32 (K, n) is the K-gram there, -1 where it would cross a
document's end (such entries are no pointers and count for nothing).

Examples
--------
"a b a b" at K = 2 and λ = 1. The K-grams are a, b, ab, ba (0 to 3); two pointers to ab cost 2, and
storing ab its two words: 4, where single words would cost 4 pointers and 2 words.

>>> import numpy as np
>>> gram_of = np.array([[0, 1, 0, 1], [2, 3, 2, -1]], dtype=np.int32)
>>> costs = storage_costs(gram_of, lengths=np.array([1, 1, 2, 2]), lam=1.0)
>>> pairs, words = np.zeros((2, 4)), np.zeros((2, 4))
>>> pairs[1, [0, 2]] = words[0] = 1.0
>>> (coverage_matrix(gram_of) @ pairs.ravel()).tolist()
[1.0, 1.0, 1.0, 1.0]
>>> objective(pairs, gram_of, costs), objective(words, gram_of, costs)
(4.0, 6.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

SOFT_LITERAL = 3.0  # what a word outside the dictionary costs where uses are expected ones, unless said otherwise
MAX_LAM = 1e6
MAX_COST = 1e12  # float32 state keeps nothing sensible beyond


class PointerCosts(NamedTuple):
    """d of the pointer of length k at token i: length[k-1] + extra[k-1, i], the latter where it has columns.

    length: float64 (K,), or float32 where the solver's numbers are; extra: float32 (K, n) or (K, 0).
    """

    length: np.ndarray
    extra: np.ndarray


@dataclass(frozen=True)
class StorageCosts:
    """What storing costs: pointer (k, i) d = pointer_by_length[k-1] + pointer_extra[k-1, i]. All d and c are ≥ 0.

    Parameters
    ----------
    pointer_by_length : ndarray
        float64 (K,).
    pointer_extra : ndarray
        float32 (K, n), or (K, 0) where there is none.
    dictionary : ndarray
        float64 (G,), c(s).
    """

    pointer_by_length: np.ndarray
    pointer_extra: np.ndarray
    dictionary: np.ndarray

    def __post_init__(self) -> None:
        for costs in (self.pointer_by_length, self.pointer_extra):
            if not np.all(np.abs(costs) <= MAX_COST):  # also false for NaN
                raise ValueError(f"pointer costs must be numbers of at most {MAX_COST:g}.")
        if not np.all((self.dictionary >= 0) & (self.dictionary <= MAX_COST)):
            raise ValueError(f"dictionary costs must be numbers from 0 to {MAX_COST:g}.")
        least = self.pointer_extra.min(axis=1) if self.pointer_extra.size else 0.0
        if np.any(self.pointer_by_length + least < 0):
            raise ValueError("pointer costs must not be negative.")

    @property
    def pointer(self) -> PointerCosts:
        """d, as kernels take it."""
        return PointerCosts(self.pointer_by_length, self.pointer_extra)

    @property
    def pointer_single(self) -> PointerCosts:
        """d in float32, the precision of the solvers' iterates."""
        return PointerCosts(self.pointer_by_length.astype(np.float32), self.pointer_extra)

    def in_unit(self, unit: float) -> StorageCosts:
        """These costs divided by ``unit``, to 40 bits, so that it does not show what they were multiplied by."""
        if unit == 1.0:
            return self
        extra = self.pointer_extra / np.float32(unit)
        return StorageCosts(_to_40_bits(self.pointer_by_length / unit), extra, _to_40_bits(self.dictionary / unit))


def _to_40_bits(values: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40)


def check_lam(lam: float) -> float:
    """λ as a float.

    Parameters
    ----------
    lam : float
        The pointer cost.

    Returns
    -------
    float
        The same.

    Raises
    ------
    ValueError
        Unless it is a number from 0 to 10⁶.
    """
    if not isinstance(lam, Real) or isinstance(lam, bool):
        raise ValueError(f"lam (the pointer cost λ) must be a number, not {lam!r}.")
    if not 0 <= lam <= MAX_LAM:  # also false for NaN
        raise ValueError(f"lam (the pointer cost λ) must be between 0 and {MAX_LAM:,.0f}, not {lam!r}.")
    return float(lam)


def storage_costs(
    gram_of: np.ndarray,
    lengths: np.ndarray,
    lam: float = 1.0,
    *,
    pointer_cost: np.ndarray | None = None,
    dictionary_cost: np.ndarray | None = None,
) -> StorageCosts:
    """Costs with the defaults of the paper's experiments: d = λ, c(s) = number of words of s.

    Parameters
    ----------
    gram_of : int32 ndarray (K, n)
        The K-gram of each pointer, −1 for none.
    lengths : int ndarray (G,)
        Words of each K-gram.
    lam : float
        λ.
    pointer_cost : ndarray (K,) or (K, n), optional
        Instead of λ, by length or by pointer.
    dictionary_cost : ndarray (G,), optional
        Instead of the number of words.

    Returns
    -------
    StorageCosts
        d and c.

    Raises
    ------
    ValueError
        For other shapes, negative or NaN costs.
    """
    K, n = gram_of.shape
    by_length, extra = np.full(K, check_lam(lam)), np.empty((K, 0), dtype=np.float32)
    if pointer_cost is not None:
        pointer_cost = np.asarray(pointer_cost)
        if pointer_cost.shape == (K,):
            by_length = pointer_cost.astype(np.float64)
        elif pointer_cost.shape == (K, n):
            by_length = np.zeros(K)
            if not np.all(np.abs(pointer_cost[gram_of >= 0]) <= MAX_COST):
                raise ValueError(f"pointer costs must be numbers of at most {MAX_COST:g}.")
            extra = np.where(gram_of >= 0, pointer_cost, 0.0).astype(np.float32)
        else:
            raise ValueError(f"pointer_cost must have shape ({K},) or ({K}, {n}), not {pointer_cost.shape}.")
    dictionary: np.ndarray = lengths if dictionary_cost is None else np.asarray(dictionary_cost)
    if dictionary.shape != lengths.shape:
        raise ValueError(f"dictionary_cost must have shape {lengths.shape}, a number a K-gram, not {dictionary.shape}.")
    return StorageCosts(by_length, extra, dictionary.astype(np.float64))


def mean_pointer_cost(costs: StorageCosts, gram_of: np.ndarray) -> np.ndarray:
    """float64 (K,): the mean cost of a pointer of each length."""
    by_length = costs.pointer_by_length.copy()
    if costs.pointer_extra.size:
        for k, row in enumerate(costs.pointer_extra):
            there = row[gram_of[k] >= 0]
            by_length[k] += float(there.mean(dtype=np.float64)) if len(there) else 0.0
    return by_length


def exact_prices(by_length: np.ndarray, literal: float) -> tuple[np.ndarray, float]:
    """Prices to a part in 2²⁴ of the least of them, whose sums are exact in float64: encodings that cost the same are
    the same to a programme in whatever order it adds, so that which of them it takes depends on nothing else.

    Parameters
    ----------
    by_length : ndarray
        float64 (K,), of a pointer of each length.
    literal : float
        Of a token that is carried as it is.

    Returns
    -------
    by_length : ndarray
        float64 (K,).
    literal : float
        The same for a literal.

    Examples
    --------
    >>> 1.3 + 0.3 + 0.3 == 0.3 + 0.3 + 1.3
    False
    >>> by_length, b = exact_prices(np.array([0.3]), 1.3)
    >>> a = float(by_length[0])
    >>> b + a + a == a + a + b
    True
    """
    prices = np.append(np.asarray(by_length, dtype=np.float64), literal)
    some = prices[(prices > 0) & np.isfinite(prices)]
    if len(some):
        unit = 2.0 ** (math.floor(math.log2(some.min())) - 24)
        prices = np.round(prices / unit) * unit
    return prices[:-1], float(prices[-1])


def unit_of(costs: StorageCosts, lengths: np.ndarray) -> float:
    """What "about 1" is for these costs: the usual price of storing a word, or twice, four .. times that where a usual
    pointer or entry costs more than ten of it. lengths: int (G,). 1 where c(s) is the number of words and λ ≤ 10. Where
    pointers have costs of their own, which are kept in float32, a power of two, so that none loses a bit.

    The problem stays the same when all costs are multiplied by one number; ρ, tolerances and float32 do not. So solvers
    work with costs in this unit (:meth:`StorageCosts.in_unit`).
    """
    stored = costs.dictionary > 0
    word = float(np.median(costs.dictionary[stored] / lengths[stored])) if stored.any() else 0.0
    pointer = float(costs.pointer_by_length.mean())
    if costs.pointer_extra.size:
        pointer += float(costs.pointer_extra.mean(dtype=np.float64))
    unit = word if word > 0 else pointer if pointer > 0 else 1.0
    most = max(pointer, float(np.median(costs.dictionary))) / (10.0 * unit)
    if most > 1:
        unit *= 2.0 ** math.ceil(math.log2(most) - 1e-9)
    return 2.0 ** round(math.log2(unit)) if costs.pointer_extra.size else unit


def external_macro_costs(gram_of: np.ndarray, lengths: np.ndarray, lam: float, unigram: float) -> StorageCosts:
    """External Macro Data Compression (§3.2): unigrams stand in the text as they are.

    Dictionary cost 0 for unigrams; a unigram "pointer" costs ``unigram``, the price of its plain text; every
    other pointer costs λ.
    """
    by_length = np.full(gram_of.shape[0], check_lam(lam))
    by_length[0] = unigram
    return storage_costs(
        gram_of, lengths, lam, pointer_cost=by_length, dictionary_cost=np.where(lengths == 1, 0, lengths)
    )


def spectral_bound(max_gram: int) -> float:
    """Theorem 1: σ = K³/3 + K²/2 + K/6, a tight upper bound on ‖X‖₂²."""
    K = max_gram
    return (2 * K**3 + 3 * K**2 + K) / 6


def coverage_matrix(gram_of: np.ndarray) -> sparse.csr_matrix:
    """X as a sparse matrix, column k·n + i for pointer [k, i]; columns of non-pointers are empty.

    Parameters
    ----------
    gram_of : int32 ndarray (K, n)
        The K-gram of each pointer, −1 for none.

    Returns
    -------
    CSR matrix (n, K·n)
        Ones.
    """
    K, n = gram_of.shape
    rows, columns = [], []
    for k in range(K):
        starts = np.flatnonzero(gram_of[k] >= 0)
        for j in range(k + 1):
            rows.append(starts + j)
            columns.append(k * n + starts)
    where = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_matrix((np.ones(len(where[0])), where), shape=(n, K * n))


def group_maxima(w: np.ndarray, gram_of: np.ndarray, n_grams: int) -> np.ndarray:
    """‖w_J(s)‖∞ for every K-gram: float64 (G,)."""
    top = np.zeros(n_grams)
    pointer = gram_of >= 0
    np.maximum.at(top, gram_of[pointer], w[pointer])
    return top


def objective(w: np.ndarray, gram_of: np.ndarray, costs: StorageCosts) -> float:
    """The value of (1) at w, binary or not (feasibility is not looked at).

    Parameters
    ----------
    w : float64 ndarray (K, n)
        Of each pointer.
    gram_of : int32 ndarray (K, n)
        The K-gram of each pointer, −1 for none.
    costs : StorageCosts
        d and c.

    Returns
    -------
    float
        dᵀw + Σ_s c(s) ‖w_J(s)‖∞.
    """
    pointer = gram_of >= 0
    d = np.broadcast_to(costs.pointer_by_length[:, None], gram_of.shape)
    if costs.pointer_extra.size:
        d = d + costs.pointer_extra
    return float((d * w)[pointer].sum() + costs.dictionary @ group_maxima(w, gram_of, len(costs.dictionary)))
