"""Toys that make each solver of problem (1) go through all of its kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

from cflengine.engine.warm import WarmUp

_TEXTS = ["the cat sat on the mat", "the cat sat, and the dog ran", "the cat sat on the dog"]


def _compress(solver: str) -> None:
    from cflengine.compression.analysis.ledger import explain, ledger
    from cflengine.compression.analysis.overtime import Periods, bursts
    from cflengine.compression.codebook import count_matrix
    from cflengine.compression.estimator import CompressiveFeatures

    model = CompressiveFeatures(solver=solver, settings=_settings(solver), max_gram=2)
    model.fit_transform(_TEXTS)
    model.transform(["the dog sat there"])
    if solver == "guided":
        ledger(model.index_, model.costs_at(1.0), model.result_.cover)
        explain(model.index_, model.costs_at(1.0), model.result_.cover, int(model.result_.dictionary[-1]))
        counts = count_matrix(model.encoding_, len(model.grams_))
        sizes = model.table_.doc_ptr[1:] - model.table_.doc_ptr[:-1]
        bursts(counts, sizes, Periods(sizes.cumsum() // sizes.sum(), ("1", "2")))


def _count() -> None:
    """The ways to count that solvers need not."""
    from cflengine.compression.estimator import CompressiveFeatures

    model = CompressiveFeatures(settings=_settings("guided"), max_gram=2).fit(_TEXTS)
    for counting in ("occurrences", "soft"):
        model.set_params(counting=counting).transform(_TEXTS)


def _settings(solver: str) -> Any:
    """Settings under which a solver comes through all of its kernels, quickly."""
    from cflengine.compression.shards.settings import ShardedSettings
    from cflengine.compression.solvers.guided.settings import GuidedSettings
    from cflengine.compression.solvers.homotopy import HomotopySettings
    from cflengine.compression.solvers.reweighting_settings import ReweightingSettings

    toys: dict[str, Any] = {
        "guided": GuidedSettings(tol=0.0, relaxation_iterations=26, anneal_rounds=1, anneal_steps=2),
        "homotopy": HomotopySettings(
            relaxation_iterations=2, stage_iterations=1, bound_every=1, relaxation_gap=1e-9, keep_stages=True
        ),
        "reweighting": ReweightingSettings(rounds=1),
    }
    toys["sharded"] = ShardedSettings(tol=0.0, shards=2, in_memory=True, guided=toys["guided"])
    return toys[solver]


#: Warm these solvers up, by default all that have kernels, and "counting": seconds from the cache, about a minute the
#: first time ever.
_SOLVERS = ("guided", "homotopy", "reweighting", "sharded")
warm_up = WarmUp({**{name: partial(_compress, name) for name in _SOLVERS}, "counting": _count})
