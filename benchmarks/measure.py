"""Time and memory, measured so that two runs on a shared machine can be compared.

- A time is the median of repeats. What is to be compared is measured in turns, a few of one, a few of the
  other, and the ratio is taken turn by turn: when the machine slows down it slows both.
- The yardstick is numpy's copy of as many bytes as the work is about: it is bound by memory, as the work is.
- Peak memory is that of a fresh interpreter which does this one thing.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import cflengine
from benchmarks.corpora import REPOSITORY
from cflengine.engine import peak_bytes

Result = TypeVar("Result")


def timed(function: Callable[..., Result], *arguments: Any, **named: Any) -> tuple[Result, float]:
    """What the function returns, and the seconds it took."""
    began = time.perf_counter()
    result = function(*arguments, **named)
    return result, time.perf_counter() - began


@dataclass(frozen=True)
class Times:
    """Seconds of an action's repeats, float64 (turns, run): on the clock, and of all threads together."""

    clock: np.ndarray
    cpu: np.ndarray

    @property
    def median(self) -> float:
        """Seconds on the clock."""
        return float(np.median(self.clock))

    @property
    def cores(self) -> float:
        """How many cores the action had, on average; waiting threads count while they spin."""
        return float(self.cpu.sum() / self.clock.sum())

    def over(self, other: Times) -> float:
        """Median over turns of the ratio of the medians within a turn."""
        return float(np.median(np.median(self.clock, axis=1) / np.median(other.clock, axis=1)))


def in_turns(
    actions: Mapping[str, Callable[[], Any]], *, run: int = 3, turns: int = 5, seconds: float = 1.0
) -> dict[str, Times]:
    """Time each action: ``run`` times the first, ``run`` times the next, and round again.

    At least ``turns`` turns, more until ``seconds`` have passed. An action runs several times in a row
    because the first of them finds the caches full of another's data.
    """
    rows: list[list[list[tuple[float, float]]]] = []
    began = time.perf_counter()
    while len(rows) < turns or time.perf_counter() - began < seconds:
        rows.append([[_clocks(action) for _ in range(run)] for action in actions.values()])
    times = np.array(rows)
    return {name: Times(times[:, i, :, 0], times[:, i, :, 1]) for i, name in enumerate(actions)}


def _clocks(action: Callable[[], Any]) -> tuple[float, float]:
    cpu = time.process_time()
    _, clock = timed(action)
    return clock, time.process_time() - cpu


def copy_of(n_bytes: int) -> Callable[[], None]:
    """An action that copies so many bytes from one array to another.

    Both hold ones: the pages of an array of zeros may all be one page, which sits in the cache.
    """
    source = np.ones(max(1, n_bytes // 4), dtype=np.float32)
    target = np.ones_like(source)
    return lambda: np.copyto(target, source)


def memory_of(task: str, **arguments: Any) -> dict[str, Any]:
    """Run ``task`` ("module:function") in a fresh interpreter; its dict, ``peak`` and ``baseline`` in bytes.

    baseline: resident memory once the package is imported and its kernels are warm (by the module's ``warm_up``, or
    compression's); peak: the most from then on;
    private_baseline, private_peak: the same without pages of files, which the system can drop (sampled; None where it
    does not tell). ``arguments`` must be JSON. Raises subprocess.CalledProcessError if the task fails.
    """
    code = "from benchmarks.measure import run_child; run_child()"
    command = [sys.executable, "-c", code, task, json.dumps(arguments)]
    # Arrow's usual allocator reserves a gigabyte that nothing uses, and a limit of the process's data counts it
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    with tempfile.TemporaryFile("w+") as answer:
        child = subprocess.Popen(command, cwd=REPOSITORY, stdout=answer, env=environment)
        peak = None
        while child.poll() is None:  # from here: kernels leave no turn to a thread of the child's own
            now = private_bytes(child.pid)
            peak = now if peak is None or (now or 0) > peak else peak
            time.sleep(0.02)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        answer.seek(0)
        return json.load(answer) | {"private_peak": peak}


def run_child() -> None:
    """The other end of :func:`memory_of`."""
    task, arguments = sys.argv[1:]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print of themselves is no part of the answer
    module, function = task.split(":")
    own = import_module(module)
    action = getattr(own, function)
    getattr(own, "warm_up", cflengine.warm_up)()
    gc.collect()
    baseline, private = restart_peak(), private_bytes(os.getpid())
    facts = action(**json.loads(arguments))
    with answer:
        json.dump(facts | {"baseline": baseline, "peak": own_peak(), "private_baseline": private}, answer)


def private_bytes(pid: int) -> int | None:
    """Resident memory of a process that is no file's; None where the system does not tell, or it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), None)


def restart_peak() -> int:
    """Forget the peak so far; resident bytes now (where that cannot be done: the peak so far)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux
        return peak_bytes() or 0
    return own_peak()


def own_peak() -> int:
    """Peak resident bytes since the last restart.

    On Linux not from getrusage: its figure survives exec, so a child would report the peak of a large parent.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:  # not Linux
        return peak_bytes() or 0
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
