"""Toys that make the coordinate descent go through all of its kernels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cflengine.engine.warm import WarmUp


def _descent() -> None:
    from cflengine.plq.estimator import PLQClassifier, PLQRegressor

    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(12, 3)), np.arange(12) % 2
    for data in (X, sparse.csr_matrix(X)):
        PLQClassifier("hinge", constraints=["nonnegative"], l1_ratio=0.1, tol=1e-2).fit(data, y)
        PLQRegressor("huber:1.35", tol=1e-2).fit(data, y.astype(np.float64))


#: Fit toys, dense and sparse.
warm_up = WarmUp({"descent": _descent})
