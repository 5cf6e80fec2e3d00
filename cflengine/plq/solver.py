"""(P) solved: by primal-dual coordinate descent, with Newton's method where that is sooner (descent.py).

Examples
--------
The hinge loss of one observation, 2, of class 1 (problem.py); max(0, 1 − 2β) + β²/2 has its least value
at the kink, β = 1/2.

>>> import numpy as np
>>> from cflengine.plq.problem import CompositeLoss, no_constraints
>>> one, none = np.ones((1, 1)), np.zeros((1, 0))
>>> loss = CompositeLoss(U=-one, V=one, S=none, T=none, tau=none)
>>> result = solve(PLQProblem(2.0 * one, loss, no_constraints(1)), DescentSettings(tol=1e-9))
>>> result.w.round(6).tolist(), round(result.objective, 6), result.gap <= 1e-9
([0.5], 0.125, True)
"""

from __future__ import annotations

from collections.abc import Iterable

from cflengine.engine.progress import Listener
from cflengine.engine.registry import Solver
from cflengine.plq.arrays import sizes_of
from cflengine.plq.certificate import Sizes
from cflengine.plq.constraints import check_problem
from cflengine.plq.descent import Descent
from cflengine.plq.problem import PLQProblem
from cflengine.plq.result import PLQResult
from cflengine.plq.settings import DescentSettings


def solve(
    problem: PLQProblem,
    settings: DescentSettings | None = None,
    listeners: Iterable[Listener] = (),
    *,
    start: PLQResult | None = None,
    sizes: Sizes | None = None,
) -> PLQResult:
    """Solve (P) of :mod:`~cflengine.plq.problem` by primal-dual coordinate descent.

    Parameters
    ----------
    problem : PLQProblem
        Data, losses, constraints, penalty.
    settings : DescentSettings or None, default: None
        Gap, limits, and more; None for the defaults.
    listeners : Iterable[Listener], default: ()
        Get an event a proof; one that answers False ends the solve.
    start : PLQResult or None, default: None
        A result of the same shape to begin from.
    sizes : Sizes or None, default: None
        Of the problem's X, where they are known.

    Returns
    -------
    PLQResult
        The best β that was proved, with the best duals.

    Raises
    ------
    ValueError for data that are not finite, and for constraints that no β meets.
    """
    sizes = sizes or sizes_of(problem.X)
    check_problem(problem, sizes.rows)
    return Descent(problem, settings or DescentSettings(), listeners, start, sizes).run()


_ABLE = frozenset({"bounds", "warm start"})
DESCENT = Solver("descent", "primal-dual coordinate descent", DescentSettings, _ABLE, solve)
