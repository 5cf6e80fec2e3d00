"""Arrays that lie in files: mapped, so that the operating system decides which of their pages are in memory, or put
aside."""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.memory import format_bytes

_FULL = (errno.ENOSPC, errno.EDQUOT)
#: bytes: what takes more than that, and is not worked on, goes to disk
IN_MEMORY = 64 << 20
_AT_ONCE = 64 << 20  # a single write or read of more than 2 GB ends early


@contextmanager
def disk_errors_said(folder: str | Path | None) -> Iterator[None]:
    """Errors of a folder (None: the system's temporary one) that is full or cannot be written to, as one sentence: an
    InputError."""
    where = folder or tempfile.gettempdir()
    try:
        with disk_full_said(where):
            yield
    except OSError as error:
        raise InputError(f"nothing can be kept in {where}: {error.strerror or error}.") from error


@contextmanager
def disk_full_said(folder: str | Path) -> Iterator[None]:
    """Within the block, a full disk, or a limit of files, is said in one sentence; other errors are raised as they are.

    Parameters
    ----------
    folder : str or Path
        Where to is written.

    Returns
    -------
    context manager
        Of nothing.

    Raises
    ------
    InputError
        Where the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"files in {folder} may not grow as large as they have to: {error.strerror}.") from error
        if error.errno not in _FULL:
            raise
        left = format_bytes(shutil.disk_usage(folder).free)
        raise InputError(f"the disk of {folder} is full ({left} are free): name a folder with more space.") from error


def mapped_array(shape: tuple[int, ...], dtype: Any, folder: str | Path | None = None) -> np.ndarray:
    """Zeros in a file without a name, which is gone with the array.

    folder: where, None for the system's temporary folder. Its space on disk is taken at once: what is changed later
    then finds it, where a full disk would end the process. Raises InputError where there is none.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    with disk_errors_said(folder), tempfile.TemporaryFile(prefix="cflengine-", dir=folder) as file:
        _reserve(file, size)
        mapped = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    return np.asarray(mapped)


def _reserve(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(1 << 20)
    for first in range(0, size, len(zeros)):
        file.write(zeros[: size - first])
    file.flush()


def nameless_file() -> IO[bytes]:
    """A file of the system's temporary folder that is gone with the object."""
    return tempfile.TemporaryFile(prefix="cflengine-")


class GrowingArray:
    """An array that grows at its end, in a file without a name from IN_MEMORY bytes on."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._parts: list[np.ndarray] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None

    def append(self, part: np.ndarray) -> None:
        """More of it; the part is copied. Raises InputError where the disk has no space."""
        part = np.array(part, dtype=self._dtype)
        self._bytes += part.nbytes
        if self._file is None and self._bytes <= IN_MEMORY:
            self._parts.append(part)
            return
        with disk_errors_said(None):
            if self._file is None:
                self._file = nameless_file()
            _write((*self._parts, part), self._file)
        self._parts = []

    def whole(self) -> np.ndarray:
        """All of it; nothing can be added afterwards."""
        if self._file is None:
            return np.concatenate([np.zeros(0, self._dtype), *self._parts])
        with disk_errors_said(None):
            self._file.flush()
            return np.asarray(np.memmap(self._file, dtype=self._dtype, mode="r+"))


class SetAside:
    """Arrays that are not needed for a while, in a file without a name where they take more than IN_MEMORY.

    Where the disk has no space for them they stay in memory: nothing that was computed is lost.
    """

    def __init__(self) -> None:
        self._copies: list[np.ndarray] = []
        self._file: IO[bytes] | None = None

    def put(self, *arrays: np.ndarray) -> None:
        """Keep what they hold, in place of what was kept before."""
        if sum(array.nbytes for array in arrays) > IN_MEMORY and self._written(arrays):
            self._copies = []
            return
        if len(self._copies) != len(arrays):
            self._copies = [array.copy() for array in arrays]
            return
        for kept, array in zip(self._copies, arrays, strict=True):
            kept[:] = array

    def get(self, *arrays: np.ndarray) -> None:
        """Give arrays of the same shapes what was kept."""
        if self._copies or self._file is None:
            for kept, array in zip(self._copies, arrays, strict=True):
                array[:] = kept
            return
        self._file.seek(0)
        for view in _pieces(arrays):
            if self._file.readinto(view) != len(view):  # type: ignore[attr-defined]
                raise OSError(errno.EIO, "a file that arrays were kept in has been cut short")

    def _written(self, arrays: tuple[np.ndarray, ...]) -> bool:
        try:
            if self._file is None:
                self._file = nameless_file()
            self._file.seek(0)
            _write(arrays, self._file)
            self._file.flush()
        except OSError:
            self._file = None
            return False
        return True


def _write(arrays: tuple[np.ndarray, ...], file: IO[bytes]) -> None:
    for view in _pieces(arrays):
        file.write(view)


def _pieces(arrays: tuple[np.ndarray, ...]) -> Iterator[memoryview]:
    """The bytes of contiguous arrays, some at a time."""
    for array in arrays:
        whole = array.reshape(-1).view(np.uint8).data
        for first in range(0, len(whole), _AT_ONCE):
            yield whole[first : first + _AT_ONCE]
