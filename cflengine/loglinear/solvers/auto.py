"""The default solver: whichever is fastest to a certified gap, found out on the way.

Two classes: dual coordinate descent, which is fastest wherever the classes can (nearly) be separated, as they mostly
can in text. Where they cannot, or the ridge is small, it crawls; so after 17 passes, and every 5 from then on, the rate
at which its proved gap fell says how many more passes it will take, and if that is more than 60, Newton's method goes
on from where it stands. Other models: L-BFGS.

Examples
--------
Documents 1 and −1 of either class, whose best weight is 1 (lbfgs.py). They are easy to separate.

>>> import numpy as np
>>> from scipy import sparse
>>> from cflengine.linear.design import Design
>>> from cflengine.loglinear.solvers.registry import solve
>>> from cflengine.loglinear.solvers.settings import AutoSettings
>>> model = BinaryModel(Design(sparse.csr_matrix([[1.0], [-1.0]])), np.array([1.0, -1.0]))
>>> result = solve(model, 2.0 / (1.0 + np.e), "auto", AutoSettings(tol=1e-9))
>>> round(float(result.w[0]), 4), result.gap <= 1e-9
(1.0, True)
>>> result.why
'dual coordinate descent, since the classes are easy to separate'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from cflengine.engine.gaps import relative_gap
from cflengine.loglinear.model.losses import BinaryModel
from cflengine.loglinear.model.objective import Objective, Point
from cflengine.loglinear.solvers.dual import dual
from cflengine.loglinear.solvers.lbfgs import lbfgs
from cflengine.loglinear.solvers.newton import newton

_FIRST_LOOK, _EVERY, _MOST_PASSES = 15, 5, 60


def auto(objective: Objective, first: Point, tol: float, seed: int) -> Iterator[tuple[str, Point]]:
    """(solver at work, point) after ``first``, by the rule above; ``first``: where other models than binary begin."""
    if not isinstance(objective.model, BinaryModel):
        for point in lbfgs(objective, first):
            yield "lbfgs", point
        return
    gaps: list[float] = []
    point = first
    for point in dual(objective, seed):
        yield "dual", point
        gaps.append(relative_gap(point.value, point.bound or 0.0))
        if len(gaps) >= _FIRST_LOOK and len(gaps) % _EVERY == 0 and _passes_left(gaps, tol) > _MOST_PASSES:
            break
    for there in newton(objective, objective.at(point.w)):
        yield "newton-cg", there


def _passes_left(gaps: list[float], tol: float) -> float:
    """How many more passes the gap takes to ``tol`` at the rate of the last _EVERY; inf where it did not fall."""
    before, now = gaps[-1 - _EVERY], gaps[-1]
    if now <= tol:
        return 0.0
    if not (math.isfinite(before) and now < before):
        return math.inf
    return _EVERY * math.log(now / tol) / math.log(before / now)


def explain(stages: Iterable[str]) -> str:
    """Why these solvers ran, for the user."""
    ran = set(stages)
    if "newton-cg" in ran:
        return "dual coordinate descent fell behind, so Newton's method took over"
    if "dual" in ran:
        return "dual coordinate descent, since the classes are easy to separate"
    return "L-BFGS, since there are more than two classes at once"
