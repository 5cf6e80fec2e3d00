"""Primal-dual coordinate descent: passes over the observations, proofs of the gap, and what follows from them.

A proof (certificate.py) costs two products with the data, about a pass. It is made when the estimate that a pass leaves
says that the gap may be small enough, and every ``check_every`` passes. From a proved gap G follows, (P) being
μ-strongly convex in β, ‖β − β*‖ ≤ √(2G/μ): observations whose score is further than ‖x_i‖ times that from any kink have
the duals of that side in every solution (gap-safe screening; a free β₀ lies in a range that follows from the same ball,
shift.py, and counts as so much further). β, which is carried along, is set from the duals anew at
every proof, so that rounding does not add up.

Where the gap falls so slowly that Newton's method (newton.py) would be there sooner, it takes over.

A free β₀ follows from the condition Σ a_i = 0 by the method of multipliers: it counts as the coefficient of one more
feature of the size M, with a penalty on its distance from where it was after the last pass, not from 0. So a step of
the duals moves it at once, and where it no longer moves the penalty is 0. The proof takes the best β₀ there is for its
β.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.gaps import EPSILON, relative_gap
from cflengine.engine.jit import one_blas_thread
from cflengine.engine.progress import NAN, Listener, TerminationReason
from cflengine.engine.run import Run
from cflengine.plq import kernels
from cflengine.plq.arrays import Products, block_size, losses_of, rows_of, sizes_of
from cflengine.plq.certificate import Certificate, Sizes, certify
from cflengine.plq.extrapolation import Extrapolation
from cflengine.plq.newton import AugmentedNewton, Iterate, is_sooner, passes_of_newton
from cflengine.plq.problem import PLQProblem
from cflengine.plq.projection import CONSTRAINT_ROUNDS, Projection
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings
from cflengine.plq.shift import best_shift, shift_range, shift_weight

_CHUNK_ENTRIES = 1 << 24  # entries of the data between two questions whether to stop
_EARLIER, _FIRST_PROOF = 5, 10  # passes; by the estimates after both the first proof tells how fast the gap falls
_CALL_ENTRIES, _CALL_PASSES = 1 << 18, 20  # small passes share a call
_PROMISING = 0.7  # an estimate below this share of the gap asked for is worth a proof
_EARLY = 0.1  # of the objective of β = 0, which stands for the optimum's before the first proof
_SCREENED = 0.25  # of the gap of the last screening: then it is worth another
_STUCK = 4  # rounds of Newton's method in a row that bring nothing
_ROUNDING = 64 * EPSILON  # of the objective of β = 0: what a bound may be off by
_OF_CONSTANT = 4096 * EPSILON  # by so much of the losses' constant objective and bound may be apart
_NOTHING = 1e-6  # of the objective of β = 0: an optimum below is as good as 0


class Descent(Run):
    """One solve by primal-dual coordinate descent.

    Parameters
    ----------
    problem : PLQProblem
        (P).
    settings : DescentSettings
        Of the solver.
    listeners : Iterable[Listener], default: ()
        Get its events; False ends it.
    start : PLQResult or None, default: None
        A result to begin from, of the same shape.
    sizes : Sizes or None, default: None
        Norms of X, where they are known.
    """

    solver = "descent"

    def __init__(
        self,
        problem: PLQProblem,
        settings: DescentSettings,
        listeners: Iterable[Listener] = (),
        start: PLQResult | None = None,
        sizes: Sizes | None = None,
    ) -> None:
        super().__init__(settings, listeners)
        self.problem, loss = problem, problem.loss
        n = problem.shape[0]
        self.sizes = sizes or sizes_of(problem.X)
        self.rows = rows_of(problem.X, self.sizes.rows)
        self.products = Products(problem, self.rows)
        self.A = rows_of(problem.constraints.A, problem.constraints.norms)
        self.project = Projection(problem.constraints, self.A, np.sqrt(self.sizes.columns))
        self.losses = losses_of(loss)
        self.duals = np.zeros((n, loss.U.shape[1] + loss.S.shape[1]))
        self.relu_duals, self.rehu_duals = np.split(self.duals, [loss.U.shape[1]], axis=1)  # views
        self.warm, self.xi, bias = start is not None, np.zeros(len(problem.constraints)), 0.0
        if start is not None:
            shapes = (start.lam.shape, start.gam.shape, start.xi.shape)
            if shapes != (loss.U.shape, loss.S.shape, self.xi.shape):
                raise InputError("the result to begin from is of other rows, losses or constraints.")
            self.relu_duals[:], self.rehu_duals[:], self.xi[:] = start.lam, np.minimum(start.gam, loss.tau), start.xi
            bias = start.bias if problem.intercept else 0.0
        self.bias = np.array([bias, shift_weight(problem, self.sizes.rows), 0.0])
        self.entries = max(float(self.sizes.entries.mean()) if n else 0.0, 1.0)  # of a row, on average
        self.trust = 1.0
        self.order, self.idle = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
        self.screened, self.screened_at = np.zeros(n, dtype=bool), math.inf
        self.extrapolation = Extrapolation()
        self.random = np.random.default_rng(settings.random_state)
        self.state, self.at_rest = np.zeros(3), False
        self.margin = math.inf
        self.best: tuple[np.ndarray, float, Certificate] | None = None
        self.price = 0.0  # by how much more the best β would cost, at the best duals, did it not fail constraints
        self.best_duals = (self.relu_duals, self.rehu_duals, self.xi)
        self.proofs: list[tuple[float, float]] = []  # since then: passes before, and the gap, of each proof
        able = settings.newton and math.isfinite(passes_of_newton(problem, 0, self.entries))
        self.newton_from = 0.0 if able else math.inf  # passes, from which on Newton's method may be tried
        self._reset(np.zeros(n))  # the duals are 0; those of a warm start are proved first
        shift = best_shift(self.losses, np.zeros(n), 0.0) if problem.intercept and n else 0.0
        if start is None:
            self.bias[0] = shift
        off, at_0 = _ROUNDING * abs(shift), loss.value(np.full(n, shift))
        beside = [loss.value(np.full(n, z)) for z in (shift + off, shift - off)] if off else [at_0]
        self.scale = float(at_0.sum())  # the objective of β = 0
        # what rounding of β₀ alone may add to it, and that of a constant, beside which it may be nothing
        self.blur = float((np.maximum.reduce(beside) - at_0).sum()) + _OF_CONSTANT * abs(loss.constant)

    def _reset(self, a: np.ndarray) -> np.ndarray:
        """β from what the duals come to: ``whole``, and a copy, ``beta``, which passes change; returns their q."""
        q = self.products.combination(a, self.xi) if a.any() or len(self.xi) else np.zeros(self.problem.shape[1])
        self.bias[2] = float(a.sum()) if self.problem.intercept else 0.0
        self.whole = self.problem.coefficients(q)
        self.q = q.copy() if self.problem.nu > 0 else np.empty(0)
        self.beta = self.whole.copy()
        self.extrapolation.forget()
        return q

    def run(self) -> PLQResult:
        """Passes until the gap asked for is proved, a limit is met, or a listener says stop."""
        settings = self.settings
        since, going = 0, not self.warm or self.prove()
        following = min(_FIRST_PROOF, settings.check_every)
        earlier: tuple[float, float] | None = None  # an estimate, and the passes before it
        while going and not (self.done or self.at_rest):
            if self.iteration >= settings.max_iter:
                self.limited = True
                break
            going = self.sweep()
            since += 1
            if going and self.settings.extrapolation and self._few_are_left():
                self._extrapolate()
            if earlier is None and self.iteration >= _EARLIER:
                earlier = self.work, float(self.state[1])
            if going and (self.iteration >= following or self.at_rest or self._promising()):
                first = self.best is None
                going, since = self.prove(), 0
                if first and earlier is not None and self.size > 0:
                    self.proofs.insert(0, (earlier[0], earlier[1] * self.trust / self.size))
                if going and not self.done and self._crawls():
                    going = self.take_newton_steps()
                following = self.iteration + settings.check_every * int(np.clip(self.iteration // 30, 1, 10))
        if since or self.best is None:
            self.prove()
        return self.result()

    @property
    def gap(self) -> float:
        """Of the best solution, what it fails constraints by included; NaN before there is a bound."""
        found = math.isfinite(self.best_objective)
        return relative_gap(self.best_objective + self.price, self.lower_bound) if found else NAN

    @property
    def open_gap(self) -> float:
        """The same without a constant of the losses above 0, beside which any gap would be small; inf before there is
        one."""
        constant = max(self.problem.loss.constant, 0.0)
        found = relative_gap(self.best_objective + self.price - constant, self.lower_bound - constant)
        return found if math.isfinite(self.best_objective) and not math.isnan(found) else math.inf

    @property
    def done(self) -> bool:
        """Whether the gap asked for is proved; where rounding does not tell the bound from 0, whether what is left is
        small against the objective of β = 0."""
        if self.settings.tol is None or not math.isfinite(self.best_objective):
            return False
        bound, least = self.lower_bound - max(self.problem.loss.constant, 0.0), max(_ROUNDING * self.scale, self.blur)
        left = self.best_objective + self.price - self.lower_bound
        nothing = max(self.settings.tol * _NOTHING * self.scale, self.blur)
        return (bound <= least and left <= nothing) or self.reached(self.open_gap)

    @property
    def reason(self) -> TerminationReason:
        """Why it ended: duals that no pass moves any more need not prove the gap asked for."""
        reason = super().reason
        short = reason == TerminationReason.CONVERGED and self.settings.tol is not None and not self.done
        return TerminationReason.AT_REST if short else reason

    @property
    def size(self) -> float:
        """Of the objective, which may be below 0 (a loss's constant), against which what it misses is small."""
        if not math.isfinite(self.best_objective):
            return self.scale
        return max(abs(self.best_objective - max(self.problem.loss.constant, 0.0)), _NOTHING * self.scale)

    def sweep(self) -> bool:
        """A pass over the active observations and all constraints; False if stopped."""
        problem, constraints = self.problem, self.problem.constraints
        self.state[:] = 0.0
        n = len(self.order)
        size = block_size(n, n * self.entries, rows=self.rows, free=bool(self.problem.intercept))
        most = min(_CALL_PASSES, self.settings.check_every, self.settings.max_iter - self.iteration)
        repeats = int(np.clip(_CALL_ENTRIES / (max(n, 1) * self.entries), 1, most))
        if len(constraints):
            repeats = 1  # their updates come after every pass
        count = -(-n // size)
        if repeats > 1:
            blocks = self.random.permuted(np.tile(np.arange(count), (repeats, 1)), axis=1)
        else:
            blocks = self.random.permutation(count)[None]
        step = max(1, int(_CHUNK_ENTRIES / (size * self.entries)))
        for begin in range(0, blocks.shape[1], step):
            kernels.visit(
                self.rows, self.losses, kernels.Point(self.duals, self.beta, self.q, self.bias),
                kernels.Active(self.order, self.idle, self.state), blocks[:, begin : begin + step], size,
                (problem.mu, problem.nu), self.margin,
            )  # fmt: skip
            if not self.progress.poll():
                return False
        self.work += repeats * n / max(len(self.idle), 1)
        if math.isfinite(self.margin):
            self.order = self.order[: kernels.drop_idle(self.order, self.idle)]
        if len(constraints):
            self.state[2] += kernels.visit_constraints(
                self.A, constraints.b, constraints.equal, self.xi, self.beta, self.q, (problem.mu, problem.nu),
                CONSTRAINT_ROUNDS,
            )  # fmt: skip
        shift = self.bias[1] * self.bias[2]
        self.bias[0] -= shift
        self.at_rest = self.state[2] == 0.0 and shift == 0.0
        self.iteration += repeats
        # LIBLINEAR's rule: what is further from its kinks than the worst violation of a pass is done for now
        self.margin = float(self.state[0]) if self.settings.shrinking and self.state[0] > 0 else math.inf
        return True

    def _few_are_left(self) -> bool:
        """Whether passes are over few enough observations for their duals to be kept, and of nothing but duals."""
        return 2 * len(self.order) <= len(self.idle) and not self.problem.intercept and not len(self.xi)

    def _extrapolate(self) -> None:
        """Go where the last passes lead, if the dual's value is larger there."""
        problem, loss = self.problem, self.problem.loss
        found = self.extrapolation.follow(self.duals, self.order)
        if found is None:
            return
        rows, ahead = self.extrapolation.rows, self.duals.copy()
        ahead[rows] = found
        lam, gam = np.split(ahead, [loss.U.shape[1]], axis=1)  # views
        np.clip(lam, 0.0, 1.0, out=lam)
        np.clip(gam, 0.0, loss.tau, out=gam)
        more = lam - self.relu_duals, gam - self.rehu_duals
        moved = self.products.combination(problem.weights(*more), self.xi)
        q = self.q + moved if problem.nu > 0 else self.beta + moved / problem.mu
        beta = problem.coefficients(q) if problem.nu > 0 else q
        gain = float((more[0] * loss.V).sum() + (more[1] * (loss.T - 0.5 * (gam + self.rehu_duals))).sum())
        gain -= 0.5 * problem.mu * float((beta + self.beta) @ (beta - self.beta))
        self.work += len(rows) / max(len(self.idle), 1)
        if gain > 0.0:
            self.duals[:], self.beta, self.at_rest = ahead, beta, False
            if problem.nu > 0:
                self.q = q

    def _promising(self) -> bool:
        """Whether the estimate, corrected by how far the last one was off, is small enough for a proof."""
        if self.settings.tol is None:
            return False
        wanted, estimate = _PROMISING * self.settings.tol, float(self.state[1]) * self.trust
        if math.isfinite(self.best_objective):
            return estimate <= wanted * self.size
        return estimate <= wanted * self.scale and estimate <= wanted * max(self._dual(), _EARLY * self.scale)

    def _dual(self) -> float:
        """The dual's value where the descent stands, by the β that it carries: the optimum's size, as an estimate."""
        loss, mu = self.problem.loss, self.problem.mu
        linear = float((self.relu_duals * loss.V).sum() + (self.rehu_duals * (loss.T - 0.5 * self.rehu_duals)).sum())
        return linear - float(self.xi @ self.problem.constraints.b) - 0.5 * mu * float(self.beta @ self.beta)

    def _crawls(self) -> bool:
        """Whether Newton's method would reach the gap asked for sooner, or nothing else moves the duals any more."""
        if self.work < self.newton_from:
            return False
        if self.at_rest:
            return True
        bounds = np.hstack([np.ones_like(self.problem.loss.U), self.problem.loss.tau])
        between = int(((self.duals > 0.0) & (self.duals < bounds)).any(axis=1).sum())
        cost = passes_of_newton(self.problem, between, self.entries)
        return is_sooner(cost, self.proofs, self.settings.tol or EPSILON)

    def take_newton_steps(self) -> bool:
        """Newton's method from here, a proof after each of its rounds; False if stopped. Where it fails, the descent
        goes on from the best duals, and it is tried again after twice the passes."""
        self.at_rest = False
        start = Iterate(self.relu_duals, self.rehu_duals, self.xi, self.whole, float(self.bias[0]))
        newton = AugmentedNewton(self.problem, self.sizes.columns, start, 1e-3 * self.size, self.progress.poll)
        stuck, gap = 0, self.open_gap
        with one_blas_thread():
            for found, steps in newton:
                self.relu_duals[:], self.rehu_duals[:], self.xi[:] = found.lam, found.gam, found.xi
                self.bias[0] = found.bias
                self.iteration += steps
                self.work += 2.0 * steps
                if not self.prove("Newton", found.beta):
                    return False
                stuck, gap = (stuck + 1, gap) if self.open_gap > 0.9 * gap else (0, self.open_gap)
                if self.done or stuck == _STUCK or self.iteration >= self.settings.max_iter:
                    break
                newton.least = 0.02 * (self.settings.tol or EPSILON) * self.size
        if not self.done:
            for duals, best in zip((self.relu_duals, self.rehu_duals, self.xi), self.best_duals, strict=True):
                duals[:] = best
            self._reset(self.problem.weights(self.relu_duals, self.rehu_duals))
            self.newton_from = 2.0 * self.work
            self.proofs.clear()
        return self.progress.reason is None

    def prove(self, stage: str = "descent", beta: np.ndarray | None = None) -> bool:
        """Set β from the duals anew, prove the gap, screen, and report; False if a listener says stop. beta: what to
        prove it of, None for that β."""
        problem = self.problem
        q = self._reset(problem.weights(self.relu_duals, self.rehu_duals))
        beta = self.whole if beta is None else beta
        if len(problem.constraints):
            beta = self.project(beta, self.xi)
        z = self.products.scores(beta)
        bias = best_shift(self.losses, z, float(self.bias[0])) if problem.intercept else 0.0
        duals, known = (self.relu_duals, self.rehu_duals, self.xi), None if problem.intercept else q
        found = certify(problem, beta, bias, duals, self.sizes, scores=z + bias, q=known)
        self.work += 2.0
        if found.proved and (self.best is None or not self.best[2].proved or found.objective < self.best_objective):
            self.best, self.best_objective = (beta.copy(), bias, found), found.objective
        elif self.best is None:
            self.best = (beta.copy(), bias, found)
        if self.raise_bound(found.lower_bound):
            self.best_duals = (self.relu_duals.copy(), self.rehu_duals.copy(), self.xi.copy())
        if len(problem.constraints):
            self.price = float(np.abs(self.best_duals[2]) @ problem.constraints.failing(self.best[0]))
        estimate, proved = float(self.state[1]), found.objective - found.lower_bound
        if self.iteration and estimate > 0 and math.isfinite(proved) and proved > 0:
            self.trust = min(max(proved / estimate, 1e-3), 1e3)
        if not math.isfinite(found.objective) or not math.isfinite(found.lower_bound):
            self.progress.reason = TerminationReason.NUMERICAL_ERROR
            return False
        self.proofs.append((self.work, self.open_gap))
        if found.proved:
            self._screen()
        if not self.done:
            self._reactivate((z if beta is self.whole else self.products.scores(self.whole)) + self.bias[0])
        return self.report(
            stage, found.objective, support=int(np.count_nonzero(beta)),
            extra={"violation": found.violation, "screened": int(self.screened.sum()), "active": len(self.order)},
        )  # fmt: skip

    def _screen(self) -> None:
        """Set aside for good the observations whose duals a proved gap settles (see the module's docstring)."""
        problem = self.problem
        assert self.best is not None
        beta, _, found = self.best
        gap, z = max(self.best_objective - self.lower_bound, 0.0), found.scores
        if not self.settings.screening or gap > _SCREENED * self.screened_at:
            return
        self.screened_at = gap
        rounding = 1.01 * EPSILON * (self.sizes.entries + 8.0)
        far = np.sqrt(2.0 * gap / problem.mu * self.sizes.rows) * (1.0 + 1e-9)
        far += rounding * (np.sqrt(self.sizes.rows * float(beta @ beta)) + np.abs(z))
        if problem.intercept:
            lo, hi = shift_range(self.losses, z, far)
            if not math.isfinite(hi - lo):
                return
            z, far = z + 0.5 * (lo + hi), (far + 0.5 * (hi - lo)) * (1.0 + 1e-9)
        changed = kernels.settle(self.losses, z, far, self.duals, self.screened)
        if changed and not self.done:
            self.at_rest = False
            self._reset(problem.weights(self.relu_duals, self.rehu_duals))

    def _reactivate(self, z: np.ndarray) -> None:
        """Active are from now on those that were, and those set aside whose duals do not rest at these scores."""
        aside = ~self.screened
        aside[self.order] = False
        n_aside = int(aside.sum())
        kernels.find_unrested(self.losses, z, self.duals, aside)
        self.at_rest = self.at_rest and int(aside.sum()) == n_aside
        self.order = np.flatnonzero(~(aside | self.screened)).astype(np.int32)
        self.idle[self.order] = 0

    def result(self) -> PLQResult:
        """The best solution with the best duals, each as certificate.py found it from the data when it was proved."""
        assert self.best is not None
        beta, bias, found = self.best
        lam, gam, xi = self.best_duals
        facts = self.facts(found.objective, self.lower_bound)
        facts["gap"] = relative_gap(found.objective + self.price, self.lower_bound)
        return PLQResult(
            **facts, w=beta, bias=bias, lam=lam, gam=gam, xi=xi,
            violation=found.violation, support=int(np.count_nonzero(beta)), n_screened=int(self.screened.sum()),
        )  # fmt: skip
