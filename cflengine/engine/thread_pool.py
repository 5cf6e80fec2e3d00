"""Threads that share one call of a kernel over a range, each a part of it.

Kernels release the GIL, so threads of Python do what numba's own would, and more: a kernel is compiled once and not
four times (a parallel loop is compiled by itself, in a wrapper, and in the function around it), any number of Python
threads may call kernels at once, a forked process starts threads of its own, and an error in a thread is raised where
the kernel was called.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class _Call:
    """One call: its parts that are not begun, and a message from each that has ended.

    It holds what they need, arrays above all, until they are begun and no longer: a helper may come late.
    """

    __slots__ = ("ended", "parts")

    def __init__(self, parts: list[Callable[[], object]]) -> None:
        self.parts = parts
        self.ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def take(self) -> bool:
        """Do one part, if there is one left (``pop`` is atomic); what goes wrong is a message, too."""
        try:
            part = self.parts.pop()
        except IndexError:
            return False
        error: BaseException | None = None
        try:
            part()
        except BaseException as raised:
            error = raised
        del part  # before the caller goes on
        self.ended.put(error)
        return True


class ThreadPool:
    """Helpers for calls from any thread; started when they are first needed, once for all callers."""

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        """Without helpers: at the beginning, and in a forked process, which has none of its parent's threads."""
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._lock, self._size = threading.Lock(), 0

    def _grow(self, size: int) -> None:
        with self._lock:
            while self._size < size:
                name = f"cflengine-{self._size}"
                threading.Thread(target=_help, args=(self._calls,), name=name, daemon=True).start()
                self._size += 1

    def run(self, parts: list[Callable[[], object]]) -> None:
        """Call all parts, and empty the list; the calling thread does its share, all where the helpers are busy.

        Returns when all have ended, also after an interrupt, for helpers write to the caller's arrays. What one of them
        raised is raised here.
        """
        call, count = _Call(parts), len(parts)
        self._grow(count - 1)
        for _ in range(count - 1):
            self._calls.put(call)
        while call.take():
            pass
        errors: list[BaseException] = []
        while count:
            try:
                error = call.ended.get()
            except BaseException as interrupt:  # Ctrl-C: a kernel ends in less than a tenth of a second
                errors.append(interrupt)
                continue
            count -= 1
            if error is not None:
                errors.append(error)
        if errors:
            raise errors[0]


def _help(calls: SimpleQueue[_Call]) -> None:
    while True:
        call = calls.get()
        while call.take():
            pass
