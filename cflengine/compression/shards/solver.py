"""The guided solver over shards: problem (1) of a corpus that is worked on in parts.

The dictionary cost couples documents only through K-grams that several shards have (budgets.py), so that relaxation,
annealing, rounding, local search and recombination are those of the guided solver with a few numbers exchanged, and
what is proved is proved of the whole corpus: the certificate is recomputed over all shards (model/parts.py). With one
shard the answer is the guided solver's own.

Shards rest on disk between their turns, so that the solver's memory goes with the largest of them.

Source of the decomposition: Lagrangian duality (budgets.py); of what is solved: Paskov, Mitchell, Hastie, AISTATS 2014,
problem (1).

Examples
--------
Two shards that have "a b" in common, "a b a b" and "a b a b"; storing it once and four pointers cost 6.

>>> from cflengine.compression import storage_costs
>>> from cflengine.text import index_kgrams
>>> index = index_kgrams(np.array([0, 1] * 4, dtype=np.int32), np.array([0, 4, 8]), 2)
>>> costs = storage_costs(index.gram_of, index.lengths())
>>> result = solve_sharded(index, costs, ShardedSettings(shards=2, in_memory=True))
>>> result.objective, result.cover.tolist(), result.gap < 1e-5
(6.0, [2, 0, 2, 0, 2, 0, 2, 0], True)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np

from cflengine.compression.model.certificate import Certificate
from cflengine.compression.model.parts import PartsCertificate
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.passes.binary import Coder
from cflengine.compression.shards.budgets import Budgets
from cflengine.compression.shards.cluster import OnCluster
from cflengine.compression.shards.executors import Executor, InTurn
from cflengine.compression.shards.resting import shards_folder
from cflengine.compression.shards.run import ShardedRun
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.shards.shard import Shard, ShardFacts
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.run import FINISHED
from cflengine.engine.cluster import LOCAL, connected
from cflengine.engine.estimators import outside
from cflengine.engine.jit import threads
from cflengine.engine.mapped import mapped_array
from cflengine.engine.progress import NAN, Listener, Watch
from cflengine.text.kgrams import KGramIndex
from cflengine.text.shared_grams import cut_into_parts, number_shared

Start = tuple[list[np.ndarray], list[np.ndarray] | None]


def solve_sharded(
    index: KGramIndex,
    costs: StorageCosts,
    settings: ShardedSettings | None = None,
    *,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
    lam: float = NAN,
    known: Iterable[tuple[np.ndarray, np.ndarray | None]] = (),
    watch: Watch | None = None,
) -> CompressionResult:
    """Compress the indexed corpus, shard by shard. Deterministic for any number of threads.

    Parameters
    ----------
    index : KGramIndex
        The K-grams of the corpus.
    costs : StorageCosts
        d and c.
    settings : ShardedSettings, optional
        By default the usual ones.
    listeners : iterable of callables
        Told of every event; one that says False stops.
    n_threads : int, optional
        By default all cores.
    lam : float
        Only labels the events.
    known : iterable of pairs
        Solutions to begin from, as for :class:`~cflengine.compression.solvers.guided.solver.GuidedSolver`, of which the
        last counts.
    watch : Watch, optional
        Told of the shards that are made, and asked whether to go on.

    Returns
    -------
    CompressionResult
        Certified.

    Raises
    ------
    Stopped
        Where ``watch`` says no.
    InputError
        Where the scratch folder cannot be written to, or is full.
    """
    settings = settings or ShardedSettings()
    cuts = cut_into_parts(index.doc_ptr, settings.shards)
    if len(cuts) <= 2:
        if settings.shards > 1:
            where = "on this machine" if settings.cluster else "as a whole"
            said = f"nearly all tokens are in one document, which cannot be cut into shards: it is solved {where}."
            warnings.warn(said, stacklevel=outside())
        return solve_guided(
            index, costs, settings.unsharded, listeners=listeners, n_threads=n_threads, lam=lam, known=known
        )
    with threads(n_threads), _folder(settings) as folder:
        shards = _shards(index, costs, cuts, watch or Watch())
        with _executor(shards, folder, settings.cluster) as executor:
            start = [_cut_known(one, index.doc_ptr[cuts]) for one in known][-1:]
            run, certificate, solution = solve_on(executor, index.max_gram, settings, listeners, lam, start)
            cover, alpha = (_joined(parts, settings) for parts in zip(*solution, strict=True))
            del solution  # what is mapped keeps its file
    used = Coder(index, costs).pointers(cover)[2]
    return CompressionResult(
        **run.facts(certificate.objective, certificate.lower_bound),
        cover=cover,
        dictionary=np.flatnonzero(used).astype(np.int32),
        alpha=alpha,
        certificate=certificate,
        relaxation=run.unit * run.relaxation,
        relaxation_upper=NAN,
    )


def _joined(parts: Sequence[np.ndarray], settings: ShardedSettings) -> np.ndarray:
    """All parts as one array, which lies where shards do."""
    if settings.in_memory:
        return np.concatenate(parts)
    whole = mapped_array((sum(map(len, parts)),), parts[0].dtype, settings.scratch)
    return np.concatenate(parts, out=whole)


def _folder(settings: ShardedSettings) -> AbstractContextManager[Path | None]:
    """The folder that shards rest in; None for memory."""
    in_memory = settings.in_memory and settings.cluster is None
    return nullcontext() if in_memory else shards_folder(settings.scratch)


@contextmanager
def _executor(shards: Iterator[Shard], folder: Path | None, cluster: str | None) -> Iterator[Executor]:
    if cluster is None or folder is None:
        yield InTurn(shards, folder)
        return
    with connected(cluster) as client:
        executor = OnCluster(client, shards, folder, folder.parent if cluster == LOCAL else None)
        try:
            yield executor
        finally:
            executor.close()


def _cut_known(known: tuple[np.ndarray, np.ndarray | None], borders: np.ndarray) -> Start:
    cover, alpha = known
    return np.split(cover, borders[1:-1]), None if alpha is None else np.split(alpha, borders[1:-1])


def _shards(index: KGramIndex, costs: StorageCosts, cuts: np.ndarray, watch: Watch) -> Iterator[Shard]:
    watch.begin("making shards", "shards", len(cuts) - 1)
    for k, (a, e) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
        yield _shard_of(index, costs, a, e)
        watch.at(k + 1)
    watch.begin("comparing shards")


def _shard_of(index: KGramIndex, costs: StorageCosts, first: int, last: int) -> Shard:
    """The shard of documents first .. last-1, its K-grams charged what the whole's are."""
    a, e = int(index.doc_ptr[first]), int(index.doc_ptr[last])

    def price(own: KGramIndex) -> StorageCosts:
        of_whole = np.empty(own.n_grams, dtype=np.int32)
        for k in range(own.max_gram):
            there = own.gram_of[k] >= 0
            of_whole[own.gram_of[k][there]] = index.gram_of[k, a:e][there]
        extra = costs.pointer_extra[:, a:e] if costs.pointer_extra.size else costs.pointer_extra
        return StorageCosts(costs.pointer_by_length, np.ascontiguousarray(extra), costs.dictionary[of_whole])

    return Shard(index.tokens[a:e], index.doc_ptr[first : last + 1] - a, index.max_gram, price)


def solve_on(
    executor: Executor,
    max_gram: int,
    settings: ShardedSettings,
    listeners: Iterable[Listener],
    lam: float,
    start: Sequence[Start] = (),
) -> tuple[ShardedRun, Certificate, list[tuple[np.ndarray, np.ndarray]]]:
    """Solve what an executor has the shards of: the run, what is proved, and by shard the cover and the dual prices.

    start: a solution to begin from, or none; its covers and its dual prices, by shard.
    """
    facts = learn_shared(executor, max_gram)
    guided, unit, n = settings.unsharded, facts[0].unit, executor.n_shards
    rho = facts[0].rho if guided.rho is None else guided.rho
    seeds = [settings.random_state + k for k in range(n)]
    cost = shared_cost(facts)
    budgets = Budgets(cost / unit, [one.numbers for one in facts], [one.counts for one in facts])
    del facts  # as large as all that is known of divided costs
    executor.each("begin", [unit] * n, [rho] * n, [guided.over] * n, seeds)
    run = ShardedRun(executor, budgets, settings, listeners, lam, unit=unit)
    executor.progress = run.progress
    for covers, prices in start:
        run.warm_start(covers, prices)
    run.go()
    share = run.update_bound(last=True)
    proof = PartsCertificate(cost)
    for part, numbers in zip(executor.each("certify", share), budgets.by_shard(budgets.entry), strict=True):
        proof.add(part, numbers)
    certificate = proof.certificate()
    run.report(FINISHED, certificate.objective / unit)
    return run, certificate, executor.each("solution", [certificate.shrink] * n)


def shared_cost(facts: list[ShardFacts]) -> np.ndarray:
    """float64 (S,): c(s) of the K-grams that several shards have."""
    cost = np.zeros(1 + max(int(one.numbers.max(initial=-1)) for one in facts))
    for one in facts:
        cost[one.numbers] = one.cost
    return cost


def learn_shared(executor: Executor, max_gram: int) -> list[ShardFacts]:
    """Find the K-grams that several shards have, and give them numbers."""
    offset = 0
    for length in range(1, max_gram + 1):
        names = executor.each("name", [length] * executor.n_shards)
        numbers, found = number_shared(names, offset)
        executor.each("learn", numbers)
        offset += found
    return executor.each("facts")
