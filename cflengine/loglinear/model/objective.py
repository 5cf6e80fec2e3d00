"""f(w) = loss(scores(w)) + ridge/2 ‖w‖², where it stands, and along a line.

Scores are linear in w, so along a line w + t p they are scores + t·(scores of p): a line search costs no pass over the
data beyond the one for p. So every iteration of L-BFGS on logistic regression costs one pass, half of it for the scores
of p and half for the gradient at its end, however long it searches between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cflengine.loglinear.model.losses import ScoreModel, TiedModel, collected

_REFRESH = 50  # moves after which scores are computed afresh: rounding adds up
_MERGING = 3.0  # passes that pre-aggregation is charged with


@dataclass
class Work:
    """Passes over the data so far, shared by the objectives of one solve."""

    passes: float = 0.0


@dataclass(frozen=True)
class Point:
    """A place, and all that is known of f there.

    Parameters
    ----------
    w : ndarray
        The weights.
    scores : ndarray
        Theirs.
    derivative : ndarray
        Of the loss, by the scores.
    gathered : ndarray
        The loss's derivative by the weights; may be empty where ``bound`` is there.
    gradient : ndarray
        Of f; may be empty where ``bound`` is there.
    value : float
        f.
    loss : float
        Without the regulariser.
    entropy : float
        loss − derivativeᵀscores. Since every loss here is minus a log-likelihood, this is the entropy of the model's
        own predictions, and the dual value of its expected counts (certificate.py).
    bound : float or None, default: None
        Proved on min f by a solver that has a dual point of its own; else None.
    alpha : ndarray or None, default: None
        That point.
    age : int, default: 0
        Moves since scores were fresh.
    """

    w: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    derivative: np.ndarray = field(repr=False)
    gathered: np.ndarray = field(repr=False)
    gradient: np.ndarray = field(repr=False)
    value: float
    loss: float
    entropy: float
    bound: float | None = None
    alpha: np.ndarray | None = field(default=None, repr=False)
    age: int = 0


@dataclass(frozen=True)
class Objective:
    """f(δ) = loss(scores(base + Pδ)) + ridge/2 ‖base + Pδ‖².

    In the space of all weights P is the identity and base 0.

    Parameters
    ----------
    model : ScoreModel
        The loss; in the space of clusters it is tied or merged.
    ridge : float
        The regularisation parameter, ≥ 0.
    work : Work, optional
        Passes so far.
    base_scores : ndarray or None, default: None
        Scores of the weights that δ starts from; None for base 0.
    base_square : float, default: 0.0
        ‖base‖².
    base_sums : ndarray or None, default: None
        Pᵀ base.
    count : ndarray or None, default: None
        float64, the members of each cluster.
    """

    model: ScoreModel
    ridge: float
    work: Work = field(default_factory=Work)
    base_scores: np.ndarray | None = None
    base_square: float = 0.0
    base_sums: np.ndarray | None = None
    count: np.ndarray | None = None

    def at(self, w: np.ndarray) -> Point:
        """Evaluate afresh: a pass."""
        scores = self.model.scores(w)
        self.work.passes += self.model.cost[0]
        if self.base_scores is not None:
            scores = self.base_scores + scores
        loss, derivative = self.model.loss(scores)
        self.work.passes += self.model.cost[1]
        return self.completed(w, scores, loss, derivative, 0)

    def completed(self, w: np.ndarray, scores: np.ndarray, loss: float, derivative: np.ndarray, age: int) -> Point:
        """The point whose loss and derivative are known; half a pass for the gradient."""
        gathered = self.model.gather(derivative)
        self.work.passes += self.model.cost[2]
        value = loss + 0.5 * self.ridge * (self.base_square + self.inner(w, w) + 2 * self._base_product(w))
        gradient = gathered + self.ridge * self.weighted(w)
        if self.base_sums is not None:
            gradient += self.ridge * self.base_sums
        entropy = loss - float(derivative @ scores)
        return Point(w, scores, derivative, gathered, gradient, value, loss, entropy, age=age)

    def along(self, point: Point, direction: np.ndarray) -> Line:
        """The line from a point."""
        moved = self.model.scores(direction)
        self.work.passes += self.model.cost[0]
        return Line(self, point, direction, moved)

    def weighted(self, w: np.ndarray) -> np.ndarray:
        """PᵀP w."""
        return w if self.count is None else self.count * w

    def inner(self, a: np.ndarray, b: np.ndarray) -> float:
        """(Pa)ᵀ(Pb)."""
        return float(self.weighted(a) @ b)

    def _base_product(self, w: np.ndarray) -> float:
        return 0.0 if self.base_sums is None else float(self.base_sums @ w)

    def restricted(self, cluster_of: np.ndarray, n_clusters: int, *, base: Point | None, merge: bool) -> Objective:
        """f on Pδ, or, with ``base``, on base + Pδ. merge: pre-aggregate the features."""
        if merge:
            model = self.model.merged(cluster_of, n_clusters)  # type: ignore[attr-defined]
            # every entry is read, added up, and laid out by rows and by columns: three times the traffic of a pass
            self.work.passes += _MERGING
        else:
            model = TiedModel(self.model, cluster_of, n_clusters)
        there = Objective(
            model, self.ridge, self.work, count=collected(np.ones(len(cluster_of)), cluster_of, n_clusters)
        )
        if base is None:
            return there
        return replace(
            there,
            base_scores=base.scores,
            base_square=float(base.w @ base.w),
            base_sums=collected(base.w, cluster_of, n_clusters),
        )


class Line:
    """t -> f(w + t p), its derivative, and the point there."""

    def __init__(self, objective: Objective, point: Point, direction: np.ndarray, moved: np.ndarray) -> None:
        self.objective, self.start, self.direction, self.moved = objective, point, direction, moved
        self.derivative = float(point.gradient @ direction)
        ridge = objective.ridge
        self._ridge_derivative = self.derivative - float(point.derivative @ moved)
        self._ridge_curvature = ridge * objective.inner(direction, direction)
        self._ridge_value = point.value - point.loss
        self._last: tuple[float, np.ndarray, float, np.ndarray] | None = None

    def at(self, t: float) -> tuple[float, float]:
        """f and its derivative at t."""
        scores = t * self.moved
        scores += self.start.scores
        loss, derivative = self.objective.model.loss(scores)
        self.objective.work.passes += self.objective.model.cost[1]
        self._last = (t, scores, loss, derivative)
        value = loss + self._ridge_value + t * self._ridge_derivative + 0.5 * t * t * self._ridge_curvature
        return value, float(derivative @ self.moved) + self._ridge_derivative + t * self._ridge_curvature

    def point(self, t: float) -> Point:
        """The point at t; its loss is known if t was the last place asked for."""
        w = self.start.w + t * self.direction
        if self.start.age >= _REFRESH:
            return self.objective.at(w)
        if self._last is None or self._last[0] != t:
            self.at(t)
        _, scores, loss, derivative = self._last  # type: ignore[misc]
        return self.objective.completed(w, scores, loss, derivative, self.start.age + 1)
