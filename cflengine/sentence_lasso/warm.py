"""Compile (or load from the disk cache) this room's kernels once, so that no user's first fit pays for it."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_done = False
_TEXTS = ["Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word.", "The bad word. Plot of it."]


def warm_up() -> None:
    """Fit a toy by both solvers; what is warm already costs nothing. Safe to call from several threads."""
    global _done
    with _lock:
        if _done:
            return
        from cflengine.sentence_lasso.estimator import SentenceLassoClassifier
        from cflengine.sentence_lasso.settings import ADMMSettings

        y = [1, 0, 1, 0]
        SentenceLassoClassifier(lam_sen=0.01, lam_las=0.01, tol=1e-8).fit(_TEXTS, y)
        settings = ADMMSettings(max_iter=2)
        SentenceLassoClassifier(lam_sen=0.01, lam_las=0.01, solver="admm", settings=settings).fit(_TEXTS, y)
        _done = True
