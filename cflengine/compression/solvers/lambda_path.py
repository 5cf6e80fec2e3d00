"""The λ-path: problem (1) for a sequence of pointer costs, each solved from its neighbours (Figure 2 of the paper).

Upwards, from the lowest λ: the relaxation and the dictionary of one λ start the next (guided/solver.py). Then
downwards: the solution of each λ is tried at the one below, searched there and combined with what was found on the way
up, and its dual prices are tried as a bound. Every point is certified by itself.

Examples
--------
"a b a b" at K = 2 (model/problem.py). With single words it costs 2 + 4λ, with "a b" 2 + 2λ, which is
less at every λ > 0; both points are proved to be optimal.

>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> path = solve_path(index, [0.1, 1.0], GuidedSettings(tol=0.0))
>>> [(point.lam, round(point.result.objective, 9), point.result.gap < 1e-6) for point in path]
[(0.1, 2.2, True), (1.0, 4.0, True)]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import pandas as pd

from cflengine.compression.model.certificate import certify
from cflengine.compression.model.problem import StorageCosts, check_lam, storage_costs
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import GuidedSolver
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Listener, Progress, TerminationReason
from cflengine.text.kgrams import KGramIndex


@dataclass(frozen=True)
class PathPoint:
    """One λ of a path.

    Parameters
    ----------
    lam : float
        λ.
    result : CompressionResult
        Its dual prices in float32, where these prove as much.
    pointers_by_length : ndarray
        int64 (K,), pointers of each length.
    seconds : float
        Spent on it.
    """

    lam: float
    result: CompressionResult
    pointers_by_length: np.ndarray
    seconds: float

    @property
    def shares(self) -> np.ndarray:
        """float64 (K,): the share of pointers of each length."""
        total = self.pointers_by_length.sum()
        return self.pointers_by_length / total if total else np.zeros(len(self.pointers_by_length))

    @property
    def mean_length(self) -> float:
        """Words of a pointer, on average; words that several cover count for each."""
        lengths = np.arange(1, len(self.pointers_by_length) + 1)
        return float(self.pointers_by_length @ lengths / max(1, self.pointers_by_length.sum()))


def pointers_by_length(cover: np.ndarray, max_gram: int) -> np.ndarray:
    """How many of the pointers have 1 .. K words.

    Parameters
    ----------
    cover : unsigned ndarray (n,)
        The pointers.
    max_gram : int
        K.

    Returns
    -------
    int64 ndarray (K,)
        The counts.
    """
    return np.array([np.count_nonzero(cover >> k & 1) for k in range(max_gram)], dtype=np.int64)


class CompressionPath(Sequence[PathPoint]):
    """The points of a λ-path, by rising λ.

    Parameters
    ----------
    points : Iterable[PathPoint]
        One a λ, in any order.
    """

    def __init__(self, points: Iterable[PathPoint]) -> None:
        self.points = tuple(sorted(points, key=lambda point: point.lam))

    @overload
    def __getitem__(self, i: int) -> PathPoint: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[PathPoint, ...]: ...
    def __getitem__(self, i: int | slice) -> PathPoint | tuple[PathPoint, ...]:
        return self.points[i]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    def nearest(self, lam: float) -> PathPoint:
        """The point at ``lam``, else the one whose λ is nearest in ratio; 0 is near to what is nearer to it than to
        any other λ. ValueError for what is no λ: below 0, NaN, above 1,000,000."""
        nearest = nearest_lam([point.lam for point in self.points], lam)
        return next(point for point in self.points if point.lam == nearest)

    def frame(self) -> pd.DataFrame:
        """A row a λ: objective, lower_bound, gap, dictionary_size, n_pointers, share_1 .. share_K, seconds, reason."""
        rows = []
        for point in self.points:
            result = point.result
            row: dict[str, float | int | str] = {
                "lam": point.lam,
                "objective": result.objective,
                "lower_bound": result.lower_bound,
                "gap": result.gap,
                "dictionary_size": result.dictionary_size,
                "n_pointers": result.n_pointers,
            }
            row |= {f"share_{k}": float(share) for k, share in enumerate(point.shares, start=1)}
            rows.append(row | {"seconds": point.seconds, "reason": str(result.reason)})
        return pd.DataFrame(rows)


def nearest_lam(lams: Sequence[float], lam: float) -> float:
    """The λ of a path that is the wanted one, else the nearest in ratio; 0 is near to what is nearer to it than to any
    other.

    Parameters
    ----------
    lams : sequence of float
        They rise.
    lam : float
        The wanted one.

    Returns
    -------
    float
        One of ``lams``.

    Raises
    ------
    ValueError
        For what is no λ.
    """
    positive = [other for other in lams if other > 0]
    if check_lam(lam) == 0 or not positive or (lams[0] == 0 and lam < positive[0] / 2):
        return lams[0]
    return min(positive, key=lambda other: (other != lam, abs(np.log(other / lam))))


def path_lams(first: float, last: float, count: int) -> list[float]:
    """λ that are evenly spaced in ratio.

    Parameters
    ----------
    first : float
        The least, above 0.
    last : float
        The largest.
    count : int
        How many, at least 1.

    Returns
    -------
    list of float
        They rise.

    Raises
    ------
    InputError
        For λ ≤ 0 or ``count`` < 1.
    """
    if not 0 < first <= last or count < 1:
        raise InputError("a path goes from a λ above 0 to one that is not smaller, in at least one step.")
    lams = np.geomspace(check_lam(first), check_lam(last), count).tolist()
    return [float(f"{lam:.12g}") for lam in lams]


def solve_path(
    index: KGramIndex,
    lams: Iterable[float],
    settings: GuidedSettings | Sequence[GuidedSettings] | None = None,
    *,
    costs_at: Callable[[float], StorageCosts] | None = None,
    listeners: Sequence[Listener] = (),
    n_threads: int | None = None,
    solver: GuidedSolver | None = None,
    known: Iterable[PathPoint] = (),
) -> CompressionPath:
    """Solve for every λ; a listener that says stop ends the path, and what is there is returned.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    lams : iterable of float
        The λ.
    settings : GuidedSettings or sequence of them, optional
        With the first of several every λ is solved; each further one solves again where the gap is above its own
        ``tol``. Brief ones first give every λ a point soon. By default the usual ones.
    costs_at : callable, optional
        From λ to costs; by default the paper's.
    listeners : sequence of callables
        Told of every event; one that says False stops.
    n_threads : int, optional
        By default all cores.
    solver : GuidedSolver, optional
        One that is warm already, and is left warm at the lowest λ.
    known : iterable of PathPoint
        Points that are there already, which the others start from; one good enough for ``settings`` is not solved
        again.

    Returns
    -------
    CompressionPath
        A point a λ.

    Raises
    ------
    InputError
        For no λ at all.
    ValueError
        For one out of range.
    """
    order = sorted({check_lam(lam) for lam in lams})
    if not order:
        raise InputError("a path needs at least one λ.")
    lengths = index.lengths()
    price = costs_at or (lambda lam: storage_costs(index.gram_of, lengths, lam))
    solver = solver or GuidedSolver(index, n_threads=n_threads)
    path = _Path(solver, price, listeners)
    path.points = {point.lam: point for point in known if point.lam in order}
    several = settings if isinstance(settings, Sequence) else [settings or PATH_SETTINGS]
    for each in several:
        path.upwards(order, each)
        path.downwards(order, each)
    return CompressionPath(path.points.values())


# many λ, each near a solved one: short annealings do nearly as well as long ones, and the bounds are good enough as
# they are; a session solves any λ further from here (session.py)
PATH_SETTINGS = GuidedSettings(
    tol=2e-3,
    relaxation_gap=5e-4,
    early=False,
    annealings=1,
    epsilon=1.0,
    anneal_rounds=3,
    anneal_steps=15,
    patience=1,
    least_gain=5e-5,
    tighten=False,
)


class _Path:
    """Both sweeps."""

    def __init__(
        self,
        solver: GuidedSolver,
        price: Callable[[float], StorageCosts],
        listeners: Sequence[Listener],
    ) -> None:
        self.solver, self.price, self.listeners = solver, price, listeners
        self.points: dict[float, PathPoint] = {}
        self.stopped = False

    def upwards(self, order: list[float], settings: GuidedSettings) -> None:
        """Each λ from the one below."""
        for lam in order:
            if self.stopped:
                return
            before = self.points.get(lam)
            if before is None or not before.result.gap <= settings.tol:
                self._solve(lam, settings)

    def downwards(self, order: list[float], settings: GuidedSettings) -> None:
        """Each λ again, from the one above, if that helps."""
        brief = settings.search_only()
        for lam, above in zip(order[-2::-1], order[:0:-1], strict=True):
            if self.stopped:
                return
            if not self.points[lam].result.gap <= settings.tol:
                self._solve(lam, brief, above)

    def _slim(self, result: CompressionResult, lam: float, tol: float) -> CompressionResult:
        """With prices in float32, and certified by these: what is kept proves what is said. As it is where that would
        not do."""
        if result.branchings:
            return result
        alpha, gram_of = result.alpha.astype(np.float32), self.solver.index.gram_of
        proof = certify(result.cover, alpha, gram_of, self.price(lam))
        if result.gap <= tol < proof.gap:
            return result
        return replace(result, alpha=alpha, certificate=proof, lower_bound=proof.lower_bound, gap=proof.gap)

    def _solve(self, lam: float, settings: GuidedSettings, above: float | None = None) -> None:
        began = time.perf_counter()
        before = self.points.get(lam)
        known = [
            (self.points[there].result.cover, self.points[there].result.alpha)
            for there in (lam, above)
            if there in self.points
        ]
        result = self.solver.solve(self.price(lam), settings, listeners=self.listeners, lam=lam, known=known)
        ended = (TerminationReason.INTERRUPTED, TerminationReason.NUMERICAL_ERROR)
        # a listener may name another reason: then it says stop before the next point, too
        self.stopped = result.reason in ended or not Progress(self.listeners, recording=False).poll()
        seconds = time.perf_counter() - began + (before.seconds if before else 0.0)
        if before is not None and before.result.gap <= result.gap:
            self.points[lam] = replace(before, seconds=seconds)
            return
        slim = self._slim(result, lam, settings.tol)
        counts = pointers_by_length(result.cover, self.solver.index.max_gram)
        self.points[lam] = PathPoint(lam, slim, counts, seconds)
