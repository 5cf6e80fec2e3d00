"""Compile (or load from the disk cache) kernels once, so that no user's first run pays for it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_lock = threading.RLock()  # one for all: whether garbage is collected is the process's setting


class WarmUp:
    """Toys by name, each of which makes a solver go through all of its kernels.

    toys: name to a function that runs one; by_default: those meant by a call without names (None: all). Calling it from
    several threads is safe; what is warm already costs nothing.
    """

    def __init__(self, toys: Mapping[str, Callable[[], object]], by_default: tuple[str, ...] | None = None) -> None:
        self._toys, self._default, self._done = toys, by_default, set[str]()

    def __call__(self, *names: str) -> None:
        """Run the toys of these names that have not run yet; names without a toy have no kernels."""
        with _lock, _uncollected():
            for name in names or self._default or tuple(self._toys):
                if name in self._toys and name not in self._done:
                    self._toys[name]()
                    self._done.add(name)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage: compiling makes millions of objects that stay, and the search takes 7 % of it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
