"""The bound that prices prove and the tokens of a cover, recomputed from the words: (3) and (1) of problem.py."""

from __future__ import annotations

import numpy as np

from cflengine.engine.gaps import round_down, sum_terms


def dual_bound(gram_of: np.ndarray, counts: np.ndarray, group_cost: np.ndarray, alpha: np.ndarray) -> float:
    """L(µ) at least, rounded down.

    gram_of: int (K, n), the piece of k + 1 units at each place, −1 for none; counts: (n,), n_w of each place's word;
    group_cost: float64 (G,), c(s), of the pieces that may be chosen; alpha: float64 (n,), prices, of either
    sign.
    """
    n = len(alpha)
    excess = np.zeros(len(group_cost))
    covered = np.zeros(n)
    for k, grams in enumerate(gram_of):
        covered[: n - k] += alpha[k:]
        over = covered - counts
        there = (grams >= 0) & (over > 0)
        excess += np.bincount(grams[there], over[there], minlength=len(group_cost))
    proved = float(alpha.sum()) - float(np.maximum(excess - group_cost, 0.0).sum())
    # a group's excesses are added one by one, each of them a sum of at most K prices
    terms = sum_terms(n) + float(np.bincount(gram_of[gram_of >= 0]).max(initial=0)) + len(gram_of)
    return round_down(proved, terms, float(np.abs(alpha).sum()) + float(excess.sum()))


def count_tokens(gram_of: np.ndarray, ptr: np.ndarray, counts: np.ndarray, cover: np.ndarray) -> float:
    """Σ n_w t_w of words that are cut into pieces. ptr: int64 (W+1,), borders of the words; counts: int64 (W,); cover:
    unsigned (n,), bit k − 1 where a piece of k units begins. Raises ValueError where the pieces do not make up the
    words or are not among ``gram_of``."""
    begins = np.flatnonzero(cover)
    lengths = np.log2(cover[begins]).astype(np.int64) + 1
    one_after_another = np.array_equal(np.append(begins, len(cover)), np.append(0, begins + lengths))
    whole = one_after_another and bool((cover[ptr[:-1]] > 0).all())
    single = np.array_equal(cover[begins], 1 << (lengths - 1))
    if not (whole and single and (gram_of[lengths - 1, begins] >= 0).all()):
        raise ValueError("the pieces do not make up the words.")
    return float(np.add.reduceat(cover > 0, ptr[:-1], dtype=np.int64) @ counts) if len(counts) else 0.0
