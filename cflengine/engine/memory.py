"""How much memory there is, how much was used, and whether a piece of work fits before it starts."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Mapping
from threading import Thread
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_ALWAYS = 16 << 20  # bytes that are not asked for: the answer takes longer than a fit that needs so little


_LONG, _SAMPLED = 1_000, 200  # elements of a container that are all looked at, and of longer ones
_NO_DATA = (
    type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, Thread, weakref.ref, mmap.mmap,
    int, float, complex, bool, type(None),
)  # fmt: skip


class MemoryLimitError(MemoryError):
    """The work would not fit; the message gives the estimate and what to do. Nothing was started."""


def available_bytes() -> int | None:
    """Bytes that can be taken without swapping (cgroup limits included on Linux); None where unknown."""
    free = None
    if sys.platform.startswith("linux"):
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    free = int(line.split()[1]) * 1024
        limit = _read_int("/sys/fs/cgroup/memory.max")
        used = _read_int("/sys/fs/cgroup/memory.current")
        if limit is not None and used is not None:
            left = limit - used + _reclaimable()
            free = left if free is None else min(free, left)
        return free
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        # macOS counts no "available" pages in sysconf: half of the physical memory is a careful guess
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return None


def _reclaimable() -> int:
    """Bytes of file cache that a control group counts as used but gives back when asked."""
    try:
        with open("/sys/fs/cgroup/memory.stat", encoding="ascii") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    except OSError:  # no such controller
        return 0


def _read_int(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # no such controller, or "max": no limit
        return None


def peak_bytes() -> int | None:
    """The process's peak resident memory in bytes; None on platforms that do not tell."""
    if sys.platform.startswith("linux"):
        # not ru_maxrss: it survives exec, so a process started by a large one would report its parent's peak
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def fits(needed: int) -> bool:
    """Whether so many bytes are available, with a tenth to spare.

    Parameters
    ----------
    needed : int
        Bytes.

    Returns
    -------
    bool
        True also where what is available is unknown.
    """
    return _within(needed, available_bytes())


def _within(needed: int, free: int | None) -> bool:
    return free is None or needed <= 0.9 * free


def require_bytes(needed: int, what: str, advice: str) -> None:
    """Raise :class:`MemoryLimitError` when ``needed`` bytes are not available (with a tenth to spare)."""
    if needed <= _ALWAYS:
        return
    free = available_bytes()
    if free is not None and not _within(needed, free):
        raise MemoryLimitError(
            f"{what} needs about {format_bytes(needed)} of memory, but only {format_bytes(free)} are free: {advice}"
        )


def format_bytes(n_bytes: float) -> str:
    """``1536 -> '1.5 KB'``, in powers of 1024.

    Parameters
    ----------
    n_bytes : float
        Bytes.

    Returns
    -------
    str
        With its unit.
    """
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def held_memory(*things: object) -> dict[int, int]:
    """What objects hold in memory, each thing once, so that what several of them hold can be united.

    Parameters
    ----------
    *things : object
        Of any kind: arrays, containers, data frames, objects with attributes. An array counts as the memory it is a
        view of, and not at all where that is a mapped file. Of containers with more than 1,000 elements some
        200 are looked at. Functions, and what their closures refer to, classes, modules and threads are no part of it.

    Returns
    -------
    dict of int to int
        Bytes, by the ``id`` of what they are in: meaningful for as long as the objects are there.
    """
    held: dict[int, int] = {}
    seen: dict[int, object] = {}  # what it has come by; holding it keeps an id from being given twice
    ahead: list[object] = list(things)
    while ahead:
        thing = ahead.pop()
        if isinstance(thing, np.ndarray):
            thing = _owner(thing)
        if id(thing) in seen or isinstance(thing, _NO_DATA):
            continue
        seen[id(thing)] = thing
        try:
            held[id(thing)], parts = _own_bytes(thing), _parts(thing)
        except Exception:  # of another library, which may refuse to be looked at
            held[id(thing)], parts = sys.getsizeof(thing, 0), []
        if len(parts) > _LONG:
            some = parts[:: len(parts) // _SAMPLED]
            held[id(thing)] += sum(held_memory(*some).values()) * len(parts) // len(some)
        else:
            ahead += parts
    return held


def _owner(array: np.ndarray) -> object:
    """The object whose memory an array looks into: itself, or what it is a view of."""
    owner: Any = array
    while True:
        base = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
        if base is None:
            return owner
        owner = base


def _own_bytes(thing: object) -> int:
    """Bytes of an object without its parts; of a data frame all of it."""
    if callable(usage := getattr(thing, "memory_usage", None)):  # pandas
        return int(np.sum(usage(deep=True)))
    size = getattr(thing, "nbytes", None)  # arrays, also of other libraries
    return size if isinstance(size, int) else sys.getsizeof(thing, 0)


def _parts(thing: object) -> list[object]:
    """What an object refers to."""
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist() if thing.dtype == object else []
    if isinstance(thing, str | bytes | bytearray) or hasattr(thing, "memory_usage") or hasattr(thing, "nbytes"):
        return []
    if isinstance(thing, Mapping):
        return [part for item in list(thing.items()) for part in item]
    parts = list(thing) if isinstance(thing, list | tuple | set | frozenset) else []
    parts += list(getattr(thing, "__dict__", {}).values())
    slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
    return parts + [getattr(thing, name, None) for name in slots if name not in ("__dict__", "__weakref__")]
