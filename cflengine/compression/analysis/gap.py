"""Where the proof is not tight: what lies between a solution and its bound, by document and by K-gram.

With x_i = (Xᵀα)_i, the prices that pointer i covers, objective less bound is a sum of three terms, none below zero, by
complementary slackness:

    Σ_used d_i + Σ_{s ∈ D} c(s) − Σ_j α_j  =  Σ_used max(d_i − x_i, 0)                          slack of pointers
                                            + Σ_{s ∈ D} (c(s) − Σ_{used i ∈ J(s)} (x_i − d_i)₊)  unspent budget
                                            + Σ_j α_j (cover_j − 1)                              tokens covered twice

Slack belongs to a pointer, so to its document and its K-gram. Unspent budget belongs to a K-gram; its uses share it
alike, and so do their documents. What a token that is covered more than once pays too much is its document's, and
shared alike by the pointers that cover it. Where branching trees lift the bound of a part (model/branching.py), the
lift is a fourth term, below zero, charged like the part's gap without it.

Examples
--------
"a b a b a c" at λ = 1.

>>> from cflengine import CompressiveFeatures
>>> model = CompressiveFeatures().fit(["a b a b a c"])
>>> gap = gap_of(model)
>>> bool(abs(gap.total - (model.result_.objective - gap.bound)) < 1e-9 * model.result_.objective)
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from cflengine.compression.codebook import list_pointers
from cflengine.compression.model.branching import Branching
from cflengine.compression.model.lifting import lifted_bound
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.engine.progress import Poll, go_on
from cflengine.text.kgrams import MAX_GRAM, KGramIndex

_TERMS = ("slack", "unspent", "overlap", "lift")
_AT_ONCE = 1 << 17  # tokens


class Charged(Protocol):
    """What is charged: a solution, its dual prices and the trees that lift them."""

    @property
    def cover(self) -> np.ndarray:
        """uint8 (n,)."""
        ...

    @property
    def alpha(self) -> np.ndarray:
        """float64 (n,)."""
        ...

    @property
    def branchings(self) -> tuple[Branching, ...]:
        """Of disjoint parts."""
        ...


@dataclass(frozen=True)
class GapAttribution:
    """The gap of a solution, charged to documents and to K-grams; either sums to ``total``.

    Parameters
    ----------
    total : float
        Objective less ``bound``.
    bound : float
        Σ α of the dual prices and the trees' lifts: the lower bound, up to rounding.
    documents : DataFrame
        A row a document: document, cost (its pointers and its share of the K-grams it uses), slack, unspent, overlap,
        lift (not above zero), gap (their sum).
    grams : DataFrame
        A row a K-gram of the dictionary: gram (its number in the index), slack, unspent, overlap, lift, gap.
    """

    total: float
    bound: float
    documents: pd.DataFrame = field(repr=False)
    grams: pd.DataFrame = field(repr=False)

    @property
    def nearly_all(self) -> int:
        """The fewest documents that have 99 % of it."""
        shares = np.cumsum(np.sort(self.documents["gap"].to_numpy())[::-1])
        return min(int(np.searchsorted(shares, 0.99 * self.total)) + 1, len(shares))

    def costliest(self, documents: np.ndarray) -> pd.DataFrame:
        """The rows of some documents (int), those that cost most first."""
        return self.documents.iloc[documents].sort_values("cost", ascending=False, kind="stable")

    def terms(self) -> dict[str, float]:
        """slack, unspent, overlap and lift, which sum to ``total``."""
        return {name: float(self.documents[name].sum()) for name in _TERMS}


def gap_of(model: Any) -> GapAttribution:
    """:func:`attribute_gap` of a model.

    Parameters
    ----------
    model : CompressiveFeatures
        Fitted.

    Returns
    -------
    GapAttribution
        Terms that add up to the gap.
    """
    return attribute_gap(model.result_, model.index_, model.costs_at(float(model.lam)), model.table_.doc_ptr)


def attribute_gap(
    result: CompressionResult, index: KGramIndex, costs: StorageCosts, doc_ptr: np.ndarray
) -> GapAttribution:
    """The gap of a result, charged to documents and K-grams; Θ(Kn).

    Parameters
    ----------
    result : CompressionResult
        A solution and its dual prices.
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        What the result was solved for.
    doc_ptr : int64 ndarray (N+1,)
        The borders of documents.

    Returns
    -------
    GapAttribution
        Terms that add up to the gap.
    """
    lifts = np.zeros(0)
    if result.branchings:
        _, lifts = lifted_bound(result.alpha, index.gram_of, costs, result.branchings)
    return charge_gap(result, index, costs, doc_ptr, lifts)


def charge_gap(
    solution: Charged,
    index: KGramIndex,
    costs: StorageCosts,
    doc_ptr: np.ndarray,
    lifts: np.ndarray,
    poll: Poll = lambda: True,
) -> GapAttribution:
    """:func:`attribute_gap` where it is known how much each of the branchings lifts the bound: float64. Raises Stopped
    once ``poll`` says no."""
    uses, left = np.zeros(index.n_grams, dtype=np.int32), np.zeros(index.n_grams)
    for piece in _pieces(solution, index, costs):
        np.add.at(uses, piece.gram, 1)
        np.add.at(left, piece.gram, np.maximum(piece.covered - piece.price, 0.0))
        go_on(poll)
    # what is spent of each budget, then what is left of it to every use
    np.subtract(costs.dictionary, left, out=left)
    np.divide(left, uses, out=left, where=uses > 0)
    kinds = np.flatnonzero(uses)
    rank = np.full(index.n_grams, -1, dtype=np.int32)
    rank[kinds] = np.arange(len(kinds), dtype=np.int32)
    stored = costs.dictionary[kinds] / uses[kinds]
    parts = _Parts(solution.branchings if len(lifts) else ())
    share = _lift_shares(solution, index, costs, left, parts, lifts)
    documents = {name: np.zeros(len(doc_ptr) - 1) for name in ("cost", *_TERMS)}
    grams = {name: np.zeros(len(kinds)) for name in _TERMS}
    paid = 0.0
    for piece in _pieces(solution, index, costs):
        terms = piece.terms(left)
        terms["lift"] = -share[parts.of(piece.start)] * sum(terms.values(), np.zeros(len(piece.gram)))
        document, kind = np.searchsorted(doc_ptr, piece.start, side="right") - 1, rank[piece.gram]
        np.add.at(documents["cost"], document, piece.price + stored[kind])
        for name, values in terms.items():
            np.add.at(documents[name], document, values)
            np.add.at(grams[name], kind, values)
        paid += float(piece.price.sum())
        go_on(poll)
    for part in np.flatnonzero((share[: len(lifts)] == 0.0) & (lifts != 0.0)).tolist():
        # no pointer with a gap begins there: the one that reaches into it has the lift
        token = int(solution.branchings[part].spans[0, 0])
        at = token - int(np.argmax(solution.cover[token::-1] > 0))
        documents["lift"][np.searchsorted(doc_ptr, token, side="right") - 1] -= lifts[part]
        grams["lift"][rank[_longest_at(solution, index, at)]] -= lifts[part]
    bound = float(solution.alpha.sum() + lifts.sum())
    total = paid + float(costs.dictionary[kinds].sum()) - bound
    tables = []
    for first, terms in (({"document": np.arange(len(doc_ptr) - 1)}, documents), ({"gram": kinds}, grams)):
        terms["gap"] = terms["slack"] + terms["unspent"] + terms["overlap"] + terms["lift"]
        tables.append(pd.DataFrame(first | terms))
    return GapAttribution(total, bound, *tables)


@dataclass(frozen=True)
class _Piece:
    """Some pointers, (P,): where they start, int64; their K-gram, int; what they cost, what the prices of their tokens
    come to, and what they pay twice, float64."""

    start: np.ndarray
    gram: np.ndarray
    price: np.ndarray
    covered: np.ndarray
    overlap: np.ndarray

    def terms(self, left: np.ndarray) -> dict[str, np.ndarray]:
        """Of each pointer, but for lifts; left: float64 (G,), unspent budget by use."""
        slack = np.maximum(self.price - self.covered, 0.0)
        return {"slack": slack, "unspent": left[self.gram], "overlap": self.overlap}


def _pieces(solution: Charged, index: KGramIndex, costs: StorageCosts) -> Iterator[_Piece]:
    """The pointers of a solution, some at a time, so that temporaries stay small."""
    a = 0
    while a < index.n_tokens:
        e = _uncut(solution.cover, min(a + _AT_ONCE, index.n_tokens))
        alpha = solution.alpha[a:e]
        first, length, gram = list_pointers(solution.cover[a:e], index.gram_of[:, a:e])
        begin, end = first.astype(np.int64), first.astype(np.int64) + length
        price = costs.pointer_by_length[length - 1]
        if costs.pointer_extra.size:
            price = price + costs.pointer_extra[length - 1, a + begin]
        ends = e - a + 1
        times = np.cumsum(np.bincount(begin, minlength=ends) - np.bincount(end, minlength=ends))[:-1]
        twice = np.divide(alpha * (times - 1.0), times, out=np.zeros(e - a), where=times > 0)
        yield _Piece(a + begin, gram, price, _within(alpha, begin, end), _within(twice, begin, end))
        a = e


def _uncut(cover: np.ndarray, at: int) -> int:
    """The first token from ``at`` on with no pointer that begins before it and ends behind; the end, at last."""
    first, size = max(at - MAX_GRAM, 0), 1 << 10
    while at < len(cover):
        piece = cover[first : at + size]
        begins = np.arange(first, first + len(piece))
        reach = np.maximum.accumulate(begins + np.frexp(piece.astype(np.float64))[1])  # bits in use: the longest
        good = np.flatnonzero((reach[:-1] <= begins[1:]) & (begins[1:] >= at))
        if len(good):
            return int(begins[good[0] + 1])
        if at + size >= len(cover):
            break
        size *= 2
    return len(cover)


class _Parts:
    """The parts that branching trees bound, by their spans."""

    def __init__(self, branchings: Sequence[Branching]) -> None:
        spans = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(one.spans for one in branchings)])
        number = np.repeat(np.arange(len(branchings)), [len(one.spans) for one in branchings])
        order = np.argsort(spans[:, 0])
        self.none = len(branchings)
        # before each span, and behind the last, nothing
        self._first, self._end = np.append(-1, spans[order, 0]), np.append(-1, spans[order, 1])
        self._number = np.append(self.none, number[order])

    def of(self, tokens: np.ndarray) -> np.ndarray:
        """int64: the part of each token, ``none`` where it is in none."""
        at = np.searchsorted(self._first, tokens, side="right") - 1
        return np.where(tokens < self._end[at], self._number[at], self.none)


def _lift_shares(
    solution: Charged, index: KGramIndex, costs: StorageCosts, left: np.ndarray, parts: _Parts, lifts: np.ndarray
) -> np.ndarray:
    """float64, by part, and 0 for none: its lift over its gap without it."""
    own, of_part = np.append(lifts, 0.0), np.zeros(len(lifts) + 1)
    for piece in _pieces(solution, index, costs) if len(lifts) else ():
        gap = sum(piece.terms(left).values(), np.zeros(len(piece.gram)))
        np.add.at(of_part, parts.of(piece.start), gap)
    return np.divide(own, of_part, out=np.zeros(len(own)), where=of_part > 0)


def _longest_at(solution: Charged, index: KGramIndex, token: int) -> int:
    """The K-gram of the longest pointer that begins at a token."""
    return int(index.gram_of[int(solution.cover[token]).bit_length() - 1, token])


def _within(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """float64: sums of values[first] .. values[last - 1]; as differences of running sums, in extended precision, so
    that they lose nothing that shows."""
    sums = np.zeros(len(values) + 1, dtype=np.longdouble)
    np.cumsum(values, out=sums[1:])
    return (sums[last] - sums[first]).astype(np.float64)
