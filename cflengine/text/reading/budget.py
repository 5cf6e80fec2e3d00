"""What bounds reading: bytes, how far they unpack, time; and who is told how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cflengine.engine.progress import Watch, go_on
from cflengine.text.corpus import CorpusError

MAX_RATIO = 1000
RATIO_APPLIES_FROM = 100 << 20


def _size(n_bytes: int) -> str:
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes} bytes"


#: When reading has to be over, by ``time.monotonic()``; None for no limit. Set by :func:`reading_until`.
_DEADLINE: ContextVar[float | None] = ContextVar("reading deadline", default=None)


#: Told of the bytes that are read, of compressed ones where they are; None for no report. Set by
#: :func:`reading_watched`.
_WATCH: ContextVar[Watch | None] = ContextVar("reading watch", default=None)


@contextmanager
def reading_watched(watch: Watch) -> Iterator[None]:
    """Within the block, reading reports to a watch.

    Parameters
    ----------
    watch : Watch
        Told of bytes, asked whether to go on.

    Returns
    -------
    context manager
        Of nothing.

    Raises
    ------
    Stopped
        Where it says no.
    """
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def watch_at_hand() -> Watch:
    """That of the innermost block; outside of any, one that tells nothing and goes on."""
    return _WATCH.get() or Watch()


def tell_watch(stage: str, total: int) -> None:
    """Another input is read, of so many bytes, 0 where that is not known."""
    watch_at_hand().begin(stage, "bytes", total)


def ask_watch() -> None:
    """To be called between records: some formats are read by libraries that hold no meter. Raises Stopped."""
    go_on(watch_at_hand().poll)


@contextmanager
def reading_until(deadline: float | None) -> Iterator[None]:
    """Within the block, reading a source has to be over by a time.

    Parameters
    ----------
    deadline : float or None
        By ``time.monotonic()``; None for no limit.

    Returns
    -------
    context manager
        Of nothing.

    Raises
    ------
    CorpusError
        Where it is not over by then.
    """
    token = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


class Budget:
    """Counts the uncompressed bytes of one pass over a source and refuses too many, or a compression bomb, or what
    takes longer than it may."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self.spent = 0

    def spend(self, n_bytes: int, packed: int | None = None) -> None:
        """Add bytes; ``packed`` is the compressed size of all so far. Raises CorpusError beyond bounds."""
        self.spent += n_bytes
        # of some formats ``packed`` is the whole file's size from the first bytes on
        watch_at_hand().at(self.spent if packed is None else min(self.spent, packed))
        deadline = _DEADLINE.get()
        if deadline is not None and time.monotonic() > deadline:
            raise CorpusError(
                f"the time limit was over before '{self.name}' was read ({_size(self.spent)} so far); raise it, or "
                "take fewer documents."
            )
        if self.spent > self.max_bytes:
            raise CorpusError(f"'{self.name}' holds more than {_size(self.max_bytes)}; split it, or raise max_bytes.")
        if packed is not None and self.spent > RATIO_APPLIES_FROM and self.spent > MAX_RATIO * packed:
            raise CorpusError(
                f"'{self.name}' unpacks to more than {MAX_RATIO} times its size, as a compression bomb does; "
                "unpack it yourself if you trust it."
            )
