"""Shards on the workers of a Dask cluster: ``pip install "cflengine[cluster]"``.

Every shard is on one worker, which works on it whenever a method is called; only vectors over shared K-grams travel.
Methods are deterministic, so a shard whose worker is lost is made again on another one: from its last copy, which is
kept on disk here, by the calls that came after it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cflengine.compression.shards import on_worker
from cflengine.compression.shards.executors import array_bytes
from cflengine.compression.shards.resting import Resting
from cflengine.compression.shards.shard import Shard
from cflengine.engine import cluster as engine_cluster
from cflengine.engine.progress import Progress

if TYPE_CHECKING:
    from distributed import Client, Future

_ASKED_EVERY_S = 0.25
_COPY_AFTER_S = 60.0  # of a shard's work since its last copy: what has to be done again
_WORK_A_COPY = 20.0  # or so many times the seconds that a copy takes, where that is more


class _LostError(Exception):
    """The worker that has a shard is gone, or another process has come in its place."""


@dataclass
class _Place:
    """A shard: the worker that has it, its last copy, the calls since then, the seconds of work since one was tried,
    and after how many the next is due."""

    worker: str
    copy: Resting
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    held: Future | None = None  # on the worker, as long as it is here
    seconds: float = 0.0
    copy_after: float = field(default_factory=lambda: _COPY_AFTER_S)


class OnCluster:
    """An executor (executors.py). client: of a cluster; folder: here, for copies of shards; scratch: on its workers,
    for the shards themselves, None for the temporary folder that each has."""

    def __init__(self, client: Client, shards: Iterable[Shard], folder: Path, scratch: Path | None = None) -> None:
        self.client, self.run = client, secrets.token_hex(8)
        self.scratch = None if scratch is None else str(scratch)
        self.progress = Progress(recording=False)
        self.exchanged = self.handed_out = 0
        self._places: list[_Place] = []
        engine_cluster.check_workers(client)
        workers = engine_cluster.usable_workers(client)
        try:
            for k, shard in enumerate(shards):
                copy = Resting(folder / f"copy-{k}.a")
                copy.put(shard)
                self.handed_out += copy.path.stat().st_size
                self._places.append(_Place(workers[k % len(workers)], copy))
                with suppress(_LostError):  # the first call will find out
                    self._hold(k, shard)
        except BaseException:  # as of a full disk here: those handed out already are not forgotten there
            self.close()
            raise

    @property
    def n_shards(self) -> int:
        return len(self._places)

    def each(self, method: str, *arguments: Sequence[Any]) -> list[Any]:
        """See :class:`~cflengine.compression.shards.executors.Executor`."""
        columns = list(zip(*arguments, strict=True)) if arguments else [()] * self.n_shards
        futures = [self._submit(k, method, own) for k, own in enumerate(columns)]
        asked = zip(range(self.n_shards), columns, futures, strict=True)
        answers = [self._answer(k, method, own, future) for k, own, future in asked]
        for k, (own, answer) in enumerate(zip(columns, answers, strict=True)):
            self._note(k, method, own, answer)
        values = [answer.value for answer in answers]
        self.exchanged += sum(map(array_bytes, (*arguments, values)))
        self.progress.poll()
        return values

    def close(self) -> None:
        """Let the workers forget their shards."""
        with suppress(Exception):  # a cluster that is gone has forgotten them
            self.client.run(on_worker.drop, self.run)

    def _submit(self, k: int, method: str, arguments: tuple[Any, ...]) -> Future:
        left = self.progress.time_limit
        left = None if left is None else max(left - self.progress.elapsed_s, 1e-3)
        return self._task(self._places[k].worker, on_worker.call, self.run, k, method, arguments, left)

    def _task(self, worker: str, function: Any, *arguments: Any) -> Future:
        return engine_cluster.submit(self.client, function, *arguments, workers=[worker])

    def _answer(self, k: int, method: str, arguments: tuple[Any, ...], future: Future) -> on_worker.Answer:
        """The future's result; where the worker is lost, the shard is made again elsewhere, and asked again."""
        lost = False
        for _ in range(engine_cluster.LOST):
            with suppress(_LostError):
                if lost:
                    self._make_again(k)
                    future = self._submit(k, method, arguments)
                answer: on_worker.Answer = self._result(k, future)
                return answer
            lost = True
        raise engine_cluster.lost_error(f"shard {k}")

    def _result(self, k: int, future: Future) -> Any:
        """What a worker answers about a shard. Raises _LostError where it is lost meanwhile, or what went wrong
        there."""
        self._wait_for(k, future)
        return future.result()

    def _wait_for(self, k: int, future: Future) -> None:
        """Until it is done; raises as ``_result`` does."""
        from distributed import wait

        while True:
            with suppress(TimeoutError), self.client.as_current():
                wait(future, timeout=_ASKED_EVERY_S)
            if future.status == "finished":
                return
            here = self._places[k].worker in self.client.scheduler_info(n_workers=-1)["workers"]
            if future.status == "error" and here and not isinstance(future.exception(), on_worker.NotHeldError):
                future.result()  # raises it
            if future.status != "pending" or not here:
                future.cancel()
                raise _LostError

    def _hold(self, k: int, shard: Shard) -> None:
        place = self._places[k]
        self._result(k, self._task(place.worker, on_worker.hold, self.run, k, shard, self.scratch))
        place.held = self._task(place.worker, on_worker.held, self.run, k)
        self._wait_for(k, place.held)

    def _make_again(self, k: int) -> None:
        """The shard on another worker, where there is one, from its last copy, with what was done since."""
        place, used = self._places[k], [one.worker for one in self._places]
        workers = engine_cluster.usable_workers(self.client)
        place.worker = min(workers, key=lambda worker: (worker == place.worker, used.count(worker)))
        self._hold(k, place.copy.get())
        self.handed_out += place.copy.path.stat().st_size
        for method, arguments in place.calls:  # all of which had come to their ends
            self._result(k, self._task(place.worker, on_worker.call, self.run, k, method, arguments, None))

    def _note(self, k: int, method: str, arguments: tuple[Any, ...], answer: on_worker.Answer) -> None:
        """Remember a call; after enough work take a copy in its place."""
        place = self._places[k]
        place.calls.append((method, arguments))
        place.seconds += answer.seconds
        if place.seconds > place.copy_after:
            place.seconds = 0.0
            with suppress(Exception):  # the worker is lost, or the disk here is full: the last copy will do
                self._copy(k)

    def _copy(self, k: int) -> None:
        """Take a copy in place of the last one, which stays until the new one is whole."""
        place, began = self._places[k], time.monotonic()
        shard = self._result(k, self._task(place.worker, on_worker.state, self.run, k))
        new = Resting(place.copy.path.with_suffix(".b" if place.copy.path.suffix == ".a" else ".a"))
        try:
            new.put(shard)
        except BaseException:
            new.path.unlink(missing_ok=True)
            raise
        old, place.copy, place.calls = place.copy, new, []
        old.path.unlink(missing_ok=True)
        self.handed_out += new.path.stat().st_size
        place.copy_after = max(_COPY_AFTER_S, _WORK_A_COPY * (time.monotonic() - began))
