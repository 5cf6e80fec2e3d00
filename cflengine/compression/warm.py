"""Compile (or load from the disk cache) every kernel once, so that no user's first run pays for it."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_done = False


def warm_up() -> None:
    """Run the whole engine on a toy; about a second from the cache, under a minute the first time ever.

    Safe to call from several threads; later calls return at once.
    """
    global _done
    with _lock:
        if _done:
            return
        from cflengine.compression.estimator import CompressiveFeatures
        from cflengine.compression.homotopy import HomotopySettings

        settings = HomotopySettings(
            relaxation_iterations=2, stage_iterations=1, bound_every=1, relaxation_gap=1e-9, keep_stages=True
        )
        model = CompressiveFeatures(settings=settings, max_gram=2)
        model.fit_transform(["the cat sat on the mat", "the cat sat, and the dog ran"])
        model.transform(["the dog sat there"])
        _done = True
