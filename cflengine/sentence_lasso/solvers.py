"""The solvers of (P) by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cflengine.engine.progress import Listener
from cflengine.engine.registry import Registry, Solver
from cflengine.sentence_lasso import admm, majorise
from cflengine.sentence_lasso.iterate import Iterate
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.settings import ADMMSettings, MajoriseSettings, Settings

SOLVERS = Registry(
    Solver(
        "majorise", "majorised norms, then Newton's method on the support; certified", MajoriseSettings,
        frozenset({"warm start", "bounds"}), majorise.solve,
    ),
    Solver("admm", "Algorithm 1 of the paper", ADMMSettings, frozenset({"bounds"}), admm.solve),
)  # fmt: skip


def settings_for(solver: str, settings: Settings | None, tol: float) -> Settings:
    """The settings to solve with: those given, which must be that solver's, or its own with ``tol``.

    ADMM alone, without settings, stops by the paper's rule and not by ``tol``. Raises ValueError.
    """
    own: dict[str, Any] = {} if solver == "admm" else {"tol": tol}
    return SOLVERS.find(solver).check(settings, **own)


def solve(
    here: Iterate, settings: Settings, listeners: Iterable[Listener] = (), *, warm: bool = False
) -> SentenceResult:
    """Solve from ``here`` by the solver whose settings these are; warm: see :func:`majorise.solve`."""
    if isinstance(settings, ADMMSettings):
        return admm.solve(here, settings, listeners)
    return majorise.solve(here, settings, listeners, warm=warm)
