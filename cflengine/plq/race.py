"""Pure coordinate descent on the dual of the SVM beside the primal-dual form, step by step.

    minimise over 0 ≤ α ≤ C   ½ αᵀQα − Σ_i α_i,   Q_ij = y_i y_j x_iᵀx_j

    pure          δ*_i = max(−α_i, min(C − α_i, (1 − (Qα)_i)/Q_ii)),              Q precomputed: n² operations a sweep
    primal-dual   δ*_i = max(−α_i, min(C − α_i, (1 − y_i βᵀx_i)/Q_ii)),  β ← β + δ* y_i x_i:        2nd, d the entries
                                                                                                    of a row on average

(the talk in the references, Dai 2023). Both take the same steps in the same order, so α is the same after every sweep
up to rounding; what differs is what a step costs. descent.py is the second with what makes it fast in practice, so
neither is this project's solver: they are here to be watched. No intercept, every α visited once a sweep.

Examples
--------
One observation, 2, of class 1. Both forms step to α = 1/4, β = 1/2 (problem.py).

>>> X, y = np.array([[2.0]]), np.array([1.0])
>>> runs = [DualSVM(name, X, y, 1.0, DescentSettings(tol=1e-9)).run() for name in FORMS]
>>> [(result.w.tolist(), result.lam.tolist(), result.gap <= 1e-9) for result in runs]
[([0.5], [[0.25]], True), ([0.5], [[0.25]], True)]
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.engine.run import Run
from cflengine.plq import kernels_race as kernels
from cflengine.plq.arrays import rows_of
from cflengine.plq.certificate import Sizes, certify
from cflengine.plq.losses import named_loss
from cflengine.plq.problem import PLQProblem, no_constraints
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings

MOST = 6000  # observations of the pure form, whose Q has the square of that
FORMS = ("pure", "primal-dual")
_STEPS = 512  # between two questions whether to stop


class DualSVM(Run):
    """One solver of the race: pure or primal-dual coordinate descent on the dual of the SVM.

    Events have ``operations``, multiplications so far, and ``sweep_s``, the seconds of the sweeps alone, without those
    of the proofs in between.

    Parameters
    ----------
    name : str
        Which of the two.
    X : Any
        float64 (n, d), dense or CSR.
    y : ndarray
        float64 (n,), ±1.
    C : float
        Factor of the losses.
    settings : DescentSettings
        Of coordinate descent.
    listeners : Iterable[Listener], default: ()
        Get its events; False ends it.

    Raises
    ------
    ValueError for more than MOST observations of the pure form.
    """

    def __init__(
        self,
        name: str,
        X: Any,
        y: np.ndarray,
        C: float,
        settings: DescentSettings,
        listeners: Iterable[Listener] = (),
    ) -> None:
        super().__init__(settings, listeners, solver=name)
        n = X.shape[0]
        self.name, self.X, self.y, self.C = name, X, y, float(C)
        self.problem = PLQProblem(X, named_loss("hinge").for_data(y, C), no_constraints(X.shape[1]))
        self.sizes, self.alpha, self.beta = Sizes.of(X), np.zeros(n), np.zeros(X.shape[1])
        self.rows, self.entries = rows_of(X, self.sizes.rows), self.sizes.entries.astype(np.int64)
        self.operations, self.sweep_s, self.Q = 0, 0.0, np.empty((0, 0))
        self.last_gap = math.inf
        if name == "pure":
            self._precompute()

    def _precompute(self) -> None:
        n = len(self.y)
        if n > MOST:
            raise InputError(
                f"pure coordinate descent keeps a matrix of {n:,} × {n:,}; it is for at most {MOST:,} observations."
            )
        require_bytes(16 * n * n, f"The matrix Q of {n:,} observations", "take fewer documents.")
        began = time.perf_counter()
        signed = sparse.diags(self.y) @ self.X if sparse.issparse(self.X) else self.y[:, None] * self.X
        product = signed @ signed.T
        self.Q = np.ascontiguousarray(product.toarray() if sparse.issparse(product) else product)
        self.sweep_s += time.perf_counter() - began
        self.operations += int(self.entries.sum()) * n

    def run(self) -> PLQResult:
        """Sweeps until the gap asked for is proved, a limit is met, or a listener says stop."""
        generator = np.random.default_rng(self.settings.random_state)
        going = self.prove()
        while going and not self.reached(self.last_gap) and self.iteration < self.settings.max_iter:
            order = generator.permutation(len(self.y))
            for first in range(0, len(order), _STEPS):
                self._sweep(order[first : first + _STEPS])
                if not self.progress.poll():
                    return self.result()
            self.iteration += 1
            going = self.prove()
        self.limited = not self.reached(self.last_gap)
        return self.result()

    def _sweep(self, order: np.ndarray) -> None:
        began = time.perf_counter()
        if self.name == "pure":
            self.operations += kernels.pure_sweep(self.Q, self.C, order, self.alpha)
        else:
            self.operations += kernels.carried_sweep(
                self.rows, self.entries, self.y, self.C, order, self.alpha, self.beta
            )
        self.sweep_s += time.perf_counter() - began

    def prove(self) -> bool:
        """Certify where it stands and report; False if a listener says stop."""
        found = self._certificate()
        self.best_objective, self.last_gap = min(self.best_objective, found.objective), found.gap
        self.raise_bound(found.lower_bound)
        self.work = float(self.iteration)
        return self.report(
            self.name, found.objective, extra={"operations": float(self.operations), "sweep_s": self.sweep_s}
        )

    def _certificate(self) -> Any:
        duals = (self.alpha / self.C)[:, None], np.zeros((len(self.y), 0)), np.zeros(0)
        beta = np.asarray(self.X.T @ (self.alpha * self.y)).ravel()
        return certify(self.problem, beta, 0.0, duals, self.sizes)

    def result(self) -> PLQResult:
        """Where it stands, certified."""
        found = self._certificate()
        beta = np.asarray(self.X.T @ (self.alpha * self.y)).ravel()
        return PLQResult(
            **self.facts(found.objective, found.lower_bound),
            w=beta, bias=0.0, lam=(self.alpha / self.C)[:, None], gam=np.zeros((len(self.y), 0)), xi=np.zeros(0),
            violation=0.0, support=int(np.count_nonzero(beta)), n_screened=0,
        )  # fmt: skip
