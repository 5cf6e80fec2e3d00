"""The best solution of a run and its dual prices in a file, so that a run that was killed can be gone on with.

What is kept is a solution of the very corpus, whatever λ is, and prices, of which any prove a bound: nothing that is
read from a file has to be believed. That the solution is one is looked at before it is begun with
(:meth:`~cflengine.compression.estimator.CompressiveFeatures.fit_tokens`). A disk that is full, or gone, ends no solve.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import NPZ_DAMAGE, replaced
from cflengine.engine.progress import IterationStats
from cflengine.text.kgrams import KGramIndex

Known = tuple[np.ndarray, np.ndarray]

EVERY_S = 60.0
_SHARE = 20.0  # a twentieth of the time at most goes into writing
_AT_ONCE = 1 << 20  # tokens that are looked at together


class _Run(Protocol):
    best_objective: float

    @property
    def lower_bound(self) -> float: ...

    def incumbent(self) -> Known: ...


class Checkpoint:
    """A listener of the guided solver, with shards or without, that writes the best solution so far.

    Parameters
    ----------
    path : Path
        Of the file.
    digest : str
        Of the corpus (:meth:`~cflengine.text.token_table.TokenTable.digest`).
    every_s : float or None, default: None
        Seconds between two versions of it, at least; None for a minute.
    say : Callable[[str], None], optional
        Told, once, why there is none.
    """

    def __init__(
        self, path: Path, digest: str, every_s: float | None = None, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.path, self.digest, self._say = path, digest, say
        self.every_s = EVERY_S if every_s is None else every_s
        self._next = time.monotonic() + self.every_s
        self._kept = (np.inf, -np.inf)
        self._failed = False

    def __call__(self, stats: IterationStats) -> None:
        """Events say nothing of where things are."""

    def shown(self, run: _Run) -> None:
        """Keep what is better than what is in the file, now and then."""
        began = time.monotonic()
        now = run.best_objective, run.lower_bound
        if began < self._next or now == self._kept:
            return
        if self.keep(*run.incumbent()):
            self._kept = now
        ended = time.monotonic()
        self._next = ended + max(self.every_s, _SHARE * (ended - began))

    def keep(self, cover: np.ndarray, alpha: np.ndarray) -> bool:
        """Write a solution and its prices; False where the disk does not take them, which is said the first time."""
        try:
            with replaced(self.path) as file:
                np.savez(file, cover=cover, alpha=alpha.astype(np.float32), digest=np.array(self.digest))
        except OSError as error:
            if not self._failed:
                self._say(f"the best solution cannot be kept in {self.path.parent} ({error.strerror or error})")
            self._failed = True
            return False
        return True


def read_checkpoint(path: Path, digest: str) -> Known | None:
    """What a run had found when it last wrote.

    Parameters
    ----------
    path : Path
        Of the file.
    digest : str
        Of the corpus.

    Returns
    -------
    tuple or None
        Cover, unsigned (n,), and dual prices, float32 (n,); None where the file is damaged.

    Raises
    ------
    InputError
        Where it is another corpus's.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found, cover, alpha = str(arrays["digest"]), arrays["cover"], arrays["alpha"]
    except (OSError, *NPZ_DAMAGE):
        return None
    if found != digest:
        raise InputError(f"{path} is of another corpus, another K or other tokens: leave out --resume to begin anew.")
    numbers = cover.dtype.kind == "u" and alpha.dtype.kind == "f" and cover.ndim == 1 and alpha.shape == cover.shape
    return (cover, alpha) if numbers and np.all(np.isfinite(alpha)) else None


def check_known(known: Known, index: KGramIndex) -> None:
    """Raises InputError where what is known is of another number of tokens, leaves a token without a pointer, or has
    one to what is no K-gram of the corpus."""
    cover, alpha = known
    if not len(cover) == len(alpha) == index.n_tokens:
        raise InputError(f"the known solution is not one of {index.n_tokens:,} tokens.")
    if cover.dtype != index.no_cover().dtype or not np.all(np.isfinite(alpha)):
        raise InputError("the known solution is no cover of pointers, or its prices are no numbers.")
    reach = 0
    for a in range(0, index.n_tokens, _AT_ONCE):
        part = cover[a : a + _AT_ONCE]
        ends = np.arange(a, a + len(part))
        for k in range(8 * cover.dtype.itemsize):
            begins = np.flatnonzero(part >> k & 1)
            if len(begins) and (k >= index.max_gram or np.any(index.gram_of[k, a + begins] < 0)):
                raise InputError(f"the known solution has a pointer of {k + 1} words where there is no such K-gram.")
            ends[begins] = a + begins + k + 1
        reached = np.maximum(np.maximum.accumulate(ends), reach)
        if np.any(reached <= np.arange(a, a + len(part))):
            raise InputError("the known solution leaves a token without a pointer.")
        reach = int(reached[-1])
