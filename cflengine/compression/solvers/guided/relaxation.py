"""Phase one: steps on the linear relaxation until it is solved to a proved gap, and, later, for a better bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cflengine.engine.gaps import relative_gap

if TYPE_CHECKING:
    from cflengine.compression.solvers.guided.run import GuidedRun

RELAXATION = "relaxation"
LEAST_SHARE = 0.01  # of what is open: a cycle of the search, or some steps for the bound, that close less are the last
_FIRST_LOOK = 25  # steps after which the first solution is rounded
EARLY = 2e-3  # the relaxation's gap, by its own account, at which the first search begins
REST = 1e-6  # a first bound this near to the value at w is the last


def solve_relaxation(run: GuidedRun) -> bool:
    """Steps until the relaxation is solved to the gap wanted; on the way, rounding, and once the search. False if
    stopped."""
    admm, settings, look = run.admm, run.settings, _FIRST_LOOK
    for steps in range(1, settings.relaxation_iterations + 1):
        if not run.step(RELAXATION):
            return False
        run.stepped = True
        run.average.add(admm.y)
        if steps == look and not settings.relaxation_only:
            look *= 2
            run.refinement.round(run.uses(admm.current_w()), rounds=2)
        if steps % settings.bound_every == 0:
            before = run.lower_bound
            run.average.update_bound(admm.bound, admm.y)
            if _solved(run, before) or (run.searched and run.refinement.done):
                break
            if _time_to_search(run):
                if not search_early(run):
                    return False
                if run.refinement.done:
                    break
    else:
        run.limited = settings.relaxation_only
    run.relaxation = admm.relaxation
    return run.progress.reason is None


def search_early(run: GuidedRun) -> bool:
    """Round and search, and leave the relaxation as it was; False if stopped.

    There are better solutions later, but most of what there is to gain is there so much sooner.
    """
    run.searched = True
    run.save_relaxation()
    going = run.refinement.descend(run.refinement.round(run.uses(run.admm.take_w())))
    run.return_to_relaxation()
    return going


def tighten(run: GuidedRun) -> bool:
    """More steps on the relaxation, as long as they improve the bound by what is worth having; False if stopped."""
    admm, settings = run.admm, run.settings
    if not settings.tighten or not run.stepped:
        return True
    run.return_to_relaxation()
    before = math.inf
    while before - run.open > LEAST_SHARE * run.open and not run.refinement.done:
        before = run.open
        for steps in range(1, 2 * settings.bound_every + 1):
            if not run.step(RELAXATION):
                return False
            run.average.add(admm.y)
            if steps % settings.bound_every == 0:
                run.average.update_bound(admm.bound, admm.y)
    run.save_relaxation()
    return True


def _time_to_search(run: GuidedRun) -> bool:
    """Once, when the relaxation is known well enough for a first good solution."""
    wanted = run.settings.early and not run.settings.relaxation_only and run.start is None
    return wanted and not run.searched and _gap(run) <= EARLY


def _solved(run: GuidedRun, before: float) -> bool:
    """Whether the relaxation's gap is small enough: proved, if that is all that is asked for; before: the bound before.

    Else the value at w, which covers only nearly, is good enough to decide when to move on: what is proved in the end
    is the gap of the binary solution.
    """
    wanted = run.settings.wanted_relaxation_gap
    if _gap(run) > wanted:
        return False
    if not run.settings.relaxation_only:
        return _bound_rests(run, before)
    run.relaxation_upper = run.admm.feasible_value(run.admm.current_w())
    return relative_gap(run.relaxation_upper, run.lower_bound) <= wanted


def _bound_rests(run: GuidedRun, before: float) -> bool:
    """Whether the last steps improved the bound by less than the gap wanted of it; before: the bound before them.

    A value at w that happens to pass the bound on its way up says nothing: with a coarse ``tol`` the relaxation would
    end a per cent too low, and annealing go on for minutes before its bound is looked at again. A first bound has
    nothing to be compared with, and rests where the value at w is all but equal to it.
    """
    wanted = run.settings.wanted_relaxation_gap
    if math.isnan(before) or before <= 0:
        return _gap(run) <= min(wanted, REST)
    return run.lower_bound <= before * (1.0 + wanted)


def _gap(run: GuidedRun) -> float:
    """Between the value at w and the bound, on either side: w that does not cover yet is too cheap."""
    return abs(relative_gap(run.admm.relaxation, run.lower_bound))
