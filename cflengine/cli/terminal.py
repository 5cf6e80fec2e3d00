"""What every command needs of a terminal: a parser that errs in one line, live progress, Ctrl-C."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, Self

from cflengine.engine import TerminationReason, Watch


class Parser(argparse.ArgumentParser):
    """argparse with one-line errors."""

    def error(self, message: str) -> NoReturn:
        """One line that says what is wrong and where help is, instead of argparse's usage dump."""
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def percent(gap: float) -> str:
    """A gap for people, rounded up: what is said is proved as well."""
    if not math.isfinite(gap):
        return "none proved"
    if gap <= 0:
        return f"{100 * gap:.3f} %"
    places = 3 if gap >= 1e-5 else 1 - math.floor(math.log10(100 * gap))
    shown = math.ceil(100 * gap * 10.0**places - 1e-9) / 10.0**places
    return f"{shown:.3f} %" if gap >= 1e-5 else f"{shown:.1e} %"


def short_of(gap: float, tol: float | None, reason: str) -> str:
    """What is said of a solve that ended by itself with a larger gap than was asked for."""
    if tol is None or not gap > tol or reason != TerminationReason.CONVERGED:
        return ""
    return f"; {percent(tol)} was asked for, but neither search nor bound got any further"


class TerminalProgress:
    """A listener that keeps one line of a terminal up to date, and turns the first Ctrl-C into a clean stop.

    ends: when to say stop, by ``time.monotonic()``.
    """

    def __init__(self, stream: Any, *, show: bool, show_lam: bool = False, ends: float | None = None) -> None:
        self.stream, self.show, self.show_lam, self.ends = stream, show, show_lam, ends
        self.stop = False
        self._last = 0.0
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self.show:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def _interrupt(self, *_: object) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True

    def poll(self) -> bool:
        return not self.stop and not self.late

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.ends is not None and time.monotonic() >= self.ends

    @property
    def why(self) -> TerminationReason | None:
        """Why it says stop, where it is not for a Ctrl-C."""
        return TerminationReason.TIME_LIMIT if self.late and not self.stop else None

    @property
    def cut_by(self) -> str:
        """Why something is missing, for people."""
        return "interrupted" if self.stop else "the time limit came first"

    def __call__(self, stats: Any) -> bool:
        now = time.monotonic()
        if self.show and now - self._last > 0.1:
            self._last = now
            gap = "" if math.isnan(stats.gap) else f"  gap ≤ {100 * stats.gap:.2f} %"
            bound = "" if math.isnan(stats.lower_bound) else f"  bound {stats.lower_bound:,.0f}"
            best = "" if math.isnan(stats.best_objective) else f"  best {stats.best_objective:,.0f}"
            lam = f"λ {stats.lam:g}  " if self.show_lam else ""
            zeta = f" ζ {stats.get('zeta'):.1f}" if stats.get("zeta") > 0 else ""  # also false for NaN
            head = f"{lam}{stats.stage}{zeta}  step {stats.iteration:,}  {stats.elapsed_s:.0f} s"
            self.stream.write(f"\r\033[K{head}{best}{bound}{gap}")
            self.stream.flush()
        return self.poll()


class TerminalWatch(Watch):
    """Keeps one line of a terminal up to date with what is read or prepared; use as a context, which clears it."""

    def __init__(self, stream: Any, *, show: bool) -> None:
        super().__init__()
        self.stream, self.show = stream, show
        self._last = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.show:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def begin(self, stage: str, unit: str = "", total: int = 0) -> None:
        """Another stage, shown at once."""
        super().begin(stage, unit, total)
        self._draw()

    def at(self, done: int) -> None:
        """So far within the stage; shown ten times a second at most."""
        super().at(done)
        if time.monotonic() - self._last > 0.1:
            self._draw()

    def _draw(self) -> None:
        self._last = time.monotonic()
        if self.show:
            self.stream.write(f"\r\033[K{self}")
            self.stream.flush()


def is_shown(*, quiet: bool) -> bool:
    """Whether a command shows how far it is: not if quiet, and only on a terminal."""
    return not quiet and sys.stderr.isatty()


def load_engine(warm_up: Callable[[], None], *, quiet: bool) -> bool:
    """Compile or load kernels; whether progress is to be shown: not if quiet, and only on a terminal."""
    show = is_shown(quiet=quiet)
    if show:
        # once after an installation this takes half a minute or more, and silence would look like a hang
        print("loading the engine (compiled on first use) …", end="", file=sys.stderr, flush=True)
    with _no_interrupt_in_callbacks():
        warm_up()
    return show


@contextmanager
def _no_interrupt_in_callbacks() -> Iterator[None]:
    """Ctrl-C while LLVM calls back into Python would be printed and forgotten: it is put off until that is over."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if "llvmlite" in frame.f_code.co_filename:
                threading.Timer(0.02, os.kill, (os.getpid(), number)).start()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    # ignored by a job in the background; other threads get no Ctrl-C, and Windows no signal by os.kill
    usual = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if not usual or sys.platform == "win32":
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
