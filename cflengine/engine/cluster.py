"""A Dask cluster: connecting to one, and whether its workers can do this package's work.

``pip install "cflengine[cluster]"``; nothing else needs it.
"""

from __future__ import annotations

import logging
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from cflengine._version import __version__
from cflengine.engine.checks import InputError, MissingPackageError

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

LOCAL = "local"
# of a Dask LocalCluster; its page of statistics cannot be left out: on a port of this machine alone
_LOCAL_OPTIONS = {"dashboard_address": "127.0.0.1:0", "memory_limit": 0, "silence_logs": 50}
CONNECT_S = 10.0
# A killed worker that is not back in time is given up for good: Dask's 15 s are soon over on a busy machine. A
# client that asks a killed worker tries again until the connection has timed out: on one machine not for 30 s.
_LOST_WORKER = {
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    "distributed.comm.timeouts.connect": f"{CONNECT_S:.0f}s",
}
WORKERS_S = 30.0
_AGAIN_S = 0.05
_MISSING = 'a cluster needs Dask: pip install "cflengine[cluster]".'
_LOGGERS = ("distributed", "distributed.client")  # the second has a level of its own
LOST = 5  # workers, one after the other, at the same work: then it is not the workers
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:\d+(/\S*)?")


class ClusterLostError(InputError):
    """The scheduler, or every worker, is gone in the middle of the work."""


def check_address(address: Any) -> None:
    """Raises InputError for what is neither "local" nor the form of a scheduler's address."""
    if not isinstance(address, str) or not (address == LOCAL or _ADDRESS.fullmatch(address)):
        raise InputError(f"cluster must be 'local' or an address such as tcp://HOST:8786, not {address!r}.")


def version() -> str:
    """Of this package; asked on workers."""
    return __version__


def threads_here() -> int | None:
    """Threads of the worker that this is called on; None where it is none."""
    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return None


def submit(client: Client, function: Callable[..., Any], *arguments: Any, workers: list[str] | None = None) -> Future:
    """A call on a worker, on one of ``workers`` where they are named, that is not made twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that arguments are large: they are what there is to send
        return client.submit(function, *arguments, workers=workers, pure=False, retries=0)


def lost_error(what: str) -> InputError:
    """What is said when the workers at the same work were lost LOST times."""
    return ClusterLostError(f"{what} was lost with {LOST} workers, one after the other: have they memory enough?")


def check_workers(client: Client) -> None:
    """Raises InputError where there are no workers, or where one, or the scheduler, does not have this version of the
    package."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except TimeoutError:
        raise InputError(f"the cluster has no workers, nor did one come within {WORKERS_S:.0f} s.") from None
    for address, found in _versions(client).items():
        _refuse_other(f"worker {address}", found)
    _refuse_other("the scheduler", _scheduler_version(client))


def _scheduler_version(client: Client) -> str:
    """Of the scheduler, which reads the work it hands on. Raises InputError where it does not have this package."""
    try:
        return str(client.run_on_scheduler(version))
    except (ImportError, AttributeError) as error:
        raise _cannot_run("the scheduler", error) from error


def usable_workers(client: Client) -> list[str]:
    """Addresses, in order, of the workers that have this version of the package, which those that come later need not;
    waits for one where all are gone. Raises ClusterLostError where none comes, InputError where all have another."""
    latest = time.monotonic() + WORKERS_S
    while not (versions := _versions(client)):  # those that the scheduler still lists may be lost already
        if (left := latest - time.monotonic()) <= 0:
            raise ClusterLostError("the cluster has lost all of its workers.")
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=left)
        time.sleep(_AGAIN_S)
    usable = sorted(address for address, found in versions.items() if found == __version__)
    if not usable:
        address, found = next(iter(versions.items()))
        _refuse_other(f"worker {address}", found)
    return usable


def _versions(client: Client) -> dict[str, str]:
    """By worker; those that are lost meanwhile are left out. Raises InputError where one cannot say."""
    found = client.run(version, on_error="return")
    wrong = next((one for one in found.values() if isinstance(one, Exception) and not isinstance(one, OSError)), None)
    if wrong is not None:
        raise _cannot_run("the workers", wrong) from wrong
    return {address: answer for address, answer in found.items() if isinstance(answer, str)}


def _cannot_run(who: str, error: Exception) -> InputError:
    said = f"{type(error).__name__}: {error}"
    return InputError(f"{who} cannot run cflengine {__version__}: install it there, too ({said}).")


def _refuse_other(who: str, found: str) -> None:
    if found != __version__:
        raise InputError(f"{who} has cflengine {found}, but this is {__version__}: they must be the same.")


@contextmanager
def local_cluster(n_workers: int | None = None, threads_per_worker: int = 1) -> Iterator[LocalCluster]:
    """Workers on this machine that come back when they are killed.

    Parameters
    ----------
    n_workers : int, optional
        By default one a core.
    threads_per_worker : int
        Of each.

    Returns
    -------
    context manager
        Of a dask LocalCluster.

    Raises
    ------
    MissingPackageError
        Without Dask.
    """
    try:
        import dask
        from distributed import LocalCluster
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    with dask.config.set(_LOST_WORKER):
        with _interrupts_kept():
            cluster = LocalCluster(n_workers=n_workers, threads_per_worker=threads_per_worker, **_LOCAL_OPTIONS)
        with cluster:
            yield cluster


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep Ctrl-C from the processes that are started within, by the threads that are made within: a terminal sends it
    to all of them, and workers that end by it have no answer left. This process gets it after the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which lets signals through again when it begins
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at ``address``, or of a cluster of this machine's cores for "local".

    Raises MissingPackageError without Dask, InputError for what is no address and where no scheduler answers,
    ClusterLostError where it is gone in the middle.
    """
    check_address(address)
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    if address == LOCAL:
        with local_cluster() as cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({type(error).__name__}).") from error
    with _quiet_dask(), client:
        try:
            yield client
        except InputError:
            raise
        except Exception as error:
            if client.status == "running":
                raise
            raise ClusterLostError(f"the Dask scheduler at {address} is gone.") from error


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """What is lost is said by this package, in a sentence; Dask logs a traceback beside it."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
