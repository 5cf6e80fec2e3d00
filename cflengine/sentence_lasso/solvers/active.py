"""Newton's method on the support of w: from a good guess of which weights are 0 to many digits of the others.

Where no weight crosses 0 the objective is smooth, its Hessian a sparse matrix and a rank-one term for every sentence;
conjugate gradients solve with it (kernels/active.py). A weight that a step would take through 0 stops there. So that
many such weights do not block the way of the others (Bertsekas, 1982), those whose own Newton step leads through 0 go
there first.

Examples
--------
Two documents with a word each (model/problem.py), whose best weights are ±log 3. From ±1 a few steps
lead there.

>>> from scipy import sparse
>>> from cflengine.sentence_lasso.model.problem import no_sentences
>>> X, y = sparse.csr_matrix(np.eye(2)), np.array([-1.0, 1.0])
>>> problem = SentenceProblem(X, y, no_sentences(), lam_las=0.25, lam_sen=0.0, kappa=np.zeros(2))
>>> here = Iterate(problem)
>>> here.move(y.copy(), 0.0, X @ y)
>>> newton = ActiveNewton(here, lambda: True)
>>> promised = [newton.step(1e-9, 100) for _ in range(5)]
>>> bool(np.allclose(here.w, np.log(3.0) * y)), promised[0] > promised[-1]
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cflengine.sentence_lasso.kernels import active as kernels
from cflengine.sentence_lasso.kernels.arrays import Columns, Groups, HessianParts, Search
from cflengine.sentence_lasso.kernels.majorise import smooth_norms
from cflengine.sentence_lasso.model.problem import SentenceProblem
from cflengine.sentence_lasso.solvers.iterate import Iterate

_SUFFICIENT, _SHORTEST = 1e-4, 1e-3
_CHUNK = 2e7  # entries touched between two questions whether to go on: a few hundredths of a second
_STEPS_OF_SIZE = 4  # conjugate gradients need as many steps as there are unknowns, but for rounding


@dataclass(frozen=True)
class Restricted:
    """(P) on the features F alone (int64, ascending); sentences without any of them have norm 0 and are left out."""

    features: np.ndarray
    columns: Columns
    groups: Groups
    kappa: np.ndarray

    @cached_property
    def position(self) -> np.ndarray:
        """int64: the position in F of each entry of X."""
        return np.repeat(np.arange(len(self.features)), np.diff(self.columns.indptr))

    def product(self, p: np.ndarray, n_documents: int) -> np.ndarray:
        """X p + the bias, of p float64 (F+1,)."""
        _, rows, values = self.columns
        return np.bincount(rows, values * p[self.position], n_documents) + p[-1]

    def gathered(self, derivative: np.ndarray) -> np.ndarray:
        """Xᵀ derivative, and its sum for the bias: float64 (F+1,)."""
        _, rows, values = self.columns
        return np.append(np.bincount(self.position, values * derivative[rows], len(self.features)), derivative.sum())

    def squares(self, hessian: np.ndarray) -> np.ndarray:
        """The diagonal of XᵀHX with the bias: float64 (F+1,)."""
        _, rows, values = self.columns
        own = np.bincount(self.position, values * values * hessian[rows], len(self.features))
        return np.append(own, hessian.sum())


def restrict(problem: SentenceProblem, columns: Columns, features: np.ndarray) -> Restricted:
    """The parts of the problem that ``features`` (int64, ascending) touch."""
    position = np.full(problem.n_features, -1, dtype=np.int32)
    position[features] = np.arange(len(features), dtype=np.int32)
    groups = problem.groups
    kept = np.flatnonzero(position[groups.feature] >= 0)
    group = groups.group[kept]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    indptr, rows, values = columns
    lengths = indptr[features + 1] - indptr[features]
    own = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    where = np.repeat(indptr[features] - own[:-1], lengths) + np.arange(own[-1])
    return Restricted(
        features,
        Columns(own, rows[where], values[where]),
        Groups(
            np.append(first, len(kept)).astype(np.int64),
            position[groups.feature[kept]],
            groups.count[kept],
            groups.weight[group[first]],
        ),
        problem.kappa[features],
    )


class ActiveNewton:
    """Steps from an :class:`Iterate`, which they move; see the module's docstring."""

    def __init__(self, here: Iterate, may_go_on: Callable[[], bool]) -> None:
        self.here, self.problem, self.may_go_on = here, here.problem, may_go_on
        self.smooth = here.problem.smooth  # the support is everything then, and weights may cross 0
        self.part: Restricted | None = None
        self.value = here.objective()
        self.truncated = False  # whether the last step's linear system would have needed more products

    def step(self, exactness: float, limit: int) -> float:
        """One step; returns the descent it promised, inf where weights have reached 0 on the way, 0 if it failed.

        exactness: of the linear system, a share of the gradient. limit: of products with the Hessian.
        """
        problem, here = self.problem, self.here
        self.truncated = False
        features = np.arange(problem.n_features) if self.smooth else np.flatnonzero(here.w)
        # the support only shrinks here, so the same number of features are the same features
        if self.part is None or len(self.part.features) != len(features):
            self.part = restrict(problem, here.columns, features)
        part = self.part
        w = np.append(here.w[features], here.bias)
        derivative, hessian = here.derivatives()
        gradient, diagonal = part.gathered(derivative), part.squares(hessian)
        gradient[:-1] += problem.lam_las * np.sign(w[:-1]) + part.kappa * w[:-1]
        diagonal[:-1] += part.kappa
        n_groups = len(part.groups.weight)
        scale, inverse_square = np.empty(n_groups), np.empty(n_groups)
        kernels.penalty_derivatives(part.groups, w, problem.lam_sen, scale, inverse_square, gradient, diagonal)
        here.work += 2
        if not self.smooth and self._clear(w, gradient, diagonal):
            return np.inf
        smooth = HessianParts(hessian, part.kappa, scale, inverse_square, w)
        p, flat = self._direction(smooth, gradient, diagonal, exactness, limit)
        if flat is not None and self._slide(w, flat, gradient):
            return np.inf
        for direction in (p, -gradient / diagonal):  # the second cannot be blocked, were it ever so short
            first, to_first = self._first_zero(w, direction)
            length = 1.0
            while length > _SHORTEST:
                there = w + length * direction
                crossing = there[:-1] * w[:-1] <= 0.0
                if not self.smooth:
                    there[:-1][crossing] = 0.0
                if self._take(w, there, gradient):
                    lost = not self.smooth and bool(crossing.any())
                    return np.inf if lost else -float(gradient @ direction)
                length *= 0.5
                # a weight that is in the way of every longer step has to go before anything else can
                if length <= to_first < 2.0 * length and self._take_to(w, direction, first, to_first, gradient):
                    return np.inf
        return 0.0

    def _first_zero(self, w: np.ndarray, direction: np.ndarray) -> tuple[int, float]:
        """The weight that is the first to reach 0 along a direction, and after which length; inf if none does."""
        if self.smooth or len(w) == 1:
            return -1, np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(direction[:-1] * w[:-1] < 0, -w[:-1] / direction[:-1], np.inf)
        first = int(lengths.argmin())
        return first, float(lengths[first])

    def _take_to(self, w: np.ndarray, direction: np.ndarray, first: int, length: float, gradient: np.ndarray) -> bool:
        """Go along a direction until weight ``first`` is 0, if the objective falls enough."""
        there = w + length * direction
        there[first] = 0.0
        return self._take(w, there, gradient)

    def _direction(
        self, smooth: HessianParts, gradient: np.ndarray, diagonal: np.ndarray, exactness: float, limit: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Newton's direction, and one without curvature if that was found on the way."""
        part = self.part
        assert part is not None
        n = len(gradient)
        search = Search(np.zeros(n), -gradient, -gradient / diagonal, np.empty(n), np.empty(len(smooth.hessian)))
        rz = float(search.residual @ search.direction)
        enough, left, status = exactness * exactness * rz, min(limit, _STEPS_OF_SIZE * n), 0
        size = len(part.columns.rows) + len(part.groups.feature) + n
        chunk = max(1, int(_CHUNK / size))
        while rz > enough and left > 0 and status == 0 and self.may_go_on():
            rz, taken, status = kernels.conjugate_gradients(
                part.columns, part.groups, smooth, diagonal, search, rz, enough, min(chunk, left)
            )
            left -= taken
            self.here.work += taken
        self.truncated = rz > enough and left <= 0
        return search.p, search.direction if status else None

    def _slide(self, w: np.ndarray, flat: np.ndarray, gradient: np.ndarray) -> bool:
        """Along a direction without curvature the objective is linear: follow it down until the first weight is 0."""
        down = -flat if gradient @ flat > 0 else flat
        first, length = self._first_zero(w, down)
        return length < np.inf and self._take_to(w, down, first, length, gradient)

    def _clear(self, w: np.ndarray, gradient: np.ndarray, diagonal: np.ndarray) -> bool:
        """Set weights to 0 whose own Newton step leads through it; the nearest half of them where all are too many."""
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.abs(w) * diagonal / np.abs(gradient)
        ready = np.flatnonzero((gradient * w > 0) & (distance <= 1.0))
        ready = ready[ready < len(w) - 1]
        ready = ready[np.argsort(distance[ready], kind="stable")]
        while len(ready):
            there = w.copy()
            there[ready] = 0.0
            if self._take(w, there, gradient):
                return True
            ready = ready[: len(ready) // 2]
        return False

    def _take(self, w: np.ndarray, there: np.ndarray, gradient: np.ndarray) -> bool:
        """Go there if the objective falls enough."""
        problem, part, here = self.problem, self.part, self.here
        assert part is not None
        delta = there - w
        scores = here.scores + part.product(delta, len(problem.y))
        weights = there[:-1]
        value = here.loss(scores) + problem.lam_las * float(np.abs(weights).sum())
        value += 0.5 * float(part.kappa @ (weights * weights))
        value += smooth_norms(part.groups, there, problem.lam_sen, 0.0)
        here.work += 1
        if not value <= self.value + _SUFFICIENT * min(float(gradient @ delta), 0.0) + 1e-15 * abs(self.value):
            return False
        full = np.zeros_like(here.w)
        full[part.features] = weights
        here.move(full, float(there[-1]), scores)
        self.value = value
        return True
