"""Phase two: from the relaxation with the concave dictionary cost to levels that are nearly 0 or 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.solvers.guided.phases import ANNEALING, RELAXATION

if TYPE_CHECKING:
    from cflengine.compression.solvers.guided.run import GuidedRun

UNDECIDED = (0.02, 0.98)
FEW = 0.002  # undecided K-grams, of those that are not 0, with which annealing ends


def anneal(run: GuidedRun, i: int) -> bool:
    """The i-th annealing, then rounding and local search; False if stopped.

    The first time as the settings say; later half as long, with half of the K-grams, drawn anew, priced by whether the
    best solution has them: near enough to it to be worth combining, and far enough to bring something new.
    """
    admm, settings = run.admm, run.settings
    run.return_to_relaxation()
    top = np.zeros(run.index.n_grams, dtype=np.float32)
    admm.levels = top  # ‖w_J(s)‖∞ of every step from here on
    going = run.step(RELAXATION)
    epsilon, shorter = settings.epsilon / 2 ** (max(i - 1, 0) % 3), 2 if i else 1
    held = run.random.random(len(top)) < 0.5 if i else np.zeros(0, dtype=bool)
    held_level = run.coder.evaluate(run.best_cover)[2][held] if i else None
    cost = np.empty(len(top))
    for _ in range(-(-settings.anneal_rounds // shorter)):
        np.minimum(top, 1.0, out=top)
        if held_level is not None:
            top[held] = held_level
        np.divide(run.costs.dictionary, (top + epsilon) * math.log1p(1.0 / epsilon), out=cost)
        admm.group_cost = cost
        going = going and all(run.step(ANNEALING) for _ in range(-(-settings.anneal_steps // shorter)))
        undecided = np.count_nonzero((top > UNDECIDED[0]) & (top < UNDECIDED[1]))
        if not going or undecided <= FEW * np.count_nonzero(top > UNDECIDED[0]):
            break
    admm.levels = np.empty(0, dtype=np.float32)
    if not going:
        admm.group_cost = run.costs.dictionary
        return False
    uses = run.uses(admm.take_w())
    admm.group_cost = run.costs.dictionary
    del cost, top
    return run.refinement.descend(run.refinement.round(uses))
