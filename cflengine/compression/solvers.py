"""The solvers of problem (1) by name, for the estimator, the command and the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from cflengine.compression.exact import ExactSettings, solve_exact
from cflengine.compression.guided import solve_guided
from cflengine.compression.guided_settings import GuidedSettings
from cflengine.compression.homotopy import HomotopySettings, solve_homotopy
from cflengine.compression.problem import StorageCosts
from cflengine.compression.result import CompressionResult
from cflengine.compression.reweighting import ReweightingSettings, solve_reweighting
from cflengine.engine.progress import IterationStats, Listener
from cflengine.engine.results import settings_dict
from cflengine.text.kgrams import KGramIndex

Settings = GuidedSettings | HomotopySettings | ReweightingSettings | ExactSettings


def _solve_exactly(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ExactSettings,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    **options: Any,
) -> CompressionResult:
    """The exact solver, from the guided one's solution: the better that is, the less has to be searched."""
    start, rest, listeners = None, settings, tuple(listeners)
    if index.n_pointers <= settings.max_pointers:
        guided = GuidedSettings(gap=1e-5, time_limit=settings.time_limit)
        found = solve_guided(index, costs, guided, listeners=(_OnlyAsked(listeners),), n_threads=n_threads)
        start = found.marks
        if settings.time_limit is not None:
            rest = replace(settings, time_limit=max(settings.time_limit - found.seconds, 1e-3))
    result = solve_exact(index, costs, rest, start=start, listeners=listeners, n_threads=n_threads, **options)
    return replace(result, settings=settings_dict(settings))


class _OnlyAsked:
    """Listeners that are asked whether to go on, but are not told of the events: they would be of another solve."""

    def __init__(self, listeners: tuple[Listener, ...]) -> None:
        self._polls = [poll for poll in (getattr(listener, "poll", None) for listener in listeners) if poll]

    def __call__(self, stats: IterationStats) -> bool:
        return self.poll()

    def poll(self) -> bool:
        return all(poll() is not False for poll in self._polls)


@dataclass(frozen=True)
class Solver:
    """name; one line that says what it is; the class of its settings; the function that solves."""

    name: str
    summary: str
    settings: type
    solve: Callable[..., CompressionResult]

    def check(self, settings: Settings | None, *, polish: bool = False) -> Settings:
        """``settings``, or the defaults for None. Raises ValueError for another solver's, and for a polish of one
        that has nothing to polish."""
        if settings is not None and not isinstance(settings, self.settings):
            raise ValueError(f"settings must be a {self.settings.__name__} or None, not {settings!r}.")
        found = settings if settings is not None else self.settings()
        if not polish:
            return found
        if "polish" not in {field.name for field in fields(found)}:
            raise ValueError(f"polish is for the homotopy and reweighting; the solver {self.name!r} needs none.")
        return replace(found, polish=True)


_ALL = (
    Solver("guided", "nearly optimal and fast", GuidedSettings, solve_guided),
    Solver("homotopy", "the algorithm of AISTATS 2014", HomotopySettings, solve_homotopy),
    Solver("reweighting", "the algorithm of NIPS 2013", ReweightingSettings, solve_reweighting),
    Solver("exact", "optimal, by HiGHS, for small corpora", ExactSettings, _solve_exactly),
)
SOLVERS = {solver.name: solver for solver in _ALL}


def find_solver(name: Any) -> Solver:
    """The solver of that name; ValueError if there is none."""
    if not isinstance(name, str) or name not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {name!r}.")
    return SOLVERS[name]
