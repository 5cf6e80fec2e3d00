"""A vocabulary of a given size and its proof.

    exchanges   pieces are added, dropped and exchanged from nothing until none helps (exchange.py): a vocabulary
                within about half a hundredth of the best, and the price µ at which it would be about the best;
    price       problem (1) of compression at that price, from the words as they are cut then: its bound is (2) of
                problem.py, its dictionary another vocabulary of nearly the size;
    exchanges   from that dictionary to the very size.

Prices in between are tried, warm, only where the dictionary turns out to be of quite another size. The bound is
recomputed from the best prices and all words (certificate.py); it holds for all vocabularies of pieces that are
allowed. Any number of pieces in this file is without the units that there are anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cflengine.compression import GuidedSettings, GuidedSolver
from cflengine.engine.checks import InputError, check_whole
from cflengine.engine.jit import threads
from cflengine.engine.progress import IterationStats, Listener, TerminationReason
from cflengine.engine.results import Result
from cflengine.engine.run import Run
from cflengine.engine.settings import Limits
from cflengine.tokenizer.candidates import Candidates
from cflengine.tokenizer.certificate import count_tokens, dual_bound
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.problem import tokens_at_least

_CANDIDATES = 12  # as many times the size: those that exchanges choose among at first
_MARGIN = 0.4  # of what the last of them can save: others may still be worth it
_PRICES = 3  # at most
_NEAR = 0.05  # of the size: how far off a price may be
_LEAST_PRICE = 0.25  # of a token: below, nothing would be saved by fewer pieces
_BELOW = 0.85  # of the price: pieces that can save as much stay, should the next price be lower
_LEAST_GAIN = 1e-4  # of the tokens, for an exchange before the first price: hundreds of small ones take a minute
_LAST = 0.8  # of the time that is left: the rest is for the last exchanges


@dataclass(frozen=True, kw_only=True)
class VocabularySettings(Limits):
    """tol: proved relative gap between the tokens and those of any vocabulary of the size; random_state: seed of what
    the solver at a price draws."""

    tol: float = 1e-3
    random_state: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tol:
            raise InputError(f"tol must be a positive number, not {self.tol!r}.")
        check_whole(self, {"random_state": 0})


@dataclass(frozen=True, kw_only=True)
class TokenizerResult(Result):
    """A vocabulary and what is proved about it.

    objective: the tokens that the corpus takes with it; lower_bound: those that it takes with any vocabulary of as many
    pieces, all allowed ones considered; n_running, n_words: words of the corpus, all and distinct; size: pieces of two
    units or more, those ``required`` included; units int32, ptr int64 (size + 1,): the units of the pieces, one after
    the other, most frequent first; weight: int64 (size,), how often each occurs in the words; mu: the price and alpha
    float64 (n,) the dual prices of units that prove the bound.
    """

    n_running: int
    n_words: int
    size: int
    required: int
    mu: float
    units: np.ndarray = field(repr=False)
    ptr: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    alpha: np.ndarray = field(repr=False)

    def pieces(self) -> list[np.ndarray]:
        """int32 each: the units of the pieces."""
        return np.split(self.units, self.ptr[1:-1]) if self.size else []

    @property
    def tokens_per_word(self) -> float:
        """That the corpus takes with this vocabulary."""
        return self.objective / self.n_running

    @property
    def least_tokens_per_word(self) -> float:
        """That it takes with any of the size, proved."""
        return self.lower_bound / self.n_running


def solve_vocabulary(
    every: Candidates,
    size: int,
    settings: VocabularySettings | None = None,
    *,
    allowed: np.ndarray | None = None,
    listeners: Iterable[Listener] = (),
    n_threads: int | None = None,
) -> TokenizerResult:
    """The vocabulary of ``size`` pieces of two units or more, those that ``every`` requires included.

    allowed: bool (G,), pieces it may have; None for all. Raises InputError where there are not as many, or more are
    required.
    """
    allowed = every.many if allowed is None else allowed & every.many
    offered, required = int(np.count_nonzero(allowed | every.required)), int(np.count_nonzero(every.required))
    if not required <= size <= offered:
        raise InputError(f"size must be between {required:,} and {offered:,}, pieces required and all, not {size:,}.")
    with threads(n_threads) as count:
        return VocabularyRun(every, size, allowed, settings or VocabularySettings(), listeners, count).run()


class _AtSize:
    """A listener of the solve at a price: tells the whole what its bounds mean at the size, and asks it to end once
    that is enough."""

    def __init__(self, whole: VocabularyRun, mu: float) -> None:
        self.whole, self.mu = whole, mu

    def __call__(self, stats: IterationStats) -> bool:
        run = self.whole
        run.raise_bound(tokens_at_least(stats.lower_bound, self.mu, run.free))
        run.iteration += 1
        return run.report(f"price: {stats.stage}", support=stats.support, extra={"mu": self.mu}) and not run.proved

    def poll(self) -> bool:
        return self.whole.may_go_on()


class VocabularyRun(Run):
    """One solve. ``free``: how many pieces are to be chosen; ``chosen``: bool (G,), the best vocabulary."""

    solver = "tokenizer"

    def __init__(
        self,
        every: Candidates,
        size: int,
        allowed: np.ndarray,
        settings: VocabularySettings,
        listeners: Iterable[Listener],
        n_threads: int | None = None,
    ) -> None:
        super().__init__(settings, listeners)
        self.every, self.size, self.allowed, self.n_threads = every, size, allowed, n_threads
        self.free = size - int(np.count_nonzero(every.required))
        self.chosen = every.required.copy()
        self._proof = 0.0, 0.0, np.zeros(every.index.n_tokens)  # bound, price, dual prices
        self._out_of_time = False  # the solver at a price, which has but a share of it

    @property
    def reason(self) -> TerminationReason:
        """Why it ended."""
        reason = super().reason
        short = self._out_of_time and reason is TerminationReason.CONVERGED and not self.proved
        return TerminationReason.TIME_LIMIT if short else reason

    def run(self) -> TokenizerResult:
        """Exchanges, prices, exchanges, certificate."""
        self._prove(0.0, self._prices_of_length())
        mu = self._exchange(self._few(), self.chosen, _LEAST_GAIN)
        if not self.free:  # no piece is worth its price
            mu = float(self.every.most_saved.max(initial=0.0)) + 1.0
            self._prove(mu, self.every.unit_counts.astype(np.float64))
        solver, candidates, least = None, self.every, math.inf
        for _ in range(_PRICES):
            if self.proved or not self.may_go_on():
                break
            mu = max(mu, _LEAST_PRICE)
            if mu < least:
                least = max(_BELOW * mu, _LEAST_PRICE)
                candidates = self.every.only(self.allowed & (self.every.most_saved > least))
                solver = GuidedSolver(candidates.index, n_threads=self.n_threads)
            assert solver is not None
            found = self._solve_at(mu, candidates, solver)
            mu = self._exchange(candidates, found)
            if abs(np.count_nonzero(found) - self.size) <= _NEAR * self.free:
                break
        return self._result()

    def _few(self) -> Candidates:
        """Those that can save most, more than enough for the size."""
        most = np.where(self.allowed, self.every.most_saved, 0.0)
        at = _CANDIDATES * self.size
        if at >= np.count_nonzero(self.allowed):
            return self.every.only(self.allowed)
        return self.every.only(self.allowed & (most > _MARGIN * np.partition(most, -at)[-at]))

    def _exchange(self, candidates: Candidates, start: np.ndarray, least: float = 0.0) -> float:
        """Search at the size from a vocabulary, bool (G,), by exchanges that save a share of ``least``; the price at
        which it would be about the best."""
        wanted = start.copy()
        wanted[candidates.origin] = True
        if np.count_nonzero(wanted & self.every.many) < self.size:
            wanted |= self.allowed
        own = self.every.only(wanted)
        exchange = Exchange(own, start[own.origin])

        def step() -> bool:
            self.iteration += 1
            self._offer(exchange)
            return self.report("exchanges", float(exchange.tokens), support=exchange.size)

        exchange.resize(self.size, step)
        if math.isinf(self.best_objective):  # it may have been stopped
            exchange.resize(self.size, at_once=True)
        exchange.improve(step, least)
        self._offer(exchange)
        return exchange.price()

    def _offer(self, exchange: Exchange) -> None:
        """Keep its vocabulary if it is the best of the size."""
        if exchange.size == self.size and exchange.tokens < self.best_objective:
            self.best_objective = float(exchange.tokens)
            self.chosen = np.zeros(self.every.index.n_grams, dtype=bool)
            self.chosen[exchange.pieces.origin[exchange.present > 0]] = True

    def _solve_at(self, mu: float, candidates: Candidates, solver: GuidedSolver) -> np.ndarray:
        """The pieces that the solution at a price uses, bool (G,)."""
        limit = self.settings.time_limit
        left = None if limit is None else max(_LAST * (limit - self.progress.elapsed_s), 1e-3)
        settings = GuidedSettings(
            tol=self.settings.tol, random_state=self.settings.random_state, time_limit=left, branching=False
        )
        cover, alpha = Exchange(candidates, self.chosen[candidates.origin]).cover(mu)
        result = solver.solve(
            candidates.costs(mu), settings, listeners=[_AtSize(self, mu)], lam=mu, known=[(cover, alpha)]
        )
        self._prove(mu, result.alpha)
        self._out_of_time = result.reason is TerminationReason.TIME_LIMIT
        found = self.every.required.copy()
        found[candidates.origin[result.dictionary]] = True
        return found & self.every.many

    def _prices_of_length(self) -> np.ndarray:
        """Prices float64 (n,) under which a word costs as many tokens as if all pieces were there: its count at every
        K-th unit."""
        table = self.every.table
        within = np.arange(len(table.units)) - np.repeat(table.ptr[:-1], np.diff(table.ptr))
        return np.where(within % self.every.index.max_gram == 0, self.every.unit_counts, 0).astype(np.float64)

    def _prove(self, mu: float, alpha: np.ndarray) -> None:
        """Recompute what prices prove, from all words and pieces allowed."""
        every = self.every
        cost = np.where(self.allowed | every.required | ~every.many, every.group_cost(mu), math.inf)
        value = dual_bound(every.index.gram_of, every.unit_counts, cost, alpha)
        at_least = float(tokens_at_least(value, mu, self.free))
        if at_least >= self._proof[0]:
            self._proof = at_least, mu, alpha
        self.raise_bound(at_least)

    def _result(self) -> TokenizerResult:
        """The certificate: tokens counted from the pieces that the words are cut into, the bound from prices."""
        every, table = self.every, self.every.table
        own = every.only(self.chosen)
        cover, _ = Exchange(own, own.many).cover(0.0)
        tokens = count_tokens(own.index.gram_of, table.ptr, table.counts, cover)
        bound, mu, alpha = self._proof
        self.report("certificate", tokens, support=self.size, extra={"mu": mu})
        grams = np.flatnonzero(self.chosen)
        grams = grams[np.lexsort((grams, -every.weight[grams]))]
        pieces = every.pieces(grams)
        return TokenizerResult(
            n_running=table.n_running,
            n_words=table.n_words,
            size=len(grams),
            required=self.size - self.free,
            mu=mu,
            units=np.concatenate([np.zeros(0, dtype=np.int32), *pieces]),
            ptr=np.cumsum([0, *map(len, pieces)]),
            weight=every.weight[grams].astype(np.int64),
            alpha=alpha,
            **self.facts(tokens, bound),
        )
