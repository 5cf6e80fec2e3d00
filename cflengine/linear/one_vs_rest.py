"""Several classes by one problem for each: a class against the rest, under one budget of time.

A fit is one thing to its user: its time limit is for all classes together, and each gets an equal share of what is
left, less what a row takes beside its steps, so that the last has about as much as the first. What a stop leaves
without a fit must not win by saying nothing; the solvers' starting points, weights of 0 and the best bias, say how
frequent a class is.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from cflengine.engine.estimators import outside
from cflengine.engine.gaps import open_gap
from cflengine.engine.progress import IterationStats, Listener, Progress, TerminationReason
from cflengine.engine.results import Result
from cflengine.engine.settings import Limits

_LOADED: set[type] = set()  # settings of solvers that have run in this process, as they do when it warms up
_LEAST_SHARE = 0.25  # of an equal share: what every row gets, though others took longer than they should


def class_signs(y: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """Labels as −1 and 1: one vector for class 1 of two, else one for each class.

    Parameters
    ----------
    y : int ndarray (n,)
        Classes, 0 to n_classes − 1.
    n_classes : int
        How many classes there are.

    Returns
    -------
    list of float64 ndarray (n,)
        A vector for each problem.
    """
    rows = [1] if n_classes == 2 else range(n_classes)
    return [np.where(y == k, 1.0, -1.0) for k in rows]


def solve_rows(
    solves: Sequence[Callable[[Any, tuple[Listener, ...]], Any]],
    settings: Limits,
    listeners: Iterable[Listener] = (),
    *,
    n_workers: int = 1,
) -> tuple[Any, ...]:
    """A result for each row. solves: take settings and listeners; settings: their time limit is for all rows.

    n_workers: rows solved side by side, in threads, each with its share of the cores. Results do not depend on
    it; listeners are called by one thread at a time. After a stop the rows that are left answer with where they start,
    certified.
    """
    heard, began = _InTurn(Progress(listeners, recording=False)), time.perf_counter()
    if settings.time_limit is not None and len(solves) > 1 and type(settings) not in _LOADED:
        _load_kernels(solves[0], settings)
    beyond: list[float] = []  # what rows that ran into their limits took beside: to begin, and to prove

    def one(k: int) -> Any:
        if settings.time_limit is None:
            return solves[k](settings, (heard,))
        row_began = time.perf_counter()
        rounds, left = -(-(len(solves) - k) // n_workers), settings.time_limit - (row_began - began)
        least = _LEAST_SHARE * settings.time_limit * n_workers / len(solves)
        share = max(left / rounds - (sum(beyond) / len(beyond) if beyond else 0.0), least)
        result = solves[k](replace(settings, time_limit=share), (heard,))
        if result.reason is TerminationReason.TIME_LIMIT:
            beyond.append(max(0.0, time.perf_counter() - row_began - share))
        return result

    if n_workers == 1 or len(solves) == 1:
        results = [one(k) for k in range(len(solves))]
    else:
        from cflengine.engine.jit import threads  # with it comes the compiler, which a check does without

        def with_its_share(k: int) -> Any:
            with threads(max(1, n_workers // len(solves))):
                return one(k)

        with ThreadPoolExecutor(min(n_workers, len(solves))) as pool:
            try:
                results = list(pool.map(with_its_share, range(len(solves))))
            except BaseException:  # also Ctrl-C: the others are not worth waiting for
                heard.stopped = True
                raise
    _LOADED.add(type(settings))
    asked = {"time_limit": settings.time_limit}
    return tuple(replace(result, settings=dict(result.settings) | asked) for result in results)


def _load_kernels(solve: Callable[[Any, tuple[Listener, ...]], Any], settings: Limits) -> None:
    """A first step, not reported, once a process and solver: kernels are loaded or compiled when they are first called,
    and that must not be taken from the first row's share alone."""
    if hasattr(settings, "max_iter"):
        one_step: dict[str, Any] = {"max_iter": 1}
        solve(replace(settings, **one_step), ())


class _InTurn:
    """A listener that several threads may call."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.lock, self.stopped = progress, threading.Lock(), False

    def __call__(self, stats: IterationStats) -> bool:
        with self.lock:
            return not self.stopped and bool(self.progress(stats))

    def poll(self) -> bool:
        """Whether to go on."""
        with self.lock:
            return not self.stopped and self.progress.poll()

    @property
    def why(self) -> TerminationReason | None:
        """Why not."""
        return self.progress.reason


def warn_unless_converged(results: Iterable[Result]) -> None:
    """scikit-learn's ConvergenceWarning, once, if a row ended before its rule was met."""
    from sklearn.exceptions import ConvergenceWarning

    results = list(results)
    early = [result for result in results if result.reason is not TerminationReason.CONVERGED]
    if not early:
        # a bound of 0 is said by the gap itself, which is infinite
        wide = [one.gap for one in results if (one.settings.get("tol") or math.inf) < one.gap < math.inf]
        if wide:
            warnings.warn(
                f"the optimum is too near 0 for rounding to prove more than a gap of {max(wide):.2g}: scale the data, "
                "or accept it.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
    if early:
        worst = max((result.gap for result in early), key=open_gap)
        own = early[0].reason in (TerminationReason.AT_REST, TerminationReason.NUMERICAL_ERROR)
        cure = "scale the data" if own else "raise the limit"
        gap = f"a proved gap of {worst:.2g}"
        if not all(result.is_proved for result in early):
            gap, cure = "weights that fail a constraint, so that nothing is proved", f"loosen the constraints, {cure}"
        warnings.warn(
            f"the fit ended by {early[0].reason!s} with {gap}: {cure}, or accept it.",
            ConvergenceWarning,
            stacklevel=outside(),
        )
