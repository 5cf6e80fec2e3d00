"""What a worker of a cluster does with the shards that it holds; called by cluster.py, in the worker's process."""

from __future__ import annotations

import pickle
import time
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from cflengine.compression.shards.executors import perform
from cflengine.compression.shards.resting import Resting, shards_folder
from cflengine.compression.shards.shard import Shard
from cflengine.engine.cluster import threads_here
from cflengine.engine.jit import threads
from cflengine.engine.progress import Progress

_folders: dict[str, tuple[ExitStack, Path]] = {}  # by run
_held: dict[tuple[str, int], Resting] = {}


class Answer(NamedTuple):
    """value: what the method answered; seconds: of work."""

    value: Any
    seconds: float


class NotHeldError(Exception):
    """A shard that this process does not hold: it is another one than that which did, at the same address."""


class Held:
    """A shard that is held as long as this is: the result of :func:`held`, which stays on the worker for as long as a
    client wants it. Where the client is gone, so is the shard."""

    def __init__(self, run: str, k: int) -> None:
        weakref.finalize(self, _let_go, run, k, _resting(run, k))

    def __reduce__(self) -> str:
        raise pickle.PicklingError("it stands for what is on this worker.")


def hold(run: str, k: int, shard: Shard, scratch: str | None) -> None:
    """Take a shard; it rests on the worker's disk between its turns."""
    if run not in _folders:
        stack = ExitStack()
        _folders[run] = stack, stack.enter_context(shards_folder(scratch))
    _held[run, k] = Resting(_folders[run][1] / f"shard-{k}")
    _held[run, k].put(shard)


def held(run: str, k: int) -> Held:
    """What stands for a shard that is here. A call of its own: what Dask remembers of a call whose result is wanted,
    and repeats in a process that comes in the place of a lost one, must not be the shard as it once was."""
    return Held(run, k)


def call(run: str, k: int, method: str, arguments: tuple[Any, ...], seconds: float | None) -> Answer:
    """A method of a shard, with as many threads as the worker has; seconds: that are left, None for no limit."""
    began = time.perf_counter()
    rest = _resting(run, k)
    shard = rest.get()
    with threads(threads_here()):
        value = perform(shard, method, arguments, Progress(recording=False, time_limit=seconds))
    rest.put(shard)
    return Answer(value, time.perf_counter() - began)


def state(run: str, k: int) -> Shard:
    """A copy of a shard as it is."""
    return _resting(run, k).get()


def drop(run: str) -> None:
    """Forget the shards of a run."""
    for key in [key for key in _held if key[0] == run]:
        del _held[key]
    if run in _folders:
        _folders.pop(run)[0].close()


def _let_go(run: str, k: int, rest: Resting) -> None:
    """Forget a shard, unless it has been taken anew since; with the last of a run its folder."""
    if _held.get((run, k)) is rest:
        del _held[run, k]
        if not any(other == run for other, _ in _held):
            drop(run)


def _resting(run: str, k: int) -> Resting:
    if (run, k) not in _held:
        raise NotHeldError
    return _held[run, k]
