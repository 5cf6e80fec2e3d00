"""The paper's scheme (Figure 4): fine steps, cluster the weights, coarse steps, lift them; then fine to the end.

Examples
--------
Documents 1 and −1 of either class; 2 log(1 + exp(−w)) + ridge/2 w² has its least value at w = 1 where
ridge = 2/(1 + e).

>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.model.losses import BinaryModel
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import ClusteredSettings
>>> model = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0]))
>>> result = solve(model, 2.0 / (1.0 + np.e), "clustered", ClusteredSettings(tol=1e-12))
>>> round(float(result.w[0]), 6), result.gap <= 1e-12
(1.0, True)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cflengine.loglinear.model.losses import collected
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.clusters import METHODS
from cflengine.loglinear.solvers.lbfgs import lbfgs
from cflengine.loglinear.solvers.settings import ClusteredSettings


@dataclass(frozen=True)
class Clusters:
    """Which weights move together. cluster_of: int64 (d,); base: float64 (d,), what they add to, or None for 0."""

    cluster_of: np.ndarray = field(repr=False)
    n_clusters: int
    base: np.ndarray | None = field(default=None, repr=False)

    def lift(self, delta: np.ndarray) -> np.ndarray:
        """base + Pδ: the paper's projectUp."""
        replicated = delta[self.cluster_of]
        return replicated if self.base is None else self.base + replicated

    def average(self, w: np.ndarray) -> np.ndarray:
        """The mean weight of every cluster: the paper's projectDown."""
        return collected(w, self.cluster_of, self.n_clusters) / np.bincount(self.cluster_of, minlength=self.n_clusters)


@dataclass(frozen=True)
class Step:
    """Where a solver stands after an iteration.

    Parameters
    ----------
    stage : str
        "fine", "coarse", "lifted", or the solver at work.
    point : Point
        Of a coarse iteration in the space of its clusters.
    clusters : Clusters or None, default: None
        Of a coarse iteration.
    """

    stage: str
    point: Point
    clusters: Clusters | None = None

    def weights(self) -> np.ndarray:
        """All weights, float64 (d,)."""
        return self.point.w if self.clusters is None else self.clusters.lift(self.point.w)


#: The points after a point, by one method or another.
Method = Callable[[Objective, Point, ClusteredSettings], Iterator[Point]]


def _lbfgs(objective: Objective, point: Point, settings: ClusteredSettings) -> Iterator[Point]:
    return lbfgs(objective, point, memory=settings.memory, curvature=settings.curvature, scaled=settings.scaled)


def clustered(
    objective: Objective, point: Point, settings: ClusteredSettings, n_tied: int, method: Method = _lbfgs
) -> Iterator[Step]:
    """The steps after a point.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    point : Point
        Where to begin.
    settings : ClusteredSettings
        The method's.
    n_tied : int
        Only so many weights, the first, are ever clustered (a chain's emissions).
    method : callable
        Of the fine and the coarse steps; by default L-BFGS.

    Returns
    -------
    iterator of Step
        Without end; the caller stops.
    """
    generator = np.random.default_rng(settings.random_state)
    recent: deque[np.ndarray] = deque([point.w], maxlen=settings.window)
    for _ in range(settings.rounds):
        fine = method(objective, point, settings)
        for _, point in zip(range(settings.fine_iter), fine, strict=False):
            recent.append(point.w)
            yield Step("fine", point)
        del fine  # and what it remembers
        found = _clusters(point, recent, settings, n_tied, generator)
        if found is None:
            continue
        coarse = None
        for coarse in _coarse(objective, point, found, settings, method):
            yield Step("coarse", coarse, found)
        if coarse is not None:
            # the scores are those of the lifted weights already: only the gradient is new
            point = objective.completed(found.lift(coarse.w), coarse.scores, coarse.loss, coarse.derivative, 0)
            yield Step("lifted", point)
    for last in method(objective, point, settings):
        yield Step("fine", last)


def _clusters(
    point: Point, recent: deque[np.ndarray], settings: ClusteredSettings, n_tied: int, generator: np.random.Generator
) -> Clusters | None:
    chosen = settings.clustering
    clustering = METHODS[chosen] if isinstance(chosen, str) else chosen
    cluster_of = clustering([one[:n_tied] for one in recent], settings.cluster_factor, generator)
    if cluster_of is None:
        return None
    n_clusters = int(cluster_of.max()) + 1 if n_tied else 0
    alone = len(point.w) - n_tied
    cluster_of = np.concatenate([cluster_of, n_clusters + np.arange(alone)])
    return Clusters(cluster_of, n_clusters + alone, point.w if settings.lift == "increment" else None)


def _coarse(
    objective: Objective, point: Point, found: Clusters, settings: ClusteredSettings, method: Method
) -> Iterator[Point]:
    """Coarse steps until the last ``window`` objectives differ by too little."""
    base = None if found.base is None else point
    there = objective.restricted(found.cluster_of, found.n_clusters, base=base, merge=settings.merge)
    start = there.at(found.average(point.w) if found.base is None else np.zeros(found.n_clusters))
    values = deque([start.value], maxlen=settings.window)
    for here in method(there, start, settings):
        yield here
        values.append(here.value)
        if len(values) == settings.window and max(values) - min(values) < settings.coarse_tol * min(values):
            return
