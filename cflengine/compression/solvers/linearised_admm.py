"""The state of linearised ADMM on a corpus, and one step of it (§4.2).

Order of a step, as printed: w by the prox, then z and θ, then the multipliers. In memory it is two sweeps:
the prox over groups, and one pass over positions that does all the rest and leaves the next prox's point q in the
place of w. A change of ρ takes effect between the passes. µ = ρσ throughout.

Memory: see ``state_bytes`` in memory.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cflengine.compression.kernels import bound as kernels_bound
from cflengine.compression.kernels import cover as kernels_cover
from cflengine.compression.kernels import homotopy as kernels_homotopy
from cflengine.compression.kernels import prox as kernels_prox
from cflengine.compression.kernels.arrays import Iterate, Step, StepSums, Theta
from cflengine.compression.model.problem import StorageCosts, spectral_bound
from cflengine.compression.passes.best_bound import DualBound, repaired_value
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.layout import PointerLayout
from cflengine.compression.passes.pieces import borders_of, carry_of, encode_all, has_pieces, save_borders
from cflengine.engine import mapped
from cflengine.engine.progress import Progress
from cflengine.text.kgrams import KGramIndex

_NONE = np.empty(0, dtype=np.float32)


@dataclass
class RhoRule:
    """ρ starts small and grows (§4.2.4).

    Parameters
    ----------
    rho : float
        The first.
    factor : float
        By which it grows.
    window : int
        Steps that r/u is averaged over.
    ratio : float
        It grows when the average exceeds this.
    """

    rho: float
    factor: float
    window: int
    ratio: float

    def __post_init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=self.window)
        self._since = 0

    def observe(self, r: float, u: float) -> None:
        """Note the residuals of a step and raise ρ if the rule says so."""
        self._ratios.append(r / u if u > 0 else (np.inf if r > 0 else 0.0))
        self._since += 1
        if self._since >= self.window and np.mean(self._ratios) > self.ratio:
            self.rho *= self.factor
            self._since = 0


def length_steps(max_gram: int) -> np.ndarray:
    """float64 (K,): σ by length. Σ_k k²/σ_k ≤ 1 is enough for convergence, as ‖X W‖ for weights W by length is at most
    that; with one σ for all lengths the relaxation takes 1.6 times as many steps (docs/experiments.md)."""
    lengths = np.arange(1, max_gram + 1)
    return lengths * lengths.sum(dtype=np.float64)


class LinearisedAdmm:
    """Vectors and steps; the outer loops are those of homotopy.py and guided/.

    Between steps ``q``, float32 (m,) in the layout's places, is the point whose prox is the next w; ``y`` and ``z``,
    float32 (n,), are multipliers and z-iterate. While no step follows, the memory of q is :attr:`workspace`.

    After a step: ``r`` and ``u`` (equation 7), ``relaxation`` = wᵀd + Σ c(s)‖w_J(s)‖∞ of the new w (an estimate, since
    w covers only nearly), ``support`` the K-grams with w ≠ 0, and at ζ > 0 ``objective`` of the binary ψ in ``cover``.

    Parameters
    ----------
    index : KGramIndex
        The K-grams.
    costs : StorageCosts
        What storing costs.
    rule : RhoRule
        For ρ.
    sigma : float or ndarray or None, default: None
        σ; None for Theorem 1's, or float64 (K,), by length (then ζ stays 0).
    over : float, default: 1.0
        Over-relaxation.
    """

    def __init__(
        self,
        index: KGramIndex,
        costs: StorageCosts,
        rule: RhoRule,
        *,
        sigma: float | np.ndarray | None = None,
        over: float = 1.0,
    ) -> None:
        self.index, self.costs, self.rule, self.over = index, costs, rule, over
        sigma = spectral_bound(index.max_gram) if sigma is None else sigma
        self.sigma = np.broadcast_to(np.asarray(sigma, dtype=np.float64), (index.max_gram,))
        self.group_cost = costs.dictionary  # what the prox charges; another array of its shape may take its place
        self.levels = _NONE  # float32 (G,), if wanted: given ‖w_J(s)‖∞ by every step
        self.layout = PointerLayout.of(index)
        self.coder = Coder(index, costs, self.layout.blocks)
        self.groups = Groups(index, self.layout)
        self.bound = DualBound(self.coder, self.groups, costs, self.space)
        self.borders = borders_of(self.layout.blocks, index.max_gram)
        n, m = index.n_tokens, index.n_pointers
        self.q = np.zeros(m, dtype=np.float32)
        self.y = np.zeros(n, dtype=np.float32)
        self.z = np.ones(n, dtype=np.float32)
        self.multiplier = np.empty((index.max_gram, 0), dtype=np.float32)
        self.cover = index.no_cover()[:0]
        self.used = np.zeros(0, dtype=np.uint8)
        blocks = self.layout.n_blocks
        self._d = costs.pointer_single
        self._sums = StepSums(np.zeros((blocks, 2), dtype=np.float32), np.zeros(blocks), np.zeros(blocks))
        self.inv_mu = 1.0 / (rule.rho * self.sigma)
        self._rho = rule.rho  # the ρ that the last pass prepared q for
        self.r = self.u = np.inf
        self.support = 0
        self.relaxation = self.objective = np.nan

    @property
    def rho(self) -> float:
        return self._rho

    @property
    def workspace(self) -> np.ndarray:
        """float32 (m,): the memory of q, for work between relaxations; q must then be set anew."""
        return self.q

    def retarget(self, costs: StorageCosts, rho: float, over: float) -> None:
        """Go on with other costs and another ρ; iterate and multipliers stay as they are. Bounds begin anew."""
        self.costs, self.group_cost, self.over, self.levels = costs, costs.dictionary, over, _NONE
        self._d = costs.pointer_single
        self.coder.costs = costs
        self.bound = DualBound(self.coder, self.groups, costs, self.space)
        self._rho = self.rule.rho = rho
        self.inv_mu = 1.0 / (rho * self.sigma)
        self.relaxation, self.r, self.u = np.nan, np.inf, np.inf

    def reset(self) -> None:
        """Begin anew."""
        self.q[:], self.y[:], self.z[:] = 0.0, 0.0, 1.0

    def step(self, zeta: float, progress: Progress) -> bool:
        """One step; False when ``progress`` stopped it half-way (the state is then fit only for rounding)."""
        w = self.q  # the prox writes w over q, the pass the next q over w: one array of m numbers, not two
        dictionary_cost = self.groups.apply(
            kernels_prox.PROX, w, self.group_cost, inv_mu=self.inv_mu, levels=self.levels, progress=progress
        )
        if progress.reason is not None:
            return False
        self.support = self.groups.support
        lay, index, f32 = self.layout, self.index, np.float32
        rho_next = self.rule.rho
        theta_term = 1.0 if zeta > 0 else 0.0  # of w = θ
        scale = (1.0 / (self.sigma + theta_term)).astype(f32)
        keep = self.sigma[0] / (self.sigma[0] + theta_term)
        over = 1.0 if zeta > 0 else self.over
        step = Step(f32(self._rho), f32(rho_next), f32(over), f32(keep), scale, f32(zeta))
        if zeta > 0 and not self._begin_theta(w, zeta, progress):
            return False
        save_borders(self.borders, lay.blocks, w, lay.slot, self.y, self.z)
        iterate = Iterate(lay.slot, w, self.y, self.z)
        theta = Theta(index.gram_of, self.multiplier, self.cover, self.used)
        where = (self._d, lay.blocks, self.borders)
        for chunk in self.coder.chunks():
            if zeta > 0:
                kernels_homotopy.homotopy_pass(iterate, theta, *where, chunk, step, self._sums)
            else:
                kernels_cover.relaxation_pass(iterate, *where, chunk, step, self._sums)
            if not progress.poll():
                return False
        self.inv_mu = 1.0 / (rho_next * (self.sigma + theta_term))
        self._rho = rho_next
        self.r, self.u = (float(x) for x in self._sums.residuals.max(axis=0))
        self.rule.observe(self.r, self.u)
        self.relaxation = float(self._sums.pointer_costs.sum()) + dictionary_cost
        if zeta > 0:
            self.objective = float(self._sums.binary_costs.sum() + self.costs.dictionary[self.used > 0].sum())
        return True

    def _begin_theta(self, w: np.ndarray, zeta: float, progress: Progress) -> bool:
        """What a step at ζ > 0 needs beside; the covers of documents that are cut; False if stopped."""
        index = self.index
        if not self.multiplier.shape[1]:
            self.multiplier = np.zeros(index.gram_of.shape, dtype=np.float32)
            self.cover = index.no_cover()
        self.used = np.zeros(index.n_grams, dtype=np.uint8)
        return not has_pieces(self.layout.blocks) or self._cover(
            w, self.multiplier, zeta, self.cover, pieces_alone=True, poll=progress.poll
        )

    def current_w(self, levels: np.ndarray = _NONE) -> np.ndarray:
        """float32 (m,), in the layout's places: the w that the next step begins with; ``levels`` gets its ‖w_J(s)‖∞."""
        w = self.q.copy()
        self.groups.apply(kernels_prox.PROX, w, self.group_cost, inv_mu=self.inv_mu, levels=levels)
        return w

    @contextmanager
    def lent_w(self) -> Iterator[np.ndarray]:
        """What :meth:`current_w` is, for as long as the block lasts; to be overwritten at will."""
        with self.space() as w:
            if w is not self.q:
                w[:] = self.q
            self.groups.apply(kernels_prox.PROX, w, self.group_cost, inv_mu=self.inv_mu)
            yield w

    @contextmanager
    def space(self) -> Iterator[np.ndarray]:
        """float32 (m,), to work in: memory of its own, or, where that would be the peak of a large solve, the memory of
        q, which waits on disk."""
        if len(self.q) < self.index.n_pointers or self.q.nbytes <= mapped.IN_MEMORY:
            yield np.empty(self.index.n_pointers, dtype=np.float32)
            return
        aside = mapped.SetAside()
        aside.put(self.q)
        try:
            yield self.q
        finally:
            aside.get(self.q)

    def take_w(self, levels: np.ndarray = _NONE) -> np.ndarray:
        """:meth:`current_w` in the place of ``q``: no step can follow until that is set anew."""
        self.groups.apply(kernels_prox.PROX, self.q, self.group_cost, inv_mu=self.inv_mu, levels=levels)
        return self.q

    def round(self, w: np.ndarray) -> np.ndarray:
        """uint8 (n,): the cover that the θ-update at ζ = 1 picks for ``w``."""
        cover = self.index.no_cover()
        self._cover(w, self.multiplier[:, :0], 1.0, cover)
        return cover

    def _cover(
        self,
        w: np.ndarray,
        multiplier: np.ndarray,
        zeta: float,
        cover: np.ndarray,
        *,
        pieces_alone: bool = False,
        poll: Callable[[], bool] = lambda: True,
    ) -> bool:
        """The cover ψ of w and its multiplier into ``cover``, of all documents or of those alone that are cut; False if
        stopped."""
        lay = self.layout
        carry = carry_of(lay.blocks, self.index.max_gram)
        theta = Theta(self.index.gram_of, multiplier, cover, self.used)

        def encode_run(chunk: tuple[int, int]) -> None:
            kernels_homotopy.theta_blocks(w, lay.slot, theta, lay.blocks, chunk, pieces_alone, np.float32(zeta), carry)

        return encode_all(lay.blocks, carry, self.coder.chunks(), encode_run, cover, poll)

    def feasible_value(self, w: np.ndarray) -> float:
        """See :func:`~cflengine.compression.passes.best_bound.repaired_value`; ``w`` is overwritten."""
        return repaired_value(self.coder, self.groups, self.borders, w)

    def binary_share(self, w: np.ndarray, margin: float = 0.01) -> float:
        """Of the pointers with w > margin, the share with w ≥ 1 − margin."""
        counts = np.zeros((self.layout.n_blocks, 2), dtype=np.int64)
        kernels_bound.binary_share_blocks(w, self.layout.slot, self.layout.blocks, margin, counts, (0, len(counts)))
        positive, ones = counts.sum(axis=0)
        return float(ones / positive) if positive else 1.0

    def release(self, *, everything: bool = False) -> None:
        """Drop w, z and the multipliers: no step can follow, but solutions and bounds can still be evaluated.

        With ``everything``, drop all vectors: the certificate needs memory of its own.
        """
        self.y = self.z = np.empty(0, dtype=np.float32)
        if everything:
            self.bound.best_y = np.empty(0, dtype=np.float32)
            del self.layout, self.groups, self.bound.groups
        self.q = np.empty(0, dtype=np.float32)
        self.multiplier = np.empty((self.index.max_gram, 0), dtype=np.float32)
