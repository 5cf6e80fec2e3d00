"""Key phrases: which phrases a group of documents uses more than the others do.

Of a phrase that occurs a times in a group of n words and b times in the other documents of m words:

    G² = 2 Σ O ln(O/E)            over a and b alone, E_a = n (a+b)/(n+m)   (Rayson and Garside, 2000)
    log ratio = log₂ ((a/n) / (b/m)), with ½ for 0                          (Hardie, 2014), and never past 0 by that:
             in a part of a few words ½ is more than any part has a word
    p: of G² by χ² with one degree of freedom, corrected for all phrases by Benjamini and Hochberg
    spread = 1 − DP, DP = ½ Σ_d |a_d/a − n_d/n| over the group's documents  (Gries, 2008): near 0 where few documents
             have all of it, and then p, which takes words for independent, says too much.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import xlogy
from scipy.stats import chi2

from cflengine.engine.checks import InputError


def keyness(counts: sparse.csr_matrix, group: np.ndarray, sizes: np.ndarray, number: int) -> pd.DataFrame:
    """How much more often a group has each phrase than all others.

    Parameters
    ----------
    counts : CSR matrix (N, D)
        How often each document has each phrase.
    group : int64 ndarray (N,)
        The group of each document, −1 for one that does not take part.
    sizes : int64 ndarray (N,)
        Words of each document.
    number : int
        The group that is held against all others.

    Returns
    -------
    pandas.DataFrame
        A row a phrase, in the order of the columns: count, others, per_million, others_per_million, g2 (signed:
        negative where the phrase is rarer here), log_ratio, p, documents (of the group, that have it), spread.

    Raises
    ------
    InputError
        Where the group, or the rest, has no word.
    """
    own, rest = group == number, (group >= 0) & (group != number)
    n, m = float(sizes[own].sum()), float(sizes[rest].sum())
    if not n or not m:
        raise InputError("there is nothing to compare: a group, or all others, has no word.")
    inside = sparse.csr_matrix(counts[own])
    a, b = (np.asarray(part.sum(axis=0)).ravel().astype(np.float64) for part in (inside, counts[rest]))
    expected = (a + b) / (n + m)
    g2 = 2.0 * (xlogy(a, a / np.where(a > 0, n * expected, 1)) + xlogy(b, b / np.where(b > 0, m * expected, 1)))
    g2 = np.maximum(g2, 0.0)
    more = a / n >= b / m
    log_ratio = np.log2(np.maximum(a, 0.5) / n) - np.log2(np.maximum(b, 0.5) / m)
    log_ratio = np.where(b == 0, np.maximum(log_ratio, 0.0), log_ratio)
    log_ratio = np.where(a == 0, np.minimum(log_ratio, 0.0), log_ratio)
    return pd.DataFrame(
        {
            "count": a.astype(np.int64),
            "others": b.astype(np.int64),
            "per_million": 1e6 * a / n,
            "others_per_million": 1e6 * b / m,
            "g2": np.where(more, g2, -g2),
            "log_ratio": log_ratio,
            "p": corrected(chi2.sf(g2, 1)),
            "documents": np.diff(sparse.csc_matrix(inside).indptr),
            "spread": _spread(inside, a, sizes[own] / n),
        }
    )


def corrected(p: np.ndarray) -> np.ndarray:
    """p values adjusted for their number: the false discovery rate at which each would be called significant."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def _spread(counts: sparse.csr_matrix, totals: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """1 − DP of each phrase; NaN where it does not occur."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    part = counts.data / totals[counts.indices]
    # |x − s| over documents that have it, and s over those that have not
    far = np.bincount(counts.indices, np.abs(part - shares[rows]) - shares[rows], counts.shape[1]) + shares.sum()
    return np.where(totals > 0, 1.0 - 0.5 * far, np.nan)
