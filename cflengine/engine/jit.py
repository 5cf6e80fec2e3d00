"""The numba decorators of the package; a test rejects any other use of ``njit``.

- ``cache=True``: later processes load machine code from disk (see :mod:`cflengine.engine.cache`);
- ``nogil=True``: a solver in a worker thread never freezes the user interface, and threads run kernels side by side;
- ``error_model="numpy"``: a division by zero gives inf or nan as in numpy, not an exception in a kernel;
- no ``fastmath``: it removes the very checks for NaN, and the order of sums, that certificates rest on. A
  :data:`loose_kernel` may add in another order, so that the processor adds several numbers at once: for sums that no
  certificate rests on.

A number written out in a kernel's call of another, ``f(x, 0)``, compiles the other once more, for that number alone;
``f(x, np.int64(0))`` does not.

Kernels take arrays, scalars and NamedTuples of them, allocate no large arrays in their loops, and run a bounded chunk
so that Python can stop them. Sums over blocks are written per block and combined in order, so that the
same input gives the same bytes with one thread or many.

A parallel kernel has an argument ``chunk``, (first, last + 1) of the blocks, rows or groups that it goes over, and
returns nothing. A call is divided into as many ranges of them as there are threads (thread_pool.py): so it must not
matter which of them come first, and none may write where another does.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any

import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from cflengine.engine.checks import InputError
from cflengine.engine.thread_pool import ThreadPool

kernel = njit(cache=True, nogil=True, error_model="numpy")
loose_kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
_pool = ThreadPool()


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def prefetch(array: Any, index: Any) -> None:
        """See below."""

    def fused(a: float, b: float, c: float) -> float:
        """See below."""
        return a * b + c

    def times_power(p: float, k: float) -> float:
        """See below."""
        return math.ldexp(p, int(k) - 3 * (1 << 51))

else:

    @intrinsic
    def prefetch(context, array, index):
        """Within a kernel: ask for an entry of an array, which is wanted soon, without waiting for it.

        index: a whole number, or a tuple of as many as the array has dimensions, none of them negative.
        """

        def generate(context, builder, signature, arguments):
            kind, at = signature.args
            own = context.make_array(kind)(context, builder, arguments[0])
            parts = cgutils.unpack_tuple(builder, arguments[1]) if isinstance(at, types.BaseTuple) else [arguments[1]]
            kinds = list(at) if isinstance(at, types.BaseTuple) else [at]
            places = [context.cast(builder, *one, types.intp) for one in zip(parts, kinds, strict=True)]
            place = cgutils.get_item_pointer(context, builder, kind, own, places, wraparound=False)
            word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
            ask = builder.module.declare_intrinsic(
                "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            )
            # to read, to be kept in all caches, data
            builder.call(ask, [builder.bitcast(place, byte), word(0), word(3), word(1)])
            return context.get_dummy_value()

        return types.void(array, index), generate

    @intrinsic
    def fused(context, a, b, c):
        """Within a kernel: a b + c, rounded once: an instruction that LLVM may not make of the two by itself, since
        sums elsewhere mean the same on every processor."""

        def generate(context, builder, signature, arguments):
            return builder.fma(*arguments)

        return types.float64(types.float64, types.float64, types.float64), generate

    @intrinsic
    def times_power(context, p, k):
        """Within a kernel: p 2^k, as long as that is a number with all its digits; k: as float64, and 1.5 · 2^52 added
        to it, so that its low bits hold it: they are added to the exponent's."""

        def generate(context, builder, signature, arguments):
            word = ir.IntType(64)
            bits, power = (builder.bitcast(one, word) for one in arguments)
            return builder.bitcast(builder.add(bits, builder.shl(power, word(52))), ir.DoubleType())

        return types.float64(types.float64, types.float64), generate


class _Setting(threading.local):
    """How many threads a parallel kernel may use that is called in this one."""

    count: int = 1 if numba.config.DISABLE_JIT else numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


_setting = _Setting()


def thread_count() -> int:
    """How many threads a parallel kernel may use that is called here: see :func:`threads`."""
    return _setting.count


class ParallelKernel:
    """A kernel whose ``chunk`` is divided among threads; everything else is the dispatcher's.

    least: how many members of a chunk are worth a thread: waking one takes as long as some 70 microseconds of work.
    """

    def __init__(self, function: Callable[..., Any], least: int = 1) -> None:
        functools.update_wrapper(self, function)
        self.dispatcher, self.least = kernel(function), least
        self.place = list(inspect.signature(function).parameters).index("chunk")

    def __call__(self, *arguments: Any) -> None:
        first, last = arguments[self.place]
        parts = min(_setting.count, (last - first) // self.least)
        before, after = arguments[: self.place], arguments[self.place + 1 :]
        if parts < 2:
            self.dispatcher(*before, (first, last), *after)
            return
        ends = [first + (last - first) * part // parts for part in range(parts + 1)]
        _pool.run([functools.partial(self.dispatcher, *before, part, *after) for part in itertools.pairwise(ends)])

    def __getattr__(self, name: str) -> Any:
        if name == "dispatcher":  # not there yet: an instance that is being copied
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def parallel_kernel(least: int = 1) -> Callable[[Callable[..., Any]], ParallelKernel]:
    """Decorate a kernel with an argument ``chunk``.

    Parameters
    ----------
    least : int
        How many members of a chunk are worth a thread (see :class:`ParallelKernel`).

    Returns
    -------
    callable
        From the function to its kernel.
    """
    return functools.partial(ParallelKernel, least=least)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the block with a single thread for matrix products.

    Kernels have threads that call BLAS, which keeps threads of its own: these spin for a while when their work is done,
    and take the cores from the kernels.
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
    """Run the block with kernels that use so many threads; the setting is the calling thread's own.

    Parameters
    ----------
    n_threads : int or None
        None for all, or for one where a pass goes over no more than a few ``entries``; more than the machine has is
        capped.
    entries : int, optional
        Of a pass; by default unknown, many.

    Returns
    -------
    context manager
        Of the number of threads.

    Raises
    ------
    InputError
        If ``n_threads`` is not a positive integer.
    """
    if n_threads is not None and (not isinstance(n_threads, Integral) or n_threads < 1):
        raise InputError(f"n_threads must be a positive integer or None, not {n_threads!r}.")
    available: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    before = _setting.count
    if n_threads is None:
        count = available if entries is None or entries >= FEW_ENTRIES else 1
    else:
        count = min(int(n_threads), available)
    _setting.count = count
    try:
        yield count
    finally:
        _setting.count = before
