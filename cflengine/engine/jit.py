"""The two numba decorators of the package; a test rejects any other use of ``njit``.

- ``cache=True``: later processes load machine code from disk (see :mod:`cflengine.engine.cache`);
- ``nogil=True``: a solver in a worker thread never freezes the user interface;
- ``error_model="numpy"``: a division by zero gives inf or nan as in numpy, not an exception in a kernel;
- no ``fastmath``: it removes the very checks for NaN, and the order of sums, that certificates rest on.

Kernels take arrays, scalars and NamedTuples of them, allocate no large arrays in their loops, and run a bounded chunk
so that Python can stop them. Sums over blocks are written per block and combined in order, so that the
same input gives the same bytes with one thread or many.

Parallel kernels pass through one gateway, :class:`ParallelKernel`:

- several Python threads may call them. Where numba's threading layer bears only one at a time (``workqueue``, which
  otherwise aborts the process) they take turns, a chunk each;
- a process that was forked after the first of them cannot run any: GNU OpenMP would wait for threads that the fork left
  behind. It gets a :class:`ForkedProcessError`; ``spawn`` and ``forkserver`` are fine.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from numbers import Integral
from typing import Any

import numba
from numba import njit

from cflengine.engine.checks import InputError

if "OMP_WAIT_POLICY" not in os.environ:
    # Threads of GNU OpenMP spin for milliseconds at every barrier. Where something else wants a core (a browser, the
    # app's own server) that costs six times the run time; a short spin costs nothing even on a quiet machine.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
if "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ:
    # Left to itself numba takes TBB where it finds it, and then solves beside other work take several times as long.
    # In the environment, too, from which numba reads its settings anew whenever another of them changes.
    layers = numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]  # type: ignore[attr-defined]
    os.environ["NUMBA_THREADING_LAYER_PRIORITY"] = " ".join(layers)

kernel = njit(cache=True, nogil=True, error_model="numpy")
# what goes wrong in a thread of numba is lost: where indices are checked (NUMBA_BOUNDSCHECK=1) there are no threads
_with_threads: bool = not (numba.config.DISABLE_JIT or numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]
_parallel = njit(cache=True, nogil=True, error_model="numpy", parallel=_with_threads)


class ForkedProcessError(RuntimeError):
    """A forked process cannot run what its parent has started threads for."""


class _Gate:
    """Whether threads of this process may enter parallel kernels together, and whether it may enter them at all."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.alone: bool | None = None  # None: no parallel kernel has run yet
        self.forked = False

    def after_fork(self) -> None:
        """In the child: the parent's threads are gone, and its lock may be held by one of them."""
        self.forked, self.lock = self.forked or self.alone is not None, threading.RLock()

    def check(self) -> None:
        """Raise ForkedProcessError where kernels cannot run."""
        if self.forked:
            raise ForkedProcessError(
                "this process was forked after cflengine had started its threads, which a fork does not copy: start "
                "processes by 'spawn', as in multiprocessing.get_context('spawn').Pool(), or run before anything else."
            )

    def enter(self) -> Any:
        """A context for one call of a parallel kernel."""
        self.check()
        return nullcontext() if self.alone is False else self.lock

    def note_layer(self) -> None:
        """After the first call, when numba knows which threading layer it has."""
        if self.alone is None:
            self.alone = _with_threads and numba.threading_layer() == "workqueue"


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_gate.after_fork)


class ParallelKernel:
    """A parallel kernel behind the gateway; everything else is the dispatcher's."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.dispatcher = _parallel(function)

    def __call__(self, *arguments: Any) -> Any:
        with _gate.enter():
            answer = self.dispatcher(*arguments)
            _gate.note_layer()
        return answer

    def __getattr__(self, name: str) -> Any:
        if name == "dispatcher":  # not there yet: an instance that is being copied
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


parallel_kernel = ParallelKernel


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with a single thread for matrix products.

    BLAS and numba each keep threads that spin for a while when their work is done: where both are used in turn, they
    take the cores from each other, and a pass takes half as long again as with one of them alone.
    """
    with _blas_users.alone():
        yield


class _BlasUsers:
    """Threads that want a single one: the first limits, the last restores, since the setting is the process's."""

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0
        self.limit: Any = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self.lock:
            if self.count == 0:
                self.limit = _blas().limit(limits=1, user_api="blas")
            self.count += 1
        try:
            yield
        finally:
            with self.lock:
                self.count -= 1
                if self.count == 0:
                    self.limit.restore_original_limits()


_blas_users = _BlasUsers()


@lru_cache(maxsize=1)
def _blas() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401  what products in kernels use: it has threads of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# a pass over fewer entries is done before a second thread is awake: below it one thread is up to three times as fast
FEW_ENTRIES = 20_000


@contextmanager
def threads(n_threads: int | None, entries: int | None = None) -> Iterator[int]:
    """Run the block with ``n_threads`` numba threads; the setting is per Python thread.

    n_threads: None for all, or for one where a pass goes over no more than a few ``entries`` (None: unknown, many).
    Raises ValueError if ``n_threads`` is not a positive integer; more than the machine has is capped.
    """
    if n_threads is not None and (not isinstance(n_threads, Integral) or n_threads < 1):
        raise InputError(f"n_threads must be a positive integer or None, not {n_threads!r}.")
    _gate.check()
    available: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    before = numba.get_num_threads()
    if n_threads is None:
        count = available if entries is None or entries >= FEW_ENTRIES else 1
    else:
        count = min(int(n_threads), available)
    numba.set_num_threads(count)
    try:
        yield count
    finally:
        numba.set_num_threads(before)
