"""(P) by ADMM: Algorithm 1 of Yogatama & Smith (ICML 2014) as printed, beside majorise.py for comparison.

    w ← argmin loss(w) + λ_las‖w‖₁ + ρ/2 Σ_i N_i (w_i − µ_i)²,   µ_i = mean over the copies of i of v + u/ρ    (eq. 2)
    v ← shrink(ŵ − u/ρ, λ_sen/ρ), sentence by sentence                                                       (eq. 5)
    u ← u + ρ (v − ŵ)                                                                                        (eq. 4)

with ŵ = Mw, or with over-relaxation δMw + (1 − δ)v of the step before. w is minimised to a relative change of 1e-5 by
proximal Newton steps (the paper: proximal gradient). It ends at a relative change of w below 1e-5 or after 100 steps.
That is no proof: at a fixed ρ and few steps the result depends on ρ, an early-stopped method's hyperparameter, and the
certified gap says by how much it misses the optimum. Our multipliers have the paper's with the sign turned round. Equal
sentences have equal copies, so a_g of them are one group here, too. (P) is taken with κ = 0, as in the paper.

Shapes: v, u float64 (E,), the copies of a feature in a sentence together, multiplied by √c_gj.

Examples
--------
Two documents of a word each, one sentence each, which adds λ_sen|w_j| to either penalty: with λ_las =
λ_sen = 1/8 the best weights are ±log 3 (model/problem.py).

>>> from scipy import sparse
>>> from cflengine.sentence_lasso.model.problem import SentenceProblem, merge_sentences
>>> X, y = sparse.csr_matrix(np.eye(2)), np.array([-1.0, 1.0])
>>> problem = SentenceProblem(X, y, merge_sentences(X), lam_las=0.125, lam_sen=0.125, kappa=np.zeros(2))
>>> result = solve(Iterate(problem), ADMMSettings(tol=1e-6, w_tol=1e-9, max_iter=5000))
>>> bool(np.allclose(result.w, np.log(3) * y, atol=1e-3)), result.gap <= 1e-6
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.sentence_lasso.kernels import admm as kernels
from cflengine.sentence_lasso.model.margin_loss import HINGE
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.solvers.iterate import Iterate, proximal_newton_step
from cflengine.sentence_lasso.solvers.run import SentenceRun
from cflengine.sentence_lasso.solvers.settings import ADMMSettings

_W_STEPS, _PASSES = 50, 5
_CERTIFY_EVERY = 5


class _Augmented:
    """ρ/2 Σ N_i (w_i − µ_i)² as a function of w."""

    def __init__(self, q: np.ndarray) -> None:
        self.q, self.mu = q, np.zeros_like(q)

    def __call__(self, w: np.ndarray) -> float:
        away = w - self.mu
        return 0.5 * float(self.q @ (away * away))


def solve(here: Iterate, settings: ADMMSettings | None = None, listeners: Iterable[Listener] = ()) -> SentenceResult:
    """Solve (P) from ``here``, which it moves, by Algorithm 1. Raises ValueError for a problem with κ or without
    sentences, which is not the paper's, or with the hinge."""
    problem = here.problem
    if problem.kappa.any() or not problem.groups.n_groups:
        raise InputError("Algorithm 1 is for the sentence regulariser: it needs sentences, and no quadratic penalty.")
    if problem.margin_loss is HINGE:
        raise InputError("Algorithm 1 needs a loss with a derivative.")
    settings = settings or ADMMSettings()
    run = SentenceRun(here, "admm", settings, listeners)
    rho = settings.rho
    augmented = _Augmented(rho * problem.groups.weighted_occurrences(problem.n_features))
    copies = problem.groups.copies(here.w)
    run.copies = copies
    u, mean = np.zeros(len(copies)), np.empty(problem.n_features)
    going = run.certify("start", rho=rho)
    while going:
        before = here.w
        kernels.mean_of_copies(here.groups, copies, u, rho, mean)
        augmented.mu = np.divide(mean, augmented.q / rho, out=np.zeros_like(mean), where=augmented.q > 0)
        _minimise(run, augmented, settings.w_tol)
        chunk = (0, len(here.groups.ptr) - 1)
        kernels.copies_and_multipliers(here.groups, here.w, problem.lam_sen, rho, settings.relaxation, copies, u, chunk)
        run.iteration += 1
        here.work += 2
        run.multipliers.u = -u * problem.groups.weight[problem.groups.group]
        settled = settings.tol is None and _change(before, here.w) <= settings.w_tol
        last = settled or run.iteration >= settings.max_iter
        certify = last or run.iteration % _CERTIFY_EVERY == 0  # it costs more than a step
        going = run.certify("admm", rho=rho) if certify else run.note("admm", rho=rho)
        if going and settled:
            return run.result(TerminationReason.CONVERGED)
        going = going and run.may_go_on()
    return run.result()


def _minimise(run: SentenceRun, augmented: _Augmented, tol: float) -> None:
    """The first step of Algorithm 1: w to a relative change of ``tol``."""
    here = run.here
    for _ in range(_W_STEPS):
        before = here.w
        proximal_newton_step(here, augmented.q, augmented.q * augmented.mu, augmented, _PASSES)
        if _change(before, here.w) <= tol or not run.progress.poll():
            return


def _change(before: np.ndarray, after: np.ndarray) -> float:
    """Relative change in the ℓ2 norm; 0 where both are 0."""
    size = float(np.linalg.norm(before))
    change = float(np.linalg.norm(after - before))
    return change / size if size > 0 else float(change > 0)
