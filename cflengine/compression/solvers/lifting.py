"""The last phase of a solve: where the gap lies, exact search for a better solution, then branching trees for a better
bound, until the gap is reached or hardly anything helps.

Examples
--------
"a a a a b b" at λ = 1/2, K = 2. The relaxation proves no more than 4.75; that nothing costs
less than 5 takes a tree.

>>> from cflengine import CompressiveFeatures, GuidedSettings
>>> result = CompressiveFeatures(0.5, 2, settings=GuidedSettings(tol=0.0)).fit(["a a a a b b"]).result_
>>> result.objective, round(result.lower_bound, 9), round(float(result.alpha.sum()), 4)
(5.0, 5.0, 4.75)
>>> len(result.branchings) > 0
True
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.analysis.gap import GapAttribution, charge_gap
from cflengine.compression.model.branching import Branching
from cflengine.compression.model.certificate import Certificate
from cflengine.compression.search.branching import Brancher, parts_with_gap, units_of
from cflengine.compression.search.neighbourhood import NEIGHBOURHOOD_TOKENS, WHOLE_TOKENS, Neighbourhoods
from cflengine.engine.gaps import relative_gap
from cflengine.engine.progress import Stopped

if TYPE_CHECKING:
    from cflengine.compression.solvers.run import CompressionRun

SEARCH, BRANCHING = "exact search", "branching trees"
WHOLE_NODES = 100  # of a tree of a whole corpus
MOST_STEPS = 4  # open: with more, a tree of a whole corpus does not come near
SHARE_OF_TIME, SHORT_S, LONG_S, SMALL_GAP = 0.1, 0.5, 20.0, 1e-5  # exact search: of the time until then, and at least
QUIET = 8  # parts in a row in which exact search finds nothing are the last
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
    user's unit; proved: by these prices. If stopped, the trees found so far are
    the answer."""
    given, index, poll = run.problem.given, run.index, run.progress.poll

    def charged() -> tuple[GapAttribution, np.ndarray] | None:
        """Where the gap of the best solution lies, by its units; None if stopped."""
        units = units_of(index, run.best_cover)
        try:
            return charge_gap(_Prices(run.best_cover, alpha), index, given, units, np.zeros(0), poll), units
        except Stopped:
            return None

    where = charged()
    if where is None:
        return ()
    run.iteration += 1
    before = run.best_objective
    if not run.tell(BRANCHING) or (run.exact_search and not _search_where_open(run, *where)):
        return ()
    if run.best_objective < before:  # its pointers may lie across the borders of units that the one before had
        where = charged()
        if where is None:
            return ()
    gap, units = where
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
    return _of_the_whole(run, alpha, proved, found, lifted)


def _of_the_whole(
    run: CompressionRun, alpha: np.ndarray, proved: Certificate, found: list[Branching], lifted: float
) -> tuple[Branching, ...]:
    """What proves most: the trees of parts, or, of a corpus of few tokens, one tree that can decide what ties parts
    together; which is made where that may prove a solution optimal."""
    index, objective = run.index, min(proved.objective, run.unit * run.best_objective)
    open_still = objective - proved.lower_bound - lifted
    small = index.n_tokens <= WHOLE_TOKENS and open_still >= proved.step > 0.0
    if not small or open_still > MOST_STEPS * proved.step or run.progress.reason is not None:
        return tuple(found)
    brancher = Brancher(index, run.problem.given, run.best_cover, alpha)
    enough = objective - (1.0 - 1e-6) * proved.step
    spans = index.doc_ptr[[0, -1]].astype(np.int64)[None]
    tree, lift, better = brancher.branch(spans, run.progress.poll, most_nodes=WHOLE_NODES, enough=enough)
    if better is not None:
        _take(run, *better)
    if tree is None or lift <= lifted:
        return tuple(found)
    run.raise_bound((proved.lower_bound + lift) * (1.0 - _ROUNDING) / run.unit)
    return (tree,)


def _search_where_open(run: CompressionRun, gap: GapAttribution, units: np.ndarray) -> bool:
    """Solve parts with most of the gap exactly, all else fixed, until some in a row bring nothing, or the time for it
    is over, which only parts that are hard for their size take; False if stopped."""
    near = Neighbourhoods(run.index, run.problem.given, run.best_cover.copy())
    most = WHOLE_TOKENS if run.index.n_tokens <= WHOLE_TOKENS else NEIGHBOURHOOD_TOKENS
    quiet, saved, began = 0, 0.0, run.progress.elapsed_s
    seconds = max(SHARE_OF_TIME * began, LONG_S if (run.settings.tol or 0.0) <= SMALL_GAP else SHORT_S)
    for tried, spans in enumerate(parts_with_gap(gap, run.index, units, most), 1):
        left = began + seconds - run.progress.elapsed_s
        here = near.improve(spans, run.progress.poll, left) if left > 0 else 0.0
        saved, quiet = saved + here, 0 if here else quiet + 1
        if quiet == QUIET or left <= 0 or not run.progress.poll():
            break
        if tried % EVERY == 0:
            run.iteration += 1
            if not run.tell(SEARCH):
                break
    if saved:
        cover, objective, _ = run.coder.re_encode(near.cover)
        run.update_incumbent(objective, cover)
    return run.progress.reason is None


def _take(run: CompressionRun, tokens: np.ndarray, cover_there: np.ndarray) -> None:
    """A part's own solution in the place of the best one's, kept where that is cheaper as a whole. Pointers that reach
    out of the part, which a solution found since its borders were drawn may have, stay."""
    cover = run.best_cover.copy()
    inside = np.zeros(len(cover) + run.index.max_gram, dtype=bool)
    inside[tokens] = True
    across, within = np.zeros_like(cover_there), np.ones(len(tokens), dtype=bool)
    for k in range(1, run.index.max_gram):
        within &= inside[tokens + k]
        across |= np.where(within, cover.dtype.type(0), cover[tokens] & cover.dtype.type(1 << k))
    cover[tokens] = cover_there | across
    cover, objective, _ = run.coder.re_encode(cover)
    run.update_incumbent(objective, cover)
