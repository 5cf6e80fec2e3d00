"""The last phase of a solve: branching trees where the bound is not tight, until the gap is reached or hardly any
helps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.analysis.gap import charge_gap
from cflengine.compression.model.branching import Branching
from cflengine.compression.model.certificate import Certificate
from cflengine.compression.search.branching import Brancher, parts_with_gap, units_of
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import Stopped

if TYPE_CHECKING:
    from cflengine.compression.solvers.run import CompressionRun

BRANCHING = "branching trees"
LEAST_SHARE, RECENT = 0.003, 32  # of what is open: so many parts that lift the bound by less are the last
_ROUNDING = 1e-9  # of the bound: lifts are added up here, and recomputed in the end
FEW_TOKENS = 200_000  # of a corpus that is encoded anew for every part with a cheaper solution of its own
EVERY = 4  # parts from one event to the next: not seconds, so that two runs tell the same


@dataclass(frozen=True)
class _Prices:
    """A solution and its prices, to be charged."""

    cover: np.ndarray
    alpha: np.ndarray
    branchings: tuple[Branching, ...] = ()


def branch_where_open(run: CompressionRun, alpha: np.ndarray, proved: Certificate) -> tuple[Branching, ...]:
    """Trees for parts of the corpus, those with most of the gap first. alpha: float64 (n,), dual feasible, in the
    user's unit; proved: by these prices. Stopped, what there is of trees is the answer."""
    given, index, poll = run.problem.given, run.index, run.progress.poll
    try:
        units = units_of(index, run.best_cover)
        gap = charge_gap(_Prices(run.best_cover, alpha), index, given, units, np.zeros(0), poll)
    except Stopped:
        return ()
    run.iteration += 1
    if not run.tell(BRANCHING):
        return ()
    brancher = Brancher(index, given, run.best_cover, alpha)
    found: list[Branching] = []
    recent: deque[float] = deque(maxlen=RECENT)
    lifted = 0.0
    for tried, spans in enumerate(parts_with_gap(gap, index, units), 1):
        tree, lift, better = brancher.branch(spans, poll)
        if better is not None and index.n_tokens <= FEW_TOKENS:
            _take(run, *better)
        if tree is not None:
            found.append(tree)
            lifted += lift
            run.raise_bound((proved.lower_bound + lifted) * (1.0 - _ROUNDING) / run.unit)
        recent.append(lift)
        objective = min(proved.objective, run.unit * run.best_objective)
        open_still = objective - proved.lower_bound - lifted
        few = len(recent) == RECENT and sum(recent) < LEAST_SHARE * open_still
        reached = run.reached(relative_gap(objective, proved.lower_bound + lifted))
        if few or reached or run.progress.reason is not None:
            break
        if tried % EVERY == 0:
            run.iteration += 1
            if not run.tell(BRANCHING, extra={"trees": float(len(found))}):
                break
    return tuple(found)


def _take(run: CompressionRun, tokens: np.ndarray, cover_there: np.ndarray) -> None:
    """A part's own solution in the place of the best one's, kept where that is cheaper as a whole."""
    cover = run.best_cover.copy()
    cover[tokens] = cover_there
    cover, objective, _ = run.coder.re_encode(cover)
    run.update_incumbent(objective, cover)
