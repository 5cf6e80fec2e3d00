"""Arrays that lie in files, so that the operating system decides which of their pages are in memory."""

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


@contextmanager
def room_on_disk(folder: str | Path | None) -> Iterator[None]:
    """Errors of a folder (None: the system's temporary one) that is full or cannot be written to, as one sentence: an
    InputError."""
    where = folder or tempfile.gettempdir()
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            left = format_bytes(shutil.disk_usage(where).free)
            raise InputError(f"the disk of {where} is full ({left} are free): name a folder with more room.") from error
        raise InputError(f"nothing can be kept in {where}: {error.strerror or error}.") from error


def mapped_array(shape: tuple[int, ...], dtype: Any, folder: str | Path | None = None) -> np.ndarray:
    """Zeros in a file without a name, which is gone with the array.

    folder: where, None for the system's temporary folder. Its room on disk is taken at once: what is changed later then
    finds it, where a full disk would end the process. Raises InputError where there is none.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    with room_on_disk(folder), tempfile.TemporaryFile(prefix="cflengine-", dir=folder) as file:
        _take_room(file, size)
        mapped = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    return np.asarray(mapped)


def _take_room(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    zeros = bytes(1 << 20)
    for first in range(0, size, len(zeros)):
        file.write(zeros[: size - first])
    file.flush()
