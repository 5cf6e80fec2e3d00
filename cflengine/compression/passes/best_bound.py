"""The best certified lower bound of a run, from whatever dual vectors a solver proposes (see kernels/bound.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np

from cflengine.compression.kernels import bound as kernels_bound
from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.pieces import Borders, carry_of, encode_all, save_borders

_NONE = np.empty(0, dtype=np.float64)
Space = Callable[[], AbstractContextManager[np.ndarray]]


class DualBound:
    """Keeps the best bound and the multiplier behind it (float32 (n,), 4 bytes a token).

    Parameters
    ----------
    coder : Coder
        Evaluates what is proposed.
    groups : Groups
        Of the K-grams.
    costs : StorageCosts
        What storing costs.
    space : Space or None, default: None
        Arrays to work in; None for new ones.
    """

    def __init__(self, coder: Coder, groups: Groups, costs: StorageCosts, space: Space | None = None) -> None:
        """space: lends float32 (m,) to work in, None for new memory each time."""
        self.coder, self.groups, self.costs = coder, groups, costs
        self._space = space or (lambda: nullcontext(np.empty(coder.index.n_pointers, dtype=np.float32)))
        self.value = math.nan  # until something is proved
        self.best_y = np.zeros(coder.index.n_tokens, dtype=np.float32)

    def update(self, y: np.ndarray) -> None:
        """Certify a lower bound from a multiplier y = −α of the coverage constraints; keep the better one."""
        bound = self.dual(y)
        if np.isfinite(bound) and not bound <= self.value:
            self.value = bound
            self.best_y[:] = y

    def alpha(self) -> np.ndarray:
        """The dual feasible prices, float64 (n,), behind ``value`` (for certificate.py, and to be looked at)."""
        alpha = np.zeros(self.coder.index.n_tokens)
        self.dual(self.best_y, alpha)
        return alpha

    def alpha_aside(self) -> np.ndarray:
        """The same in the middle of a run, whose own memory stays as it is: float32 (m,) more for a moment."""
        aside = DualBound(self.coder, self.groups, self.costs)
        aside.best_y = self.best_y
        return aside.alpha()

    def excesses(self, y: np.ndarray) -> np.ndarray:
        """float32 (G,): by K-gram, how much more than d its pointers cover at the prices −y, Σ ((Xᵀα)_i − d_i)₊."""
        levels = np.zeros(self.coder.index.n_grams, dtype=np.float32)
        with self._excess(y) as excess:
            self.groups.apply(kernels_prox.SUM, excess, self.costs.dictionary, levels=levels)
        return levels

    @contextmanager
    def _excess(self, y: np.ndarray) -> Iterator[np.ndarray]:
        """float32 (m,), by place: ((Xᵀα)_i − d_i)₊; to be overwritten at will."""
        lay = self.groups.layout
        with self._space() as excess:
            for chunk in self.coder.chunks():
                kernels_bound.excess_blocks(y, lay.slot, lay.blocks, chunk, self.costs.pointer, excess)
            yield excess

    def dual(self, y: np.ndarray, alpha: np.ndarray = _NONE) -> float:
        """The bound that a multiplier y proves; alpha: float64 (n,), given the prices behind it, or (0,)."""
        coder, lay, costs = self.coder, self.groups.layout, self.costs
        totals = np.zeros(coder.n_blocks)
        d = costs.pointer
        carry = carry_of(lay.blocks, coder.index.max_gram, choice=False)
        with self._excess(y) as shares:
            self.groups.share(shares, costs.dictionary)

            def encode(chunk: tuple[int, int]) -> None:
                kernels_bound.bound_blocks(shares, lay.slot, lay.blocks, chunk, d, alpha, totals, carry)

            encode_all(lay.blocks, carry, coder.chunks(), encode)
        return float(totals.sum() + carry.gain.sum())


def repaired_value(coder: Coder, groups: Groups, borders: Borders, w: np.ndarray) -> float:
    """The relaxed objective at a point w' ≥ w that covers every token: a proved upper bound on the relaxation.

    inf while some token is covered by less than a thousandth. ``w`` (float32 (m,), layout.py) is overwritten with w': a
    second vector over pointers would be the peak of the solver's memory.
    """
    costs, lay = coder.costs, groups.layout
    d = costs.pointer_single
    totals, least = np.zeros(lay.n_blocks), np.zeros(lay.n_blocks)
    save_borders(borders, lay.blocks, w, lay.slot)
    for chunk in coder.chunks():
        kernels_bound.repair_blocks(w, lay.slot, lay.blocks, borders, chunk, d, totals, least)
    if least.min(initial=1.0) < 1e-3:
        return np.inf
    return float(totals.sum()) + groups.apply(kernels_prox.TOP, w, costs.dictionary)


class MultiplierAverage:
    """The mean of the multipliers since a step at about two thirds of those so far (float32, 4 bytes a token).

    Multipliers circle around their limit, and their mean is nearer to it: on 1.3 million tokens it proves after 400
    steps what the last multipliers prove after 600. A mean over much fewer steps, or from the first on, proves less
    than they do.

    Parameters
    ----------
    n_tokens : int
        Of the corpus.
    """

    SHORT = 40  # steps whose mean is no better than the last of them

    def __init__(self, n_tokens: int) -> None:
        self._sum = np.zeros(n_tokens, dtype=np.float32)
        self._count = self._steps = 0
        self._restart = 50

    def add(self, y: np.ndarray) -> None:
        """Take in the multipliers of one more step."""
        self._steps += 1
        self._count += 1
        self._sum += y

    def update_bound(self, bound: DualBound, y: np.ndarray) -> None:
        """Let ``bound`` try the mean, or ``y``, the last multipliers, as long as the mean is of few steps."""
        with self.proposal(y) as proposed:
            bound.update(proposed)
        self.tried()

    @contextmanager
    def proposal(self, y: np.ndarray) -> Iterator[np.ndarray]:
        """The mean, or ``y``, the last multipliers, as long as the mean is of few steps; to be read only."""
        if self._count < self.SHORT:
            yield y
            return
        # in place and back: another vector over tokens would raise the peak of the solver's memory
        self._sum /= self._count
        try:
            yield self._sum
        finally:
            self._sum *= self._count

    def tried(self) -> None:
        """Begin the mean anew when it is of too many steps."""
        if self._steps >= self._restart:
            self._restart = max(self._steps + 50, 3 * self._steps // 2)
            self._sum[:] = 0.0
            self._count = 0
