"""Compile (or load from the disk cache) this room's kernels once, so that no user's first fit pays for it."""

from __future__ import annotations

import threading

import numpy as np

_lock = threading.Lock()
_done: set[str] = set()


def warm_up() -> None:
    """Fit toys by every solver of logistic regression. Kernels are parallel: no others may run meanwhile."""
    from cflengine.loglinear.logistic import LogisticModel

    with _lock:
        if "logistic" in _done:
            return
        generator = np.random.default_rng(0)
        X, y = generator.integers(0, 3, (12, 4)).astype(np.float64), np.arange(12) % 3
        for solver in ("lbfgs", "newton-cg", "dual", "clustered"):
            LogisticModel(solver).fit(X, y > 0)
        LogisticModel("lbfgs").fit((X > 0).astype(np.float64), y > 0)
        LogisticModel("lbfgs", multiclass="multinomial").fit(X, y)
        _done.add("logistic")


def warm_up_chain() -> None:
    """Fit a toy chain and let it tag; as :func:`warm_up`."""
    from cflengine.loglinear.crf import ChainCRF

    with _lock:
        if "chain" in _done:
            return
        sentences, labels = [[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]]
        model = ChainCRF().fit(sentences, labels)
        model.predict(sentences)
        model.predict_marginals(sentences)
        _done.add("chain")
