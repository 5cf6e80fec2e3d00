"""The homotopy, then the guided solver from its solution: one solve, of which the first part shows how a relaxation
becomes binary, and the second how near to optimal that is.

    homotopy    the paper's (homotopy.py), every ζ recorded;
    guided      from the homotopy's best solution and dual prices (guided/solver.py), until the gap asked for is proved.

Events of the second part have "guided: " before their stage. The result is the guided solver's, with the stages of the
homotopy; its trace, seconds, passes and iterations are those of both.

Examples
--------
"a b a b" at K = 2 and λ = 1, where two pointers to "a b" (K-gram 2) are best (model/problem.py).

>>> import numpy as np
>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 4]), 2)
>>> result = solve_relay(index, storage_costs(index.gram_of, index.lengths()))
>>> result.objective, result.dictionary.tolist(), result.reason.name
(4.0, [2], 'CONVERGED')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import GuidedSolver
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.progress import NAN, EventForwarder, Listener, Progress
from cflengine.engine.results import settings_dict
from cflengine.engine.settings import Limits
from cflengine.text.kgrams import KGramIndex

# seconds for a million pointers on 2 cores, measured on the sample (homotopy) and on 20 Newsgroups (guided); good to a
# factor of two
_SECONDS = {"homotopy": 22.0, "guided": 1.6, "sharded": 2.3}  # shards: by their seconds beside the guided solver's


@dataclass(frozen=True, kw_only=True)
class RelaySettings(Limits):
    """The homotopy first, then the guided solver from its solution.

    Parameters
    ----------
    tol : float, default: 0.001
        The relative gap at which both parts together end.
    time_limit : float or None, default: None
        Seconds for both parts together, or None.
    random_state : int, default: 0
        Seed of whatever the guided solver draws.
    homotopy : HomotopySettings, optional
        Every other setting of the homotopy.
    guided : GuidedSettings, optional
        Every other setting of the guided solver.
    """

    tol: float = 1e-3
    random_state: int = 0
    homotopy: HomotopySettings = field(default_factory=lambda: HomotopySettings(keep_stages=True))
    guided: GuidedSettings = field(default_factory=GuidedSettings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tol is None:
            raise InputError("tol must be a number of at least 0: it is what ends the homotopy's part.")
        check_whole(self, {"random_state": 0})

    @property
    def second(self) -> GuidedSettings:
        """The guided solver's, which is told when to end."""
        return replace(self.guided, tol=self.tol, time_limit=None, random_state=self.random_state)


def solve_relay(
    index: KGramIndex,
    costs: StorageCosts,
    settings: RelaySettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
) -> CompressionResult:
    """Compress the indexed corpus by the homotopy, then from its solution by the guided solver. Deterministic for any
    number of threads.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    settings : RelaySettings, optional
        By default the usual ones.
    listeners : iterable of callables
        Told of every event; one that says False stops.
    n_threads : int, optional
        By default all cores.
    lam : float
        Only labels the events.

    Returns
    -------
    CompressionResult
        Certified.
    """
    settings = settings or RelaySettings()
    progress = Progress(listeners, time_limit=settings.time_limit)
    part = EventForwarder(progress)
    first = solve_homotopy(index, costs, settings.homotopy, listeners=(part,), n_threads=n_threads, lam=lam)
    result = first
    if progress.reason is None and not first.gap <= settings.tol:
        part = EventForwarder(progress, "guided: ")
        result = GuidedSolver(index, n_threads=n_threads, once=True).solve(
            costs, settings.second, listeners=(part,), lam=lam, known=[(first.cover, first.alpha)]
        )
    n_iterations, n_passes = progress.so_far
    return replace(
        result,
        reason=progress.reason or result.reason,
        stages=first.stages,
        relaxation=first.relaxation,
        relaxation_upper=first.relaxation_upper,
        n_iterations=n_iterations,
        n_passes=n_passes,
        seconds=progress.elapsed_s,
        solver="relay",
        settings=settings_dict(settings),
        events=tuple(progress.records),
    )


def estimated_seconds(n_pointers: int, solver: str) -> float:
    """About how long a solver takes: "homotopy" to its end, "guided" and "sharded" to a proved hundredth.

    Parameters
    ----------
    n_pointers : int
        Of the corpus.
    solver : str
        Its name.

    Returns
    -------
    float
        Seconds.
    """
    return max(0.5, _SECONDS[solver] * n_pointers / 1e6)
