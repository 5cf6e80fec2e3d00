"""The multipliers of the copies: they prove the bound, and where they cannot they say which weights are wrongly 0.

Where (Mw)_g is not 0 the optimum has u_g = λ_sen a_g (Mw)_g/‖(Mw)_g‖. The other sentences, whose features all weigh 0,
are free within their balls, and have to bring |r_j| down to λ_las; the best they can do minimises

    F(u) = ½ Σ_j S_{λ_las}(r_j)²/N_j,   r = Xᵀ(y∘α) − Mᵀu − κ∘w,   N_j the free sentences' count of feature j.

If F reaches 0 the zeros are right. If not, p_j = S(r_j)/N_j is a direction in which (P) falls, for at the minimum of F
the multipliers of every free sentence lean as far as they can against it: (P)'(w; p) = −2F.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cflengine.sentence_lasso.kernels import dual as kernels
from cflengine.sentence_lasso.kernels.arrays import Dual, Free
from cflengine.sentence_lasso.model.certificate import Certificate, certify
from cflengine.sentence_lasso.model.problem import soft_threshold
from cflengine.sentence_lasso.solvers.iterate import Iterate

_ENOUGH = 1e-9  # of λ_las, or of λ_sen without it: an excess that costs nothing
_STEPS, _CHUNKS = 50, 60
_MOST_PATIENCE = 6
_ALLOWED = 0.5
_SHARE = 0.5  # of the descent that p would have at the minimum of F: then it is taken
_SPREAD = 15


class Multipliers:
    """u float64 (E,) beside an :class:`Iterate`, kept from one use to the next."""

    def __init__(self, here: Iterate) -> None:
        groups = here.problem.groups
        self.here = here
        self.u = np.zeros(len(groups.feature))
        self.all_groups = np.arange(groups.n_groups)
        self.total_count = groups.occurrences(here.problem.n_features)
        self.free = Free(np.empty(groups.n_groups, dtype=np.int64), np.zeros(here.problem.n_features))
        self.r = np.zeros(here.problem.n_features)
        self.enough = _ENOUGH * (here.problem.lam_las or here.problem.lam_sen)

    def smooth(self, epsilon: float) -> None:
        """u_g = λ_sen a_g (Mw)_g/√(‖(Mw)_g‖² + ε²) for every sentence."""
        here = self.here
        kernels.smooth_multipliers(here.groups, here.w, here.problem.lam_sen, epsilon, self.u)

    def fit(self, may_go_on: Callable[[], bool], tol: float, patience: int = 0) -> np.ndarray:
        """Minimise F as far as needed. Returns p float64 (V,), a direction in which (P) falls; 0 if there is none.

        tol: the relative gap that is wanted; what the multipliers leave missing may cost a part of it. patience: how
        often the direction that was found has been too weak to be followed: F is then lowered further.
        """
        here, problem = self.here, self.here.problem
        if problem.smooth:  # nothing is 0 that could not be
            return np.zeros(problem.n_features)
        n_free = kernels.own_multipliers(here.groups, here.w, problem.lam_sen, self.u, self.free)
        free = Free(self.free.groups[:n_free], self.free.counts)
        derivative, hessian = here.derivatives()
        minus_gradient = -here.gathered(derivative) - problem.kappa * here.w
        self.r = self._residual(minus_gradient)
        lam, enough = problem.lam_las, self.enough
        state = _beginning()
        for _ in range(_CHUNKS << min(2 * patience, _MOST_PATIENCE)):
            point = Dual(self.u, self.r)
            kernels.polish(here.groups, problem.lam_sen, lam, free, point, state, _STEPS, enough)
            here.work += _STEPS * n_free / max(1, len(self.all_groups))
            excess = np.where(here.w == 0, soft_threshold(self.r, lam + enough), 0.0)
            held = excess * (free.counts > 0)
            p = held / np.maximum(free.counts, 1e-300)
            promised = float(held @ p)
            missing = float((np.abs(excess) / problem.stiffness).sum())  # see certificate.py: relative to P
            if promised == 0.0 or missing <= _ALLOWED * tol or not may_go_on():
                break
            if patience:
                continue
            norms = kernels.free_norms(here.groups, free.groups, p)
            descent = float(minus_gradient @ p) - lam * float(np.abs(p).sum()) - problem.lam_sen * norms
            if descent > _SHARE * promised:
                break
        loose = np.flatnonzero((excess != 0) & (free.counts == 0))  # in sentences that are there already
        if len(loose):
            p[loose] = excess[loose] / (here.curvature(hessian, loose)[loose] + problem.kappa[loose] + 1e-12)
        return p

    def certify(self, *, spread: bool = True) -> tuple[Certificate, np.ndarray]:
        """The certificate of w as it stands, whose bias becomes the best one, and the multipliers it used.

        What single features still exceed λ_las by is spread over all their sentences: a ball's radius shrinks in
        second order only, while scaling the whole dual point by τ would cost in proportion. spread: False where there
        is no time left for it.
        """
        here, problem = self.here, self.here.problem
        u = self.u.copy()
        derivative, _ = here.derivatives()
        if len(u) and spread:
            r = self._residual(-here.gathered(derivative) - problem.kappa * here.w)
            every, lam = Free(self.all_groups, self.total_count), problem.lam_las
            kernels.polish(here.groups, problem.lam_sen, lam, every, Dual(u, r), _beginning(), _SPREAD, self.enough)
            here.work += _SPREAD
        found = certify(problem, here.w, u, here.bias, here.working)
        here.move(here.w, found.bias, here.scores + (found.bias - here.bias))
        return found, u

    def _residual(self, minus_gradient: np.ndarray) -> np.ndarray:
        r = minus_gradient.copy()
        kernels.subtract_gathered(self.here.groups, self.u, r)
        return r


def _beginning() -> np.ndarray:
    """The state of a polishing that begins."""
    return np.array([1.0, np.inf])
