"""Toys that make each solver of (P) go through all of its kernels."""

from __future__ import annotations

from functools import partial

from cflengine.engine.warm import WarmUp

_TEXTS = ["Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word.", "The bad word. Plot of it."]


def _fit(solver: str) -> None:
    from cflengine.sentence_lasso.estimator import SentenceLassoClassifier
    from cflengine.sentence_lasso.solvers.settings import ADMMSettings, MajoriseSettings

    settings = MajoriseSettings(tol=1e-8) if solver == "majorise" else ADMMSettings(max_iter=2, w_tol=1.0)
    model = SentenceLassoClassifier(lam_sen=0.01, l1=0.01, solver=solver, settings=settings)
    model.fit(_TEXTS, [1, 0, 1, 0])


#: Fit a toy by these solvers, "majorise" by default.
warm_up = WarmUp({name: partial(_fit, name) for name in ("majorise", "admm")}, by_default=("majorise",))
