"""Events reach every listener, solver time leaves listeners out, and a stop has a reason."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine.engine import progress as module
from cflengine.engine.progress import IterationStats, Progress, TerminationReason, trace_frame


class Clock:
    """Stands in for ``time``; moves only when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: self.now))


@pytest.fixture
def clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


def event(iteration: int = 0, **fields) -> IterationStats:
    return IterationStats(iteration=iteration, stage="relaxation", elapsed_s=0.0, **fields)


def test_time_in_listeners_is_not_solver_time(clock):
    def slow(stats):
        clock.now += 50.0

    progress = Progress([slow, slow])
    clock.now += 3.0
    assert progress.report(event())
    clock.now += 4.0
    assert progress.elapsed_s == pytest.approx(7.0)


def test_time_in_a_listener_that_raises_is_not_solver_time(clock):
    def broken(stats):
        clock.now += 50.0
        raise RuntimeError("broken listener")

    progress = Progress([broken])
    with pytest.raises(RuntimeError, match="broken listener"):
        progress.report(event())
    assert progress.elapsed_s == 0.0


def test_time_limit_counts_solver_time_only(clock):
    def slow(stats):
        clock.now += 1000.0

    progress = Progress([slow], time_limit=10.0)
    clock.now += 9.0
    assert progress.report(event()) and progress.poll() and progress.reason is None
    clock.now += 2.0
    assert not progress.poll() and progress.reason is TerminationReason.TIME_LIMIT
    assert not progress.report(event())


def test_time_limit_is_noticed_in_a_report(clock):
    progress = Progress(time_limit=10.0)
    clock.now += 11.0
    assert not progress.report(event()) and progress.reason is TerminationReason.TIME_LIMIT


def test_no_listener_and_no_limit_never_stop(clock):
    progress = Progress()
    clock.now += 1e9
    assert progress.report(event()) and progress.poll() and progress.reason is None


@pytest.mark.parametrize(("answer", "goes_on"), [(False, False), (None, True), (True, True), (0, True)])
def test_only_false_stops(answer, goes_on):
    progress = Progress([lambda stats: answer])
    assert progress.report(event()) is goes_on
    assert progress.reason is (None if goes_on else TerminationReason.INTERRUPTED)


def test_every_listener_hears_of_an_event_that_another_one_stops():
    heard = []
    progress = Progress([lambda stats: False, heard.append])
    first = event(1)
    assert not progress.report(first)
    assert heard == [first] and progress.records == [first]


def test_stop_is_remembered():
    answers = iter([False, None, None])
    progress = Progress([lambda stats: next(answers)])
    assert [progress.report(event()) for _ in range(2)] == [False, False]
    assert not progress.poll()


class Pollable:
    def __init__(self, *answers: bool | None) -> None:
        self.answers = iter(answers)

    def __call__(self, stats):
        return None

    def poll(self):
        return next(self.answers)


def test_listeners_with_poll_are_asked_between_chunks():
    progress = Progress([Pollable(None, True, False), lambda stats: None])
    assert [progress.poll() for _ in range(2)] == [True, True] and progress.reason is None
    assert not progress.poll() and progress.reason is TerminationReason.INTERRUPTED


def test_trace_has_a_row_an_event_and_columns_for_extras():
    progress = Progress()
    progress.report(event(0))
    progress.report(event(1, objective=3.0, support=4, extra={"r": 0.5}))
    trace = trace_frame(progress.records)
    assert trace["iteration"].tolist() == [0, 1] and trace["support"].tolist() == [-1, 4]
    assert math.isnan(trace["objective"][0]) and trace["objective"][1] == 3.0
    assert np.isnan(trace["r"][0]) and trace["r"][1] == 0.5
    assert list(trace.columns) == [name for name in IterationStats.__slots__ if name != "extra"] + ["r"]


def test_trace_of_no_events_has_the_columns():
    assert list(trace_frame([]).columns) == [name for name in IterationStats.__slots__ if name != "extra"]


def test_events_are_frozen_and_reasons_are_closed():
    with pytest.raises(AttributeError):
        event().objective = 1.0
    assert {str(reason) for reason in TerminationReason} == {
        "converged", "iteration limit", "time limit", "interrupted", "numerical error", "no further progress",
    }  # fmt: skip
