"""Runs a peer in a process of its own: its seconds, its answer and its peak memory, killed where it takes too long.

A process of its own because OR-tools and highspy cannot be imported into one, because peak memory is that of one
solver then, and because a solver that ignores its time limit can only be killed. The problem goes in as a file of
arrays (npz), the answer comes back as JSON and npz. Nothing the child prints is shown, unless it fails.

A *task* is "module:function". The child imports the module (and calls its ``warm_up()`` if it has one), notes its
memory, reads the problem and calls function(problem, **options), which returns (facts, arrays); ``facts`` must be JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import REPOSITORY
from benchmarks.measure import own_peak, restart_peak

DONE, ABSENT, KILLED, FAILED = "done", "not installed", "killed", "failed"
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True)
class Answer:
    """What became of a peer.

    status: DONE, ABSENT (an import fails), KILLED (time) or FAILED; note: the last line of the error; facts: what the
    task returned, and ``peak`` and ``baseline`` in bytes, the latter after imports, before the problem was read; of a
    killed child only ``peak`` and ``seconds`` of its life.
    """

    status: str
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.status == DONE


def run_peer(task: str, problem: Path, *, kill_after: float, n_threads: int, **options: Any) -> Answer:
    """Run ``task`` on the npz file ``problem`` with JSON ``options``; the task is told ``n_threads`` as well."""
    environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(n_threads))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = json.dumps(options | {"n_threads": n_threads})
        command = [sys.executable, "-c", "from benchmarks.compression.peers.runner import run_child; run_child()"]
        began = time.perf_counter()
        with open(folder / "output", "w+b") as output:
            child = subprocess.Popen(
                [*command, task, str(problem.resolve()), name, arguments],
                cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                child.wait(kill_after)
            except subprocess.TimeoutExpired:
                return Answer(KILLED, facts={"peak": _peak_of(child.pid), "seconds": time.perf_counter() - began})
            finally:
                child.kill()
                child.wait()
            output.seek(0)
            printed = output.read().decode(errors="replace").strip().splitlines()
        return _read(folder, child.returncode, printed)


def _read(folder: Path, code: int, printed: list[str]) -> Answer:
    try:
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Answer(FAILED, f"exit code {code}: {printed[-1] if printed else 'no output'}")
    if "absent" in facts:
        return Answer(ABSENT, facts["absent"])
    with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
        return Answer(DONE, facts=facts, arrays=dict(arrays))


def _peak_of(pid: int) -> int | None:
    """Peak resident bytes of a living process; None where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), None)


def run_child() -> None:
    """The other end of :func:`run_peer`."""
    task, problem, folder, arguments = sys.argv[1:]
    name, function = task.split(":")
    try:
        module = import_module(name)
        getattr(module, "warm_up", lambda: None)()
    except ImportError as error:
        _write(folder, {"absent": str(error)}, {})
        return
    gc.collect()
    baseline = restart_peak()
    with np.load(problem, allow_pickle=False) as arrays:
        given = dict(arrays)
    facts, arrays = getattr(module, function)(given, **json.loads(arguments))
    _write(folder, facts | {"baseline": baseline, "peak": own_peak()}, arrays)


def _write(folder: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    np.savez(Path(folder) / "arrays.npz", allow_pickle=False, **arrays)
    (Path(folder) / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
