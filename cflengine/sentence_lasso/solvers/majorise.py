"""(P) by majorising the sentences' norms, then by Newton's method on the support, each step certified.

    rounds   η_g = √(‖(Mw)_g‖² + ε²), q_j = Σ_g λ_sen a_g c_gj/η_g: a quadratic above the sentences' norms that touches
             them at w; a proximal Newton step by coordinate descent on loss + λ_las‖w‖₁ + ½ Σ q_j w_j²; ε falls by a
             factor from round to round. Weights below ε are then set to 0.
    Newton   on the support (active.py), where convergence is quadratic, and which can bring weights to 0;
    proof    the multipliers that belong to w, the certificate (multipliers.py, certificate.py); where it fails because
             weights are wrongly 0, they give a direction that brings those back, and Newton's method goes on there.

Not in the paper, whose Algorithm 1 is admm.py. Why not rounds alone, and what else was tried: docs/experiments.md.

Examples
--------
Two documents with a word each (model/problem.py), whose best weights are ±log 3.

>>> from scipy import sparse
>>> from cflengine.sentence_lasso.model.problem import SentenceProblem, no_sentences
>>> X, y = sparse.csr_matrix(np.eye(2)), np.array([-1.0, 1.0])
>>> problem = SentenceProblem(X, y, no_sentences(), lam_las=0.25, lam_sen=0.0, kappa=np.zeros(2))
>>> result = solve(Iterate(problem), MajoriseSettings(tol=1e-10))
>>> bool(np.allclose(result.w, np.log(3) * y)), result.gap <= 1e-10
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cflengine.engine.progress import EventForwarder, IterationStats, Listener, TerminationReason
from cflengine.sentence_lasso.kernels import majorise as kernels
from cflengine.sentence_lasso.model.margin_loss import HINGE, proximal_hinge
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.solvers.active import ActiveNewton
from cflengine.sentence_lasso.solvers.iterate import Iterate, proximal_newton_step
from cflengine.sentence_lasso.solvers.run import SentenceRun
from cflengine.sentence_lasso.solvers.settings import MajoriseSettings

_CERTIFY_EVERY = 10  # rounds
_EXACTNESS = (1e-2, 1e-4)  # of the linear systems: in the first step, in later ones
_PROMISE = 1e-2  # of tol²: a Newton step that promises less of the objective is the last
_TRACES = (1.0, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # shares of the largest weight below which a weight may be one
_UNFELT = 1e-6  # of the gap that ends the solve
_ATTEMPTS = 30  # Newton and proof, in the last cycle; fewer in those before
_CYCLES = 5
_AGAIN = 0.3  # of epsilon: where later cycles begin
_STRUGGLE = 8  # times newton_products: a linear system that wants more has the wrong weights at 0, or near it
_PROXIMAL_STEPS, _FIRST_TOL = 300, 1e-2  # of the hinge: how many, to which gap the first, each to half of it
_INNER = 150  # iterations of each: what is left is left to the next
_SETTLED = 1e-4  # of the objective: a round without sentences that brings less is followed by Newton's method
_WARM_EPSILON = 1e-2  # of the first round from a solution to other λ, as a share of epsilon


def solve(
    here: Iterate, settings: MajoriseSettings | None = None, listeners: Iterable[Listener] = (), *, warm: bool = False
) -> SentenceResult:
    """Solve (P) from ``here``, which it moves; warm: ``here`` solves it for other, similar λ.

    Ends at ``settings.tol``, at a limit, when a listener says so, or, as a numerical error, where nothing brings the
    gap further down; the best solution and the best bound are kept in any case.
    """
    settings = settings or MajoriseSettings()
    run = SentenceRun(here, "majorise", settings, listeners)
    if not run.certify("start"):
        return run.result()
    if here.problem.margin_loss is HINGE:
        return _by_proximal_steps(run, settings, warm=warm)
    last = settings.epsilon * settings.decay**settings.rounds
    for cycle in range(_CYCLES):
        # Few rounds with a fast ε are enough as a rule. Where they leave the wrong weights at 0 Newton's method
        # struggles, and slower rounds are worth their time.
        epsilon = settings.epsilon * (_AGAIN if cycle else _WARM_EPSILON if warm else 1.0)
        _rounds(run, settings, epsilon, last * 0.1**cycle, settings.decay ** (1.0 / (1 + 2 * cycle)))
        if not run.may_go_on() or not _newton(run, settings, final=cycle == _CYCLES - 1):
            return run.result()
    return run.result(TerminationReason.NUMERICAL_ERROR)


def _by_proximal_steps(run: SentenceRun, settings: MajoriseSettings, *, warm: bool) -> SentenceResult:
    """The hinge: solves with losses that have a derivative, the α of each of which make the next (margin_loss.py)."""
    here = run.here
    inner = replace(settings, time_limit=None, max_iter=min(_INNER, settings.max_iter))
    for k in range(_PROXIMAL_STEPS):
        inner = replace(inner, tol=max(_FIRST_TOL * 0.5**k, 0.1 * settings.tol))
        problem = replace(here.problem, margin_loss=here.working)
        start = Iterate(problem, here.columns, here.w, here.bias)
        found = solve(start, inner, [_Within(run.progress)], warm=warm or k > 0)
        here.work += start.work
        here.go(found.w, found.bias)
        run.multipliers.u = found.multipliers
        run.iteration += 1
        if not run.certify("proximal") or not run.may_go_on():
            return run.result()
        here.working = proximal_hinge(here.alpha())
    return run.result(TerminationReason.NUMERICAL_ERROR)


class _Within(EventForwarder):
    """A listener of a part of a solve, which ends with the whole; its numbers are of another loss."""

    def __call__(self, _: IterationStats) -> bool:
        return self.poll()


def _rounds(run: SentenceRun, settings: MajoriseSettings, epsilon: float, last: float, decay: float) -> None:
    """Rounds with ε from ``epsilon`` down to ``last`` by ``decay``; then what is below ε becomes 0."""
    here, problem = run.here, run.here.problem
    q, linear = np.zeros(problem.n_features), np.zeros(problem.n_features)
    smooth = _Smoothed(run)
    grouped = problem.groups.n_groups > 0
    k = 0
    while epsilon > last and run.may_go_on():
        smooth.epsilon = epsilon
        kernels.majorise(here.groups, here.w, problem.lam_sen, epsilon, q)
        fall = proximal_newton_step(here, q + problem.kappa, linear, smooth, settings.passes)
        here.work += 1
        run.iteration += 1
        k += 1
        if k % _CERTIFY_EVERY == 0:
            run.multipliers.smooth(epsilon)
            if not run.certify("rounds", sparse=not grouped, epsilon=epsilon):
                return
            if run.gap <= settings.tol:
                break
        if not grouped and fall <= _SETTLED * run.best_objective:
            return
        epsilon *= decay
    if grouped:
        run.multipliers.smooth(epsilon)
        here.go(np.where(np.abs(here.w) > epsilon, here.w, 0.0), here.bias)


class _Smoothed:
    """½ Σ κ_j w_j² + λ_sen Σ a_g √(‖(Mw)_g‖² + ε²) as a function of w."""

    def __init__(self, run: SentenceRun) -> None:
        self.here, self.problem, self.epsilon = run.here, run.here.problem, 0.0

    def __call__(self, w: np.ndarray) -> float:
        norms = kernels.smooth_norms(self.here.groups, w, self.problem.lam_sen, self.epsilon)
        return norms + 0.5 * float(self.problem.kappa @ (w * w))


def _newton(run: SentenceRun, settings: MajoriseSettings, *, final: bool) -> bool:
    """Newton steps, proof, weights brought back, again; False if the run is over, True if that leads no further.

    final: whether there will be no further rounds, so that it goes on also where it struggles.
    """
    here = run.here
    tol = _PROMISE * settings.tol**2  # the bound feels the error of w to first order, the objective to second
    stalls, limit = 0, settings.newton_products
    for _ in range(_ATTEMPTS if final else _ATTEMPTS // 3):
        if not run.may_go_on():
            return False
        before = run.gap
        newton = ActiveNewton(here, run.progress.poll)
        for k in range(settings.newton_steps):
            promised = newton.step(_EXACTNESS[k > 0], limit)
            if newton.truncated:
                limit *= 2
            run.iteration += 1
            if limit > _STRUGGLE * settings.newton_products and not final and here.problem.groups.n_groups:
                return True
            if promised < tol * newton.value or not run.may_go_on():
                break
        direction = run.multipliers.fit(run.progress.poll, settings.tol, stalls)
        if not run.certify("newton"):
            if run.converged and not here.problem.smooth:
                _drop_traces(run)
            return False
        returned = _bring_back(here, direction)
        stalls = 0 if returned or run.gap < 0.5 * before else stalls + 1
        if stalls > 2:
            return True
        if not returned:
            tol *= 1e-2
    return True


def _drop_traces(run: SentenceRun) -> None:
    """Set the weights to 0 that are traces of a way to 0: as many as neither objective nor gap feel."""
    here, objective, (w, bias, _) = run.here, run.best_objective, run.best
    size, largest = np.abs(w), float(np.abs(w).max(initial=0.0))
    for share in _TRACES:
        sparser = np.where(size > share * largest, w, 0.0)
        if np.count_nonzero(sparser) == np.count_nonzero(w):
            return
        if here.problem.objective(sparser, bias) <= objective * (1.0 + _UNFELT * run.settings.tol):
            here.go(sparser, bias)
            run.certify("zeros")
            return


def _bring_back(here: Iterate, direction: np.ndarray) -> bool:
    """Go along a direction in which (P) falls, as far as it pays; whether it did."""
    problem = here.problem
    if not direction.any():
        return False
    moved = problem.X @ direction
    derivative, hessian = here.derivatives()
    fall = float(derivative @ moved) + problem.lam_las * float(np.abs(direction).sum())
    curvature = float(hessian @ (moved * moved)) + float(problem.kappa @ (direction * direction))
    value = here.objective()
    # the norms of the sentences that come back are in F, not in ``fall``: the search finds out
    length = max(-fall, 0.0) / max(curvature, 1e-300)
    for _ in range(40):
        w = here.w + length * direction
        if here.loss(problem.X @ w + here.bias) + problem.penalty(w) < value:
            here.go(w, here.bias)
            return True
        length *= 0.5
    return False
