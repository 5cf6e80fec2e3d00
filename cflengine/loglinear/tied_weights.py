"""How many different weights does a model need? Tie them into k clusters, fit the k values again, and see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.loglinear.model.losses import ScoreModel
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.clustered import Clusters
from cflengine.loglinear.solvers.clusters import explained_variance, optimal_clusters
from cflengine.loglinear.solvers.lbfgs import lbfgs

_SETTLED = 1e-5  # relative decrease of the objective over _WINDOW steps at which a refit ends
_WINDOW, _MOST_STEPS = 5, 500


@dataclass(frozen=True)
class TiedFit:
    """A model of k different weights.

    Parameters
    ----------
    k : int
        How many.
    w : ndarray
        float64 (d,), after the refit.
    objective : float
        f(w).
    explained : float
        Share of the variance of the untied weights that the clusters account for.
    quality : float
        What ``judge`` says of w.
    """

    k: int
    w: np.ndarray = field(repr=False)
    objective: float
    explained: float
    quality: float


def parsimony(
    model: ScoreModel,
    ridge: float,
    w: np.ndarray,
    numbers: Sequence[int],
    judge: Callable[[np.ndarray], float],
    *,
    n_tied: int | None = None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Iterator[TiedFit]:
    """Tie weights into k clusters by optimal k-means, for every k; refit; judge.

    Parameters
    ----------
    model : ScoreModel
        The training data.
    ridge : float
        c₂.
    w : float64 ndarray (d,)
        Weights of a fit.
    numbers : sequence of int
        The k.
    judge : callable
        From weights to accuracy or F1.
    n_tied : int, optional
        Only the first so many weights are tied; the others stay free. By default all.
    may_go_on : callable
        Asked between fits; False ends early.

    Returns
    -------
    iterator of TiedFit
        One a k.

    Raises
    ------
    InputError
        For a k below 1.
    """
    if not numbers or min(numbers) < 1:
        raise InputError(f"numbers of clusters must be at least 1, not {list(numbers)!r}.")
    n_tied = len(w) if n_tied is None else n_tied
    ties = optimal_clusters(w[:n_tied], sorted(set(numbers)))
    objective = Objective(model, ridge)
    for k, tied in ties.items():
        if not may_go_on():
            return
        n_clusters = int(tied.max()) + 1
        cluster_of = np.concatenate([tied, n_clusters + np.arange(len(w) - n_tied)])
        found = Clusters(cluster_of, n_clusters + len(w) - n_tied)
        coarse = objective.restricted(found.cluster_of, found.n_clusters, base=None, merge=False)
        point = _settled(coarse, coarse.at(found.average(w)))
        lifted = found.lift(point.w)
        yield TiedFit(k, lifted, point.value, explained_variance(w[:n_tied], tied), judge(lifted))


def _settled(objective: Objective, point: Point) -> Point:
    values, steps = [point.value], lbfgs(objective, point)
    for _ in range(_MOST_STEPS):
        point = next(steps, point)
        values.append(point.value)
        if len(values) > _WINDOW and values[-1 - _WINDOW] - values[-1] < _SETTLED * abs(values[-1]):
            break
    return point
