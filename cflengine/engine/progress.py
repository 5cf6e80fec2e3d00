"""One event, one listener protocol, one closed set of reasons to stop.

A solver's outer loop reports an :class:`IterationStats` to a :class:`Progress`; every listener gets it and
may answer ``False`` to stop. A progress bar on the command line, the live chart of the app and the recorder
of a benchmark are listeners of a few lines each. Solvers never print.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pandas as pd

from cflengine.engine.checks import InputError

NAN = math.nan


class TerminationReason(StrEnum):
    """Why a solver stopped; a closed set."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    NUMERICAL_ERROR = "numerical error"
    AT_REST = "no further progress"


@dataclass(frozen=True, slots=True)
class IterationStats:
    """The state of a solve after an iteration. Only scalars; NaN stands for "not known yet".

    Parameters
    ----------
    iteration : int
        0 is the starting point.
    stage : str
        Which part of the algorithm.
    elapsed_s : float
        Seconds of solver time, listeners excluded.
    work : float, default: nan
        Passes over the data.
    objective : float, default: nan
        Of the current solution.
    best_objective : float, default: nan
        Of the best solution so far.
    lower_bound : float, default: nan
        The best proved bound so far.
    gap : float, default: nan
        best_objective / lower_bound - 1, proved.
    lam : float, default: nan
        The λ that the problem is solved for.
    support : int, default: -1
        How many of its parts are not zero, -1 if not counted.
    extra : Mapping[str, float], optional
        What only this solver knows, by name (ζ and the value of the relaxation, ρ, residuals ...).
    """

    iteration: int
    stage: str
    elapsed_s: float
    work: float = NAN
    objective: float = NAN
    best_objective: float = NAN
    lower_bound: float = NAN
    gap: float = NAN
    lam: float = NAN
    support: int = -1
    extra: Mapping[str, float] = field(default_factory=dict)

    def get(self, name: str) -> float:
        """An entry of ``extra``, NaN where the solver has none of that name."""
        return self.extra.get(name, NAN)

    def to_row(self) -> dict[str, float | int | str]:
        """A flat dict: the fields in order, then the entries of ``extra``."""
        row = {name: getattr(self, name) for name in self.__slots__ if name != "extra"}
        row.update(self.extra)
        return row


class Stopped(Exception):
    """A step of a solve was cut short; its Progress says why."""


Listener = Callable[[IterationStats], bool | None]
Poll = Callable[[], bool]  # asked between pieces of work: whether to go on


def go_on(poll: Poll) -> None:
    """Ask whether to go on.

    Parameters
    ----------
    poll : callable
        Says False to stop.

    Returns
    -------
    None
        Where work goes on.

    Raises
    ------
    Stopped
        Once it says False.
    """
    if not poll():
        raise Stopped


class Watch:
    """How far a piece of work has come, for those who wait, and whether it is to go on.

    Parameters
    ----------
    poll : Poll, optional
        Asked at every :meth:`at`.

    Attributes
    ----------
    stage : what is done, in words.
    done, total : in ``unit``; total is 0 where it is not known.
    """

    def __init__(self, poll: Poll = lambda: True) -> None:
        self.poll = poll
        self.stage, self.unit = "", ""
        self.done, self.total = 0, 0

    def begin(self, stage: str, unit: str = "", total: int = 0) -> None:
        """Another stage. Raises Stopped once ``poll`` says False."""
        self.stage, self.unit, self.done, self.total = stage, unit, 0, total
        go_on(self.poll)

    def at(self, done: int) -> None:
        """So far within the stage. Raises Stopped once ``poll`` says False."""
        self.done = done
        go_on(self.poll)

    def __str__(self) -> str:
        """The stage, and how much of it is done."""
        if self.unit == "bytes":
            done, total = f"{self.done / 1e6:,.1f}", f" of {self.total / 1e6:,.1f}" if self.total else ""
            return f"{self.stage}, {done}{total} MB" if self.done else f"{self.stage} …"
        return f"{self.stage}, {self.done:,} of {self.total:,} {self.unit}" if self.total > 1 else self.stage

    @property
    def fraction(self) -> float:
        """Between 0 and 1; NaN where the end is not known."""
        return min(self.done / self.total, 1.0) if self.total > 0 else NAN


class Progress:
    """Fans events out to listeners, keeps the trace, times the solver without its listeners.

    Parameters
    ----------
    listeners : Iterable[Listener], default: ()
        Take an :class:`IterationStats` and may return False to stop. A listener with a method ``poll() -> bool | None``
        is also asked between the chunks of a long iteration.
    time_limit : float or None, default: None
        Seconds of solver time; None for no limit.
    recording : bool, default: True
        Whether events are kept, for the trace.
    """

    def __init__(
        self, listeners: Iterable[Listener] = (), *, time_limit: float | None = None, recording: bool = True
    ) -> None:
        if not isinstance(listeners, Iterable) or not all(map(callable, listeners := tuple(listeners))):
            raise InputError(f"listeners must be functions of an event, several of them, not {listeners!r}.")
        self.listeners = tuple(listeners)
        self.time_limit, self.recording = time_limit, recording
        self.records: list[IterationStats] = []
        self.reason: TerminationReason | None = None
        self._pollers = [listener for listener in self.listeners if hasattr(listener, "poll")]
        self._start = time.perf_counter()
        self._listening = 0.0

    @property
    def so_far(self) -> tuple[int, float]:
        """Iterations and work of the last event; 0 before there is one."""
        return (self.records[-1].iteration, self.records[-1].work) if self.records else (0, 0.0)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, time spent in listeners excluded."""
        return time.perf_counter() - self._start - self._listening

    def report(self, stats: IterationStats) -> bool:
        """Record the event and tell every listener; False means stop, and ``reason`` says why."""
        if self.recording:
            self.records.append(stats)
        began = time.perf_counter()
        try:
            # a list, not a generator: every listener hears of every event, also after one has said stop
            answers = [listener(stats) for listener in self.listeners]
        finally:
            self._listening += time.perf_counter() - began
        self._heed(listener for listener, answer in zip(self.listeners, answers, strict=True) if answer is False)
        return self._in_time()

    def show(self, run: object) -> None:
        """Show the run itself to listeners with a method ``shown(run)``, which may copy what they want of its best
        solution; when, and how often, is theirs to say."""
        began = time.perf_counter()
        for listener in self.listeners:
            shown = getattr(listener, "shown", None)
            if shown is not None:
                shown(run)
        self._listening += time.perf_counter() - began

    __call__ = report  # so that it can listen to the parts of a solve; it goes on saying stop once it was told to

    def poll(self) -> bool:
        """A cheap question between chunks of one iteration: may the solver go on?"""
        self._heed(listener for listener in self._pollers if listener.poll() is False)
        return self._in_time()

    @property
    def why(self) -> TerminationReason | None:
        """Why it said stop, for those that it is a listener of."""
        return self.reason

    def _heed(self, stopping: Iterable[Any]) -> None:
        """Stop, if one of the listeners says so: interrupted, unless its ``why`` is another reason."""
        for listener in stopping:
            self.reason = getattr(listener, "why", None) or TerminationReason.INTERRUPTED
            return

    def _in_time(self) -> bool:
        if self.reason is None and self.time_limit is not None and self.elapsed_s > self.time_limit:
            self.reason = TerminationReason.TIME_LIMIT
        return self.reason is None


class EventForwarder:
    """A listener of one part of a solve that passes its events on to the whole; ``before`` is put before their stage,
    and iterations and work go on from where the whole was."""

    def __init__(self, progress: Progress, before: str = "") -> None:
        self.progress, self.before = progress, before
        self.iterations, self.work = progress.so_far

    def __call__(self, stats: IterationStats) -> bool:
        return self.progress.report(
            replace(
                stats,
                stage=self.before + stats.stage,
                iteration=self.iterations + stats.iteration,
                work=self.work + stats.work,
                elapsed_s=self.progress.elapsed_s,
            )
        )

    def poll(self) -> bool:
        """Whether the whole may go on."""
        return self.progress.poll()

    @property
    def why(self) -> TerminationReason | None:
        """Why the whole is to stop."""
        return self.progress.reason

    def shown(self, run: object) -> None:
        """What a part shows, the whole does."""
        self.progress.show(run)


def trace_frame(records: Iterable[IterationStats]) -> pd.DataFrame:
    """The events as a DataFrame, one row each; columns are the fields of the event, then ``extra``."""
    rows = [record.to_row() for record in records]
    columns = [name for name in IterationStats.__slots__ if name != "extra"]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
