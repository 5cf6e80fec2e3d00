"""The solvers by name."""

from __future__ import annotations

from collections.abc import Iterable

from cflengine.engine.progress import Listener
from cflengine.sentence_lasso import admm, majorise
from cflengine.sentence_lasso.iterate import Iterate
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.settings import ADMMSettings, MajoriseSettings, Settings

SOLVERS = {"majorise": MajoriseSettings, "admm": ADMMSettings}


def check_settings(solver: str, settings: Settings | None, tol: float) -> Settings:
    """The settings to solve with: those given, which must be that solver's, or its own with ``tol``.

    ADMM alone, without settings, stops by the paper's rule and not by ``tol``. Raises ValueError.
    """
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}.")
    if settings is None:
        return MajoriseSettings(tol=tol) if solver == "majorise" else ADMMSettings()
    if not isinstance(settings, SOLVERS[solver]):
        raise ValueError(f"settings of solver {solver!r} must be {SOLVERS[solver].__name__}, not {settings!r}.")
    return settings


def solve(
    here: Iterate, settings: Settings, listeners: Iterable[Listener] = (), *, warm: bool = False
) -> SentenceResult:
    """Solve from ``here`` by the solver whose settings these are; warm: see :func:`majorise.solve`."""
    if isinstance(settings, ADMMSettings):
        return admm.solve(here, settings, listeners)
    return majorise.solve(here, settings, listeners, warm=warm)
