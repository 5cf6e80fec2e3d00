"""The two numba decorators of the package; a test rejects any other use of ``njit``.

- ``cache=True``: later processes load machine code from disk (see :mod:`cflengine.engine.cache`);
- ``nogil=True``: a solver in a worker thread never freezes the user interface;
- ``error_model="numpy"``: a division by zero gives inf or nan as in numpy, not an exception in a kernel;
- no ``fastmath``: it removes the very checks for NaN, and the order of sums, that certificates rest on.

Kernels take arrays and scalars only, allocate no large arrays in their loops, and run a bounded chunk
so that Python can stop them. Sums over blocks are written per block and combined in order, so that the
same input gives the same bytes with one thread or many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any

import numba
from numba import njit

if "OMP_WAIT_POLICY" not in os.environ:
    # Threads of GNU OpenMP spin for milliseconds at every barrier. Where something else wants a core (a browser, the
    # app's own server) that costs six times the run time; a short spin costs nothing even on a quiet machine.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

kernel = njit(cache=True, nogil=True, error_model="numpy")
parallel_kernel = njit(cache=True, nogil=True, error_model="numpy", parallel=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with a single thread for matrix products.

    BLAS and numba each keep threads that spin for a while when their work is done: where both are used in turn, they
    take the cores from each other, and a pass takes half as long again as with one of them alone.
    """
    with _blas().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def threads(n_threads: int | None) -> Iterator[int]:
    """Run the block with ``n_threads`` numba threads (None: all); the setting is per Python thread.

    Raises ValueError if ``n_threads`` is not a positive integer; more than the machine has is capped.
    """
    if n_threads is not None and (not isinstance(n_threads, Integral) or n_threads < 1):
        raise ValueError(f"n_threads must be a positive integer or None, not {n_threads!r}.")
    available: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    before = numba.get_num_threads()
    count = available if n_threads is None else min(int(n_threads), available)
    numba.set_num_threads(count)
    try:
        yield count
    finally:
        numba.set_num_threads(before)
