"""The solvers of (P) by name."""

from __future__ import annotations

from collections.abc import Iterable

from cflengine.engine.progress import Listener
from cflengine.engine.registry import Registry, Solver
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.solvers import admm, majorise
from cflengine.sentence_lasso.solvers.iterate import Iterate
from cflengine.sentence_lasso.solvers.settings import ADMMSettings, MajoriseSettings, Settings

SOLVERS = Registry(
    Solver(
        "majorise", "majorised norms, then Newton's method on the support; certified", MajoriseSettings,
        frozenset({"warm start", "bounds"}), majorise.solve,
    ),
    Solver("admm", "Algorithm 1 of the paper", ADMMSettings, frozenset({"bounds"}), admm.solve),
)  # fmt: skip


def solve(
    here: Iterate, settings: Settings, listeners: Iterable[Listener] = (), *, warm: bool = False
) -> SentenceResult:
    """Solve by the solver whose settings these are.

    Parameters
    ----------
    here : Iterate
        The problem, and where to begin.
    settings : MajoriseSettings or ADMMSettings
        The solver's.
    listeners : iterable of callables
        Told of every event.
    warm : bool
        Whether ``here`` is near a solution already (see :func:`majorise.solve`).

    Returns
    -------
    SentenceResult
        Certified.
    """
    if isinstance(settings, ADMMSettings):
        return admm.solve(here, settings, listeners)
    return majorise.solve(here, settings, listeners, warm=warm)
