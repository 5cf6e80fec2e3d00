"""Toys that make the solvers of log-linear models go through all of their kernels."""

from __future__ import annotations

import numpy as np

from cflengine.engine.warm import WarmUp


def _logistic() -> None:
    from cflengine.loglinear.logistic import LogisticClassifier

    generator = np.random.default_rng(0)
    X, y = generator.integers(0, 3, (12, 4)).astype(np.float64), np.arange(12) % 3
    for solver in ("lbfgs", "newton-cg", "dual", "clustered"):
        LogisticClassifier(solver).fit(X, y > 0)
    LogisticClassifier("lbfgs").fit((X > 0).astype(np.float64), y > 0)
    LogisticClassifier("lbfgs", multiclass="multinomial").fit(X, y)


def _chain() -> None:
    from cflengine.loglinear.crf import ChainCRF

    sentences, labels = [[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]]
    model = ChainCRF().fit(sentences, labels)
    model.predict(sentences)
    model.predict_marginals(sentences)


#: Fit toys: "logistic" (by every solver; the default), "chain".
warm_up = WarmUp({"logistic": _logistic, "chain": _chain}, by_default=("logistic",))
