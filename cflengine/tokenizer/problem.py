"""The best subword vocabulary of a size, and what no vocabulary of that size can undercut.

A corpus has distinct words w, each n_w times, over an alphabet of units (bytes or characters). A vocabulary D of B
pieces of two units or more, beside the alphabet, makes a word into the fewest pieces that it consists of:

    minimise over D, |D| ≤ B   Σ_w n_w · t_w(D),   t_w(D) the fewest pieces of D and single units that make up w.   (1)

With a price µ for every piece this is problem (1) of Paskov, Mitchell, Hastie (AISTATS 2014), words being documents,
but for pointers that must not overlap: a pointer in word w costs n_w, a K-gram of two units or more µ, a unit nothing.
For any µ ≥ 0 and any lower bound L(µ) on it

    L(µ) − µ·B  ≤  Σ_w n_w · t_w(D)   for every D with |D| ≤ B,                                                     (2)

and as tokens are whole numbers the left side may be rounded up. Pieces that have to be in D cost nothing and are not
counted in B. A piece of k units that occurs N times, counted with n_w, saves at most (k − 1) N tokens: where that is no
more than µ, it can be left out.

Any prices α of the units' places, of either sign, prove a bound: a piece s gathers the excesses of its pointers, and

    L(µ) ≥ Σ_j α_j − Σ_s (e_s − c(s))₊,   e_s = Σ_{pointers i of s} (Σ_{j in i} α_j − n_i)₊,                         (3)

since to leave out a constraint of the dual of the linear relaxation, (4) of relaxation.py, costs no more than what it
is violated by (w ≤ 1).

Examples
--------
"aab" ten times and "ab" five times, B = 1: of 40 tokens "ab" leaves 20 + 5, "aab" 10 + 10.

>>> [10 * fewest_tokens({piece}, "aab", 3) + 5 * fewest_tokens({piece}, "ab", 3) for piece in ("ab", "aab")]
[25, 20]
>>> most_saved(np.array([2, 3]), np.array([15.0, 10.0])).tolist()
[15.0, 20.0]
>>> tokens_at_least(20.0 + 12.0, 12.0, 1)
20
"""

from __future__ import annotations

import math

import numpy as np


def most_saved(lengths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """float64 (G,): how many tokens pieces of these lengths that occur so often can save."""
    return (lengths - 1.0) * weight


def tokens_at_least(lower_bound: float, mu: float, size: int) -> int:
    """(2): how many tokens any vocabulary of ``size`` pieces takes; lower_bound: of problem (1) at price ``mu``."""
    below = lower_bound - mu * size
    return max(math.ceil(below - 1e-12 * (abs(lower_bound) + mu * size)), 0)


def fewest_tokens(pieces: set[bytes] | set[str], word: bytes | str, longest: int) -> int:
    """t_w(D) of one word, slowly: what the kernels are checked against."""
    best = [0]
    for end in range(1, len(word) + 1):
        begins = range(max(end - longest, 0), end - 1)
        best.append(1 + min([best[end - 1], *(best[a] for a in begins if word[a:end] in pieces)]))
    return best[-1]
