"""The time of an evaluation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cflengine.engine.progress import IterationStats


class Budget:
    """The time of one evaluation, and whether its user has said stop: a listener of everything that is solved.

    Parameters
    ----------
    limit : float or None
        Seconds; None for no limit.
    poll : Callable[[], bool], optional
        Whether to go on.
    """

    def __init__(self, limit: float | None, poll: Callable[[], bool] = lambda: True) -> None:
        self.ends = None if limit is None else time.monotonic() + limit
        self.asked, self.stopped, self.lock = poll, False, threading.Lock()

    def poll(self) -> bool:
        """Whether to go on; once False, always."""
        with self.lock:
            late = self.ends is not None and time.monotonic() > self.ends
            self.stopped = self.stopped or late or not self.asked()
            return not self.stopped

    def part(self, share: float) -> Callable[[IterationStats], bool]:
        """A listener that says stop after a share of the time that is left now; never where there is no limit."""
        ends = None if self.ends is None else self.ends - (1.0 - share) * (self.ends - time.monotonic())
        return lambda stats: ends is None or time.monotonic() <= ends

    def __call__(self, stats: IterationStats) -> bool:
        return self.poll()
