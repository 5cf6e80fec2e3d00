"""A shard on disk between its turns: its arrays in one file, mapped while it is worked on.

Arrays that are changed in place change in the file, and the operating system decides which pages are in memory; only
arrays that are new since the last turn are written. What is read was written by this very process, so that a pickle
does no harm here; results are saved otherwise.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.mapped import disk_errors_said
from cflengine.engine.output import locked_folder, remove_abandoned

_ALIGNED = 64  # bytes, as vector instructions like it
_FOLDER, _ATTEMPTS = "cflengine-shards-", 20


@contextmanager
def shards_folder(scratch: str | None) -> Iterator[Path]:
    """A folder in ``scratch`` (None: the system's temporary one) that shards rest in, gone afterwards, and with the
    next one where the process is killed. Raises InputError where none can be made."""
    with disk_errors_said(scratch):
        remove_abandoned(Path(scratch or tempfile.gettempdir()).glob(f"{_FOLDER}*"))
    with ExitStack() as stack:
        yield _locked_folder_in(scratch, stack)


def _locked_folder_in(scratch: str | None, stack: ExitStack) -> Path:
    """A new folder, held until the stack ends. Between its making and its lock another process may take it for one
    that was left behind, and remove it: then the next one is made."""
    failed = 0
    while True:
        own = ExitStack()
        try:
            with disk_errors_said(scratch):
                made = tempfile.TemporaryDirectory(prefix=_FOLDER, dir=scratch, ignore_cleanup_errors=True)
            path = Path(own.enter_context(made))
            own.enter_context(locked_folder(path))
        except (InputError, FileNotFoundError):
            own.close()
            failed += 1
            if failed == _ATTEMPTS:
                raise
        else:
            stack.push(own)
            return path


class Resting:
    """An object whose arrays lie in the file ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._object = b""
        self._places: list[tuple[int, int]] = []  # (first byte, bytes) of every array, in the order of the pickle
        self._map: mmap.mmap | None = None

    def put(self, thing: Any) -> None:
        """Write what is not in the file yet. Raises InputError where the disk is full."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        views = [_bytes_of(buffer) for buffer in buffers]
        begin, size = self._mapped()
        places = [view.__array_interface__["data"][0] - begin if len(view) else -1 for view in views]
        there = [0 <= place < size for place in places]
        free = _Gaps([(p, len(v)) for p, v, kept in zip(places, views, there, strict=True) if kept])
        with disk_errors_said(self.path.parent), open(self.path, "r+b" if self.path.exists() else "w+b") as file:
            for i, view in enumerate(views):
                if not there[i]:
                    places[i] = free.take(len(view))
                    file.seek(places[i])
                    file.write(view.data)
        self._object = pickled
        self._places = [(place, len(view)) for place, view in zip(places, views, strict=True)]
        self._map = None  # it goes when the last array of it does

    def get(self) -> Any:
        """The object, its arrays mapped."""
        with open(self.path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0) if self.path.stat().st_size else None
        whole = memoryview(self._map) if self._map is not None else memoryview(bytearray())
        return pickle.loads(self._object, buffers=[whole[first : first + size] for first, size in self._places])

    def _mapped(self) -> tuple[int, int]:
        """Where in memory the file is, and how many bytes of it."""
        if self._map is None:
            return 0, 0
        view = np.frombuffer(self._map, dtype=np.uint8)
        return int(view.__array_interface__["data"][0]), len(view)


def _bytes_of(buffer: pickle.PickleBuffer) -> np.ndarray:
    raw = buffer.raw()
    return np.frombuffer(raw, dtype=np.uint8) if raw.nbytes else np.zeros(0, dtype=np.uint8)


class _Gaps:
    """The space between what is kept in a file, (first byte, bytes), and after it."""

    def __init__(self, kept: list[tuple[int, int]]) -> None:
        self._gaps: list[list[int]] = []
        end = 0
        for first, size in sorted(kept):
            if first > end:
                self._gaps.append([end, first])
            end = max(end, -(-(first + size) // _ALIGNED) * _ALIGNED)
        self._end = end

    def take(self, size: int) -> int:
        """Space for so many bytes: the first gap that is large enough, else the end."""
        size = -(-size // _ALIGNED) * _ALIGNED
        for gap in self._gaps:
            if gap[1] - gap[0] >= size:
                gap[0] += size
                return gap[0] - size
        self._end += size
        return self._end - size
