"""A step of iterative reweighting's ADMM (reweighting.py): the weighted prox, then the projection onto covers."""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels import projection as kernels_projection
from cflengine.compression.kernels import projection_pass as kernels
from cflengine.compression.kernels import reweighting as kernels_reweighting
from cflengine.compression.kernels.arrays import GroupSums, Projection, ProjectionSums, Weighted
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.passes.best_bound import DualBound, repaired_value
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from cflengine.compression.passes.layout import PointerLayout
from cflengine.compression.passes.pieces import borders_of, has_pieces, save_borders
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.engine.progress import NAN, Progress
from cflengine.text.kgrams import KGramIndex


class WeightedAdmm:
    """ADMM on one weighted relaxation after the other: vectors and steps; the outer loop is in reweighting.py.

    data: float32 (m,), by the layout, v before the prox and w after it; weight: float32 (m,), D; z, best: float32
    (K, n), the projection and the round's best one; beta: float64 (n,), α/ρ. After a step: ``r`` = ‖w − z‖ and
    ``u`` = ρ‖z − z̄‖, both over √m, ``value`` = d̃ᵀw + Σ c(s)‖D w_J(s)‖∞ where D = 1, ``support`` the K-grams with
    w ≠ 0, and ``cover``, the rounding of z, of cost ``objective`` (inf where it leaves a token uncovered).
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, settings: ReweightingSettings) -> None:
        self.index, self.costs, self.settings = index, costs, settings
        self.layout = PointerLayout.of(index)
        self.coder = Coder(index, costs, self.layout.blocks)
        self.groups = Groups(index, self.layout)
        self.bound = DualBound(self.coder, self.groups, costs)
        n, m = index.n_tokens, index.n_pointers
        self.rho = 1.0 if settings.rho is None else settings.rho
        self._rho_next, self._since, self._steps = self.rho, 0, 0
        self.data, self.weight = np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32)
        self.z = np.zeros(index.gram_of.shape, dtype=np.float32)
        self.best = np.zeros(index.gram_of.shape, dtype=np.float32)
        self.best_objective = np.inf
        self.beta = np.zeros(n)
        self.cover = index.no_cover()
        self._d = costs.pointer_single
        self._table = kernels_projection.overlaps(index.max_gram)
        self._borders = borders_of(self.layout.blocks, index.max_gram)
        blocks, bins = self.layout.n_blocks, self.layout.n_bins
        self._sums = ProjectionSums(np.zeros((blocks, 5)), np.zeros(blocks), np.zeros(blocks, dtype=np.int64))
        self._groups = GroupSums(np.empty(0, np.float32), np.zeros(bins), np.zeros(bins, dtype=np.int64))
        self.r = self.u = np.inf
        self.small = False
        self.support = 0
        self.value = self.objective = NAN
        self.reweight(1.0)  # from w = z = y = 0: all weights 1

    def prove(self) -> None:
        """Certify a lower bound from α, in the first round the prices of the relaxation's coverage constraints."""
        self.bound.update((self.beta * -self.rho).astype(np.float32))

    def uses(self) -> np.ndarray:
        """float64 (G,): the sum of z over each J(s)."""
        return self.index.sums(self.z)

    def step(self, progress: Progress) -> bool:
        """One step; False when ``progress`` stopped it half-way (no further step may follow)."""
        lay = self.layout
        for chunk in self.groups.chunks():
            kernels_reweighting.prox_of_groups(
                self.data, self.weight, self.groups.bins, lay.order, self.costs.dictionary, 1.0 / self.rho,
                self._groups, chunk,
            )  # fmt: skip
            if not progress.poll():
                return False
        if not self._project(progress):
            return False
        self.support = int(self._groups.support.sum())
        self.value = float(self._sums.pointer_costs.sum() + self._groups.totals.sum())
        self._measure()
        self.objective = np.inf if self._sums.uncovered.any() else self.coder.evaluate(self.cover)[0]
        if self.objective <= self.best_objective:
            self.best_objective = self.objective
            np.copyto(self.best, self.z)
        return True

    def _project(self, progress: Progress) -> bool:
        """β, z, its rounding and the next prox's v; False if stopped."""
        blocks, settings, chunks = self.layout.blocks, self.settings, self.coder.chunks()
        iterate, d = self._iterate(), self._d
        rule = Projection(
            self._table, settings.projection_tol, settings.projection_iterations, settings.nonzero, self.rho,
            self._rho_next,
        )  # fmt: skip
        for chunk in chunks:
            kernels.projection_pass(iterate, d, blocks, chunk, rule, self._sums)
            if not progress.poll():
                return False
        if not has_pieces(blocks):
            return True
        slack, before = np.empty(len(self.beta)), np.empty(len(self.beta))
        save_borders(self._borders, blocks, self.data, self.layout.slot)
        costs = self._sums.pointer_costs
        for chunk in chunks:
            kernels.load_pieces(iterate, d, blocks, self._borders, chunk, slack, before, costs)
        if not self._project_pieces(rule, slack, progress):
            return False
        for chunk in chunks:
            kernels.move_pieces(iterate, before, d, blocks, chunk, rule, self._sums)
        scale = rule.rho / rule.rho_next
        everything = (0, self.layout.n_blocks)
        kernels.finish_pieces(iterate, blocks, everything, self.index.max_gram, scale, self._sums.uncovered)
        return progress.poll()

    def _iterate(self) -> Weighted:
        return Weighted(self.layout.slot, self.data, self.weight, self.z, self.beta, self.cover)

    def _project_pieces(self, rule: Projection, slack: np.ndarray, progress: Progress) -> bool:
        """β of the documents that are cut, given their slack (float64 (n,)); False if stopped."""
        blocks, chunks = self.layout.blocks, self.coder.chunks()
        worst = np.zeros(len(blocks.piece))
        for _ in range(rule.limit):
            for chunk in chunks:
                for parity in (0, 1):
                    kernels.project_pieces(blocks, chunk, parity, rule, slack, self.beta)
                if not progress.poll():
                    return False
            for chunk in chunks:
                kernels.project_borders(blocks, chunk, rule, slack, self.beta)
            kernels.measure_pieces(blocks, slack, self.beta, worst, (0, len(worst)))
            if worst.max() <= rule.tol:
                break
        return progress.poll()

    def _measure(self) -> None:
        """Residuals, whether they are small (Boyd et al., §3.3.1), and the next ρ (§3.4.1)."""
        settings, rho = self.settings, self.rho
        primal, moved, w, z, y = np.sqrt(self._sums.sums.sum(axis=0) / max(1, self.index.n_pointers)).tolist()
        largest, y = max(w, z), rho * y
        self.r, self.u = primal, rho * moved
        self.small = (
            self.r <= settings.absolute + settings.residual_tol * largest
            and self.u <= settings.absolute + settings.residual_tol * y
        )
        self.rho = self._rho_next
        self._since += 1
        self._steps += 1
        if settings.rho_window <= self._since and self._steps <= settings.rho_steps:
            weighted_primal, weighted_dual = self.r * y, self.u * largest
            if weighted_primal > settings.rho_ratio * weighted_dual:
                self._rho_next, self._since = self.rho * settings.rho_factor, 0
            elif weighted_dual > settings.rho_ratio * weighted_primal:
                self._rho_next, self._since = self.rho / settings.rho_factor, 0

    def reweight(self, epsilon: float) -> None:
        """Take the weights of the next round from the best projection, and forget how good it was."""
        iterate, blocks = self._iterate(), self.layout.blocks
        for chunk in self.coder.chunks():
            kernels.reweight_blocks(self.best, iterate, self._d, blocks, chunk, self.rho, epsilon)
        self.best_objective, self._steps = np.inf, 0

    def binary_share(self) -> float:
        """Of the non-zero indicators of the best projection, the share that is at least 1 − margin."""
        positive = np.count_nonzero(self.best > self.settings.nonzero)
        return np.count_nonzero(self.best >= 1.0 - self.settings.margin) / positive if positive else 1.0

    def feasible_value(self) -> float:
        """The relaxed objective at max(z, 0), mended where it covers a token not quite: a proved upper bound."""
        point = np.empty_like(self.data)
        for places, row in zip(self.layout.slot, self.z, strict=True):
            there = places >= 0
            point[places[there]] = np.maximum(row[there], 0.0)
        return repaired_value(self.coder, self.groups, self._borders, point)

    def release(self) -> None:
        """Drop all vectors: the certificate needs memory of its own."""
        del self.data, self.weight, self.z, self.best, self.beta, self.bound.best_y
        del self.layout, self.groups, self.bound.groups
