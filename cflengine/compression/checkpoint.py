"""The best solution of a run and its dual prices in a file, so that a run that was killed can be gone on with.

What is kept is a solution of the very corpus, whatever λ is, and prices, of which any prove a bound: nothing that is
read from a file has to be believed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile
from zlib import error as DeflateError

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.progress import IterationStats

Known = tuple[np.ndarray, np.ndarray]

EVERY_S = 60.0
_SHARE = 20.0  # a twentieth of the time at most goes into writing


class _Run(Protocol):
    best_objective: float

    @property
    def lower_bound(self) -> float: ...

    def incumbent(self) -> Known: ...


class Checkpoint:
    """A listener of the guided solver, with shards or without.

    path: of the file; digest: of the corpus (:meth:`~cflengine.text.token_table.TokenTable.digest`); every_s: seconds
    between two versions of it, at least; None for a minute.
    """

    def __init__(self, path: Path, digest: str, every_s: float | None = None) -> None:
        self.path, self.digest = path, digest
        self.every_s = EVERY_S if every_s is None else every_s
        self._next = time.monotonic() + self.every_s
        self._kept = (np.inf, -np.inf)

    def __call__(self, stats: IterationStats) -> None:
        """Events say nothing of where things are."""

    def offered(self, run: _Run) -> None:
        """Keep what is better than what is in the file, now and then."""
        began = time.monotonic()
        now = run.best_objective, run.lower_bound
        if began < self._next or now == self._kept:
            return
        cover, alpha = run.incumbent()
        with replaced(self.path) as file:
            np.savez(file, cover=cover, alpha=alpha.astype(np.float32), digest=np.array(self.digest))
        self._kept, ended = now, time.monotonic()
        self._next = ended + max(self.every_s, _SHARE * (ended - began))


def read_checkpoint(path: Path, digest: str) -> Known:
    """(cover uint8 (n,), dual prices float32 (n,)) of a file. Raises InputError for one of another corpus, or that
    cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found, cover, alpha = str(arrays["digest"]), arrays["cover"], arrays["alpha"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, DeflateError) as error:
        raise InputError(f"{path} cannot be gone on from: {error}.") from error
    if found != digest:
        raise InputError(f"{path} is of another corpus, another K or other tokens: leave out --resume to begin anew.")
    if cover.dtype != np.uint8 or cover.ndim != 1 or alpha.shape != cover.shape or not np.all(np.isfinite(alpha)):
        raise InputError(f"{path} is damaged: leave out --resume to begin anew.")
    return cover, alpha
