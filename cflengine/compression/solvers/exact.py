"""Problem (1) solved to optimality by HiGHS, for small corpora.

First the relaxation of the integer programme (linear_program.py) is solved. Its dual prices of Xw ≥ 1 go into the
certificate, which is recomputed from the data and proves the relaxation's value; its w is rounded to a first solution
by re-encoding with pointer costs d + c(s)/u_s, u_s the uses of s. Then branch and cut closes what is left. *Its*
bound, ``mip_bound`` in every event, is HiGHS's word, true up to HiGHS's tolerances and not recomputed. So a
result is optimal where its reason is ``converged`` and the setting ``tol`` is 0, and its certified gap is still that
to the relaxation, on text 0.0001 to 0.005.

Every v that HiGHS finds is turned into the best solution with that dictionary by the encoding programme. Where
all costs are multiples of a number such as 1 or 0.1, so is every objective, and a bound that is less than that number
below a solution proves the solution. The result has it as ``unverified_bound``, beside the certified one.

Source of the problem: Paskov, Mitchell, Hastie, AISTATS 2014, equation (1); they do not solve it exactly.

Examples
--------
"a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_exact(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.cover.tolist(), result.gap == 0
(4.0, [2], [2, 0, 2, 0], True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from cflengine.compression.model.certificate import binary_solution, dual_bound
from cflengine.compression.model.highs import NO_SUBPROBLEMS, load_highspy, start_highs
from cflengine.compression.model.linear_program import IntegerProgram
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.jit import threads
from cflengine.engine.progress import NAN, EventForwarder, Listener, Progress, TerminationReason
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import KGramIndex

RELAXATION, BRANCHING = "relaxation", "branch and cut"
ROUNDS = 5  # of re-encoding; more change nothing
POLL_S, REPORT_S = 0.05, 0.5


@dataclass(frozen=True, kw_only=True)
class ExactSettings(Limits):
    """Parameters of the solver.

    Parameters
    ----------
    tol : float, default: 0.0
        Stop at this relative gap of HiGHS's bound; 0 is optimality, up to HiGHS's tolerances.
    time_limit : float or None, default: None
        Seconds.
    max_pointers : int, default: 150000
        Larger problems are refused; the default, 50,000 tokens at K = 3, takes about a minute and 1 GB at λ ≤ 1. At λ =
        3 a tenth of it takes as long.
    """

    tol: float = 0.0
    max_pointers: int = 150_000

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        if self.tol is None:
            raise InputError("tol must be a number of at least 0; 0 is optimality.")
        check_whole(self, {"max_pointers": 1})


def solve_exact(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ExactSettings | None = None,
    *,
    start: np.ndarray | None = None,
    prices: np.ndarray | None = None,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
    progress: Progress | None = None,
) -> CompressionResult:
    """Compress the indexed corpus optimally. ``lam`` only labels the events; HiGHS runs on one thread.

    start: uint8 (n,), the cover of a solution to begin with, such as another solver's; the better it is, the less
    has to be searched. prices: float64 (n,), dual prices of tokens whose bound holds until a better one is proved.
    progress: of what came before, to go on with. Events carry ``mip_bound`` in ``extra``;
    ``result.trace["mip_bound"].iloc[-1]`` is the last.
    A stop is honoured within a second or, during a round of cuts, within some ten.
    Raises ValueError for a corpus of more than ``max_pointers`` pointers and for a start that leaves a token
    uncovered, ImportError where highspy is missing.
    """
    settings = settings or ExactSettings()
    _check_size(index, settings)
    if start is not None and not binary_solution(start, index.gram_of, costs)[1]:
        raise InputError("the solution to start from leaves a token uncovered.")
    load_highspy()
    with threads(n_threads, index.gram_of.size):
        solve = _Exact(Problem(index, costs), settings, listeners, lam, progress)
        if start is not None:
            solve.update_incumbent(solve.coder.evaluate(start)[0], start)
        if prices is not None:
            solve.try_prices(prices / solve.unit)
        return solve.run()


def solve_exact_from_guided(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ExactSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """:func:`solve_exact` from the guided solver's solution: the better that is, the less has to be searched.

    One solve in every respect: its events, seconds and time limit are those of both.
    """
    settings = settings or ExactSettings()
    _check_size(index, settings)
    load_highspy()
    progress = Progress(listeners, time_limit=settings.time_limit)
    first = GuidedSettings(tol=1e-5, time_limit=settings.time_limit)
    part = EventForwarder(progress, "guided: ")
    found = solve_guided(index, costs, first, listeners=(part,), n_threads=n_threads, lam=lam)
    known = {"start": found.cover, "prices": found.alpha}
    return solve_exact(index, costs, settings, **known, n_threads=n_threads, lam=lam, progress=progress)


def _check_size(index: KGramIndex, settings: ExactSettings) -> None:
    if index.n_pointers > settings.max_pointers:
        raise InputError(
            f"the exact solver is for small corpora: {index.n_pointers:,} pointers are more than max_pointers = "
            f"{settings.max_pointers:,}; take fewer documents, a smaller K or another solver."
        )


class _Exact(CompressionRun):
    """The outer loop: the relaxation, rounding, branch and cut."""

    solver = "exact"
    exact_search = False  # it has been done

    def __init__(
        self,
        problem: Problem,
        settings: ExactSettings,
        listeners: Iterable[Listener],
        lam: float,
        progress: Progress | None,
    ) -> None:
        super().__init__(problem, settings, listeners=listeners, lam=lam, progress=progress)
        self.program = IntegerProgram(self.index, self.costs)
        self.alpha = np.zeros(self.index.n_tokens)
        self.mip_bound = NAN
        self._steps_before, self.work = self.progress.so_far
        self.iteration = self._steps_before
        self._asked = self._told = 0.0
        self._error: BaseException | None = None

    def tell(self, stage: str, objective: float = NAN, **stats: Any) -> bool:
        """Tell the listeners, with HiGHS's bound in ``extra``."""
        own = {"mip_bound": self.unit * self.mip_bound} | stats.pop("extra", {})
        return super().tell(stage, objective, extra=own, **stats)

    def run(self) -> CompressionResult:
        """Relaxation, then branch and cut where something is left to close, then the certificate."""
        self.tell(RELAXATION)
        for step in (self._relax, self._branch):
            if self.progress.reason is None and not self._settled(self.lower_bound):
                step()
        result = self.result(self.re_encode(), self.alpha, branching=True, unverified_bound=self.unit * self.mip_bound)
        # HiGHS's word is left out where the certificate says more
        said = result.unverified_bound if result.unverified_bound > result.lower_bound else NAN
        return replace(result, unverified_bound=said)

    def _settled(self, bound: float) -> bool:
        """Whether ``bound`` proves the best solution optimal, or to the gap that was asked for."""
        near = self.best_objective - bound < 0.99 * self.program.step
        # HiGHS's bound is a float64 number of its own: what it proves it proves up to rounding
        return near or self.best_objective - bound <= (self.settings.tol + 1e-15) * abs(bound)

    def _relax(self) -> None:
        """Solve the relaxation, certify its bound, round its solution."""
        program = self.program
        highs = self._start(integral=False, options={"solver": "simplex"})
        solved = self._solve(highs)
        solution = highs.getSolution()
        if len(solution.row_dual):
            # stopped half-way the prices are not optimal; whatever they prove is proved
            self._note_bound(self.try_prices(np.maximum(np.array(solution.row_dual)[: self.index.n_tokens], 0.0)))
        if not solved:
            return
        w = np.maximum(np.array(solution.col_value)[: program.n_pointers], 0.0)
        self.relaxation = float(highs.getInfo().objective_function_value)
        self.relaxation_upper = program.relaxed_value(w)
        self.tell(RELAXATION, self._round(program.uses(w)), relaxation=self.relaxation)

    def try_prices(self, alpha: np.ndarray) -> float:
        """What dual prices (float64 (n,) ≥ 0, in the solver's unit) prove; kept where nothing proved as much before."""
        bound, shrink = dual_bound(alpha, self.index.gram_of, self.costs)
        if self.raise_bound(bound):
            self.alpha = alpha * shrink
        return bound

    def _round(self, uses: np.ndarray) -> float:
        """Re-encode at prices by use, from ``uses`` (float64 (G,)) on; the least objective on the way."""
        best = math.inf
        for cover, objective, _ in islice(self.coder.price_by_use(uses), ROUNDS):
            self.update_incumbent(objective, cover)
            best = min(best, objective)
        return best

    def _branch(self) -> None:
        """Branch and cut from the best solution so far; what HiGHS finds comes back through :meth:`_watch`."""
        gaps = {"mip_rel_gap": float(self.settings.tol), "mip_abs_gap": max(1e-6, 0.99 * self.program.step)}
        highs = self._start(integral=True, options={**NO_SUBPROBLEMS, **gaps})
        start = load_highspy().HighsSolution()
        start.col_value = self.program.point(self.best_cover).tolist()
        highs.setSolution(start)
        self._solve(highs)
        self._keep_best_with(highs.getSolution().col_value)
        self._note_bound(highs.getInfo().mip_dual_bound)
        self._note_nodes(highs.getInfo().mip_node_count)

    def _keep_best_with(self, values: Sequence[float]) -> bool:
        """Keep the best solution with the dictionary of HiGHS's (w, v), if it is the best so far."""
        if not len(values):
            return False
        gram_cost = self.costs.dictionary.copy()
        gram_cost[np.flatnonzero(self.program.shared)[np.array(values)[self.program.n_pointers :] > 0.5]] = 0.0
        cover = self.coder.encode(gram_cost)
        return self.update_incumbent(self.coder.evaluate(cover)[0], cover)

    def _note_bound(self, bound: float) -> None:
        """HiGHS begins with bounds of 0 and −inf, below what is proved already."""
        if not bound <= self.mip_bound:
            self.mip_bound = float(bound)

    def _note_nodes(self, count: float) -> None:
        """Nodes of HiGHS's tree are iterations, after those of what came before."""
        self.iteration = max(self.iteration, self._steps_before + int(count))

    def _start(self, *, integral: bool, options: dict[str, Any]) -> Any:
        """HiGHS with the programme, relaxed or not, and our callback."""
        if self.settings.time_limit is not None:
            options = {**options, "time_limit": max(self.settings.time_limit - self.progress.elapsed_s, 0.0)}
        highs = start_highs(self.program, options, integral=integral)
        events = load_highspy().cb.HighsCallbackType
        highs.setCallback(self._watch, None)
        for event in (events.kCallbackSimplexInterrupt, events.kCallbackMipInterrupt):
            highs.startCallback(event)
        highs.startCallback(events.kCallbackMipImprovingSolution)
        return highs

    def _solve(self, highs: Any) -> bool:
        """Let HiGHS work; whether it came to its end. Raises what a listener raised."""
        highs.run()
        if self._error is not None:
            raise self._error
        status, known = highs.getModelStatus(), load_highspy().HighsModelStatus
        if status == known.kTimeLimit:
            self.progress.reason = self.progress.reason or TerminationReason.TIME_LIMIT
        elif status not in (known.kOptimal, known.kInterrupt):
            self.progress.reason = TerminationReason.NUMERICAL_ERROR
        return status == known.kOptimal

    def _watch(self, event: Any, message: str, out: Any, into: Any, data: None) -> None:
        """HiGHS's callback. No exception may travel through HiGHS, so it is kept for :meth:`_solve`."""
        try:
            going = self._error is None and self._listen(event, out)
        except BaseException as error:
            self._error, going = error, False
        if not going and into is not None:
            into.user_interrupt = True

    def _listen(self, event: Any, out: Any) -> bool:
        """Keep what HiGHS found, tell the listeners now and then, ask whether to go on."""
        events = load_highspy().cb.HighsCallbackType
        if event == events.kCallbackMipImprovingSolution:
            found = self._keep_best_with(out.mip_solution)
            return not found or self.tell(BRANCHING, self.best_objective)
        now = self.progress.elapsed_s
        if event == events.kCallbackMipInterrupt:
            self._note_bound(out.mip_dual_bound)
            self._note_nodes(out.mip_node_count)
            if self._settled(self.mip_bound):
                return False
            if now - self._told >= REPORT_S:
                self._told = now
                return self.tell(BRANCHING)
        if now - self._asked < POLL_S:
            return self.progress.reason is None
        self._asked = now
        return self.progress.poll()
