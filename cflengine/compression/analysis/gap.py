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

Worked example: "a b a b a c" at λ = 1.

>>> from cflengine import CompressiveFeatures
>>> model = CompressiveFeatures().fit(["a b a b a c"])
>>> gap = attribute_gap(model.result_, model.index_, model.costs_at(1.0), model.table_.doc_ptr)
>>> bool(abs(gap.total - (model.result_.objective - gap.bound)) < 1e-9 * model.result_.objective)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pandas as pd

from cflengine.compression.codebook import list_pointers
from cflengine.compression.model.branching import Branching, lifted_bound
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.text.kgrams import KGramIndex


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
    """total: objective less ``bound``, Σ α of the dual prices and the trees' lifts: the lower bound, up to rounding.

    documents: a row a document: document, cost (its pointers and its share of the K-grams it uses), slack, unspent,
    overlap, lift (not above zero), gap (their sum). grams: a row a K-gram of the dictionary: gram (its number in the
    index), slack, unspent, overlap, lift, gap. Either sums to ``total``.
    """

    total: float
    bound: float
    documents: pd.DataFrame = field(repr=False)
    grams: pd.DataFrame = field(repr=False)


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
    doc_ptr : ndarray
        (N+1,) int64, the borders of documents.
    """
    lifts = np.zeros(0)
    if result.branchings:
        _, lifts = lifted_bound(result.alpha, index.gram_of, costs, index.doc_ptr, result.branchings)
    return charge_gap(result, index, costs, doc_ptr, lifts)


def charge_gap(
    solution: Charged, index: KGramIndex, costs: StorageCosts, doc_ptr: np.ndarray, lifts: np.ndarray
) -> GapAttribution:
    """:func:`attribute_gap` where it is known how much each of the branchings lifts the bound: float64."""
    start, length, gram = list_pointers(solution.cover, index.gram_of)
    start, last = start.astype(np.int64), start.astype(np.int64) + length
    price = costs.pointer_by_length[length - 1]
    if costs.pointer_extra.size:
        price = price + costs.pointer_extra[length - 1, start]
    covered = _within(solution.alpha, start, last)
    uses = np.bincount(gram, minlength=index.n_grams)
    # in turn: what is spent of each budget, what is left of it to every use, what is paid twice
    spent = np.bincount(gram, np.maximum(covered - price, 0.0), minlength=index.n_grams)
    left = np.divide(costs.dictionary - spent, uses, out=np.zeros(index.n_grams), where=uses > 0)
    ends = index.n_tokens + 1
    times = np.cumsum(np.bincount(start, minlength=ends) - np.bincount(last, minlength=ends))[:-1]
    twice = np.divide(solution.alpha * (times - 1.0), times, out=np.zeros(index.n_tokens), where=times > 0)
    terms = {
        "slack": np.maximum(price - covered, 0.0), "unspent": left[gram], "overlap": _within(twice, start, last),
    }  # fmt: skip
    segment = np.searchsorted(index.doc_ptr, start, side="right") - 1
    without = terms["slack"] + terms["unspent"] + terms["overlap"]
    terms["lift"] = _lifts(solution, lifts, without, segment, index.n_documents)
    document = np.searchsorted(doc_ptr, start, side="right") - 1
    stored = np.divide(costs.dictionary, uses, out=np.zeros(index.n_grams), where=uses > 0)
    n = len(doc_ptr) - 1
    documents: dict[str, np.ndarray] = {
        "document": np.arange(n),
        "cost": np.bincount(document, price + stored[gram], minlength=n),
    }
    kinds = np.flatnonzero(uses)
    grams: dict[str, np.ndarray] = {"gram": kinds}
    for name, values in terms.items():
        documents[name] = np.bincount(document, values, minlength=n)
        grams[name] = np.bincount(gram, values, minlength=index.n_grams)[kinds]
    for table in (documents, grams):
        table["gap"] = table["slack"] + table["unspent"] + table["overlap"] + table["lift"]
    bound = float(solution.alpha.sum() + lifts.sum())
    total = float(price.sum() + costs.dictionary[kinds].sum() - bound)
    return GapAttribution(total, bound, pd.DataFrame(documents), pd.DataFrame(grams))


def _lifts(solution: Charged, lifts: np.ndarray, gap: np.ndarray, document: np.ndarray, n_documents: int) -> np.ndarray:
    """float64, by pointer: its part's lift, as the part's gap is charged to its pointers. document: int, of the index,
    that a pointer is in."""
    part = np.full(n_documents, -1)
    for i, branching in enumerate(solution.branchings[: len(lifts)]):
        part[branching.documents] = i
    own = np.append(lifts, 0.0)
    of_part = np.bincount(part[document] + 1, gap, minlength=len(own))
    share = np.divide(np.roll(own, 1), of_part, out=np.zeros(len(own)), where=of_part > 0)
    return -share[part[document] + 1] * gap


def _within(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """float64: sums of values[first] .. values[last - 1]; as differences of running sums, in extended precision, so
    that they lose nothing that shows."""
    sums = np.zeros(len(values) + 1, dtype=np.longdouble)
    np.cumsum(values, out=sums[1:])
    return (sums[last] - sums[first]).astype(np.float64)
