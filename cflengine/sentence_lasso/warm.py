"""Compile (or load from the disk cache) this room's kernels once, so that no user's first fit pays for it."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_done: set[str] = set()
_TEXTS = ["Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word.", "The bad word. Plot of it."]


def warm_up(*solvers: str) -> None:
    """Fit a toy by these solvers, "majorise" by default; what is warm already costs nothing. Safe to call from several
    threads, but for "admm": its kernels are parallel, and no others may run meanwhile."""
    with _lock:
        from cflengine.sentence_lasso.estimator import SentenceLassoClassifier
        from cflengine.sentence_lasso.settings import ADMMSettings, MajoriseSettings, Settings

        toys: dict[str, Settings] = {"majorise": MajoriseSettings(tol=1e-8), "admm": ADMMSettings(max_iter=2)}
        for solver in solvers or ("majorise",):
            if solver not in _done:
                model = SentenceLassoClassifier(lam_sen=0.01, lam_las=0.01, solver=solver, settings=toys[solver])
                model.fit(_TEXTS, [1, 0, 1, 0])
                _done.add(solver)
