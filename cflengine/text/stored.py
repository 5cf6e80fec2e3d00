"""Texts on disk: a sequence of strings like a list, for corpora whose texts would take the memory that work on them
needs."""

from __future__ import annotations

import mmap
import operator
import pickle
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, overload

import numpy as np
import pandas as pd

from cflengine.engine import mapped
from cflengine.engine.mapped import disk_errors_said, nameless_file

_ENCODING, _ERRORS = "utf-8", "surrogatepass"  # a lone surrogate is bad text, but it is the user's


class StoredTexts(Sequence[str]):
    """Strings in a file without a name, which is gone with the object and its slices.

    Any thread may read; :meth:`append` is for the one that fills it. 8 bytes a text stay in memory.

    Parameters
    ----------
    texts : iterable of str
        The first texts.

    Raises
    ------
    InputError
        where the disk has no space for them.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        with disk_errors_said(None):
            self._file = nameless_file()
        self._growing = array("q", [0])
        self._bounds: np.ndarray | None = None  # int64 (N+1,), once they are read
        self._bytes: mmap.mmap | bytes = b""
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Add a text."""
        data = text.encode(_ENCODING, _ERRORS)
        with disk_errors_said(None):
            self._file.write(data)
        self._growing.append(self._growing[-1] + len(data))
        self._bounds = None

    def __len__(self) -> int:
        return (len(self._growing) if self._bounds is None else len(self._bounds)) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        bounds, data = self._read()
        if isinstance(at, slice):
            first, last, step = at.indices(len(self))
            if step != 1:
                return [self[d] for d in range(first, last, step)]
            part = object.__new__(StoredTexts)
            part._file, part._growing, part._bytes = self._file, self._growing, data
            part._bounds = bounds[first : max(first, last) + 1]
            return part
        d = operator.index(at)
        if not -len(self) <= d < len(self):
            raise IndexError(f"there are {len(self)} texts, and none numbered {d}")
        d %= len(self)
        return data[bounds[d] : bounds[d + 1]].decode(_ENCODING, _ERRORS)

    def __iter__(self) -> Iterator[str]:
        bounds, data = self._read()
        for d in range(len(bounds) - 1):
            yield data[bounds[d] : bounds[d + 1]].decode(_ENCODING, _ERRORS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __reduce__(self) -> tuple[type[list], tuple[list[str]]]:
        return list, (list(self),)

    def _read(self) -> tuple[np.ndarray, mmap.mmap | bytes]:
        if self._bounds is None:
            with disk_errors_said(None):
                self._file.flush()
            # mapped before bounds are set: another thread may come in between
            self._bytes = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if self._growing[-1] else b""
            self._bounds = np.frombuffer(self._growing.tobytes(), dtype=np.int64)
        return self._bounds, self._bytes


class GrowingTexts:
    """Texts that come one after the other: a list, or, from IN_MEMORY bytes on, :class:`StoredTexts`."""

    def __init__(self) -> None:
        self._texts: list[str] | StoredTexts = []
        self._size = 0  # in characters

    def __len__(self) -> int:
        return len(self._texts)

    def append(self, text: str) -> None:
        """One more. Raises InputError where the disk has no space."""
        self._texts.append(text)
        self._size += len(text)
        if self._size > mapped.IN_MEMORY and isinstance(self._texts, list):
            self._texts = StoredTexts(self._texts)

    def whole(self) -> Sequence[str]:
        """All of them."""
        return self._texts


class StoredColumns:
    """A frame that is not needed for a while, in a file without a name where it takes more than IN_MEMORY.

    Where the disk has no space for it it stays in memory. The file is this process's own and has no name, so a pickle,
    which keeps every type as it is, cannot be another's.

    Parameters
    ----------
    frame : DataFrame
        What is kept; to be forgotten by the caller.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame: pd.DataFrame | None = frame
        self._index, self._names = frame.index, frame.columns
        self._file: IO[bytes] | None = None
        if frame.memory_usage(index=False, deep=True).sum() > mapped.IN_MEMORY:
            self._write(frame)

    @property
    def on_disk(self) -> bool:
        """Whether it has left memory."""
        return self._file is not None

    def _write(self, frame: pd.DataFrame) -> None:
        try:
            file = nameless_file()
            for k in range(frame.shape[1]):  # one by one: what is written is copied first
                pickle.dump(frame.iloc[:, k].array, file, protocol=5)
            file.flush()
        except OSError:
            return
        self._file, self._frame = file, None

    def frame(self) -> pd.DataFrame:
        """What was kept."""
        if self._frame is not None:
            return self._frame
        assert self._file is not None
        self._file.seek(0)
        columns = {k: pd.Series(pickle.load(self._file), index=self._index) for k in range(len(self._names))}
        return pd.DataFrame(columns, index=self._index).set_axis(self._names, axis=1)


def as_documents(X: Iterable[str]) -> Sequence[str]:
    """The documents as a list, or where they lie on disk; a single string is a mistake often made, and said so."""
    if isinstance(X, str | bytes):
        raise TypeError("X must be a sequence of documents (strings), not one string.")
    refuse_frame(X)
    return X if isinstance(X, StoredTexts) else list(X)


def refuse_frame(X: Any) -> None:
    """Raises TypeError for a frame, of pandas, Dask or others, whose documents would be the names of its columns."""
    if hasattr(X, "columns") and getattr(X, "ndim", 2) == 2:  # a series of Dask's has them, too
        raise TypeError("X must be one column of texts; pass frame['text'], not the whole frame.")
