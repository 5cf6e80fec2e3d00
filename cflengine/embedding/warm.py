"""Compile (or load from the disk cache) the kernels of this package once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.engine.warm import WarmUp


def _toy() -> None:
    from cflengine.embedding.inference import document_gram
    from cflengine.embedding.laws import WordLaws
    from cflengine.embedding.pairs import pair_sums
    from cflengine.embedding.settings import Kernel
    from cflengine.embedding.width import median_width

    laws = WordLaws.of(sparse.csr_matrix(np.eye(4)), np.array([0, 0, 1, 1]))
    M = np.arange(8.0).reshape(4, 2)
    kernel = Kernel("gaussian", (median_width(laws, M),))
    pair_sums(laws, M, kernel, gradient=True)
    pair_sums(laws, M, kernel)
    document_gram(laws, M, kernel)


warm_up = WarmUp({"pairs": _toy})
