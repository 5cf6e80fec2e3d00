"""Compile (or load from the disk cache) every kernel once, so that no user's first run pays for it."""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.Lock()
_done: set[str] = set()
_TEXTS = ["the cat sat on the mat", "the cat sat, and the dog ran", "the cat sat on the dog"]


def warm_up(*solvers: str) -> None:
    """Run these solvers on a toy, by default all that have kernels: seconds from the cache, about a minute the first
    time ever.

    Safe to call from several threads; what is warm already costs nothing.
    """
    with _lock:
        from cflengine.compression.estimator import CompressiveFeatures
        from cflengine.compression.ledger import explain, ledger

        toys = _toys()
        for solver in solvers or tuple(toys):
            if solver not in _done and solver in toys:
                model = CompressiveFeatures(solver=solver, settings=toys[solver], max_gram=2)
                model.fit_transform(_TEXTS)
                model.transform(["the dog sat there"])
                if solver == "guided":
                    ledger(model.index_, model.costs_at(1.0), model.result_.marks)
                    explain(model.index_, model.costs_at(1.0), model.result_.marks, int(model.result_.dictionary[-1]))
                _done.add(solver)


def _toys() -> dict[str, Any]:
    """Settings under which each solver comes through all of its kernels, quickly."""
    from cflengine.compression.guided_settings import GuidedSettings
    from cflengine.compression.homotopy import HomotopySettings
    from cflengine.compression.reweighting import ReweightingSettings

    return {
        "guided": GuidedSettings(gap=0.0, relaxation_iterations=26, anneal_rounds=1, anneal_steps=2),
        "homotopy": HomotopySettings(
            relaxation_iterations=2, stage_iterations=1, bound_every=1, relaxation_gap=1e-9, keep_stages=True
        ),
        "reweighting": ReweightingSettings(rounds=1),
    }
