"""Where shards are worked on: in this process, one after the other, from memory or from disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cflengine.compression.shards.resting import Resting
from cflengine.compression.shards.shard import Shard
from cflengine.engine.progress import Progress

# methods that ask, by their last argument, whether to go on, and answer None where they were stopped
_STOPPABLE = frozenset({"iterate.steps", "solutions.searched"})


def perform(shard: Any, method: str, arguments: Sequence[Any], progress: Progress) -> Any:
    """The answer of a shard's ``method`` ("learn", "iterate.steps" ...)."""
    last = (progress,) if method in _STOPPABLE else ()
    return attrgetter(method)(shard)(*arguments, *last)


class Executor(Protocol):
    """Calls a method on every shard. ``exchanged``: bytes of the vectors that went to shards and came back;
    ``handed_out``: of shards that went to workers, and of the copies that came from them."""

    exchanged: int
    handed_out: int
    progress: Progress

    @property
    def n_shards(self) -> int:
        """How many there are."""
        ...

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """The answers of ``method`` ("learn", "iterate.steps" ...) of all shards, in order; each of ``arguments`` has
        one for every shard."""
        ...


class InTurn:
    """One shard after the other, in this process; each has all its threads. folder: where a shard rests between its
    turns, so that memory goes with the largest of them; None for all in memory."""

    def __init__(self, shards: Iterable[Shard], folder: Path | None = None) -> None:
        self.progress = Progress(recording=False)
        self.exchanged = self.handed_out = 0
        self._shards: list[Shard | Resting] = []
        for shard in shards:
            self._shards.append(shard if folder is None else Resting(folder / f"shard-{len(self._shards)}"))
            self._rest(len(self._shards) - 1, shard)

    @property
    def n_shards(self) -> int:
        return len(self._shards)

    def _rest(self, k: int, shard: Shard) -> None:
        place = self._shards[k]
        if isinstance(place, Resting):
            place.put(shard)

    def _call(self, k: int, method: str, arguments: tuple[Any, ...]) -> Any:
        place = self._shards[k]
        shard = place.get() if isinstance(place, Resting) else place
        answer = perform(shard, method, arguments, self.progress)
        self._rest(k, shard)
        return answer

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """See :class:`Executor`."""
        columns = zip(range(self.n_shards), *arguments, strict=True)
        answers = [self._call(k, method, tuple(own)) for k, *own in columns]
        self.exchanged += sum(map(array_bytes, (*arguments, answers)))
        return answers


def array_bytes(thing: Any) -> int:
    """Bytes of the arrays in (lists or tuples of) what goes to shards or comes from them."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    return sum(map(array_bytes, thing)) if isinstance(thing, list | tuple) else 0
