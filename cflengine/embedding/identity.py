"""The words themselves: wMMD² with M = identity, every two words as far apart as any two others.

Squared distances are 0 or 2, so width² = 2, and k is 1 for a word with itself, κ = e^(−1/2) (Gaussian) or 1/e (Laplace)
for two words. κ cancels from the estimate but for the factor 1 − κ: no pass over pairs is needed. This is the
discrepancy that vectors can keep or lose; since widths differ, the ratio of both may exceed 1.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from cflengine.embedding.laws import DocumentKernel, WordLaws
from cflengine.embedding.pairs import PairSums
from cflengine.engine.memory import require_bytes

WIDTH = math.sqrt(2.0)
_SHARED = {"gaussian": math.exp(-0.5), "laplace": math.exp(-1.0), "linear": 0.0}


def identity_sums(laws: WordLaws, family: str) -> PairSums:
    """The pass over pairs, without the part that all pairs share."""
    factor = 1.0 - _SHARED[family]
    within = factor * np.asarray(laws.laws.multiply(laws.laws).sum(axis=1)).ravel()
    KP = factor * laws.sums
    return PairSums(laws, KP, within, laws.sums.T @ KP)


def identity_kernel(laws: WordLaws, family: str) -> DocumentKernel:
    """Between documents."""
    factor, n = 1.0 - _SHARED[family], laws.n_documents
    require_bytes(20 * n * n, "a kernel between documents", "leave out the permutations.")
    return DocumentKernel(gram=factor * (laws.laws @ sparse.csr_matrix(laws.laws).T).toarray())
